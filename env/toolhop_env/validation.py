"""Strict validation of a raw call against the tools on offer. Pure: nothing runs here.

Arguments are checked by JSON Schema (draft 2020-12), with one rule of ours: see `undeclared`. Valid
arguments are passed on as parsed. So 5.0, which is an integer in JSON Schema, reaches the tool as
the float that ToolHop's evaluator would pass: converting it would be a silent repair.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NoReturn

import jsonschema_rs

from toolhop_env.problems import missing, schema_problems, shown
from toolhop_env.verdicts import Call, ErrorCode, Problem, Rejected
from toolhop_sandbox.outcome import JSON
from toolhop_tools.declared import compiled, declared, fits, required, undeclared
from toolhop_tools.model import ToolSchema

MOST_PROBLEMS = 50
"""Maximum number of problems in a verdict, by precedence; a long list would bloat traces."""
MOST_NODES = 10_000
"""Maximum number of values in an arguments object for which every problem is listed (which takes
0.1 s for that many); beyond it, only the schema's first problem is listed, besides missing and
unexpected arguments."""
MOST_LEVELS = 100
"""Maximum depth of nesting; deeper texts are rejected, as parsers differ in their limits."""
MOST_DIGITS = 1000
"""Maximum number of digits of an integer; longer ones are rejected for the same reason."""

_ORDER = {code: place for place, code in enumerate(ErrorCode)}


class Validator:
    """Validates calls against the schemas of one episode's tools."""

    def __init__(self, documents: Sequence[ToolSchema]) -> None:
        self.documents = {document.name: document for document in documents}
        self._compiled: dict[str, jsonschema_rs.Validator | None] = {}

    def check(self, name: str, arguments: str) -> Call | Rejected:
        """Return the call, or its problems; repairs are not considered (see `env.repair`).

        The text is checked before the name, as in ToolHop's evaluator, which parses before it looks
        up the tool: invalid JSON is reported as that, whatever the tool.
        """
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
            ordered = sorted(problems, key=lambda p: _ORDER[p.code])
            return Rejected(tuple(ordered[:MOST_PROBLEMS]))
        return Call(name, value)

    def problems(self, name: str, arguments: Mapping[str, JSON]) -> list[Problem]:
        """Return the problems that the tool's schema finds in an arguments object, each once."""
        schema = self.documents[name].parameters
        allowed = "only " + (", ".join(declared(schema)) or "no arguments at all")
        found = [
            Problem(ErrorCode.UNEXPECTED_ARGUMENT, key, shown(arguments[key]), allowed)
            for key in undeclared(schema, arguments)[:MOST_PROBLEMS]
        ]
        found += [missing("", key) for key in required(schema) if key not in arguments]
        validator = self._validator(name)
        if validator is not None:
            try:
                for error in _errors(validator, dict(arguments)):
                    found += schema_problems(error, arguments)
            except ValueError as error:
                # Nested too deeply for the checker, or not valid UTF-8: never from `check`.
                given = shown(repr(arguments))
                reason = f"plain JSON ({error})"
                found.append(Problem(ErrorCode.SCHEMA_VIOLATION, "", given, reason))
        return _once(found)

    def fits(self, name: str, arguments: Mapping[str, JSON]) -> bool:
        """Whether `problems` would be empty; fast even if it would have thousands."""
        return fits(self._validator(name), self.documents[name].parameters, arguments)

    def _validator(self, name: str) -> jsonschema_rs.Validator | None:
        if name not in self._compiled:
            self._compiled[name] = compiled(self.documents[name].parameters)
        return self._compiled[name]


def _once(found: Sequence[Problem]) -> list[Problem]:
    """Remove problems that both the schema checker and the rules here found."""
    first: dict[tuple[str, ...], Problem] = {}
    for problem in found:
        by_name = problem.code in {ErrorCode.MISSING_ARGUMENT, ErrorCode.UNEXPECTED_ARGUMENT}
        key = (problem.code, problem.path, "" if by_name else problem.allowed)
        first.setdefault(key, problem)
    return list(first.values())


def _errors(
    validator: jsonschema_rs.Validator, arguments: dict[str, JSON]
) -> list[jsonschema_rs.ValidationError]:
    # iter_errors builds its whole list at once: half a million wrong items take 23 s.
    if not any(True for _ in islice(_nodes(arguments), MOST_NODES, None)):
        return list(validator.iter_errors(arguments))
    try:
        validator.validate(arguments)
    except jsonschema_rs.ValidationError as error:
        return [error]
    return []


def read_object(text: str) -> tuple[dict[str, JSON], Problem | None]:
    """Parse the JSON object in `text`; return it, or the problem with it."""
    try:
        value = strict_json(text)
    except ValueError as error:
        return {}, Problem(ErrorCode.NOT_JSON, "", shown(text), f"a JSON object ({error})")
    if not isinstance(value, dict):
        return {}, Problem(ErrorCode.NOT_OBJECT, "", shown(value), "a JSON object")
    return value, None


def strict_json(text: str) -> JSON:
    """Parse JSON that means the same to every reader.

    Rejected are NaN, numbers beyond a float's range, duplicate keys, lone surrogates, a byte order
    mark, and anything beyond `MOST_LEVELS` or `MOST_DIGITS`. Surrounding white space is allowed, as
    in JSON.

    Raises:
        ValueError: the text is not such JSON.
    """
    if text.startswith("\ufeff"):
        raise ValueError("it begins with a byte order mark")
    try:
        value: JSON = json.loads(
            text, parse_constant=_refuse, parse_int=_integer, object_pairs_hook=_unique
        )
    except RecursionError:
        raise ValueError(f"it is nested more than {MOST_LEVELS} levels deep") from None
    check_plain(value)
    return value


def check_plain(value: JSON) -> None:
    """Check that a parsed value can be written as JSON: 1e999 and lone surrogates cannot.

    Raises:
        ValueError: it cannot, or it is nested too deeply.
    """
    if max((level for level in _nodes(value)), default=0) > MOST_LEVELS:
        raise ValueError(f"it is nested more than {MOST_LEVELS} levels deep")
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair stands for no character") from None


def _nodes(value: JSON) -> Iterator[int]:
    """Yield the nesting level of every value, level by level; `value` itself is at level 1."""
    level, row = 1, [value]
    while row:
        below: list[JSON] = []
        for part in row:
            yield level
            if isinstance(part, dict):
                below.extend(part.values())
            elif isinstance(part, list):
                below.extend(part)
        level, row = level + 1, below


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def _integer(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a number has {len(digits)} digits; at most {MOST_DIGITS} are read")
    return int(digits)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f"the key {shown(twice)} stands twice")
    return found
