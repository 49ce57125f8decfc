"""Seeds of nested tasks: a requested shape, or executed calls. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.nested.assemble import Executed, Unfit, assembled
from toolhop_tools.construct.nested.kinds import Kinds
from toolhop_tools.construct.nested.model import Nest
from toolhop_tools.construct.nested.task import plain_task, task_findings, wanted
from toolhop_tools.construct.seeds import Seed
from toolhop_tools.model import Hop, Item
from toolhop_tools.reading import leaf_text
from toolhop_tools.words import scalars


class Way(StrEnum):
    """The origin of the calls."""

    CODE = "code"
    """A model writes tools and calls as code; nothing is run."""
    ITEM = "item"
    """The gold calls of a certified item."""
    POOL = "pool"
    """A search in a pool of executable tools."""


@dataclass(frozen=True, slots=True)
class NestSeed(Seed):
    """The starting material of one nested task."""

    way: Way = Way.CODE
    topic: str = ""
    """Domain and sub-domain, in the format's notation."""
    depth: int | None = None
    width: int | None = None
    draft: dict[str, JSON] = field(default_factory=dict)
    """Official row of the calls, with a rule-based text; empty if a model writes the task."""
    executed: dict[str, Any] = field(default_factory=dict)
    """Details of a draft: ``arguments`` and ``results`` by call, ``references`` with their
    meaning, the origin, and ``distractors`` as rows of tools."""

    @property
    def nest(self) -> Nest | None:
        """The draft's tools and calls."""
        return Nest.from_row(self.draft) if self.draft else None

    @property
    def references(self) -> list[dict[str, Any]]:
        """The references of the draft, each with ``from``, ``to``, ``value`` and ``meaning``."""
        rows: list[dict[str, Any]] = self.executed.get("references", [])
        return rows

    @property
    def taken_values(self) -> list[JSON]:
        """Results that other calls take, which the text must not contain."""
        return [row["value"] for row in self.references]


def written(topic: str, count: int, depths: Sequence[int], widths: Sequence[int]) -> list[NestSeed]:
    """Return seeds for code, cycling through the shapes.

    `topic` is a domain, or domain and sub-domain separated by a slash.
    """
    name = "-".join(topic.lower().replace("/", " ").split())
    whole = topic if "/" in topic else f"{topic}/{topic}"
    forms = itertools.cycle(itertools.product(depths, widths))
    return [
        NestSeed(f"{name}-{number}", topic, topic=whole, depth=deep, width=wide)
        for number, (deep, wide) in zip(range(1, count + 1), forms, strict=False)
    ]


def drafted(calls: Sequence[Executed], kinds: Kinds, seed: NestSeed) -> NestSeed:
    """Return the seed of executed calls, with its row, text and details of each reference.

    Args:
        seed: a seed without a draft; its `executed` holds the origin of the calls.

    Raises:
        Unfit: the calls do not make a nested task.
    """
    nest = assembled(calls, kinds)
    if not nest.references:
        raise Unfit("no call takes a response")
    nest = replace(nest, task=plain_task(nest))
    places = {(link.source, at, link.argument): link
              for at, call in enumerate(calls) for link in call.links}  # fmt: skip
    references: list[dict[str, JSON]] = []
    for edge in nest.references:
        link = places[edge.source, edge.target, edge.parameter]
        references.append({
            "from": [edge.source + 1, edge.response], "to": [edge.target + 1, edge.parameter],
            "value": link.leaf.value, "meaning": link.meaning,
        })  # fmt: skip
    found = task_findings(nest.task, nest, [row["value"] for row in references])
    if not found.ok:
        raise Unfit(f"its text by rule: {found.problems[0].check}")
    way = "certified item" if seed.way is Way.ITEM else "pool of tools"
    topic = f"{seed.domain}/{way}"
    known = {"arguments": [dict(call.arguments) for call in calls],
             "results": [call.value for call in calls], "references": references}  # fmt: skip
    return replace(
        seed, topic=topic, depth=seed.depth or nest.depth, width=seed.width or nest.width,
        draft=nest.to_row(0, topic), executed={**seed.executed, **known},
    )  # fmt: skip


def as_item(seed: NestSeed, calls: Sequence[Executed]) -> Item:
    """Return the calls as an item with hops, for the certificate search.

    Each question is the purpose of a call, with earlier results filled in; the answer is the first
    scalar of its result.
    """
    nest = seed.nest
    assert nest is not None  # noqa: S101 -- `drafted` sets the nest of every seed made from calls
    hops = []
    for call in calls:
        given = "; ".join(f"{name}: {', '.join(_texts(value))}"
                          for name, value in call.arguments.items())  # fmt: skip
        question = f"{wanted(nest.by_name[call.tool.name])} ({given})?"
        hops.append(Hop(question, next(iter(_texts(call.value)), ""), call.tool))
    return Item(seed.id, nest.task, hops[-1].answer, tuple(hops), seed.domain, "text")


def _texts(value: JSON) -> list[str]:
    return [leaf_text(leaf) for _, leaf in scalars(value)]
