"""What a nested task is made from: a wanted form, or executed calls. Pure."""

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
    """Where the calls come from."""

    CODE = "code"
    """A model writes tools and calls as code; nothing is run."""
    ITEM = "item"
    """A certified item's gold calls."""
    POOL = "pool"
    """A search among tools that run."""


@dataclass(frozen=True, slots=True)
class NestSeed(Seed):
    """What one nested task is made from."""

    way: Way = Way.CODE
    topic: str = ""
    """Domain and sub-domain, as the format has them."""
    depth: int | None = None
    width: int | None = None
    draft: dict[str, JSON] = field(default_factory=dict)
    """The official row of executed calls, with a text made by rule; empty where a model writes it.
    """
    executed: dict[str, Any] = field(default_factory=dict)
    """Of a draft: ``arguments`` and ``results`` by call, ``references`` with their meaning, what it
    is made from, and ``distractors`` as rows of tools."""

    @property
    def nest(self) -> Nest | None:
        """The draft's tools and calls."""
        return Nest.from_row(self.draft) if self.draft else None

    @property
    def references(self) -> list[dict[str, Any]]:
        """The draft's references, each with ``from``, ``to``, ``value`` and ``meaning``."""
        rows: list[dict[str, Any]] = self.executed.get("references", [])
        return rows

    @property
    def taken_values(self) -> list[JSON]:
        """Results that other calls take, which no text may say."""
        return [row["value"] for row in self.references]


def written(topic: str, count: int, depths: Sequence[int], widths: Sequence[int]) -> list[NestSeed]:
    """Seeds for code, their forms in turn. `topic` is a domain, or domain and sub-domain with a
    slash.
    """
    name = "-".join(topic.lower().replace("/", " ").split())
    whole = topic if "/" in topic else f"{topic}/{topic}"
    forms = itertools.cycle(itertools.product(depths, widths))
    return [
        NestSeed(f"{name}-{number}", topic, topic=whole, depth=deep, width=wide)
        for number, (deep, wide) in zip(range(1, count + 1), forms, strict=False)
    ]


def drafted(calls: Sequence[Executed], kinds: Kinds, seed: NestSeed) -> NestSeed:
    """The seed of executed calls, with its row, its text by rule, and what is known of each
    reference.

    Args:
        seed: without a draft; of `executed` what the calls are made from.

    Raises:
        Unfit: the calls are no nested task.
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
    """The calls as an item with hops, as certificates' searches take it: each call's purpose is a
    question, with earlier results in place, and the first scalar of its result is the answer.
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
