"""Executed calls as seeds: the row, its text by rule, and what is known of each reference. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.nested.assemble import Executed, Unfit, assembled
from toolhop_tools.construct.nested.model import Nest, Reference
from toolhop_tools.construct.nested.seeds import NestSeed, Way
from toolhop_tools.construct.nested.task import plain_task, task_findings
from toolhop_tools.model import Hop, Item
from toolhop_tools.reading import leaf_text


def draft_of(
    calls: Sequence[Executed], *, id_: str, way: Way, domain: str, form: tuple[int, int] | None,
    made_from: dict[str, JSON], licence: str, source: str,
) -> NestSeed | Unfit:  # fmt: skip
    """The seed of executed calls.

    Args:
        calls: in order.
        id_: of the task.
        way: where they come from.
        domain: of the first one.
        form: depth and width that were searched for; None for those that the calls have.
        made_from: what the calls come from, for the books.
        licence: of what they come from.
        source: the data set.
    """
    nest = assembled(calls)
    if isinstance(nest, Unfit):
        return nest
    if not nest.references:
        return Unfit("no call takes a response")
    nest = replace(nest, task=plain_task(nest))
    values = [_value(nest, one, calls) for one in nest.references]
    found = task_findings(nest.task, nest, values)
    if not found.ok:
        return Unfit(f"its text by rule: {found.problems[0].check}")
    depth, width = form or (nest.depth, nest.width)
    meanings = {(link.source, at, link.argument): link.meaning
                for at, call in enumerate(calls) for link in call.links}  # fmt: skip
    references: list[JSON] = [
        {
            "from": [one.source + 1, one.response],
            "to": [one.target + 1, one.parameter],
            "value": value,
            "meaning": meanings[one.source, one.target, one.parameter],
        }
        for one, value in zip(nest.references, values, strict=True)
    ]
    results: list[JSON] = [call.value for call in calls]
    arguments: list[JSON] = [dict(call.arguments) for call in calls]
    known: dict[str, JSON] = {"arguments": arguments, "results": results}
    topic = f"{domain}/{'certified item' if way is Way.ITEM else 'pool of tools'}"
    return NestSeed(
        id_, domain, source=source, licence=licence, way=way, topic=topic, depth=depth,
        width=width, draft=nest.to_row(0, topic),
        executed={**made_from, **known, "references": references},
    )  # fmt: skip


def _value(nest: Nest, one: Reference, calls: Sequence[Executed]) -> JSON:
    """The value that a reference stands for."""
    given = calls[one.target].arguments[one.parameter]
    if one.whole:
        return given
    part: Any = calls[one.source].value
    link = next(
        link
        for link in calls[one.target].links
        if (link.source, link.argument) == (one.source, one.parameter)
    )
    for step in link.path:
        part = part[step]
    held: JSON = part
    return held


def as_item(seed: NestSeed, calls: Sequence[Executed]) -> Item:
    """The calls as an item with hops, as certificates' searches take it: each step of the text by
    rule is a question, with earlier results in place.
    """
    nest = seed.nest
    assert nest is not None  # noqa: S101 -- a draft has calls
    hops = []
    for at, call in enumerate(calls):
        answer = next(
            (
                leaf_text(_value(nest, one, calls))
                for one in nest.references
                if one.source == at and not isinstance(_value(nest, one, calls), dict | list)
            ),
            _answer(call.value),
        )
        given = "; ".join(f"{name}: {_plain(value)}" for name, value in call.arguments.items())
        about = nest.by_name[call.tool.name].description.split(". ")[0]
        hops.append(Hop(f"{about} ({given})?", answer, call.tool))
    return Item(seed.id, nest.task, hops[-1].answer, tuple(hops), seed.domain, "text")


def _plain(value: JSON) -> str:
    if isinstance(value, list):
        return ", ".join(map(_plain, value))
    return str(value) if isinstance(value, dict) else leaf_text(value)


def _answer(value: JSON) -> str:
    """The first scalar of a result."""
    while isinstance(value, dict | list) and value:
        value = next(iter(value.values())) if isinstance(value, dict) else value[0]
    return leaf_text(value)
