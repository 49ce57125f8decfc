"""What a lenient parser would have made of a rejected call.

Harnesses silently fix different things, so their error rates cannot be compared. Here the strict
verdict counts, and the repair that would have worked is recorded with it: the fewest steps after
which the call fits its tool's schema, with ties broken by the order below.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping

from toolhop_env.lenient import Steps, objects
from toolhop_env.validation import Validator, strict_json
from toolhop_env.verdicts import Repair
from toolhop_sandbox.outcome import JSON
from toolhop_tools.declared import declared, undeclared

LONGEST_CHARS = 20_000
"""Maximum length of an argument text that is repaired, in characters. Texts are parsed many
times (20 ms at this length, 160 ms for thousands of items of a wrong type)."""
WORD_LIKENESS = 0.8
"""Minimum similarity (difflib ratio) for a word to count as a misspelling of a tool's word."""


def repair(validator: Validator, name: str, arguments: str, before: Steps = ()) -> Repair | None:
    """Return the repair of a rejected call; None if no steps help, or none are needed.

    `before` are the steps that led to the name and arguments.
    """
    named = _name(validator, name)
    if named is None or len(arguments) > LONGEST_CHARS:
        return None
    tool, name_steps = named
    schema = validator.documents[tool].parameters
    best: Repair | None = None
    for value, text_steps in objects(arguments):
        for fitted, value_steps in _fitted(value, tool, schema):
            steps = (*before, *name_steps, *text_steps, *value_steps)
            if best is not None and len(steps) >= len(best.steps):
                break
            if validator.fits(tool, fitted):
                best = Repair(tool, fitted, steps)
    return best if best is not None and best.steps else None


def _name(validator: Validator, name: str) -> tuple[str, Steps] | None:
    """Return the tool that is meant, if exactly one fits."""
    known = list(validator.documents)
    if name in validator.documents:
        return name, ()
    bare = name.strip().strip("`'\"").removesuffix("()")
    for candidate in (bare, bare.rpartition(".")[2]):
        if candidate in validator.documents:
            return candidate, ("name_trimmed",)
    spelling = [tool for tool in known if _letters(tool) == _letters(bare)]
    if spelling and _letters(bare):
        return (spelling[0], ("name_spelling",)) if len(spelling) == 1 else None
    near = [tool for tool in known if _alike(tool, bare)]
    return (near[0], ("name_nearest",)) if len(near) == 1 else None


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name).casefold()


def _alike(one: str, other: str) -> bool:
    """Whether words match up to misspellings, and numbers exactly; `get` and `set` do not match."""
    pairs = [re.findall(r"[^\W\d_]+|\d+", name.casefold()) for name in (one, other)]
    if len(pairs[0]) != len(pairs[1]) or len(other) > 2 * len(one):
        return False
    return all(
        first == second
        or (
            not first.isdigit()
            and difflib.SequenceMatcher(None, first, second).ratio() >= WORD_LIKENESS
        )
        for first, second in zip(*pairs, strict=True)
    )


_WRAPPERS = ("arguments", "parameters", "args", "kwargs", "input")


def _fitted(
    value: dict[str, JSON], tool: str, schema: Mapping[str, JSON]
) -> Iterator[tuple[dict[str, JSON], Steps]]:
    """Yield the object as it is, then unwrapped, without undeclared arguments, without nulls,
    and with types converted; each change builds on those before.
    """
    steps: Steps = ()
    yield value, steps
    inner = _unwrapped(value, tool, declared(schema))
    if inner is not None:
        value, steps = inner, (*steps, "unwrapped")
        yield value, steps
    types = _properties(schema)
    for step, dropped in (
        ("extra_dropped", set(undeclared(schema, value))),
        ("null_dropped", {k for k, v in value.items() if v is None and not _null(types.get(k))}),
    ):
        kept = {key: part for key, part in value.items() if key not in dropped}
        if kept != value:
            value, steps = kept, (*steps, step)
            yield value, steps
    converted = {key: _converted(part, types.get(key)) for key, part in value.items()}
    if converted != value:
        yield converted, (*steps, "type_converted")


def _unwrapped(value: dict[str, JSON], tool: str, names: list[str]) -> dict[str, JSON] | None:
    """Return the object inside `{"arguments": {...}}`, or inside a whole call with its name."""
    for key in _WRAPPERS:
        inner = value.get(key)
        if isinstance(inner, dict) and not set(value) & set(names):
            rest = {name: part for name, part in value.items() if name != key}
            if rest in ({}, {"name": tool}):
                return inner
    return None


def _properties(schema: JSON | Mapping[str, JSON]) -> Mapping[str, JSON]:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return properties if isinstance(properties, dict) else {}


def _wanted(schema: JSON) -> tuple[str, Mapping[str, JSON]]:
    """Return the only type besides null that a schema allows ("" if none), and its schema."""
    if not isinstance(schema, dict):
        return "", {}
    kinds, alternatives = schema.get("type"), schema.get("anyOf")
    if isinstance(kinds, list):
        named = [kind for kind in kinds if isinstance(kind, str) and kind != "null"]
        return (named[0] if len(named) == 1 else ""), schema
    if not isinstance(kinds, str) and isinstance(alternatives, list):
        left = [one for one in alternatives if one != {"type": "null"}]
        return _wanted(left[0]) if len(left) == 1 < len(alternatives) else ("", schema)
    return (kinds if isinstance(kinds, str) else ""), schema


def _null(schema: JSON) -> bool:
    """Whether a schema accepts null."""
    if not isinstance(schema, dict):
        return True
    kinds, alternatives = schema.get("type"), schema.get("anyOf")
    if isinstance(alternatives, list):
        return any(_null(one) for one in alternatives)
    return kinds is None or kinds == "null" or (isinstance(kinds, list) and "null" in kinds)


def _converted(value: JSON, schema: JSON) -> JSON:
    """Convert a value to the type that its schema asks for, if nothing is lost.

    Floats are left alone: their text is lost, and "1.1" may have been the version 1.10.
    """
    wanted, found = _wanted(schema)
    if value is None:
        return None
    if wanted == "string" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if wanted == "boolean" and isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower(), value)
    if wanted in {"integer", "number", "array", "object"} and isinstance(value, str):
        value = _read(value, list if wanted == "array" else object)
    if wanted == "array":
        items = found.get("items")
        return [_converted(part, items) for part in (value if isinstance(value, list) else [value])]
    if isinstance(value, dict):
        types = _properties(found)
        return {key: _converted(part, types.get(key)) for key, part in value.items()}
    return _enum_spelling(value, found) if isinstance(value, str) else value


def _read(text: str, kind: type) -> JSON:
    """Return the JSON in `text` if it is of that kind, else `text`."""
    try:
        value = strict_json(text)
    except ValueError:
        return text
    return value if isinstance(value, kind) else text


def _enum_spelling(value: str, schema: Mapping[str, JSON]) -> JSON:
    options = schema.get("enum")
    near = [
        option
        for option in (options if isinstance(options, list) else [])
        if isinstance(option, str) and option.strip().casefold() == value.strip().casefold()
    ]
    return near[0] if len(near) == 1 else value
