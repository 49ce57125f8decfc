"""The planned calls of an agent that knows the solution, and what it reads from feedback."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from toolhop_env.messages import AssistantMessage, Message, RawCall, ToolMessage
from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import leaves, same_answer
from toolhop_tools.examples import example_calls
from toolhop_tools.model import Hop, Item
from toolhop_tools.reading import answer_at, read_result

MOST_EXAMPLES = 4
"""Maximum example calls for a hop without a gold call; few sources have more than 4."""


@dataclass(frozen=True, slots=True)
class PlannedHop:
    """The calls for one hop, all made in one turn."""

    tool: str
    arguments: tuple[dict[str, JSON], ...]
    """Arguments of the gold call, or else of the examples in the tool's source; may be empty."""


def plan(item: Item) -> tuple[PlannedHop, ...]:
    """Return the plan for an item: gold calls if it has them, else examples."""
    return tuple(PlannedHop(hop.tool.name, _candidates(hop)) for hop in item.hops)


def _candidates(hop: Hop) -> tuple[dict[str, JSON], ...]:
    if hop.gold is not None:
        return (dict(hop.gold.arguments),)
    return example_calls(hop.tool.program)[:MOST_EXAMPLES]


def raw_calls(hop: PlannedHop, turn: int) -> tuple[RawCall, ...]:
    """Return the hop's calls as a model would write them."""
    return tuple(
        RawCall(f"call_{turn}_{index}", hop.tool, json.dumps(arguments, ensure_ascii=False))
        for index, arguments in enumerate(hop.arguments, start=1)
    )


def turns(messages: Sequence[Message]) -> tuple[tuple[str, ...], ...]:
    """Return the feedback texts of each turn so far; a turn without calls has none."""
    found: list[list[str]] = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            found.append([])
        elif isinstance(message, ToolMessage) and found:
            found[-1].append(message.content)
    return tuple(tuple(texts) for texts in found)


def final_answer(item: Item, feedback: Sequence[str]) -> str:
    """Return the answer to give after the last hop's calls.

    If a certificate locates the answer within the result, return the value found there. Otherwise
    return the gold answer if a result contains it, else the first value, right or not.
    """
    gold = item.hops[-1].gold if item.hops else None
    if gold is not None and gold.reading is not None and len(feedback) == 1:
        read = answer_at(read_result(feedback[0]), gold.reading)
        if read is not None:
            return read
    found = [leaf for text in feedback for leaf in leaves(_value(text))]
    if any(same_answer(item.answer, leaf) for leaf in found):
        return item.answer
    return found[0] if found else "unknown"


def _value(text: str) -> JSON:
    try:
        value: JSON = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value
