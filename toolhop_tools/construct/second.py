"""Comparison of two functions, written independently from one document, on the same calls. Pure."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.contract import choices
from toolhop_tools.construct.facts import moved
from toolhop_tools.construct.replies import Pairs, Records
from toolhop_tools.construct.stages import Stage
from toolhop_tools.construct.trials import Call, equal, plain_calls
from toolhop_tools.declared import compiled, fits
from toolhop_tools.model import ToolSchema, canonical
from toolhop_tools.properties.draw import drawn

DRAWN = 80
"""Number of calls generated from the schema."""
SHOWN_CHARS = 300


def call_set(schema: ToolSchema, facts: Records | Pairs, seed: int) -> list[Call]:
    """Return calls for comparing two implementations.

    These are the calls of the facts, each also with every choice of each option, and calls
    generated from the schema if it allows that.
    """
    # Hypothesis takes half a second to import.
    from toolhop_tools.strategies.errors import UnsatisfiableSchema, UnsupportedSchema
    from toolhop_tools.strategies.valid import arguments

    plain = plain_calls(facts)
    made = [*plain, *({**call, name: value} for call in plain
                      for name, value in choices(schema.parameters))]  # fmt: skip
    favoured: dict[str, list[JSON]] = {}
    for call in plain:
        for name, value in call.items():
            favoured.setdefault(name, []).append(value)
    with contextlib.suppress(UnsupportedSchema, UnsatisfiableSchema):
        made += drawn(arguments(schema.parameters, favoured=favoured), DRAWN, seed)
    validator = compiled(schema.parameters)
    calls = {canonical(call): call for call in made if fits(validator, schema.parameters, call)}
    return [*calls.values()]


def invented(facts: Records | Pairs) -> list[Records | Pairs]:
    """Return the facts and, for a table, a copy with the answers moved to other keys."""
    return [facts, moved(facts)] if isinstance(facts, Records) else [facts]


class Difference(NamedTuple):
    """A call to which two implementations give different results."""

    call: Call
    first: JSON
    """Result of the tool's own code."""
    second: JSON
    table: int = 0
    """Index of the table in `invented`."""


def differences(
    calls: Sequence[Call], first: Sequence[JSON], second: Sequence[JSON], table: int = 0
) -> list[Difference]:
    """Return the calls with different results, shortest first; all errors count as equal."""
    rows = zip(calls, first, second, strict=True)
    unlike = [Difference(call, a, b, table) for call, a, b in rows if not equal(a, b)]
    return sorted(unlike, key=lambda row: (table, len(_json(row.call)), _json(row.call)))


def decided(unlike: Sequence[Difference], third: Sequence[JSON] | None) -> tuple[Stage | None, str]:
    """Return the stage at fault for the differences, and a repair message about the shortest one.

    The stage is None if a third implementation always agrees with the code: the second misread the
    document. It is `Stage.REFINE` if the document is at fault.

    Args:
        unlike: differences between the code and the second implementation; not empty.
        third: results of a third implementation for these calls; None if there is none.
    """
    for at, row in enumerate(unlike):
        if third is not None and equal(row.first, third[at]):
            continue
        arguments, values = _json(row.call), [row.first, row.second, *(third or ())[at : at + 1]]
        given = [_json(value)[:SHOWN_CHARS] for value in values]
        if third is not None and equal(row.second, third[at]):
            return Stage.CODE, (
                f"For the arguments {arguments} the code gives {given[0]}; two functions that "
                f"others wrote from the document give {given[1]}."
            )
        return Stage.REFINE, (
            f"The document does not say what the arguments {arguments} give: functions written "
            f"from it give {', '.join(given)}. State it in the contract."
        )
    return None, ""


def _json(value: JSON | Mapping[str, JSON]) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
