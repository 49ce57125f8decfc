"""NesTools: plan nested calls in one reply.

The shipped prompt is ours. A template with the official text (paper, table 9), ``{tools}`` and
``{question}`` yields the official prompt: the tools are written as in the official code, as the
repr of a Python list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from toolhop_agents.benchmarks.binding import (
    ANY_MODE,
    Answers,
    Ask,
    Binding,
    Interaction,
    PredictionFile,
    Prompt,
    Turn,
)
from toolhop_agents.prompts import TemplateError, messages, shipped, tool_lines
from toolhop_env.benchmarks.nestools.counts import UNKNOWN
from toolhop_env.benchmarks.nestools.scorer import (
    BENCHMARK,
    CALLS,
    answer_text,
    gold_calls,
    gold_of,
    gold_types,
)
from toolhop_env.benchmarks.nestools.stub import Stub, resolved
from toolhop_env.messages import AssistantMessage, Message, RawCall, Reply
from toolhop_env.reading import CallFormat
from toolhop_env.trace import Trace
from toolhop_sandbox.outcome import JSON
from toolhop_tools.benchmarks.nestools.reader import REWRITTEN, TYPES, WITHOUT_CONJUNCTIONS
from toolhop_tools.errors import BadChoice, DataError, DataProblem, shown
from toolhop_tools.model import Item, Tool
from toolhop_tools.perturb.connectives import without_connectives
from toolhop_tools.readers.datafile import parse_rows, read_bytes
from toolhop_tools.readers.record import Record

NO_TYPES, NO_CONNECTIVES = "no-types", "no-connectives"
FAILED = -1
"""Value in the official file for a failed request."""
OFFICIAL_TYPES = {ours: official for official, ours in TYPES.items()}


def _prompt(ask: Ask) -> Prompt:
    if ask.mode == CALLS:
        return _by_calls(ask)
    template = ask.template or shipped("plan", BENCHMARK.name)
    if "{tools}" not in template:
        raise TemplateError(
            "the template has no {tools}; put it where the list of tools shall stand"
        )
    question = ask.item.wordings.get(ask.mode, ask.item.question)
    if ask.mode == WITHOUT_CONJUNCTIONS and ask.mode not in ask.item.wordings:
        raise BadChoice(
            f"mode {ask.mode}: the data has no question in other words for {ask.item.id}",
            fix=f"put a file {REWRITTEN}.jsonl with test_id and task beside the data, or take the "
            f"mode {NO_CONNECTIVES}, in which a rule of ours takes out words of order",
        )
    if ask.mode == NO_CONNECTIVES:
        calls = gold_calls(gold_of(ask.item))
        values = (str(value) for call in calls for value in call.parameters.values())
        question = without_connectives(question, values)
    tools = [_shown(tool, typed=ask.mode != NO_TYPES) for tool in ask.item.tools.values()]
    return messages(template, {"question": question, "tools": str(tools)})


def _by_calls(ask: Ask) -> Prompt:
    """Build the prompt of the calls mode, which offers tools as in any other benchmark."""
    is_text = ask.call_format is CallFormat.TEXT
    values = {
        "question": ask.item.question,
        "tools": tool_lines(ask.schemas),
        "tool_format": shipped("tool_format") if is_text else "",
    }
    return messages(ask.template or shipped("calls", BENCHMARK.name), values)


def _shown(tool: Tool, *, typed: bool) -> dict[str, JSON]:
    """Convert a tool to its form in the official prompt, which puts the id after the name.

    Args:
        tool: a tool that is only described.
        typed: whether to include the types of its responses.
    """
    schema, responses = tool.schema.parameters, _objects(tool.facts.get("responses"))
    odd = tool.facts.get("types")
    types = odd if isinstance(odd, dict) else {}
    parameters = {
        name: {"type": types.get(name, OFFICIAL_TYPES.get(str(one.pop("type", ""))))} | one
        for name, one in _objects(schema.get("properties")).items()
    }
    if not typed:
        responses = {
            name: {key: value for key, value in one.items() if key != "type"}
            for name, one in responses.items()
        }
    return {
        "api_name": tool.facts.get("api_name", tool.name),
        "api_id": tool.facts.get("id"),
        "api_description": tool.schema.description,
        "parameters": dict(parameters),
        "required": schema.get("required", []),
        "responses": dict(responses),
    }


def _objects(value: JSON) -> dict[str, dict[str, JSON]]:
    found = value if isinstance(value, dict) else {}
    return {name: dict(one) for name, one in found.items() if isinstance(one, dict)}


def _gold(item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
    """Make the gold calls: as a plan, or one after the other with the returned values."""
    if tools:
        gold = gold_of(item)
        calls = gold_calls(gold)
        arguments = resolved(calls, gold_types(gold))
        made = [(one.name, values) for one, values in zip(calls, arguments, strict=True)]
        return _next(made, messages)
    return Reply(answer_text(gold_of(item)))


def _next(calls: Sequence[tuple[str, Mapping[str, JSON]]], messages: Sequence[Message]) -> Reply:
    """Make the next call; say "done" after the last."""
    done = sum(isinstance(one, AssistantMessage) for one in messages)
    if done >= len(calls):
        return Reply("done")
    name, arguments = calls[done]
    text = json.dumps(dict(arguments), ensure_ascii=False)
    return Reply("", (RawCall(f"call_{done + 1}", name, text),))


def _empty(item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
    """Reply with an empty list, which is a valid plan, and make no calls."""
    return Reply("[]")


def _renumbered(item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
    """Make the gold calls with placeholders numbered from 100, an equally correct answer."""
    if tools:
        return _gold(item, seed, messages, tools)
    text = answer_text(gold_of(item))
    return Reply(re.sub(r"(?<=API_call_)\d+", lambda found: str(100 + int(found[0])), text))


def _all_tools(item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
    """Call every tool in the order shown, with unknown values.

    If calls are run, the values have the right types.
    """
    if tools:
        made = [(one.name, _typed(one)) for one in item.tools.values()]
        return _next(made, messages)
    calls: list[Mapping[str, JSON]] = []
    count = 0
    for tool in item.tools.values():
        responses: dict[str, JSON] = {}
        for name in _objects(tool.facts.get("responses")):
            responses[name], count = f"API_call_{count}", count + 1
        required = tool.schema.parameters.get("required")
        names = required if isinstance(required, list) else []
        calls.append(
            {
                "api_name": tool.name,
                "api_id": tool.facts.get("id"),
                "parameters": {str(name): UNKNOWN for name in names},
                "responses": responses,
            }
        )
    return Reply(json.dumps(calls, ensure_ascii=False))


VALUES: Mapping[str, JSON] = {
    "integer": 7, "number": 7.5, "boolean": True, "array": [], "object": {},
}  # fmt: skip


def _typed(tool: Tool) -> dict[str, JSON]:
    shapes = _objects(tool.schema.parameters.get("properties"))
    required = tool.schema.parameters.get("required")
    names = required if isinstance(required, list) else []
    return {
        str(name): VALUES.get(str(shapes.get(str(name), {}).get("type")), UNKNOWN) for name in names
    }


def _read(path: Path) -> Answers:
    """Read the official file: ``test_id`` and ``response`` per line, -1 for a failed request.

    Raises:
        DataError: a line has another form, or an id is repeated.
    """
    found: dict[tuple[str, str], Sequence[Turn]] = {}
    problems: list[DataProblem] = []
    for where, row in parse_rows(read_bytes(path), lines=True, origin=str(path)):
        record = Record(row if isinstance(row, dict) else {}, where, problems)
        number, text = record.value.get("test_id"), record.value.get("response")
        if isinstance(number, bool) or not isinstance(number, int | str):
            record.note("no-id", "test_id", expected="the id of a row", given=shown(number))
        elif (str(number), ANY_MODE) in found:
            given = f"{number}, answered before"
            record.note("duplicate-id", "test_id", expected="an id of its own", given=given)
        elif not isinstance(text, str) and text != FAILED:
            expected = f"text, or {FAILED} for a failed request"
            record.note("wrong-type", "response", expected=expected, given=shown(text))
        else:
            found[str(number), ANY_MODE] = [Turn(Reply(text))] if isinstance(text, str) else ()
    if problems:
        raise DataError("the answers cannot be used", problems, origin=str(path))
    return found


def _write(traces: Sequence[Trace]) -> Mapping[str, str]:
    """Write the official answer file.

    Raises:
        DataError: the traces are of several modes, or of a mode with calls.
    """
    modes = {trace.started.mode for trace in traces}
    if len(modes) > 1 or CALLS in modes:
        raise DataError(
            f"the official file has no place for {'modes' if len(modes) > 1 else CALLS}",
            fix="export a run of one mode by planning",
        )
    rows = (
        {
            "test_id": int(item) if item.isdecimal() else item,
            "response": FAILED if text is None else text,
        }
        for item, text in ((trace.started.item, trace.final_text) for trace in traces)
    )
    return {"": "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)}


BINDING = Binding(
    BENCHMARK,
    _prompt,
    Interaction.PLANNING,
    agents={"gold": _gold, "empty": _empty, "all-tools": _all_tools, "renumbered": _renumbered},
    predictions=PredictionFile(_read, _write),
    episode_modes=frozenset({CALLS}),
    described=Stub(),
)
