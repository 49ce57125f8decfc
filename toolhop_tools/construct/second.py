"""A second implementation: two functions, written from one document, on the same calls. Pure."""

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
"""Calls that are made from the schema."""
SHOWN_CHARS = 300


def call_set(schema: ToolSchema, facts: Records | Pairs, seed: int) -> list[Call]:
    """Calls on which two implementations are compared: those of the facts, each with every option,
    and others made from the schema.

    Of a schema from which no calls can be made, the facts' calls alone are taken.
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
    """The facts, and the same table with what it says of its keys moved on."""
    return [facts, moved(facts)] if isinstance(facts, Records) else [facts]


class Difference(NamedTuple):
    """A call that two implementations answer differently."""

    call: Call
    first: JSON
    """By the tool's own code."""
    second: JSON
    table: int = 0
    """Which of `invented`."""


def differences(
    calls: Sequence[Call], first: Sequence[JSON], second: Sequence[JSON], table: int = 0
) -> list[Difference]:
    """The calls that are answered differently, that with the shortest arguments first; errors are
    all alike.
    """
    rows = zip(calls, first, second, strict=True)
    unlike = [Difference(call, a, b, table) for call, a, b in rows if not equal(a, b)]
    return sorted(unlike, key=lambda row: (table, len(_json(row.call)), _json(row.call)))


def decided(unlike: Sequence[Difference], third: Sequence[JSON] | None) -> tuple[Stage | None, str]:
    """The stage at fault for the differences, and the shortest one in words for a repair.

    None is at fault where a third implementation agrees with the code everywhere: the second
    misread the document. The document is the fault of `Stage.REFINE`.

    Args:
        unlike: the differences of code and second implementation; not empty.
        third: what a third implementation gives for each of these calls; None without one.
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
