"""Strict reading of a raw call against the tools at hand. Pure: nothing runs here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TypeGuard

import jsonschema_rs

from env.verdicts import Call, ErrorCode, Problem, Rejected
from sandbox.outcome import JSON
from toolhop_tools.model import ToolDocument

SHOWN_CHARS = 120
"""Length to which a given value is cut in a message."""

_CODE_BY_RULE = {
    "required": ErrorCode.MISSING_ARGUMENT,
    "additionalProperties": ErrorCode.UNEXPECTED_ARGUMENT,
    "unevaluatedProperties": ErrorCode.UNEXPECTED_ARGUMENT,
    "type": ErrorCode.WRONG_TYPE,
    "enum": ErrorCode.NOT_IN_ENUM,
    "const": ErrorCode.NOT_IN_ENUM,
}
_ORDER = list(ErrorCode)


class Validator:
    """Checks calls against the documents of one episode's tools."""

    def __init__(self, documents: Sequence[ToolDocument]) -> None:
        self.documents = {document.name: document for document in documents}
        self._compiled: dict[str, jsonschema_rs.Validator | None] = {}

    def check(self, name: str, arguments: str) -> Call | Rejected:
        """The call, or every problem it has. No repair is looked for here (see `env.repair`)."""
        problems = []
        if name not in self.documents:
            known = ", ".join(self.documents) or "none: no tools are offered"
            problems.append(Problem(ErrorCode.UNKNOWN_TOOL, "", shown(name), known))
        value, problem = read_object(arguments)
        if problem is not None:
            problems.append(problem)
        elif not problems:
            problems.extend(self.problems(name, value))
        if problems:
            return Rejected(tuple(sorted(problems, key=lambda p: _ORDER.index(p.code))))
        return Call(name, value)

    def problems(self, name: str, arguments: Mapping[str, JSON]) -> list[Problem]:
        """What the tool's schema has against an arguments object."""
        schema = self.documents[name].parameters
        found = [
            Problem(
                ErrorCode.UNEXPECTED_ARGUMENT,
                key,
                shown(arguments[key]),
                "only " + (", ".join(_declared(schema)) or "no arguments at all"),
            )
            for key in undeclared(schema, arguments)
        ]
        validator = self._validator(name)
        if validator is not None:
            try:
                for error in validator.iter_errors(dict(arguments)):
                    found.extend(_problems(error))
            except ValueError as error:
                # Nested beyond the checker's depth, or text that has no UTF-8.
                given = shown(repr(arguments))
                found.append(
                    Problem(ErrorCode.SCHEMA_VIOLATION, "", given, f"plain JSON ({error})")
                )
        return list(dict.fromkeys(found))

    def _validator(self, name: str) -> jsonschema_rs.Validator | None:
        """The compiled schema; None for one that is itself invalid, which checks nothing."""
        if name not in self._compiled:
            try:
                # offline: a document must not make the harness fetch a `$ref`.
                self._compiled[name] = jsonschema_rs.Draft202012Validator(
                    dict(self.documents[name].parameters), offline=True
                )
            except (jsonschema_rs.ValidationError, ValueError):
                # `toolhop data validate` names such schemas; a model cannot mend them.
                self._compiled[name] = None
        return self._compiled[name]


def read_object(text: str) -> tuple[dict[str, JSON], Problem | None]:
    """The JSON object in `text`, or what is wrong with it."""
    try:
        value = strict_json(text)
    except (ValueError, RecursionError) as error:
        return {}, Problem(ErrorCode.NOT_JSON, "", shown(text), f"a JSON object ({error})")
    if not isinstance(value, dict):
        return {}, Problem(ErrorCode.NOT_OBJECT, "", shown(value), "a JSON object")
    return value, None


def strict_json(text: str) -> JSON:
    """Read JSON that means one thing to every reader: no NaN, no number beyond a float's range,
    no key twice, no half of a surrogate pair.

    Raises:
        ValueError: it is none.
    """
    value: JSON = json.loads(text, parse_constant=_refuse, object_pairs_hook=_unique)
    # Written again to catch what parses and yet has no JSON: 1e999, "\\ud800".
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    return value


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} stands twice")
    return found


def undeclared(schema: Mapping[str, JSON], arguments: Mapping[str, JSON]) -> list[str]:
    """Top-level arguments that the schema does not name.

    JSON Schema lets them pass unless `additionalProperties` says otherwise; a Python function
    with keyword arguments does not, so a schema that is silent is read as closed.
    """
    if any(key in schema for key in ("additionalProperties", "patternProperties")):
        return []
    if any(key in schema for key in ("anyOf", "oneOf", "allOf", "$ref")):
        return []
    return [key for key in arguments if key not in _declared(schema)]


def _declared(schema: Mapping[str, JSON]) -> list[str]:
    """Names that the schema knows; some documents require what they do not describe."""
    properties, required = schema.get("properties"), schema.get("required")
    names = list(properties) if isinstance(properties, dict) else []
    extra = [name for name in required if isinstance(name, str)] if _is_list(required) else []
    return list(dict.fromkeys(names + extra))


def _is_list(value: JSON) -> TypeGuard[list[JSON]]:
    return isinstance(value, list)


def _problems(error: jsonschema_rs.ValidationError) -> list[Problem]:
    """A schema error in our words."""
    path, rule, value = path_text(error.instance_path), error.kind.name, error.kind.value
    code = _CODE_BY_RULE.get(rule, ErrorCode.SCHEMA_VIOLATION)
    instance: Any = error.instance
    given = shown(instance)
    if rule == "required":
        return [Problem(code, _join(path, str(value)), "", "it is required")]
    if code is ErrorCode.UNEXPECTED_ARGUMENT:
        return [
            Problem(code, _join(path, name), shown(instance.get(name)), "only declared names")
            for name in map(str, value)
        ]
    if rule == "type":
        return [Problem(code, path, given, " or ".join(value))]
    if rule in {"enum", "const"}:
        options = value if rule == "enum" else [value]
        return [Problem(code, path, given, "one of " + ", ".join(map(shown, options)))]
    if rule in {"anyOf", "oneOf"} and isinstance(value, list):
        return [_no_alternative(error, path, given)]
    return [Problem(code, path, given, error.message)]


def _no_alternative(failed: jsonschema_rs.ValidationError, path: str, given: str) -> Problem:
    """Nothing that `anyOf` offers fits; a wrong type where every alternative wants another."""
    alternatives: list[list[jsonschema_rs.ValidationError]] = failed.kind.value
    types = [e.kind.value for errors in alternatives for e in errors if e.kind.name == "type"]
    wrong_type = all(
        any(e.kind.name == "type" and not e.instance_path for e in errors)
        for errors in alternatives
    )
    if types and wrong_type:
        names = dict.fromkeys(name for group in types for name in group)
        return Problem(ErrorCode.WRONG_TYPE, path, given, " or ".join(names))
    wanted = "; or ".join(errors[0].message for errors in alternatives if errors)
    return Problem(ErrorCode.SCHEMA_VIOLATION, path, given, f"one of these to hold: {wanted}")


def path_text(path: Sequence[str | int]) -> str:
    """A path such as ``filters.years[0]``."""
    text = ""
    for step in path:
        text = f"{text}[{step}]" if isinstance(step, int) else _join(text, step)
    return text


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def shown(value: JSON) -> str:
    """A value as JSON, cut for reading."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN_CHARS else f"{text[: SHOWN_CHARS - 1]}…"
