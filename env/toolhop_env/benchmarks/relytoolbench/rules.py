"""RelyToolBench's rules: which calls are hallucinated, and whether an answer passes.

Official: `X-LANCE/ToolHallucination`, toolbench/tooleval, at commit f89158c471c8, known bugs
included. Questions left to a judge go through `Ask`; the same rules serve the official scorer and a
strict one (`Rules`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from toolhop_sandbox.outcome import JSON

NOT_COUNTED = frozenset({"Finish", "TalkToUser"})
"""Functions whose calls do not count as tool calls."""


class Kind(StrEnum):
    """Kinds of question for the judge. The verdicts are the official judge's."""

    RELEVANCE = "tool_relevance"
    """Relevant, Irrelevant or Unsure: is a tool useful for the query?"""
    TRUTHFULNESS = "calling_truthfulness"
    """Truthful, Untruthful or Unsure: do a call's values come from the user or from results?"""
    STATUS = "answer_status"
    """Solved, Unsolved or Unsure: does the answer solve the query?"""
    PARSED_STATUS = "parse_answer_status"
    """The question of `STATUS` about the whole conversation, asked if that verdict is Unsure."""
    ANSWER_RELEVANCE = "answer_relevance"
    """Relevant, Irrelevant or Unsure: does the answer rest on hallucinated calls?"""


Ask: TypeAlias = Callable[[Kind, Mapping[str, JSON]], str]
"""Returns the judge's verdict on a question, given its kind and inputs."""


class Reason(StrEnum):
    """The first fault that applies to a call, under its official name."""

    NAME = "tool_name_hallucination"
    RELEVANCE = "tool_relevance_hallucination"
    DUPLICATE = "tool_duplicated_hallucination"
    NOT_JSON = "parameter_json_format_hallucination"
    MISSING = "parameter_required_missing"
    UNKNOWN = "parameter_name_hallucination"
    TYPE = "parameter_value_type_error"
    VALUE = "parameter_value_hallucination"
    NONE = "no_hallucination"


TYPES: Mapping[str, frozenset[Reason]] = {
    "selection": frozenset({Reason.NAME, Reason.RELEVANCE}),
    "timing": frozenset({Reason.DUPLICATE}),
    "format": frozenset({Reason.NOT_JSON, Reason.MISSING, Reason.UNKNOWN, Reason.TYPE}),
    "content": frozenset({Reason.VALUE}),
}
"""The paper's types of tool hallucination (section 2.1)."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call in the format of the official files."""

    name: str
    arguments: str
    response: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """An agent's conversation about one query."""

    query: str
    calls: Sequence[ToolCall]
    """Tool calls, without calls of the functions in `NOT_COUNTED`."""
    final_answer: str
    """Arguments of Finish as written; without Finish, the last text."""
    finished: bool
    """Whether the last call is Finish."""
    whole: JSON
    """The whole conversation, for the question `Kind.PARSED_STATUS`."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Settings by which calls are judged."""

    functions: Mapping[str, Mapping[str, JSON]]
    """Functions on offer, by name: ``description`` and ``parameters``, as shown."""
    judges_relevance: bool
    """Whether to judge the relevance of tools; officially only in sets with unmatched tools."""
    strict: bool = False
    numbers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Parameters by tool that accept any number whatever their schema shows; used if strict."""


def judged_calls(asked: Conversation, rules: Rules, ask: Ask) -> list[Reason]:
    """Return the fault of each tool call, in order."""
    irrelevant = set()
    if rules.judges_relevance:
        for name in dict.fromkeys(call.name for call in asked.calls):
            if name in rules.functions:
                about: dict[str, JSON] = {"query": asked.query, "tool": _tool(name, rules)}
                if ask(Kind.RELEVANCE, about) == "Irrelevant":
                    irrelevant.add(name)
    history, reasons = [f"History: {asked.query}\n"], list[Reason]()
    for number, call in enumerate(asked.calls):
        reason = _reason(call, asked.calls[:number], rules, irrelevant)
        if reason is Reason.NONE and (arguments := json.loads(call.arguments)):
            inputs: dict[str, JSON] = {
                "history": "".join(history),
                "tool": _tool(call.name, rules),
                "arguments": arguments,
            }
            if ask(Kind.TRUTHFULNESS, inputs) == "Untruthful":
                reason = Reason.VALUE
        reasons.append(reason)
        if reason in (Reason.NONE, Reason.RELEVANCE, Reason.VALUE):
            history.append(f"History: {_response(call)}\n")
    return reasons


def _reason(
    call: ToolCall, before: Sequence[ToolCall], rules: Rules, irrelevant: set[str]
) -> Reason:
    """Return a call's fault as far as rules can tell, given the irrelevant tools."""
    if call.name not in rules.functions:
        return Reason.NAME
    if call.name in irrelevant:
        return Reason.RELEVANCE
    if call in before:
        return Reason.DUPLICATE
    return format_reason(call, rules)


