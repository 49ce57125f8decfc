"""Contracts of tools: the sentences rendered from them, and their own checks. Pure.

What a tool promises is data. The description shown to a model is free text by the tool's author,
followed by sentences rendered from that data. The same data drives the trial calls, so text and
behaviour cannot differ. Nothing is parsed out of prose.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import jsonschema_rs

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.replies import Contract, Forgives, Limit, Pairs, Records, ToolDocument
from toolhop_tools.construct.stages import Findings, judged
from toolhop_tools.construct.text import as_json, called
from toolhop_tools.declared import compiled, declared, described, fits, required
from toolhop_tools.failures import tells_of_error
from toolhop_tools.model import ToolSchema, canonical

RESULT = "result"
"""Key for the unit of the result, beside the parameters' own names."""
FORGIVEN: Mapping[Forgives, str] = {
    Forgives.CASE: "upper and lower case",
    Forgives.ACCENTS: "accents",
    Forgives.ARTICLES: "a leading article",
    Forgives.HYPHENS: "hyphens in place of spaces",
    Forgives.SPACES: "spaces around it",
}


# -- the document ----------------------------------------------------------------------------------


def schema_of(tool: ToolDocument, contract: Contract) -> ToolSchema:
    """Return the tool's schema as shown to a model."""
    text = " ".join((tool.description.strip(), *sentences(tool.name, contract)))
    return ToolSchema(tool.name, text, tool.parameters)


def sentences(name: str, contract: Contract) -> Iterator[str]:
    """Yield the sentences that state a contract."""
    yield f"Returns {_form(contract.result_form)}."
    for of, unit in contract.units.items():
        yield f"{'The result' if of == RESULT else of} is in {unit}."
    if contract.covers:
        key = " and ".join(contract.covers.key)
        yield f"Knows {contract.covers.records} records, each found by its {key}."
    if contract.forgives:
        listed = ", ".join(FORGIVEN[kind] for kind in Forgives if kind in contract.forgives)
        yield f"Differences in spelling that make no difference to a text: {listed}."
    for limit in contract.limits:
        yield f"{limit.parameter} {_range(limit)}; outside, the result is an error."
    for parameter, message in contract.errors.items():
        given = message.replace("{given}", "...").replace("{known}", "...")
        yield f"If {parameter} is not known, the result is {as_json({'error': given})}."
    for example in contract.examples:
        yield f"Example: {called(name, example.arguments)} gives {as_json(example.result)}."


def _range(limit: Limit) -> str:
    if limit.least is not None and limit.most is not None:
        return f"has to be from {as_json(limit.least)} to {as_json(limit.most)}"
    if limit.least is not None:
        return f"has to be at least {as_json(limit.least)}"
    return f"has to be at most {as_json(limit.most)}"


_KINDS = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


def _form(schema: JSON) -> str:
    """Describe a JSON Schema in words if that is shorter, otherwise as JSON.

    Descriptions in it are omitted, since nothing checks them.
    """
    if not isinstance(schema, dict):
        return "a value"
    schema = {key: value for key, value in schema.items() if key not in _UNRUN}
    kind, rest = schema.get("type"), {k: v for k, v in schema.items() if k != "type"}
    text = _KINDS.get(kind, "") if isinstance(kind, str) else ""
    if kind == "array" and "items" in rest:
        text = f"a list, each of its elements {_form(rest.pop('items'))}"
    properties = rest.pop("properties", None) if kind == "object" else None
    if isinstance(properties, dict):
        parts = ", ".join(f"{name}: {_form(own)}" for name, own in properties.items())
        text, rest = f"an object ({parts})", {k: rest[k] for k in rest if k not in _CLOSED}
    if not text:
        return f"a value of the form {as_json(schema)}"
    return f"{text} of the form {as_json(rest)}" if rest else text


_CLOSED = frozenset({"required", "additionalProperties"})
_UNRUN = frozenset({"description", "title", "examples", "default", "$comment"})
LONGEST_UNIT = 40
"""Maximum length of a unit, in characters."""
EXACT = 2**53
"""Largest integer that every JSON reader represents exactly."""


# -- the contract by itself ------------------------------------------------------------------------


def contract_findings(
    tool: ToolDocument, contract: Contract, kind: str, gold: Mapping[str, JSON]
) -> Findings:
    """Check a tool's contract before anything runs.

    `kind` is ``lookup`` or ``compute``. No example may be `gold`, the sub-question's own call.
    """
    return judged(
        "contract",
        [
            *_names(tool, contract),
            *_units(contract),
            *_result_form(contract),
            *_limits(tool, contract),
            *_kept_errors(contract),
            *_covered(tool, contract, kind),
            *_examples(tool, contract, gold),
        ],
    )


def _names(tool: ToolDocument, contract: Contract) -> Iterator[str]:
    known = declared(tool.parameters)
    named = [
        *(name for name in contract.units if name != RESULT),
        *(limit.parameter for limit in contract.limits),
        *contract.errors,
        *(contract.covers.key if contract.covers else ()),
    ]
    for name in dict.fromkeys(named):
        if name not in known:
            yield f"The contract speaks of {name!r}; the parameters are {', '.join(known)}."


