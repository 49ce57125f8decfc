"""RelyToolBench's binding: episodes of up to 50 replies that end with Finish.

The prompt is in our words; like the official one, it names the ways to give up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from toolhop_agents import prompts
from toolhop_agents.benchmarks.binding import Ask, Binding, Prompt
from toolhop_agents.benchmarks.relytoolbench.answers import ANSWERS
from toolhop_agents.scripted.model import Play
from toolhop_agents.scripted.plan import turns
from toolhop_env.benchmarks.relytoolbench.scorer import BENCHMARK, PROPER
from toolhop_env.messages import Message, RawCall, Reply, ToolMessage
from toolhop_env.reading import CallFormat
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import ActionChoice, Item, ToolSchema

TURNS = 50
"""Maximum replies per episode, as in the official runs."""


def _prompt(ask: Ask) -> Prompt:
    is_text = ask.call_format is CallFormat.TEXT
    values = {
        "question": ask.item.question,
        "tools": prompts.tool_lines(ask.schemas),
        "tool_format": prompts.shipped("tool_format", BENCHMARK.name) if is_text else "",
    }
    return prompts.messages(ask.template or prompts.shipped("finish", BENCHMARK.name), values)


def _gold(item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
    """Call each relevant tool, then report the results; defer if that is right.

    If the gold calls and the answer are known, they are used. Otherwise, values come from the
    query, and a tool that needs numbers is skipped if the query has none.
    """
    kind = str(item.gold["kind"])
    if kind in PROPER:
        return _finish(item, PROPER[kind])
    names: JSON = item.gold["relevant"]
    relevant = [str(name) for name in names] if isinstance(names, list) else []
    schemas = [item.tools[name].schema for name in relevant if name in item.tools]
    each = [(one.name, _from_query(one, item.question)) for one in schemas]
    known: Any = item.gold.get("calls")
    calls = [(name, arguments) for name, arguments in each if arguments is not None]
    if known is not None:
        calls = [(one["name"], one["arguments"]) for one in known]
    done = len(turns(messages))
    if done < len(calls):
        return _call(*calls[done], done)
    if known is not None:
        text = f"The answer is {item.gold['answer']}."
        return _finish(item, "give_answer", done, final_answer=text)
    return _answer(item, done, [one.content for one in messages if isinstance(one, ToolMessage)])


def _from_query(schema: ToolSchema, query: str) -> dict[str, JSON] | None:
    """Take the arguments from the query; None if it has no suitable value for one of them."""
    numbers, words = re.findall(r"\d+", query), query.split()
    found: dict[str, JSON] = {}
    for name, kind in _required(schema).items():
        if kind == "boolean" or (kind == "integer" and not numbers):
            return None
        found[name] = int(numbers[0]) if kind == "integer" else max(words, key=len)
    return found


def _required(schema: ToolSchema) -> dict[str, str]:
    shapes, required = (schema.parameters.get(name) for name in ("properties", "required"))
    if not isinstance(shapes, dict) or not isinstance(required, list):
        return {}
    types: dict[str, str] = {}
    for name in required:
        shape = shapes.get(str(name))
        types[str(name)] = str(shape.get("type")) if isinstance(shape, dict) else "string"
    return types


VALUES: Mapping[str, JSON] = {"integer": 7, "boolean": True}


def _all_tools(item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
    """Call every tool once, in order, with values of the right types; then answer."""
    offered = [one.schema for one in item.others if not isinstance(one.body, ActionChoice)]
    if (done := len(turns(messages))) >= len(offered):
        return _answer(item, done)
    schema = offered[done]
    arguments = {name: VALUES.get(kind, "anything") for name, kind in _required(schema).items()}
    return _call(schema.name, arguments, done)


def _empty(item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
    return Reply("")


def _always(way: str) -> Play:
    return lambda item, seed, messages, tools: _finish(item, way)


def _call(name: str, arguments: Mapping[str, JSON], turn: int) -> Reply:
    text = json.dumps(dict(arguments), ensure_ascii=False)
    return Reply("", (RawCall(f"call_{turn + 1}", name, text),))


def _finish(item: Item, way: str, turn: int = 0, **more: JSON) -> Reply:
    """End the episode with its finishing tool, whatever the tool's name."""
    name = next(one.name for one in item.others if isinstance(one.body, ActionChoice))
    return _call(name, {"return_type": way, **more}, turn)


def _answer(item: Item, turn: int, results: Sequence[str] = ()) -> Reply:
    text = "\n".join(["This is what the tools returned.", *results])
    return _finish(item, "give_answer", turn, final_answer=text)


BINDING = Binding(
    BENCHMARK,
    _prompt,
    agents={
        "gold": _gold,
        "empty": _empty,
        "always-ask": _always(PROPER["missing"]),
        "always-give-up": _always("give_up_and_restart"),
        "all-tools": _all_tools,
    },
    predictions=ANSWERS,
    turn_limit=TURNS,
)
