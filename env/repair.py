"""What a lenient reader would have made of a rejected call.

Harnesses differ in what they mend in silence, so their error rates cannot be compared. Here the
strict verdict counts, and the repair that would have worked stands beside it: the shortest list
of steps below after which the call fits its tool's schema.
"""

from __future__ import annotations

import ast
import difflib
import json
import re
from collections.abc import Callable, Iterator, Mapping

from env.validation import Validator, strict_json
from env.verdicts import Call, Repair
from sandbox.outcome import JSON

LONGEST_CHARS = 100_000
"""Longer argument texts are not repaired: the steps below read them many times."""
NAME_LIKENESS = 0.8
"""Least similarity (difflib ratio) at which another tool's name counts as a slip."""


def repair(validator: Validator, name: str, arguments: str) -> Repair | None:
    """The reading of a rejected call that fits, or None where no step helps."""
    if len(arguments) > LONGEST_CHARS:
        return None
    for tool, name_steps in _names(validator, name):
        schema = validator.documents[tool].parameters
        for value, text_steps in _objects(arguments):
            for fitted, value_steps in _fitted(value, schema):
                steps = (*name_steps, *text_steps, *value_steps)
                if steps and not validator.problems(tool, fitted):
                    return Repair(tool, fitted, steps)
    return None


def strict_or_repaired(validator: Validator, name: str, arguments: str) -> Call | Repair | None:
    """The call as it is if valid, else its repair, else None. For lenient re-readings."""
    verdict = validator.check(name, arguments)
    return verdict if isinstance(verdict, Call) else repair(validator, name, arguments)


