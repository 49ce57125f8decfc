"""Checks of a tool's document, and of a refined document against its predecessor. Pure."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import jsonschema_rs

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.contract import contract_findings, schema_of
from toolhop_tools.construct.replies import NewTool, RefinedTool, ToolDocument
from toolhop_tools.construct.stages import Findings, judged
from toolhop_tools.construct.text import as_json, resolved, says
from toolhop_tools.declared import compiled, declared, described, fits, required, undeclared
from toolhop_tools.model import ToolSchema
from toolhop_tools.words import as_text

_NAME = re.compile(r"[a-z][a-z0-9_]{2,63}")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_TAKEN = frozenset({"self", "RECORDS"})
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
MOST_ADDED = 4
"""Most parameters that a refinement may add."""
MANY = 8
"""Minimum length at which a list of choices no longer gives a single value away."""


def document_findings(
    reply: NewTool, answers: Sequence[str], earlier: Sequence[ToolSchema]
) -> Findings:
    """Check a first document against the answers and documents of the earlier hops."""
    name = reply.tool.name
    shared = [f"An earlier hop's tool is called {name} as well; give this one a name of its own."
              for other in earlier if name.casefold() == other.name.casefold()]  # fmt: skip
    findings = _sound(reply.tool) + judged("own-name", shared[:1])
    if findings.failed & {"schema"}:
        return findings
    findings += judged("call", invalid_call(reply.tool.parameters, reply.arguments, answers))
    findings += contract_findings(reply.tool, reply.contract, reply.kind, reply.arguments)
    return findings + _leaks(schema_of(reply.tool, reply.contract), answers)


def refined_findings(reply: RefinedTool, first: NewTool, answers: Sequence[str]) -> Findings:
    """Check a refined document against the one it refines."""
    document = reply.tool
    name, before = document.name, first.tool.name
    renamed = [f"The tool was {before} and is now {name}; its name stays."]
    findings = _sound(document) + judged("same-name", renamed if name != before else ())
    if findings.failed & {"schema"}:
        return findings
    findings += (
        judged("call", invalid_call(document.parameters, first.arguments, answers))
        + judged("required-kept", _required(document.parameters, first.tool.parameters))
        + judged("more-parameters", _added(document.parameters, first.tool.parameters))
    )
    findings += contract_findings(document, reply.contract, first.kind, first.arguments)
    return findings + _leaks(schema_of(document, reply.contract), answers)


def _leaks(schema: ToolSchema, answers: Sequence[str]) -> Findings:
    leaks = (text for answer in answers for text in given_away(schema, answer, of_keys=True))
    return judged("no-earlier-answer", leaks)


def _sound(document: ToolDocument) -> Findings:
    schema = judged("schema", _schema(document.parameters))
    return judged("name", _bad_name(document.name)) + schema


def _bad_name(name: str) -> Iterator[str]:
    if not _NAME.fullmatch(name):
        yield f"The name {name!r} is no identifier of 3 to 64 small letters, digits and _."
    elif keyword.iskeyword(name) or hasattr(builtins, name):
        yield f"The name {name!r} is one of Python's own; say what the tool does."


def _schema(parameters: Mapping[str, JSON]) -> Iterator[str]:
    try:
        jsonschema_rs.meta.validate({**parameters, "$schema": _DRAFT})
    except (jsonschema_rs.ValidationError, ValueError) as error:
        yield f"The parameters are no JSON Schema of draft 2020-12: {str(error).splitlines()[0]}"
        return
    properties = described(parameters)
    if parameters.get("type") != "object" or not properties:
        yield "The parameters have to be an object with at least one property."
        return
    if parameters.get("additionalProperties") is not False:
        yield "additionalProperties has to be false."
    if missing := [name for name in required(parameters) if name not in properties]:
        yield f"Required and not described: {', '.join(missing)}."
    for name, schema in properties.items():
        yield from _parameter(name, schema, needed=name in required(parameters))
    if not required(parameters):
        yield "No parameter is required: a tool that can be called with nothing looks at nothing."


def _parameter(name: str, schema: JSON, *, needed: bool) -> Iterator[str]:
    if not _PARAMETER.fullmatch(name) or keyword.iskeyword(name) or name in _TAKEN:
        yield f"The name {name!r} of a parameter cannot be one of a Python function's."
    if not isinstance(schema, dict) or not (schema.get("type") or "enum" in schema):
        yield f"Parameter {name} has no type."
    elif not schema.get("description"):
        yield f"Parameter {name} has no description."
    elif "default" in schema:
        own = compiled(schema)
        if needed:
            yield f"Parameter {name} is required and has a default."
        if own is not None and not own.is_valid(schema["default"]):
            yield f"The default of parameter {name} is not valid under its own schema."
    elif not needed:
        yield f"Parameter {name} is optional and has no default."


def invalid(parameters: Mapping[str, JSON], arguments: Mapping[str, JSON]) -> str:
    """Return why the simulator refuses the arguments, in at most 500 characters; empty if valid."""
    validator = compiled(parameters)
    if fits(validator, parameters, arguments):
        return ""
    errors = validator.iter_errors(dict(arguments)) if validator else ()
    why = [f"{'.'.join(map(str, error.instance_path))}: {error.message}" for error in errors]
    why = why or [f"{name} is unknown" for name in undeclared(parameters, arguments)]
    return "; ".join(why)[:500] or "an argument is missing or unknown"


def invalid_call(
    parameters: Mapping[str, JSON], arguments: Mapping[str, JSON], answers: Sequence[str]
) -> Iterator[str]:
    """Yield reasons why the simulator would refuse a call that has ``{k}`` for earlier answers."""
    made = cast("dict[str, JSON]", resolved(dict(arguments), answers, parameters))
    if why := invalid(parameters, made):
        yield f"The call {as_json(made)} is not valid under the parameters: {why}"


def _required(now: Mapping[str, JSON], before: Mapping[str, JSON]) -> Iterator[str]:
    old, new = {*required(before)}, {*required(now)}
    if old != new:
        yield (
            f"Required were {', '.join(sorted(old))} and are now {', '.join(sorted(new))}: calls "
            "that were valid have to stay valid."
        )


def _added(now: Mapping[str, JSON], before: Mapping[str, JSON]) -> Iterator[str]:
    added = {name: own for name, own in described(now).items() if name not in declared(before)}
    kinds = {"boolean", "array", "object"}
    if not 1 <= len(added) <= MOST_ADDED:
        yield f"{len(added)} parameters are new; 1 to {MOST_ADDED} are wanted."
    elif not any(isinstance(own, dict) and ("enum" in own or own.get("type") in kinds)
                 for own in added.values()):  # fmt: skip
        yield "None of the new parameters is an enum, a boolean, an array or an object."


def given_away(document: ToolSchema, answer: str, *, of_keys: bool = False) -> Iterator[str]:
    """Yield the places where a document contains an answer as whole words.

    Args:
        answer: the answer of any hop; single characters and two-digit numbers are ignored, since
            they occur in any text.
        of_keys: whether a list of at least `MANY` choices may contain it. A tool may list the keys
            it knows, as its errors do, but not its own answers.
    """
    if len(answer) <= (2 if answer.isdigit() else 1):
        return
    texts = (*_texts(dict(document.parameters), MANY if of_keys else 0), document.description)
    if text := next((text for text in texts if says(text, answer)), ""):
        at = max(0, text.casefold().find(answer.casefold()) - 40)
        shown = text[at : at + len(answer) + 80]
        yield f"The document of {document.name} holds {answer!r}, an answer of the chain: {shown!r}"


def _texts(value: JSON, many: int) -> Iterator[str]:
    """Yield the texts of a schema, skipping lists of `many` or more choices (0 skips none)."""
    if isinstance(value, dict):
        for key, own in value.items():
            if not (key == "enum" and many and isinstance(own, list) and len(own) >= many):
                yield from _texts(own, many)
    elif isinstance(value, list):
        for element in value:
            yield from _texts(element, many)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield as_text(value)
