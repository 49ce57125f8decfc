"""Nested tasks out of certified items: the gold calls, run again, are the calls."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON, Outcome, Returned
from toolhop_tools.certify.model import Certificate, Edge, HopProof, HopVerdict
from toolhop_tools.construct.nested.assemble import Executed, Leaf, Link, Unfit, leaves_of
from toolhop_tools.failures import tells_of_error
from toolhop_tools.leaves import with_value
from toolhop_tools.model import Item, canonical
from toolhop_tools.reading import read_result
from toolhop_tools.words import bare

Run: TypeAlias = Callable[[Program, Sequence[Mapping[str, JSON]]], Awaitable[list[Outcome | None]]]
"""Calls of a program, in order; None for one that was not made."""
FROM_ITEM = "item"
"""The meaning of a reference that an item's author wrote and a certificate shows."""
_ELEMENT = re.compile(r"(.+)\.(\d+)")


def returned(outcome: Outcome | None) -> JSON:
    """What a call gave; None where it failed, or says that it did."""
    value = read_result(outcome.json_text) if isinstance(outcome, Returned) else None
    return None if tells_of_error(value) else value


async def executed_item(item: Item, certificate: Certificate, run: Run) -> list[Executed] | Unfit:
    """The gold calls of an item, run again with the responses in place, with their links.

    An answer that a later argument is equal to is a response that the argument takes, if the
    result has it as a typed leaf; within a list, one of its elements. An answer whose case alone
    differs is put in the argument's place, and the call has to give what it gave. What is made of
    an answer otherwise (a part, another notation) cannot be said by a placeholder.

    Raises:
        SandboxFault, SandboxUnavailable: as `run`.
    """
    if certificate.verdict is not HopVerdict.PROVEN:
        return Unfit("the item is not proven")
    found: list[Executed] = []
    for hop, proof in zip(item.hops, certificate.hops, strict=True):
        gold = proof.arguments or {}
        made = _linked(proof, gold, found, certificate)
        if isinstance(made, Unfit):
            return made
        arguments, links = made
        outcomes = await run(hop.tool.program, [arguments, gold])
        value, wanted = map(returned, outcomes)
        if value is None or canonical(value) != canonical(wanted):
            return Unfit("a call does not give again what it gave")
        found.append(Executed(hop.tool, arguments, value, links))
    return found


def _linked(
    proof: HopProof, gold: dict[str, JSON], earlier: Sequence[Executed], certificate: Certificate
) -> tuple[dict[str, JSON], tuple[Link, ...]] | Unfit:
    arguments, links, whole = dict(gold), list[Link](), set[str]()
    leaves = [leaves_of(one.value, "result") for one in earlier]
    for edge in proof.edges:
        name = edge.argument.split(".")[0]
        found = next(
            (one for one in leaves[edge.hop - 1] if canonical(one.value) == canonical(gold[name])),
            None,
        )
        if found is not None and name not in whole:
            whole.add(name)
            links.append(Link(name, None, edge.hop - 1, found.path, FROM_ITEM))
    for edge in proof.edges:
        if edge.argument.split(".")[0] in whole:
            continue
        link = _link(edge, gold, leaves[edge.hop - 1], certificate)
        if isinstance(link, Unfit):
            return link
        leaf = next(one for one in leaves[link.source] if one.path == link.path)
        path = (link.argument,) if link.index is None else (link.argument, link.index)
        arguments = with_value(arguments, path, leaf.value)
        links.append(link)
    return arguments, (*links,)


def _link(
    edge: Edge, gold: Mapping[str, JSON], leaves: Sequence[Leaf], certificate: Certificate
) -> Link | Unfit:
    if not edge.equal:
        return Unfit("an argument is made of an answer, and not equal to it")
    element = _ELEMENT.fullmatch(edge.argument)
    name, index = (element[1], int(element[2])) if element else (edge.argument, None)
    given = gold.get(name)
    if index is not None:
        if not isinstance(given, list) or index >= len(given):
            return Unfit("an answer stands inside an object")
        given = given[index]
    elif name not in gold:
        return Unfit("an answer stands inside an object")
    reading = certificate.hops[edge.hop - 1].reading
    first = [leaf for leaf in leaves if reading is not None and leaf.path == reading.path]
    for leaf in (*first, *leaves):
        if _same(leaf.value, given):
            return Link(name, index, edge.hop - 1, leaf.path, FROM_ITEM)
    return Unfit("no leaf of a result is the argument: it is within a text or list, or of another "
                 "type")  # fmt: skip


def _same(leaf: JSON, given: JSON) -> bool:
    if isinstance(leaf, str) and isinstance(given, str):
        return bare(leaf) == bare(given)
    return canonical(leaf) == canonical(given)
