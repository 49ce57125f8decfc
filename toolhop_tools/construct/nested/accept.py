"""When a nested task is accepted, and what is a duplicate. Pure."""

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
    """Written as code, the checker has nothing to say of tools and calls."""
    FORM = "form"
    """Depth and width are those that were asked for, by our count and by the released code's."""
    EXECUTED = "executed"
    """The calls were run, each with the results of those before it."""
    MEANING = "meaning"
    """Each reference has a reason."""
    TEXT = "text"
    """The text says every value, no tool's name and no result."""
    REBUILT = "rebuilt"
    """Another model made the same calls from the text: each F1 is 1 by the strict scorer."""
    SCORED = "gold-scored"
    """The gold calls get 100 in every measure of both scorers."""
    NO_DUPLICATE = "no-duplicate"
    """No earlier task has its text or its calls; no eight words in a row are in a test set."""


def judged_row(criterion: NestCriterion, figure: JSON, *, holds: bool = True) -> dict[str, JSON]:
    """A criterion's verdict, for the books."""
    return {
        "criterion": criterion.value, "holds": holds, "figure": figure, "version": VERSION,
    }  # fmt: skip


def duplicates(rows: Sequence[tuple[str, Mapping[str, Any]]], against: Against) -> dict[str, str]:
    """By id: of what a task is a duplicate. The first one stays.

    Args:
        rows: ids with official rows.
        against: texts of test sets.
    """
    found: dict[str, str] = {}
    seen: dict[str, str] = {}
    for name, row in rows:
        nest = Nest.from_row(row)
        item = Item(name, nest.task, "", (), "", "calls")
        overlap = against.overlap(item)
        calls = sorted(f"{one.api} {canonical(dict(one.parameters))}" for one in nest.calls)
        keys = {"the text of": " ".join(words(nest.task)), "the calls of": canonical(calls)}
        same = next((f"{how} {seen[how + key]}" for how, key in keys.items()
                     if how + key in seen), "")  # fmt: skip
        if overlap or same:
            found[name] = f"like a test set: {overlap}" if overlap else same
        else:
            seen |= {how + key: name for how, key in keys.items()}
    return found
