"""Nested tasks out of certified items: the gold calls, run again, are the calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON, Outcome, Returned
from toolhop_tools.certify.model import Certificate, Edge, HopProof, HopVerdict
from toolhop_tools.construct.nested.assemble import (
    Executed,
    Leaf,
    Link,
    Unfit,
    leaves_of,
    placed,
    value_at,
)
from toolhop_tools.failures import tells_of_error
from toolhop_tools.model import Item, canonical
from toolhop_tools.reading import read_result
from toolhop_tools.words import bare

Run: TypeAlias = Callable[[Program, Sequence[Mapping[str, JSON]]], Awaitable[list[Outcome | None]]]
"""Calls of a program, in order; None for one that was not made."""
FROM_ITEM = "item"
"""The meaning of a reference that an item's author wrote and a certificate shows."""


def returned(outcome: Outcome | None) -> JSON:
    """What a call gave; None where it failed, or says that it did."""
    value = read_result(outcome.json_text) if isinstance(outcome, Returned) else None
    return None if tells_of_error(value) else value


async def executed_item(item: Item, certificate: Certificate | None, run: Run) -> list[Executed]:
    """The gold calls of an item, run again with the responses in place, with their links.

    An answer that a later argument is equal to is a response that the argument takes, if the
    result has it as a typed leaf; within a list, one of its elements. An answer whose case alone
    differs is put in the argument's place, and the call has to give what it gave.

    Raises:
        Unfit: the item is not proven, a call fails, or an argument is made of an answer in a way
            that no placeholder can say, such as a part of it.
        SandboxFault, SandboxUnavailable: as `run`.
    """
    if certificate is None:
        raise Unfit("the item has no certificate")
    if certificate.verdict is not HopVerdict.PROVEN:
        raise Unfit("the item is not proven")
    calls: list[Executed] = []
    for hop, proof in zip(item.hops, certificate.hops, strict=True):
        gold = proof.arguments or {}
        arguments, links = _linked(proof, gold, calls, certificate)
        value, wanted = map(returned, await run(hop.tool.program, [arguments, gold]))
        if value is None or canonical(value) != canonical(wanted):
            raise Unfit("a call does not give again what it gave")
        calls.append(Executed(hop.tool, arguments, value, (*links,)))
    return calls


def _linked(
    proof: HopProof, gold: Mapping[str, JSON], earlier: Sequence[Executed], certificate: Certificate
) -> tuple[dict[str, JSON], list[Link]]:
    """The arguments with leaves in place, and where they come from."""
    leaves = [leaves_of(call.value) for call in earlier]
    # A list may be an answer as a whole, and hold its elements as answers too.
    whole: dict[str, Link] = {}
    edges = [(edge, edge.argument.split(".")[0], edge.hop - 1) for edge in proof.edges]
    for _, name, source in edges:
        for leaf in leaves[source]:
            if name not in whole and canonical(leaf.value) == canonical(gold.get(name)):
                whole[name] = Link(name, None, source, leaf.path, FROM_ITEM)
    arguments, links = dict(gold), [*whole.values()]
    for edge, name, source in edges:
        if name not in whole:
            first = certificate.hops[source].reading
            link, leaf = _element(edge, gold, leaves[source], first.path if first else ())
            arguments[name] = placed(arguments[name], link, leaf.value)
            links.append(link)
    return arguments, links


def _element(
    edge: Edge, gold: Mapping[str, JSON], leaves: Sequence[Leaf], first: Sequence[str | int]
) -> tuple[Link, Leaf]:
    """The link of an edge whose argument is no leaf as it stands, and the leaf.

    Args:
        edge: of the certificate.
        gold: the arguments.
        leaves: of the earlier result.
        first: path of the leaf that was the answer; it is preferred.
    """
    if not edge.equal:
        raise Unfit("an argument is made of an answer, and not equal to it")
    name, *rest = edge.argument.split(".")
    if len(rest) > 1 or not all(map(str.isdigit, rest)):
        raise Unfit("a leaf stands inside an object")
    for leaf in sorted(leaves, key=lambda leaf: leaf.path != (*first,)):
        link = Link(name, int(rest[0]) if rest else None, edge.hop - 1, leaf.path, FROM_ITEM)
        given = value_at(gold, link)
        texts = isinstance(leaf.value, str) and isinstance(given, str)
        if bare(str(leaf.value)) == bare(str(given)) if texts else (
            canonical(leaf.value) == canonical(given)
        ):  # fmt: skip
            return link, leaf
    raise Unfit("no leaf of a result is the argument: it is within a text or list, or of another "
                "type")  # fmt: skip
