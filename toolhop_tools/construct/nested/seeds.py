"""What a nested task is made from: a wanted form, or executed calls."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.nested.model import Nest
from toolhop_tools.construct.seeds import Seed, World


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
    executed: dict[str, JSON] = field(default_factory=dict)
    """Of a draft: ``results`` by call, ``references`` with their meaning, ``from``, ``structure``,
    and ``distractors`` as rows of tools."""

    @property
    def nest(self) -> Nest | None:
        """The draft's tools and calls."""
        return Nest.from_row(self.draft) if self.draft else None

    @property
    def has_doubts(self) -> bool:
        """Whether a model has to say that some reference makes sense."""
        rows: Any = self.executed.get("references", [])
        return any(row["meaning"] == "model" for row in rows)

    @property
    def taken_values(self) -> list[JSON]:
        """Results that other calls take, which no text may say."""
        rows: Any = self.executed.get("references", [])
        return [row["value"] for row in rows]


def wanted_forms(depths: Sequence[int], widths: Sequence[int]) -> list[tuple[int, int]]:
    """All depths with all widths; nesting of depth 1 is none, and has no form."""
    return [*itertools.product(depths, widths)]


def written(topic: str, count: int, depths: Sequence[int], widths: Sequence[int]) -> list[NestSeed]:
    """Seeds for code: the forms in turn.

    Args:
        topic: domain, or domain and sub-domain with a slash.
        count: how many.
        depths: that are wanted.
        widths: that are wanted.
    """
    name = "-".join(topic.lower().replace("/", " ").split())
    whole = topic if "/" in topic else f"{topic}/{topic}"
    forms = itertools.cycle(wanted_forms(depths, widths))
    return [
        NestSeed(f"{name}-{number}", topic, world=World.CLOSED, topic=whole, depth=deep, width=wide)
        for number, (deep, wide) in zip(range(1, count + 1), forms, strict=False)
    ]


def seed_of(row: Mapping[str, Any]) -> NestSeed:
    """The seed in a row of a folder's file.

    Raises:
        KeyError, ValueError, TypeError: it is none.
    """
    plain = {**row, "way": Way(row["way"]), "world": World(row["world"])}
    plain |= {"sub_task": tuple(map(tuple, row["sub_task"])), "facts": tuple(row["facts"])}
    return NestSeed(**plain)
