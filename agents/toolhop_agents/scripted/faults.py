"""Calls broken on purpose, with each kind of invocation error, and the words that would fix
them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from toolhop_env.messages import RawCall
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import ToolSchema


class FaultKind(StrEnum):
    """How a correct call is broken. All kinds but the last are rejected before anything runs."""

    NOT_JSON = "not_json"
    NOT_OBJECT = "not_object"
    UNKNOWN_TOOL = "unknown_tool"
    MISSING_ARGUMENT = "missing_argument"
    UNEXPECTED_ARGUMENT = "unexpected_argument"
    WRONG_TYPE = "wrong_type"
    NOT_IN_ENUM = "not_in_enum"
    WRONG_VALUE = "wrong_value"
    """A value that no table contains: the tool returns an error of its own, or nothing."""


@dataclass(frozen=True, slots=True)
class SpoiltCall:
    """A broken call, and what the feedback must say for an agent to fix it."""

    kind: FaultKind
    call: RawCall
    cue: str
    """Words in the feedback that say how to fix the call, in lower case."""


def spoil(
    call: RawCall, document: ToolSchema, kinds: tuple[FaultKind, ...], rng: random.Random
) -> SpoiltCall:
    """Break `call` in one of the `kinds` that its schema allows, or rename its tool if there is
    none.
    """
    possible = [kind for kind in kinds if _arguments(call, document, kind, rng) is not None]
    kind = rng.choice(possible) if possible else FaultKind.UNKNOWN_TOOL
    if kind is FaultKind.UNKNOWN_TOOL:
        wrong = RawCall(call.id, f"{call.name}_v2", call.arguments)
        return SpoiltCall(kind, wrong, call.name.lower())
    spoilt = _arguments(call, document, kind, rng)
    if spoilt is None:
        raise ValueError(f"{kind} does not fit {call.name}: it was not among the possible kinds")
    text, cue = spoilt
    return SpoiltCall(kind, RawCall(call.id, call.name, text), cue.lower())


def _arguments(
    call: RawCall, document: ToolSchema, kind: FaultKind, rng: random.Random
) -> tuple[str, str] | None:
    """Return the text of the broken arguments and the cue; None if the kind does not apply."""
    arguments: dict[str, JSON] = json.loads(call.arguments)
    match kind:
        case FaultKind.NOT_JSON:
            return call.arguments[:-1] or "{", "json"
        case FaultKind.NOT_OBJECT:
            return json.dumps([arguments]), "object"
        case FaultKind.UNKNOWN_TOOL:
            return call.arguments, call.name
        case FaultKind.UNEXPECTED_ARGUMENT:
            return json.dumps({**arguments, "verbosity_hint": 1}), "verbosity_hint"
        case FaultKind.MISSING_ARGUMENT:
            return _without(arguments, document, rng)
        case FaultKind.WRONG_TYPE:
            return _mistyped(arguments, rng)
        case FaultKind.NOT_IN_ENUM:
            return _out_of_enum(arguments, document, rng)
        case FaultKind.WRONG_VALUE:
            return _wrong_value(arguments, document, rng)
        case _:
            assert_never(kind)


def _without(
    arguments: dict[str, JSON], document: ToolSchema, rng: random.Random
) -> tuple[str, str] | None:
    required = document.parameters.get("required")
    names = [name for name in arguments if isinstance(required, list) and name in required]
    if not names:
        return None
    gone = rng.choice(names)
    return json.dumps({key: value for key, value in arguments.items() if key != gone}), gone


def _mistyped(arguments: dict[str, JSON], rng: random.Random) -> tuple[str, str] | None:
    if not arguments:
        return None
    name = rng.choice(list(arguments))
    # An object with one unlikely key fits only a free-form object, which gets a number instead.
    wrong: JSON = 7.25 if isinstance(arguments[name], dict) else {"value": arguments[name]}
    return json.dumps({**arguments, name: wrong}), name


def _schemas(document: ToolSchema) -> Mapping[str, JSON]:
    properties = document.parameters.get("properties")
    return properties if isinstance(properties, dict) else {}


def _out_of_enum(
    arguments: dict[str, JSON], document: ToolSchema, rng: random.Random
) -> tuple[str, str] | None:
    schemas = _schemas(document)
    names = []
    for name in arguments:
        schema = schemas.get(name)
        if isinstance(schema, dict) and "enum" in schema and isinstance(arguments[name], str):
            names.append(name)
    if not names:
        return None
    name = rng.choice(names)
    return json.dumps({**arguments, name: f"{arguments[name]}-ish"}), json.dumps(arguments[name])


def _wrong_value(
    arguments: dict[str, JSON], document: ToolSchema, rng: random.Random
) -> tuple[str, str] | None:
    schemas = _schemas(document)
    names = []
    for name, value in arguments.items():
        schema = schemas.get(name)
        plain = isinstance(schema, dict) and not {"enum", "pattern", "maxLength"} & set(schema)
        if isinstance(value, str) and plain:
            names.append(name)
    if not names:
        return None
    name = rng.choice(names)
    return json.dumps({**arguments, name: "qqzzx"}), name