def _units(contract: Contract) -> Iterator[str]:
    for name, unit in contract.units.items():
        if len(unit) > LONGEST_UNIT or "\n" in unit or "." in unit.rstrip("."):
            yield f"The unit of {name} is {unit[:80]!r}; write a unit, such as 'km' or 'crowns'."


def _result_form(contract: Contract) -> Iterator[str]:
    try:
        jsonschema_rs.meta.validate(dict(contract.result_form))
    except (jsonschema_rs.ValidationError, ValueError) as error:
        yield f"result_form is no JSON Schema: {str(error).splitlines()[0]}"
        return
    if not contract.result_form:
        yield "result_form is empty; say what a call gives, at least its type."
    elif compiled(contract.result_form) is None:
        yield "result_form cannot be used: a pattern or a reference in it leads nowhere."


def _limits(tool: ToolDocument, contract: Contract) -> Iterator[str]:
    for limit in contract.limits:
        own = described(tool.parameters).get(limit.parameter)
        kinds = own.get("type") if isinstance(own, dict) else None
        listed = kinds if isinstance(kinds, list) else [kinds]
        if isinstance(own, dict) and not any(kind in listed for kind in ("integer", "number")):
            yield f"A limit is given for {limit.parameter}, which is no number."
        edges = [edge for edge in (limit.least, limit.most) if edge is not None]
        if any(abs(edge) > EXACT for edge in edges):
            yield f"A limit of {limit.parameter} is beyond 2**53, where JSON loses digits."
        elif "number" not in listed and any(edge != int(edge) for edge in edges):
            yield f"A limit of {limit.parameter} has a fraction, and the parameter has none."
        if limit.least is None and limit.most is None:
            yield f"The limit of {limit.parameter} has neither least nor most."
        elif limit.least is not None and limit.most is not None and limit.least > limit.most:
            yield f"The limits of {limit.parameter} are the wrong way round."


def _kept_errors(contract: Contract) -> Iterator[str]:
    for parameter, message in contract.errors.items():
        rest = message.replace("{given}", "").replace("{known}", "")
        if "{" in rest or "}" in rest:
            yield f"The error of {parameter} has braces beside {{given}} and {{known}}."


def _covered(tool: ToolDocument, contract: Contract, kind: str) -> Iterator[str]:
    if kind == "compute":
        if contract.covers:
            yield "covers is for a lookup tool, which has a table; leave it out."
        return
    if contract.covers is None:
        yield "covers is missing: how many records the tool knows, and by which key."
        return
    texts = [name for name in contract.covers.key if is_text(tool.parameters, name)]
    for name in texts:
        if name not in contract.errors:
            yield f"errors has no message for a {name} that is not known."
    for name in contract.errors:
        if name not in texts:
            yield f"errors has a message for {name}, which is no text that finds a record."
    if not {*contract.covers.key} & {*required(tool.parameters)}:
        yield "No parameter of covers.key is required."


def choices(schema: Mapping[str, JSON]) -> Iterator[tuple[str, JSON]]:
    """Yield each value that a parameter enumerates, and both values of a boolean."""
    for name, own in described(schema).items():
        if isinstance(own, dict):
            listed = own.get("enum", [True, False] if own.get("type") == "boolean" else None)
            yield from ((name, value) for value in (listed if isinstance(listed, list) else ()))


def is_text(parameters: Mapping[str, JSON], name: str) -> bool:
    """Whether a parameter accepts free text."""
    own = described(parameters).get(name)
    return isinstance(own, dict) and own.get("type") == "string" and "enum" not in own


def _examples(tool: ToolDocument, contract: Contract, gold: Mapping[str, JSON]) -> Iterator[str]:
    validator, form = compiled(tool.parameters), compiled(contract.result_form)
    for example in contract.examples:
        call = called(tool.name, example.arguments)
        if not fits(validator, tool.parameters, example.arguments):
            yield f"The example {call} is not valid under the parameters."
        elif canonical(example.arguments) == canonical(dict(gold)):
            yield f"The example {call} is the call that answers the sub-question; take another."
        elif not tells_of_error(example.result) and form and not form.is_valid(example.result):
            yield f"The result of the example {call} is not of result_form."


def table_findings(contract: Contract, facts: Records | Pairs) -> Findings:
    """Check that a table matches its contract."""
    wrong = []
    if isinstance(facts, Records) and contract.covers:
        if contract.covers.records != len(facts.records):
            wrong.append(
                f"There are {len(facts.records)} records; the document promises "
                f"{contract.covers.records}."
            )
        if {*contract.covers.key} != {*facts.lookup.parameters}:
            wrong.append(
                f"lookup.parameters finds a record by {', '.join(facts.lookup.parameters)}; the "
                f"document promises {', '.join(contract.covers.key)}."
            )
    return judged("as-covered", wrong)
