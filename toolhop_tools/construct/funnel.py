"""How many items and stages pass, at the first reply and in the end. Pure counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from toolhop_tools.construct.stages import Stage


@dataclass(frozen=True, slots=True)
class Row:
    """One stage, over all of its replies to one hop or item."""

    stage: Stage
    begun: int
    """Hops, or items, that came to the stage."""
    first: int
    """Of these, such as passed with their first reply."""
    passed: int
    """Such as passed in the end."""
    replies: int


def funnel(items: Iterable[Mapping[str, Any]]) -> list[Row]:
    """The stages over the books of items, each with its ``steps``."""
    counts: dict[Stage, Counter[str]] = {stage: Counter() for stage in Stage}
    for item in items:
        for step in item["steps"]:
            count = counts[Stage(step["stage"])]
            count["begun"] += 1
            count["first"] += bool(step["passed"] and step["replies"] <= 1 and not step["returned"])
            count["passed"] += bool(step["passed"])
            count["replies"] += step["replies"]
    return [
        Row(stage, c["begun"], c["first"], c["passed"], c["replies"])
        for stage, c in counts.items()
        if c["begun"]
    ]
