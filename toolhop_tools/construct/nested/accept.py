"""What a nested task has to hold, and what is a duplicate. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.duplicates import Against
from toolhop_tools.construct.nested.model import Nest
from toolhop_tools.construct.stages import VERSION
from toolhop_tools.model import Item, canonical
from toolhop_tools.words import words


class NestCriterion(StrEnum):
    """What has to hold of a nested task."""

    CHECKED = "code-checked"
    """Written as code: no check has anything against tools and calls."""
    FORM = "form"
    """Depth and width are those that were asked for, by our count and by the released code's."""
    EXECUTED = "executed"
    """The calls were run, each with the results of those before it."""
    MEANING = "meaning"
    """Each reference has a reason."""
    TEXT = "text"
    """The text says every value, no tool's name and no result."""
    READ = "read"
    """Readers made the same calls from the text: each F1 is 1 by the strict scorer."""
    SCORED = "gold-scored"
    """The gold calls get 100 in every measure of both scorers."""


def judged_row(criterion: NestCriterion, figure: JSON, *, holds: bool = True) -> dict[str, JSON]:
    """A criterion's verdict, for the books."""
    return {"criterion": criterion.value, "holds": holds, "figure": figure, "version": VERSION}


def duplicates(rows: Sequence[tuple[str, Mapping[str, Any]]], against: Against) -> dict[str, str]:
    """By id: of what a task is a duplicate. The first one stays.

    Args:
        rows: ids with official rows.
        against: texts of test sets.
    """
    same: dict[str, str] = {}
    seen: dict[str, str] = {}
    for name, row in rows:
        nest = Nest.from_row(row)
        calls = sorted(f"{call.api} {canonical(call.parameters)}" for call in nest.calls)
        keys = {f"the text of {' '.join(words(nest.task))}": "the text of",
                f"the calls of {canonical(calls)}": "the calls of"}  # fmt: skip
        before = [f"{how} {seen[key]}" for key, how in keys.items() if key in seen]
        if overlap := against.overlap(Item(name, nest.task, "", (), "", "calls")):
            before.insert(0, f"like a test set: {overlap}")
        if before:
            same[name] = before[0]
        else:
            seen |= dict.fromkeys(keys, name)
    return same
