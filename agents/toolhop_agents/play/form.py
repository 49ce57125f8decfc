"""A form that asks for a call's arguments one by one, from the tool's JSON Schema. Pure.

`fill(document)` is a generator: `next` returns the first parameter to ask for. `send` takes the
typed text, and returns the next parameter, or the same one with the error. The generator returns
the text of the arguments object.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass

from toolhop_env.validation import Validator, strict_json
from toolhop_env.verdicts import ErrorCode, Problem
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import ToolSchema

CANCEL = ":cancel"
"""Typed instead of a value to leave the form."""
BACK = ":back"
"""Typed instead of a value to return to the previous field."""


class Cancelled(Exception):
    """Raised when the player leaves the form; no call is made."""


class _OneBack(Exception):
    """Raised to return to the previous field."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a tool, as described by its schema."""

    name: str
    required: bool
    schema: Mapping[str, JSON]

    @property
    def types(self) -> frozenset[str]:
        """Type names that the schema allows; empty if it names none."""
        return _types(self.schema)

    @property
    def kind(self) -> str:
        """The types as text, such as ``array of integer``."""
        return _kind(self.schema)

    @property
    def choices(self) -> tuple[str, ...]:
        """Values to choose from, as typed; empty if any value may be given."""
        options = self.schema.get("enum")
        if isinstance(options, list):
            return tuple(_typed(option) for option in options)
        return ("true", "false") if self.types == {"boolean"} else ()


@dataclass(frozen=True, slots=True)
class ParameterRequest:
    """A parameter to ask for, and what was wrong with the previous value, if any."""

    parameter: Parameter
    trouble: str = ""


class Unfit(ValueError):
    """Raised for a text that is not a valid value; the message describes a valid one."""


def parameters(document: ToolSchema) -> tuple[Parameter, ...]:
    """Return the tool's parameters, required ones first.

    Some schemas require parameters that they do not describe.
    """
    described = _schema(document.parameters.get("properties"))
    required = document.parameters.get("required")
    listed = required if isinstance(required, list) else []
    needed = [name for name in listed if isinstance(name, str)]
    names = dict.fromkeys([*(n for n in described if n in needed), *needed, *described])
    return tuple(Parameter(name, name in needed, _schema(described.get(name))) for name in names)


def fill(document: ToolSchema) -> Generator[ParameterRequest, str, str]:
    """Ask for each parameter until its value is valid.

    An empty text skips an optional parameter, and `BACK` returns to the previous one.

    Raises:
        Cancelled: `CANCEL` was sent.
    """
    validator = Validator([document])
    given: dict[str, JSON] = {}
    asked, place, trouble = parameters(document), 0, ""
    while place < len(asked):
        parameter = asked[place]
        text = (yield ParameterRequest(parameter, trouble)).strip()
        trouble = ""
        given.pop(parameter.name, None)
        try:
            if text or parameter.required:
                given[parameter.name] = read(parameter, text, validator)
            place += 1
        except _OneBack:
            trouble = "" if place else "this is the first field"
            place = max(0, place - 1)
        except Unfit as unfit:
            trouble = str(unfit)
    return json.dumps(given, ensure_ascii=False)


def read(parameter: Parameter, text: str, validator: Validator) -> JSON:
    """Return the first reading of `text` that is valid under the schema.

    Raises:
        Unfit: no reading is valid.
        Cancelled: the text is `CANCEL`.
    """
    if text == CANCEL:
        raise Cancelled
    if text == BACK:
        raise _OneBack
    if text.startswith(":") and text[1:].isalpha():
        raise Unfit(f'{CANCEL} leaves the form first; as a text put it in quotes: "{text}"')
    if not text:
        return _for_nothing(parameter)
    found: list[list[Problem]] = []
    for value in readings(parameter.schema, text):
        problems = _problems(parameter.name, value, validator)
        if not problems:
            return value
        found.append(problems)
    telling = [one for one in found if one[0].code is not ErrorCode.WRONG_TYPE]
    raise Unfit(_reported(parameter, text, (telling or found or [[]])[0]))


def readings(schema: Mapping[str, JSON], text: str) -> Iterator[JSON]:
    """Yield the possible readings of a typed text, most likely first."""
    options = schema.get("enum")
    if isinstance(options, list):
        yield from (option for option in options if _typed(option) == text)
        yield from (option for option in options if _typed(option).casefold() == text.casefold())
    value, error = _json(text)
    if error is None:
        yield value
    types = _types(schema)
    if "boolean" in types and text.casefold() in _WORDS:
        yield _WORDS[text.casefold()]
    elements = _schema(schema.get("items"))
    if "array" in types and text[0] not in "[{" and not _types(elements) & {"array", "object"}:
        parts = [part.strip() for part in text.split(",") if part.strip()]
        read_parts = [(part, *_json(part)) for part in parts]
        yield [part if error else value for part, value, error in read_parts]
        yield [*parts]
    yield text


_WORDS = {"true": True, "yes": True, "false": False, "no": False}


def _json(text: str) -> tuple[JSON, str | None]:
    """Return the JSON value of a text and None, or None and the error."""
    try:
        return strict_json(text), None
    except (ValueError, RecursionError) as error:
        return None, str(error)


def _for_nothing(parameter: Parameter) -> JSON:
    """Return the default of a required parameter that was left empty, or raise `Unfit`."""
    if "default" in parameter.schema:
        return parameter.schema["default"]
    hint = '; "" gives the empty text' if "string" in parameter.types else ""
    raise Unfit(f"{parameter.name} is required{hint}")


def _problems(name: str, value: JSON, validator: Validator) -> list[Problem]:
    """Return the validation problems of this one argument."""
    (tool,) = validator.documents
    prefixes = (f"{name}.", f"{name}[")
    return [
        problem
        for problem in validator.problems(tool, {name: value})
        if problem.path == name or problem.path.startswith(prefixes)
    ]


def _reported(parameter: Parameter, text: str, problems: list[Problem]) -> str:
    _, error = _json(text)
    if error is not None and text[0] in '[{"' and "string" not in parameter.types:
        return f"this is not JSON: {error}"
    if not problems:
        return f"{parameter.name} takes {parameter.kind}"
    problem = problems[0]
    if problem.code is ErrorCode.MISSING_ARGUMENT:
        return f"{problem.path} is missing"
    if problem.code is ErrorCode.SCHEMA_VIOLATION:
        return f"{problem.path} must satisfy: {problem.allowed}"
    return f"{problem.path} takes {problem.allowed}, not {problem.given}"


def _typed(value: JSON) -> str:
    """Format a value as a person would type it: strings without quotes."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _types(schema: Mapping[str, JSON]) -> frozenset[str]:
    named = schema.get("type")
    if isinstance(named, str):
        return frozenset({named})
    if isinstance(named, list):
        return frozenset(name for name in named if isinstance(name, str))
    found: frozenset[str] = frozenset()
    for key in ("anyOf", "oneOf"):
        options = schema.get(key)
        if isinstance(options, list):
            found |= frozenset().union(*(_types(_schema(option)) for option in options))
    return found


def _kind(schema: Mapping[str, JSON]) -> str:
    text = " or ".join(sorted(_types(schema))) or "any JSON value"
    elements = _schema(schema.get("items"))
    return f"{text} of {_kind(elements)}" if text == "array" and elements else text


def _schema(value: JSON) -> Mapping[str, JSON]:
    return value if isinstance(value, dict) else {}
