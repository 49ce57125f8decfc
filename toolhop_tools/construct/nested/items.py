"""Nested tasks out of certified items: the gold calls, run again, are the calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON, Outcome, Returned
from toolhop_tools.certify.model import Certificate, Edge, HopVerdict
from toolhop_tools.construct.nested.assemble import Executed, Leaf, Link, Unfit, leaves_of
from toolhop_tools.failures import tells_of_error
from toolhop_tools.model import Item, canonical
from toolhop_tools.reading import read_result
from toolhop_tools.words import bare

Run: TypeAlias = Callable[[Program, Mapping[str, JSON]], Awaitable[Outcome]]
"""A call of a program."""
FROM_ITEM = "item"
"""The meaning of a reference that an item's author wrote and a certificate shows."""


def returned(outcome: Outcome) -> JSON:
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
        links = _links(proof.edges, gold, calls, certificate)
        arguments = dict(gold)
        for link in links:
            arguments = link.put(arguments, link.leaf.value)
        value = returned(await run(hop.tool.program, arguments))
        wanted = returned(await run(hop.tool.program, gold))
        if value is None or canonical(value) != canonical(wanted):
            raise Unfit("a call does not give again what it gave")
        calls.append(Executed(hop.tool, arguments, value, (*links,)))
    return calls


def _links(
    edges: Sequence[Edge],
    gold: Mapping[str, JSON],
    earlier: Sequence[Executed],
    certificate: Certificate,
) -> list[Link]:
    """Where arguments come from."""
    leaves = [leaves_of(call.value) for call in earlier]
    # A list may be an answer as a whole, and hold its elements as answers too.
    whole: dict[str, Link] = {}
    named = [(edge, edge.argument.split(".")[0], edge.hop - 1) for edge in edges]
    for _, name, source in named:
        for leaf in leaves[source]:
            if name not in whole and canonical(leaf.value) == canonical(gold.get(name)):
                whole[name] = Link(name, None, source, leaf, FROM_ITEM)
    links = [*whole.values()]
    for edge, name, source in named:
        if name not in whole:
            first = certificate.hops[source].reading
            # The leaf that was the answer is preferred.
            path = first.path if first else ()
            ordered = sorted(leaves[source], key=lambda leaf: leaf.path != (*path,))
            links.append(_link(edge, gold, ordered))
    return links


def _link(edge: Edge, gold: Mapping[str, JSON], leaves: Sequence[Leaf]) -> Link:
    """The link of an edge whose argument is no leaf as it stands."""
    if not edge.equal:
        raise Unfit("an argument is made of an answer, and not equal to it")
    name, *rest = edge.argument.split(".")
    if len(rest) > 1 or not all(map(str.isdigit, rest)):
        raise Unfit("a leaf stands inside an object")
    for leaf in leaves:
        link = Link(name, int(rest[0]) if rest else None, edge.hop - 1, leaf, FROM_ITEM)
        given = link.of(gold)
        texts = isinstance(leaf.value, str) and isinstance(given, str)
        if bare(str(leaf.value)) == bare(str(given)) if texts else (
            canonical(leaf.value) == canonical(given)
        ):  # fmt: skip
            return link
    raise Unfit("no leaf of a result is the argument: it is within a text or list, or of another "
                "type")  # fmt: skip
