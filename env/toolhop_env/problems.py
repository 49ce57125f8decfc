"""Conversion of a JSON Schema checker's errors to problems with our wording and codes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from jsonschema_rs import ValidationError

from toolhop_env.verdicts import ErrorCode, Problem
from toolhop_sandbox.outcome import JSON

SHOWN_CHARS = 120
"""Maximum length of a value shown in a message, in characters."""

_CODE_BY_RULE = {
    "required": ErrorCode.MISSING_ARGUMENT,
    "additionalProperties": ErrorCode.UNEXPECTED_ARGUMENT,
    "unevaluatedProperties": ErrorCode.UNEXPECTED_ARGUMENT,
    "type": ErrorCode.WRONG_TYPE,
    "enum": ErrorCode.NOT_IN_ENUM,
    "const": ErrorCode.NOT_IN_ENUM,
}


def schema_problems(error: ValidationError, arguments: Mapping[str, JSON]) -> list[Problem]:
    """Convert one error of the checker, to several problems if it names several arguments."""
    rule, value = error.kind.name, getattr(error.kind, "value", None)
    code = _CODE_BY_RULE.get(rule, ErrorCode.SCHEMA_VIOLATION)
    path, given = path_text(error.instance_path), shown(error.instance)
    if rule == "required":
        return [missing(path, str(value))]
    if code is ErrorCode.UNEXPECTED_ARGUMENT:
        return [_unexpected(path, name, error.instance) for name in map(str, value or ())]
    if rule == "type":
        return [Problem(code, path, given, " or ".join(value or ()))]
    if code is ErrorCode.NOT_IN_ENUM:
        return [Problem(code, path, given, _one_of(_options(error)))]
    if rule == "falseSchema":
        return _forbidden(error, arguments)
    if rule in {"anyOf", "oneOf"} and isinstance(value, list):
        return _no_alternative(error, value, arguments)
    return [Problem(code, path, given, _rule_text(error))]


def missing(path: str, name: str) -> Problem:
    """Return the problem of a required argument that is missing."""
    return Problem(ErrorCode.MISSING_ARGUMENT, join(path, name), "", "it is required")


def _unexpected(path: str, name: str, holder: object) -> Problem:
    given = holder.get(name) if isinstance(holder, dict) else None
    allowed = "only declared names"
    return Problem(ErrorCode.UNEXPECTED_ARGUMENT, join(path, name), shown(given), allowed)


def _forbidden(error: ValidationError, arguments: Mapping[str, JSON]) -> list[Problem]:
    """Convert the error of a schema that is `false`: no value fits, so the argument must be
    omitted.

    For `additionalProperties: false` without properties, the checker gives the path of the object
    and no name; then every name in that object is unexpected.
    """
    rules = [str(step) for step in error.schema_path]
    path = path_text(error.instance_path)
    if rules[-1:] == ["additionalProperties"]:
        holder: Any = arguments
        for step in error.instance_path:
            holder = holder[step]
        return [_unexpected(path, name, holder) for name in holder]
    named = len(rules) > 1 and rules[-2] in {"properties", "patternProperties"}
    code = ErrorCode.UNEXPECTED_ARGUMENT if named else ErrorCode.SCHEMA_VIOLATION
    return [Problem(code, path, shown(error.instance), "nothing: leave it out")]


def _no_alternative(
    failed: ValidationError,
    groups: Sequence[Sequence[ValidationError]],
    arguments: Mapping[str, JSON],
) -> list[Problem]:
    """Convert the error of a value that fits the wrong number of `anyOf` or `oneOf` alternatives.

    Alternatives for another type are ruled out. If only one is left, its own problems are reported,
    as readers expect of `anyOf: [X, null]`.
    """
    path, given = path_text(failed.instance_path), shown(failed.instance)
    if any(not group for group in groups):
        several = "exactly one of its alternatives to fit; more than one does"
        return [Problem(ErrorCode.SCHEMA_VIOLATION, path, given, several)]
    depth = len(failed.instance_path)
    here = [[e for e in group if len(e.instance_path) == depth] for group in groups]
    near = [
        group
        for group, at_root in zip(groups, here, strict=True)
        if not any(e.kind.name == "type" for e in at_root)
    ]
    if not near:
        types = chain(*(e.kind.value for e in chain(*here) if e.kind.name == "type"))
        return [Problem(ErrorCode.WRONG_TYPE, path, given, " or ".join(dict.fromkeys(types)))]
    if len(near) == 1:
        return [problem for e in near[0] for problem in schema_problems(e, arguments)]
    errors = list(chain(*near))
    if all(e.kind.name in {"enum", "const"} and len(e.instance_path) == depth for e in errors):
        options = chain(*map(_options, errors))
        return [Problem(ErrorCode.NOT_IN_ENUM, path, given, _one_of(options))]
    wanted = "; or ".join(_rule_text(group[0]) for group in near)
    return [Problem(ErrorCode.SCHEMA_VIOLATION, path, given, f"one of these: {wanted}")]


def _options(error: ValidationError) -> list[object]:
    value: Any = error.kind.value
    return list(value) if error.kind.name == "enum" else [value]


def _one_of(options: Iterable[object]) -> str:
    return "one of " + ", ".join(dict.fromkeys(map(shown, options)))


def _rule_text(error: ValidationError) -> str:
    """Return the rule as it appears in the schema shown to the caller, such as `minLength 3`."""
    value = getattr(error.kind, "value", None)
    if isinstance(value, ValidationError):
        return f"{error.kind.name}: {_rule_text(value)}"
    if value is None or error.kind.name in {"anyOf", "oneOf"}:
        return error.kind.name
    return f"{error.kind.name} {shown(value)}"


def path_text(path: Sequence[str | int]) -> str:
    """Format a path, such as ``filters.years[0]``."""
    text = ""
    for step in path:
        text = f"{text}[{step}]" if isinstance(step, int) else join(text, step)
    return text


def join(path: str, name: str) -> str:
    """Return the path of `name` in the object at `path`."""
    return f"{path}.{name}" if path else name


def shown(value: object) -> str:
    """Format a JSON value, shortened to `SHOWN_CHARS`."""
    if isinstance(value, str):
        value = value[:SHOWN_CHARS]
    # The checker returns numbers beyond a float's range as Decimal.
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN_CHARS else f"{text[: SHOWN_CHARS - 1]}…"
