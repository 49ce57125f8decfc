"""Nested tasks put to the product's own reader and scorer of NesTools. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolhop_env.measures import Scorer
from toolhop_env.scorers import nestools_counts as counting
from toolhop_env.scorers.nestools import answer_text, gold_calls, gold_of
from toolhop_env.scorers.nestools_shape import depth, structure
from toolhop_env.scorers.nestools_values import calls_in
from toolhop_sandbox.outcome import JSON
from toolhop_tools.blind.votes import Vote
from toolhop_tools.construct.nested.model import Nest
from toolhop_tools.model import Item
from toolhop_tools.readers.nestools import item_of

PARTS = ("selection", "order", "param", "nested")


@dataclass(frozen=True)
class ReadBack:
    """A task as the reader of the official format has it."""

    nest: Nest
    item: Item
    tools: tuple[JSON, ...]
    """As a prompt lists them, with ids."""


def read_back(nest: Nest, topic: str) -> ReadBack:
    """The task, read from its own row.

    Raises:
        DataError: the format's reader refuses the row.
    """
    item = item_of(nest.to_row(1, topic))
    ids = {tool.name: tool.facts["id"] for tool in item.others}
    rows = [{"api_id": ids[api.name], **api.to_row()} for api in nest.apis]
    tools: list[JSON] = [{"api_name": row.pop("api_name"), **row} for row in rows]
    return ReadBack(nest, item, (*tools,))


def gold_figures(read: ReadBack) -> tuple[Mapping[str, JSON], bool]:
    """What the gold answer gets by both scorers, with depth and structure as the released code
    counts them; and whether it is all that can be got.
    """
    gold = gold_calls(gold_of(read.item))
    predicted = calls_in(answer_text(gold_of(read.item)))
    both = {
        Scorer.OFFICIAL: counting.official(gold, predicted),
        Scorer.STRICT: counting.strict(gold, predicted),
    }
    measures: JSON = {who.value: {**_f1(counts), "tree": counts.tree}
                      for who, counts in both.items()}  # fmt: skip
    figures: dict[str, JSON] = {
        "depth": depth(gold), "structure": structure(gold), "measures": measures,
    }  # fmt: skip
    return figures, all(counts.tree for counts in both.values())


def _f1(counts: counting.Counts) -> dict[str, JSON]:
    parts: dict[str, counting.Count] = {name: getattr(counts, name) for name in PARTS}
    return {
        name: 2 * part.correct / whole if (whole := part.predicted + part.gold) else 1.0
        for name, part in parts.items()
    }


def vote_of(read: ReadBack, answer: str) -> tuple[Vote, str]:
    """What a reader's answer says of a task, and the words for it.

    It agrees where all F1 are 1 by the strict scorer. Calls that break off are those of unknown
    tools or parameters, or without required ones.
    """
    predicted = calls_in(answer)
    if not predicted:
        return Vote.MALFORMED, "no calls could be made from the text"
    counts = counting.strict(gold_calls(gold_of(read.item)), predicted)
    if counts.tree:
        return Vote.AGREES, ""
    low = ", ".join(f"{name} {part:.2f}" for name, part in _f1(counts).items() if part != 1)
    words = f"other calls than yours ({low}): {_short(predicted)}"
    return Vote.DIFFERS if _holds(read.nest, predicted) else Vote.BREAKS, words


def _holds(nest: Nest, calls: Sequence[Mapping[str, Any]]) -> bool:
    """Whether calls are such as the tools take."""
    for call in calls:
        api = nest.by_name.get(call["api_name"])
        given = call["parameters"]
        if api is None or not {*api.required} <= {*given} <= {*api.parameters}:
            return False
    return True


def _short(calls: Sequence[Mapping[str, Any]]) -> str:
    plain = [{"api_name": call["api_name"], "parameters": call["parameters"]} for call in calls]
    return json.dumps(plain, ensure_ascii=False, default=str)[:1500]
