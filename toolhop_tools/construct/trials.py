"""What is tried of a tool: promises as calls, and calls that no pair or record has. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from toolhop_sandbox.outcome import JSON
from toolhop_tools.declared import compiled, fits
from toolhop_tools.failures import tells_of_error
from toolhop_tools.model import ToolSchema
from toolhop_tools.words import as_text, scalars

Call: TypeAlias = dict[str, JSON]
Results: TypeAlias = Sequence[JSON]
"""By call, in order: the result; `FAILED` for one that failed."""
FAILED: JSON = {"error": "failed"}


@dataclass(frozen=True, slots=True)
class Trial:
    """Calls of which a promise says what comes."""

    calls: Sequence[Call]
    wrong: Callable[[Results], str]
    """What the promise and the results say against each other; empty where they agree."""
    of_code: bool = False
    """Whether the code is to be repaired first; else the document."""


def failed(result: JSON) -> bool:
    """Whether a result tells of an error."""
    return tells_of_error(result)


def leaves(result: JSON) -> list[str]:
    """The scalars of a result, as texts."""
    return [as_text(one) for _, one in scalars(result)]


def allowed(schema: ToolSchema, call: Call) -> bool:
    """Whether the document takes a call."""
    return fits(compiled(schema.parameters), schema.parameters, call)


def near_keys(known: Sequence[str]) -> list[str]:
    """Keys that are almost one of a table, or long and strange."""
    first, last = known[0], known[-1]
    return [
        first[:-1], first[1:], first[:3], first[:1], first + "x", f"{first} {last}",
        f"{last[:-1]}q", STRANGE[:2], 3 * STRANGE + "!",
    ]  # fmt: skip


STRANGE = "Qqxvarmunde"
"""A key that no table has."""


def twisted(
    calls: Sequence[dict[str, JSON]],
    values: Mapping[str, Sequence[JSON]],
    schema: Mapping[str, JSON],
) -> list[dict[str, JSON]]:
    """The calls with two options at a time, and with other values of each other parameter."""
    found = [{**call, name: one} for call in calls[:4] for name in values for one in values[name]]
    for call in calls[:3]:
        for name, given in call.items():
            found += [{**call, name: one} for one in _others(given, schema.get(name))]
    return found


def numbers(schema: JSON) -> list[JSON]:
    """Values of an option that is a number: its default, and what is allowed beside it."""
    default = schema.get("default") if isinstance(schema, dict) else None
    own = compiled(schema) if isinstance(schema, dict) else None
    if own is None or isinstance(default, bool) or not isinstance(default, int | float):
        return []
    ends = [schema.get("minimum"), schema.get("maximum")] if isinstance(schema, dict) else []
    near = [default + 1, default - 1, 0, 1, 2, 3, 10, 2 * default, -default]
    return [default, *(one for one in (*ends, *near) if one is not None and own.is_valid(one))]


def _others(given: JSON, schema: JSON) -> list[JSON]:
    """A text written otherwise or unknown; numbers at the ends of what is allowed."""
    if isinstance(given, str):
        return [given.lower(), given.upper(), f" {given} ", given[:3], given[:-1], STRANGE]
    if (
        isinstance(given, bool)
        or not isinstance(given, int | float)
        or not isinstance(schema, dict)
    ):
        return []
    ends = [schema.get("minimum"), schema.get("maximum"), -given, 10 * given, 1000 * given + 7]
    return [one for one in ends if isinstance(one, int | float)]
