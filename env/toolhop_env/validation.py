"""Strict reading of a raw call against the tools at hand. Pure: nothing runs here.

Arguments are checked by JSON Schema (draft 2020-12), with one rule of ours: see `undeclared`. What
fits is passed on as it was read. So 5.0, which JSON Schema takes for an integer, reaches the tool
as the float that ToolHop's evaluator would give it: a conversion would be a repair in silence.
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
"""Problems that a verdict keeps, by precedence: a long list of wrong items would swell traces."""
MOST_NODES = 10_000
"""Values in an arguments object up to which every problem is listed (which takes 0.1 s for that
many); beyond, the schema's first beside missing and unexpected arguments."""
MOST_LEVELS = 100
"""Depth of nesting beyond which a text is refused: parsers differ in where they give up."""
MOST_DIGITS = 1000
"""Digits of an integer beyond which a text is refused, for the same reason."""

_ORDER = {code: place for place, code in enumerate(ErrorCode)}


class Validator:
    """Checks calls against the documents of one episode's tools."""

    def __init__(self, documents: Sequence[ToolSchema]) -> None:
        self.documents = {document.name: document for document in documents}
        self._compiled: dict[str, jsonschema_rs.Validator | None] = {}

    def check(self, name: str, arguments: str) -> Call | Rejected:
        """The call, or the problems it has. No repair is looked for here (see `env.repair`).

        Text comes before name, as in ToolHop's evaluator, which parses before it looks a tool
        up: arguments that are no JSON count as that, whatever tool they were for.
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
        """What the tool's schema has against an arguments object, each thing once."""
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
                # Nested beyond the checker's depth, or text that has no UTF-8: never from `check`.
                given = shown(repr(arguments))
                reason = f"plain JSON ({error})"
                found.append(Problem(ErrorCode.SCHEMA_VIOLATION, "", given, reason))
        return _once(found)

    def fits(self, name: str, arguments: Mapping[str, JSON]) -> bool:
        """Whether `problems` would find none; quick also where it would find thousands."""
        return fits(self._validator(name), self.documents[name].parameters, arguments)

    def _validator(self, name: str) -> jsonschema_rs.Validator | None:
        """The compiled schema; see `compiled`."""
        if name not in self._compiled:
            self._compiled[name] = compiled(self.documents[name].parameters)
        return self._compiled[name]


def _once(found: Sequence[Problem]) -> list[Problem]:
    """Without what both the schema checker and the rules here found."""
    first: dict[tuple[str, ...], Problem] = {}
    for problem in found:
        by_name = problem.code in {ErrorCode.MISSING_ARGUMENT, ErrorCode.UNEXPECTED_ARGUMENT}
        key = (problem.code, problem.path, "" if by_name else problem.allowed)
        first.setdefault(key, problem)
    return list(first.values())


def _errors(
    validator: jsonschema_rs.Validator, arguments: dict[str, JSON]
) -> list[jsonschema_rs.ValidationError]:
    # iter_errors makes its whole list at once: half a million wrong items take 23 s.
    if not any(True for _ in islice(_nodes(arguments), MOST_NODES, None)):
        return list(validator.iter_errors(arguments))
    try:
        validator.validate(arguments)
    except jsonschema_rs.ValidationError as error:
        return [error]
    return []


def read_object(text: str) -> tuple[dict[str, JSON], Problem | None]:
    """The JSON object in `text`, or what is wrong with it."""
    try:
        value = strict_json(text)
    except ValueError as error:
        return {}, Problem(ErrorCode.NOT_JSON, "", shown(text), f"a JSON object ({error})")
    if not isinstance(value, dict):
        return {}, Problem(ErrorCode.NOT_OBJECT, "", shown(value), "a JSON object")
    return value, None


def strict_json(text: str) -> JSON:
    """Read JSON that means one thing to every reader: no NaN, no number beyond a float's range,
    no key twice, no half of a surrogate pair, no byte order mark, and nothing beyond
    `MOST_LEVELS` and `MOST_DIGITS`. White space around it is JSON's own and is no fault.

    Raises:
        ValueError: it is none.
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
    """Find in a parsed value what parses and yet has no JSON, such as 1e999 or half a pair.

    Raises:
        ValueError: there is some.
    """
    if max((level for level in _nodes(value)), default=0) > MOST_LEVELS:
        raise ValueError(f"it is nested more than {MOST_LEVELS} levels deep")
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair stands for no character") from None


def _nodes(value: JSON) -> Iterator[int]:
    """The level (from 1) of every value, by level; scalars are as deep as what holds them."""
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