def _names(validator: Validator, name: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    known = list(validator.documents)
    if name in validator.documents:
        yield name, ()
        return
    bare = name.strip().strip("`'\"").removesuffix("()").removeprefix("functions.")
    for candidate in (bare, bare.rpartition(".")[2]):
        if candidate in validator.documents:
            yield candidate, ("name_trimmed",)
            return
    plain = {re.sub(r"[\W_]", "", tool).casefold(): tool for tool in known}
    folded = plain.get(re.sub(r"[\W_]", "", bare).casefold())
    if folded:
        yield folded, ("name_spelling",)
        return
    for near in difflib.get_close_matches(bare, known, n=1, cutoff=NAME_LIKENESS):
        yield near, ("name_nearest",)


def _objects(text: str) -> Iterator[tuple[dict[str, JSON], tuple[str, ...]]]:
    """Objects that lenient readers find in `text`, fewest steps first."""
    seen: set[str] = set()
    readings: list[tuple[str, tuple[str, ...]]] = [(text, ())]
    for step, change in _TEXT_STEPS.items():
        readings += [(change(before), (*steps, step)) for before, steps in readings]
    for changed, steps in sorted(readings, key=lambda reading: len(reading[1])):
        if changed in seen:
            continue
        seen.add(changed)
        for read, read_steps in _READERS:
            try:
                value = read(changed)
            except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
                continue
            if isinstance(value, dict) and all(isinstance(key, str) for key in value):
                yield value, (*steps, *read_steps)


def _without_fence(text: str) -> str:
    found = re.search(r"```(?:json|python)?\s*(.*?)```", text, flags=re.DOTALL)
    return found[1] if found else text


def _first_object(text: str) -> str:
    """From the first brace to where it closes, outside of strings."""
    start = text.find("{")
    if start < 0:
        return text
    depth, in_string, escaped = 0, False, False
    for position in range(start, len(text)):
        letter = text[position]
        if in_string:
            in_string = escaped or letter != '"'
            escaped = letter == "\\" and not escaped
        elif letter == '"':
            in_string = True
        elif letter in "{[":
            depth += 1
        elif letter in "}]":
            depth -= 1
            if depth == 0:
                return text[start : position + 1]
    return text[start:]


def _without_trailing_commas(text: str) -> str:
    return re.sub(r",(\s*[}\]])", r"\1", text)


def _closed(text: str) -> str:
    """`text` with the quotes and brackets closed that it leaves open."""
    open_brackets: list[str] = []
    in_string, escaped = False, False
    for letter in text:
        if in_string:
            in_string = escaped or letter != '"'
            escaped = letter == "\\" and not escaped
        elif letter == '"':
            in_string = True
        elif letter in "{[":
            open_brackets.append("}" if letter == "{" else "]")
        elif letter in "}]" and open_brackets:
            open_brackets.pop()
    return text + ('"' if in_string else "") + "".join(reversed(open_brackets))


_TEXT_STEPS: Mapping[str, Callable[[str], str]] = {
    "code_fence": _without_fence,
    "surrounding_text": _first_object,
    "trailing_comma": _without_trailing_commas,
    "unclosed": _closed,
}


def _nothing(text: str) -> JSON:
    if text.strip() in {"", "null", "None"}:
        return {}
    raise ValueError("there is something")


def _encoded_twice(text: str) -> JSON:
    inner = strict_json(text)
    if not isinstance(inner, str):
        raise ValueError("no string")  # noqa: TRY004 -- readers fail with ValueError
    return strict_json(inner)


def _python_literal(text: str) -> JSON:
    value = ast.literal_eval(text.strip())
    # Sets, bytes, complex numbers are literals, but not JSON.
    result: JSON = json.loads(json.dumps(value, allow_nan=False))
    return result


def _lenient_json(text: str) -> JSON:
    """JSON with control characters in strings and keys given twice; the last one counts."""
    value: JSON = json.loads(text, strict=False)
    json.dumps(value, allow_nan=False)
    return value


_READERS: tuple[tuple[Callable[[str], JSON], tuple[str, ...]], ...] = (
    (strict_json, ()),
    (_nothing, ("empty",)),
    (_lenient_json, ("lenient_json",)),
    (_encoded_twice, ("encoded_twice",)),
    (_python_literal, ("python_literal",)),
)


def _fitted(
    value: dict[str, JSON], schema: Mapping[str, JSON]
) -> Iterator[tuple[dict[str, JSON], tuple[str, ...]]]:
    """The object as it is, unwrapped, without undeclared arguments, with types converted."""
    yield value, ()
    declared = schema.get("properties")
    declared = declared if isinstance(declared, dict) else {}
    for key in ("arguments", "parameters", "args", "kwargs", "input"):
        inner = value.get(key)
        if list(value) == [key] and isinstance(inner, dict) and key not in declared:
            yield inner, ("unwrapped",)
            value = inner
    kept = {key: part for key, part in value.items() if key in declared}
    if kept != value:
        yield kept, ("extra_dropped",)
    present: dict[str, JSON] = {key: part for key, part in kept.items() if part is not None}
    steps = ("extra_dropped",) if kept != value else ()
    if present != kept:
        yield present, (*steps, "null_dropped")
        steps = (*steps, "null_dropped")
    converted = {key: _converted(part, declared[key]) for key, part in present.items()}
    if converted != present or any(type(converted[k]) is not type(present[k]) for k in present):
        yield converted, (*steps, "type_converted")


def _converted(value: JSON, schema: JSON) -> JSON:
    """The value in the type that its schema names, where the conversion loses nothing."""
    wanted = schema.get("type") if isinstance(schema, dict) else None
    if wanted == "string" and isinstance(value, int | float) and not isinstance(value, bool):
        return json.dumps(value)
    if wanted == "array" and not isinstance(value, list | str):
        return [value]
    if not isinstance(value, str):
        return value
    if wanted == "boolean":
        return {"true": True, "false": False}.get(value.strip().lower(), value)
    if wanted in {"integer", "number", "array", "object"}:
        try:
            return strict_json(value)
        except (ValueError, RecursionError):
            return [value] if wanted == "array" else value
    return _enum_spelling(value, schema)


def _enum_spelling(value: str, schema: JSON) -> JSON:
    options = schema.get("enum") if isinstance(schema, dict) else None
    for option in options if isinstance(options, list) else []:
        if isinstance(option, str) and option.strip().casefold() == value.strip().casefold():
            return option
    return value