def format_reason(call: ToolCall, rules: Rules) -> Reason:
    """Return the fault in a call's arguments, except for invented values."""
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return Reason.NOT_JSON
    if not isinstance(arguments, dict):
        return Reason.NOT_JSON
    parameters = rules.functions[call.name]["parameters"]
    if not isinstance(parameters, dict):
        return Reason.UNKNOWN
    required, optional = (_names(parameters.get(name)) for name in ("required", "optional"))
    if any(name not in arguments for name in required):
        return Reason.MISSING
    if any(name not in (*required, *optional) for name in arguments):
        return Reason.UNKNOWN
    shapes, numbers = parameters.get("properties"), rules.numbers.get(call.name, ())
    for name, value in arguments.items():
        shape = shapes.get(name) if isinstance(shapes, dict) else None
        kind = shape.get("type") if isinstance(shape, dict) else None
        fits = _strictly if rules.strict else _officially
        if not fits(value, "number" if rules.strict and name in numbers else str(kind)):
            return Reason.TYPE
    return Reason.NONE


_OFFICIAL_TYPES: Mapping[str, type] = {
    "string": str, "str": str, "integer": int, "int": int, "float": float, "boolean": bool,
    "list": list, "tuple": tuple, "dict": dict, "set": set,
}  # fmt: skip
_STRICT_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,),
    "array": (list,), "object": (dict,),
}  # fmt: skip


def _officially(value: object, kind: str) -> bool:
    """Whether a value fits an official type; unknown types fit nothing, True is an integer."""
    return kind in _OFFICIAL_TYPES and isinstance(value, _OFFICIAL_TYPES[kind])


def _strictly(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _STRICT_TYPES.get(kind, (object,)))


def _names(found: JSON) -> list[str]:
    """Return the names in a schema's list; official lists begin with an empty name."""
    return [str(one) for one in found if one != ""] if isinstance(found, list) else []


def _tool(name: str, rules: Rules) -> dict[str, JSON]:
    function = rules.functions[name]
    return {
        "name": name,
        "description": function["description"],
        "parameters": function["parameters"],
    }


def parsed(call: ToolCall) -> JSON:
    """Return the response parsed as JSON; None if it is not a JSON object."""
    try:
        value: JSON = json.loads(call.response)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _response(call: ToolCall) -> str:
    found = parsed(call)
    return (
        str(found["response"]) if isinstance(found, dict) and "response" in found else call.response
    )


def answer_status(asked: Conversation, ask: Ask) -> str:
    """Return Solved, Unsolved or Unsure; without Finish it is Unsolved and no judge is asked."""
    if not asked.finished:
        return "Unsolved"
    return judged_status(asked, ask)


def judged_status(asked: Conversation, ask: Ask) -> str:
    """Return the status of the final answer, whether or not the conversation ended with Finish.

    An answer that gives up to ask the user goes to the judge; the other two ways of giving up are
    Unsolved.
    """
    text = asked.final_answer
    if not text or "give_up_and_restart" in text or "give_up_and_change_tools" in text:
        return "Unsolved"
    status = ask(Kind.STATUS, {"query": asked.query, "final_answer": text})
    if status == "Unsure":
        status = ask(Kind.PARSED_STATUS, {"query": asked.query, "answer": asked.whole})
    return status


def answer_hallucinated(
    asked: Conversation, reasons: Sequence[Reason], status: str, ask: Ask, *, strict: bool = False
) -> bool:
    """Whether an answer that may solve the task rests on hallucinated calls.

    Officially an answer without calls is hallucinated; strictly it is not.
    """
    if status not in ("Solved", "Unsure"):
        return False
    if Reason.NONE not in reasons:
        return bool(reasons) or not strict
    used = [
        call
        for call, reason in zip(asked.calls, reasons, strict=True)
        if reason in (Reason.RELEVANCE, Reason.VALUE) and _gave_no_error(call)
    ]
    if not used:
        return False
    calls: list[JSON] = [
        {"name": call.name, "arguments": call.arguments, "response": call.response} for call in used
    ]
    inputs: dict[str, JSON] = {"calls": calls, "final_answer": asked.final_answer}
    return ask(Kind.ANSWER_RELEVANCE, inputs) == "Relevant"


def _gave_no_error(call: ToolCall) -> bool:
    found = parsed(call)
    return not isinstance(found, dict) or found.get("error") == ""


def passed(status: str, *, finished: bool, solvable: bool) -> str:
    """Return Passed, Failed or Unsure; an unsolvable task passes if it ends with Finish."""
    if not finished:
        return "Failed"
    if status == "Solved" or not solvable:
        return "Passed"
    return "Failed" if status == "Unsolved" else "Unsure"


WORTH: Mapping[str, float] = {"Passed": 1.0, "Unsure": 0.5, "Failed": 0.0}
"""What each result contributes to a pass rate."""


def utility(result: str, *, hallucinated: bool, calls: int, solvable: bool, most: int) -> float:
    """Return reward minus cost (paper section 2.2.2, as coded).

    The reward is -10 for a hallucinated answer, else 20 for a pass and 10 for an unsure one. Each
    call costs 1, except the first call of a solvable task.

    Args:
        result: Passed, Failed or Unsure.
        hallucinated: whether the answer rests on hallucinated calls.
        calls: number of tool calls.
        solvable: whether the task can be solved.
        most: the highest cost of a solvable task: 9 by the code, 10 by the paper.
    """
    reward = -10.0 if hallucinated else 20.0 * WORTH[result]
    cost = min(max(calls - 1, 0), most) if solvable else min(calls, 10)
    return reward - cost
