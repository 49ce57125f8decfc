"""A call filled in parameter by parameter, from the tool's JSON Schema. Pure.

`fill(document)` is a generator: `next` gives the first parameter to ask for; `send` takes what
was typed and gives the next one, or the same again with what was wrong; it returns the arguments
object's text.
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
"""Typed for a value, it leaves the form."""
BACK = ":back"
"""Typed for a value, it goes to the field before."""


class Cancelled(Exception):
    """The form was left; no call is to be made."""


class _OneBack(Exception):
    """The field before is asked for again."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a tool, as its schema describes it."""

    name: str
    required: bool
    schema: Mapping[str, JSON]

    @property
    def types(self) -> frozenset[str]:
        """Type names that the schema allows; empty where it does not say."""
        return _types(self.schema)

    @property
    def kind(self) -> str:
        """The types in words, such as ``array of integer``."""
        return _kind(self.schema)

    @property
    def choices(self) -> tuple[str, ...]:
        """Values to choose from, as they are typed; empty where anything may be given."""
        options = self.schema.get("enum")
        if isinstance(options, list):
            return tuple(_typed(option) for option in options)
        return ("true", "false") if self.types == {"boolean"} else ()


@dataclass(frozen=True, slots=True)
class ParameterRequest:
    """The parameter to ask for, and what was wrong with the value given before, if any."""

    parameter: Parameter
    trouble: str = ""


class Unfit(ValueError):
    """A text that gives no value of the parameter; says what would."""


def parameters(document: ToolSchema) -> tuple[Parameter, ...]:
    """The tool's parameters, required ones first; some documents require what they do not
    describe.
    """
    described = _schema(document.parameters.get("properties"))
    required = document.parameters.get("required")
    listed = required if isinstance(required, list) else []
    needed = [name for name in listed if isinstance(name, str)]
    names = dict.fromkeys([*(n for n in described if n in needed), *needed, *described])
    return tuple(Parameter(name, name in needed, _schema(described.get(name))) for name in names)


def fill(document: ToolSchema) -> Generator[ParameterRequest, str, str]:
    """Ask for each parameter until its value fits; an empty text skips an optional one, and `BACK`
    asks for the one before again.

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
    """The value that `text` gives, of the readings the first that fits the schema.

    Raises:
        Unfit: none does.
        Cancelled: it is the word that leaves the form.
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
    """What a typed text may mean, the likeliest first."""
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
    """The JSON value of a text, or why it is none."""
    try:
        return strict_json(text), None
    except (ValueError, RecursionError) as error:
        return None, str(error)


def _for_nothing(parameter: Parameter) -> JSON:
    """What an empty text gives for a required parameter: its default, if it has one."""
    if "default" in parameter.schema:
        return parameter.schema["default"]
    hint = '; "" gives the empty text' if "string" in parameter.types else ""
    raise Unfit(f"{parameter.name} is required{hint}")


def _problems(name: str, value: JSON, validator: Validator) -> list[Problem]:
    """What the schema has against this one argument."""
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
    """A value as a person types it: texts without quotes."""
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
