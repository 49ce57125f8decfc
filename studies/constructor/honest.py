"""The honest constructor: right at the first reply, at every stage, with contracts that hold."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from studies.constructor.atlas import THEMES, Journey, Step, journey, tool_schema, tool_source
from studies.constructor.computing import CONTRACTS, SECONDS, pairs_of
from toolhop_tools.construct.stages import Stage

Reply = dict[str, Any]
LOOKUPS = 2
"""Hops that look something up; those after them compute."""


def reply(inputs: Mapping[str, Any]) -> Reply:
    """The reply to a stage's inputs, as a value.

    Raises:
        KeyError, ValueError: these are not the inputs of a stage.
    """
    plan = journey(inputs["item"], inputs["domain"])
    hop = inputs.get("hop", 0)
    match Stage(inputs["stage"]):
        case Stage.DECOMPOSE:
            hops = [{"question": text, "depends_on": needs} for text, needs in plan.hops()]
            return {"hops": hops}
        case Stage.TOOL:
            return _tool(plan, hop)
        case Stage.REFINE:
            document, contract = _document(plan, hop), _contract(plan, hop)
            return {"analysis": "More to ask for.", "tool": document, "contract": contract}
        case Stage.FACTS:
            return _facts(plan, hop, inputs["item"], inputs["call"])
        case Stage.CODE:
            return {"analysis": "As documented.", "code": _code(plan, hop)}
        case Stage.SECOND:
            return {"analysis": "As documented.", "code": second_code(plan, hop)}
        case Stage.CALL:
            return {"arguments": _tool(plan, hop)["arguments"], "answer_path": []}
        case Stage.QUESTION:
            return {"question": plan.question()}
        case Stage.WORDING:
            return {"question": as_called(plan, inputs["chain"])}
        case other:
            raise ValueError(f"an item with hops has no stage {other}")


def named(inputs: Mapping[str, Any]) -> Reply:
    """The domain of a question by its theme; of two names and more, all are one domain."""
    if "domains" in inputs:
        names = [*inputs["domains"]]
        return {"groups": [{"domain": names[0], "members": names}]}
    words = inputs["question"]
    theme = next(theme for theme in THEMES if theme.phrase.format("|").split("|")[0] in words)
    return {"analysis": "", "domain": theme.domain}


def as_called(plan: Journey, chain: Sequence[Mapping[str, Any]]) -> str:
    """The question of a changed chain: another start, another number, another field."""
    calls = [row["call"]["arguments"] for row in chain]
    steps = [
        (step, calls[at][step.drawn[0]] if step.drawn else 0)
        for at, (step, _) in enumerate(plan.steps, LOOKUPS)
    ]
    field = calls[1].get("field", plan.attribute.field)
    attribute = next(one for one in plan.theme.attributes if one.field == field)
    changed = replace(plan, steps=tuple(steps), attribute=attribute)
    return changed.question(calls[0][plan.theme.first])


def table_of(plan: Journey, hop: int) -> tuple[str, str, str, list[str]]:
    """Of a hop that looks up: tool, key, answer, and all fields that can be asked for."""
    theme = plan.theme
    if hop == 1:
        fields = [theme.second, "first_record"]
        return f"find_{theme.second}_of_{theme.first}", theme.first, theme.second, fields
    fields = [attribute.field for attribute in theme.attributes]
    return f"look_up_{theme.second}", theme.second, plan.attribute.field, fields


def _step(plan: Journey, hop: int) -> tuple[Step, int]:
    return plan.steps[hop - LOOKUPS - 1]


def _tool(plan: Journey, hop: int) -> Reply:
    """The first document: the refined one without what is optional."""
    full = _document(plan, hop)
    needed = full["parameters"]["required"]
    own = {name: full["parameters"]["properties"][name] for name in needed}
    tool = {**full, "parameters": {**full["parameters"], "properties": own}}
    arguments: Reply
    if hop <= LOOKUPS:
        _, key, answer, _ = table_of(plan, hop)
        tool["description"] = f"Looks up the {answer.replace('_', ' ')} of a {key} by its name."
        arguments = {key: plan.start if hop == 1 else "{1}"}
    else:
        step, drawn = _step(plan, hop)
        arguments = {step.argument: f"{{{hop - 1}}}"}
        arguments |= {step.drawn[0]: drawn} if step.drawn else {}
    contract = _contract(plan, hop)
    contract["examples"] = [
        example for example in contract["examples"] if {*example["arguments"]} <= {*needed}
    ]
    return {
        "analysis": "One thing is asked.",
        "kind": "lookup" if hop <= LOOKUPS else "compute",
        "tool": tool,
        "contract": contract,
        "arguments": arguments,
    }


def _contract(plan: Journey, hop: int) -> Reply:
    """All that the refined tool promises."""
    if hop > LOOKUPS:
        contract = CONTRACTS[_step(plan, hop)[0].tool]
        return {**contract, "examples": [dict(example) for example in contract["examples"]]}
    _, key, _, _ = table_of(plan, hop)
    return {
        "result_form": {"type": ["string", "integer"]},
        "forgives": ["case", "spaces"],
        "units": {},
        "limits": [],
        "errors": {key: f"{key}: {{given}} is not known; known are {{known}}"},
        "covers": {"records": len(plan.first if hop == 1 else plan.second), "key": [key]},
        "examples": [],
    }


def _document(plan: Journey, hop: int) -> Reply:
    if hop > LOOKUPS:
        return tool_schema(_step(plan, hop)[0].tool)
    name, key, answer, fields = table_of(plan, hop)
    listed = " or ".join(field.replace("_", " ") for field in fields)
    own = {
        key: {
            "type": "string",
            "description": f"Name of the {key}.",
            "minLength": 1,
            "maxLength": 80,
        },
        "field": {
            "type": "string",
            "description": "What to return.",
            "enum": fields,
            "default": answer,
        },
        "letters": {
            "type": "string",
            "description": "How a value is written; capitals have spaces between them.",
            "enum": ["as listed", "capitals"],
            "default": "as listed",
        },
    }
    return {
        "name": name,
        "description": f"Looks up a {key} by its name and returns its {listed}, as chosen with "
        '"field".',
        "parameters": {
            "type": "object",
            "properties": own,
            "required": [key],
            "additionalProperties": False,
        },
    }


def _facts(plan: Journey, hop: int, item: str, call: Mapping[str, Any]) -> Reply:
    if hop <= LOOKUPS:
        _, key, answer, _ = table_of(plan, hop)
        records = plan.first if hop == 1 else plan.second
        lookup = {"parameters": {key: key}, "fixed": {}, "answer": answer}
        return {"records": [dict(record) for record in records], "lookup": lookup}
    step, drawn = _step(plan, hop)
    pairs = pairs_of(step.tool, random.Random(f"{item}/{hop}/pairs"))
    asked = {"arguments": dict(call), "result": step.work(call[step.argument], drawn)}
    return {"pairs": [*(pair for pair in pairs if pair["arguments"] != dict(call)), asked]}


_LOOKUP = '''def {name}({key}: str, field: str = "{answer}", letters: str = "as listed"):
    """Return one field of the record of a name."""
    wanted = {key}.strip().casefold()
    for record in RECORDS:
        if record["{key}"].strip().casefold() == wanted:
            value = record[field]
            return " ".join(str(value).upper()) if letters == "capitals" else value
    known = ", ".join(record["{key}"] for record in RECORDS)
    return {{"error": f"{key}: {{{key}}} is not known; known are {{known}}"}}
'''
_SECOND_LOOKUP = """def {name}({key}, field="{answer}", letters="as listed"):
    rows = {{}}
    for row in reversed(RECORDS):
        rows[row["{key}"].casefold().strip()] = row
    row = rows.get({key}.casefold().strip())
    if row is None:
        names = [row["{key}"] for row in RECORDS]
        return {{"error": "{key}: " + {key} + " is not known; known are " + ", ".join(names)}}
    if letters == "as listed":
        return row[field]
    return " ".join(letter for letter in str(row[field]).upper())
"""


def _code(plan: Journey, hop: int) -> str:
    return tool_source(_step(plan, hop)[0].tool) if hop > LOOKUPS else _filled(_LOOKUP, plan, hop)


def second_code(plan: Journey, hop: int) -> str:
    """The function by the document, written apart from the first."""
    if hop > LOOKUPS:
        return SECONDS[_step(plan, hop)[0].tool]
    return _filled(_SECOND_LOOKUP, plan, hop)


def _filled(template: str, plan: Journey, hop: int) -> str:
    name, key, answer, _ = table_of(plan, hop)
    return template.format(name=name, key=key, answer=answer)
