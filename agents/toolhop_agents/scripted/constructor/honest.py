"""The honest constructor: right at the first reply, at every stage."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Mapping
from typing import Any

from toolhop_agents.scripted.constructor.atlas import (
    Journey,
    Step,
    digit_sum,
    in_base,
    journey,
    letter_places,
    shifted,
    tool_schema,
    tool_source,
)
from toolhop_tools.construct.stages import Stage

PAIRS = 10
Reply = dict[str, Any]


def reply(inputs: Mapping[str, Any]) -> Reply:
    """The reply to a stage's inputs, as a value.

    Raises:
        KeyError, ValueError: these are no inputs of a stage.
    """
    plan = journey(inputs["item"], inputs["domain"])
    match Stage(inputs["stage"]):
        case Stage.DECOMPOSE:
            hops = [{"question": text, "depends_on": needs} for text, needs in plan.hops()]
            return {"hops": hops}
        case Stage.TOOL:
            return _tool(plan, inputs["hop"])
        case Stage.REFINE:
            return {"analysis": "More to ask for.", "tool": _document(plan, inputs["hop"])}
        case Stage.FACTS:
            return _facts(plan, inputs["hop"], inputs["item"], inputs["call"])
        case Stage.CODE:
            return {"analysis": "As documented.", "code": _code(plan, inputs["hop"])}
        case Stage.CALL:
            return {"arguments": _tool(plan, inputs["hop"])["arguments"], "answer_path": []}
        case Stage.QUESTION:
            return {"question": plan.question()}
        case other:
            raise ValueError(f"nothing is asked of an item with hops at the stage {other}")


def _table(plan: Journey, hop: int) -> tuple[str, str, str, list[str]]:
    """Of a hop that looks up: tool, key, answer, and all that can be asked for."""
    theme = plan.theme
    if hop == 1:
        return f"find_{theme.second}_of_{theme.first}", theme.first, theme.second, [
            theme.second, "first_record",
        ]  # fmt: skip
    fields = [one.field for one in theme.attributes]
    return f"look_up_{theme.second}", theme.second, plan.attribute.field, fields


def _step(plan: Journey, hop: int) -> tuple[Step, int]:
    return plan.steps[hop - 3]


def _tool(plan: Journey, hop: int) -> Reply:
    """The first document: the refined one without what is optional."""
    full = _document(plan, hop)
    needed = full["parameters"]["required"]
    own = {name: full["parameters"]["properties"][name] for name in needed}
    parameters = {**full["parameters"], "properties": own}
    if hop <= 2:
        _, key, answer, _ = _table(plan, hop)
        text = f"Looks up the {answer.replace('_', ' ')} of a {key} by its name."
        arguments: dict[str, Any] = {key: plan.start if hop == 1 else "{1}"}
        kind = "lookup"
    else:
        step, drawn = _step(plan, hop)
        text = full["description"].split("\n")[0]
        arguments = {step.argument: f"{{{hop - 1}}}"}
        arguments |= {step.drawn[0]: drawn} if step.drawn else {}
        kind = "compute"
    tool = {"name": full["name"], "description": text, "parameters": parameters}
    return {"analysis": "One thing is asked.", "kind": kind, "tool": tool, "arguments": arguments}


def _document(plan: Journey, hop: int) -> Reply:
    if hop > 2:
        return tool_schema(_step(plan, hop)[0].tool)
    name, key, answer, fields = _table(plan, hop)
    listed = " or ".join(field.replace("_", " ") for field in fields)
    return {
        "name": name,
        "description": f"Looks up a {key} by its name and returns its {listed}, as chosen with "
        f'"field". A name that is not in the table gives an error that lists the known ones.',
        "parameters": {
            "type": "object",
            "properties": {
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
            },
            "required": [key],
            "additionalProperties": False,
        },
    }


def _facts(plan: Journey, hop: int, item: str, call: Mapping[str, Any]) -> Reply:
    if hop <= 2:
        _, key, answer, _ = _table(plan, hop)
        records = plan.first if hop == 1 else plan.second
        lookup = {"parameters": {key: key}, "fixed": {}, "answer": answer}
        return {"records": [dict(one) for one in records], "lookup": lookup}
    step, drawn = _step(plan, hop)
    rng = random.Random(f"{item}/{hop}/pairs")
    arguments, result = _WIDE[step.tool](rng)
    pairs: dict[str, Reply] = {"": {"arguments": arguments, "result": result}}
    while len(pairs) < PAIRS:
        arguments, result = _PAIRS[step.tool](rng)
        pairs[repr(arguments)] = {"arguments": arguments, "result": result}
    for arguments, result in _EDGES[step.tool]:
        pairs[repr(arguments)] = {"arguments": dict(arguments), "result": result}
    asked = {"arguments": dict(call), "result": step.work(call[step.argument], drawn)}
    return {"pairs": [*(one for key, one in pairs.items() if key != repr(call)), asked]}


def _digits(rng: random.Random) -> tuple[Reply, Any]:
    number, again = rng.randint(100, 99_999), rng.random() < 0.3
    if again:
        return {"number": number, "until_single": True}, 1 + (number - 1) % 9
    return {"number": number}, digit_sum(number, 0)


def _base(rng: random.Random) -> tuple[Reply, Any]:
    number, base = rng.randint(10, 9_999), rng.randint(2, 9)
    return {"number": number, "base": base}, in_base(number, base)


def _places(rng: random.Random) -> tuple[Reply, Any]:
    text = "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(4, 9))).capitalize()
    total, reverse = letter_places(text, 0), rng.random() < 0.3
    if reverse:
        return {"text": text, "reverse": True}, 27 * len(text) - total
    return {"text": text}, total


def _shifted(rng: random.Random) -> tuple[Reply, Any]:
    day = dt.date(rng.randint(1700, 2020), rng.randint(1, 12), rng.randint(1, 28)).isoformat()
    amount, weeks = rng.randint(2, 90), rng.random() < 0.3
    arguments: Reply = {"date": day, "amount": amount}
    arguments |= {"unit": "weeks"} if weeks else {}
    return arguments, shifted(day, amount * (7 if weeks else 1))


def _wide_number(rng: random.Random) -> int:
    return rng.randint(10**14, 10**15)


def _wide_base(rng: random.Random) -> tuple[Reply, Any]:
    number, base = _wide_number(rng), rng.randint(2, 9)
    return {"number": number, "base": base}, in_base(number, base)


def _wide_digits(rng: random.Random) -> tuple[Reply, Any]:
    number = _wide_number(rng)
    return {"number": number}, digit_sum(number, 0)


def _wide_places(rng: random.Random) -> tuple[Reply, Any]:
    text = "".join(rng.choices("abcdefghijklmnopqrstuvwxyz ", k=30)).strip().rjust(25, "q")
    return {"text": text}, letter_places(text, 0)


def _wide_shift(rng: random.Random) -> tuple[Reply, Any]:
    day, amount = f"{rng.randint(1700, 2020)}-03-01", rng.randint(400_000, 900_000)
    return {"date": day, "amount": amount}, shifted(day, amount)


_EDGES: dict[str, list[tuple[Reply, Any]]] = {
    "sum_digits": [
        ({"number": 0}, 0), ({"number": -305}, 8), ({"number": 9875, "until_single": True}, 2),
    ],
    "write_in_base": [
        ({"number": 0, "base": 3}, "0"), ({"number": -5, "base": 2}, "-101"),
        ({"number": 1295, "base": 36}, "ZZ"),
        ({"number": 255, "base": 16, "uppercase": False}, "ff"),
    ],
    "total_letter_places": [
        ({"text": "É b"}, 2), ({"text": "Ab", "reverse": True}, 51), ({"text": "Zoé"}, 41),
        ({"text": "B2 c-1"}, 5),
    ],
    "shift_date": [
        ({"date": "2023-12-31", "amount": 0}, "2023-12-31"),
        ({"date": "2024-03-01", "amount": -1}, "2024-02-29"),
        ({"date": "1999-01-31", "amount": 2, "unit": "weeks"}, "1999-02-14"),
        ({"date": "1999-01-31", "amount": 1, "unit": "months"}, "1999-02-28"),
        ({"date": "2024-02-29", "amount": 1, "unit": "years"}, "2025-02-28"),
    ],
}  # fmt: skip
"""Pairs at the edges of what each tool's document allows."""
_WIDE = {
    "sum_digits": _wide_digits,
    "write_in_base": _wide_base,
    "total_letter_places": _wide_places,
    "shift_date": _wide_shift,
}
"""A pair near the limits of what each tool's document allows."""
_PAIRS = {
    "sum_digits": _digits,
    "write_in_base": _base,
    "total_letter_places": _places,
    "shift_date": _shifted,
}

_LOOKUP = '''def {name}({key}: str, field: str = "{answer}", letters: str = "as listed"):
    """Return one field of the record of a name."""
    wanted = " ".join({key}.split()).casefold()
    for record in RECORDS:
        if record["{key}"].casefold() == wanted:
            found = record[field]
            return " ".join(str(found).upper()) if letters == "capitals" else found
    known = ", ".join(record["{key}"] for record in RECORDS)
    return {{"error": f"{key}: {{{key}}} is not known; known are {{known}}"}}
'''


def _code(plan: Journey, hop: int) -> str:
    if hop > 2:
        return tool_source(_step(plan, hop)[0].tool)
    name, key, answer, _ = _table(plan, hop)
    return _LOOKUP.format(name=name, key=key, answer=answer)
