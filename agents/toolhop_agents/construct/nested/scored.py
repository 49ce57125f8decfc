"""Nested tasks put to the product's own reader and scorer of NesTools. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from toolhop_env.measures import Scorer
from toolhop_env.scorers import nestools_counts as counting
from toolhop_env.scorers.nestools import answer_text, gold_calls, gold_of
from toolhop_env.scorers.nestools_shape import depth, structure
from toolhop_env.scorers.nestools_values import calls_in
from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.nested.model import Nest
from toolhop_tools.model import Item
from toolhop_tools.readers.nestools import item_of

PARTS = ("selection", "order", "param", "nested")


@dataclass(frozen=True)
class ReadBack:
    """A task as the reader of the official format has it."""

    item: Item
    tools: list[JSON]
    """As a prompt lists them, with ids."""


def read_back(nest: Nest, topic: str) -> ReadBack:
    """The task, read from its own row.

    Raises:
        DataError: the row is none of the format's.
    """
    item = item_of(nest.to_row(1, topic))
    ids = {tool.name: tool.facts["id"] for tool in item.others}
    tools: list[JSON] = []
    for api in sorted(nest.apis, key=lambda one: one.name):
        row = api.to_row()
        tools.append({"api_name": row.pop("api_name"), "api_id": ids[api.name], **row})
    return ReadBack(item, tools)


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
    measures: dict[str, JSON] = {who.value: _figures(one) for who, one in both.items()}
    perfect = all(one.tree for one in both.values())
    figures: dict[str, JSON] = {
        "depth": depth(gold), "structure": structure(gold), "measures": measures,
    }  # fmt: skip
    return figures, perfect


def _figures(counts: counting.Counts) -> JSON:
    found: dict[str, JSON] = {name: _f1(getattr(counts, name)) for name in PARTS}
    return {**found, "tree": counts.tree}


def _f1(count: counting.Count) -> float:
    whole = count.predicted + count.gold
    return 2 * count.correct / whole if whole else 1.0


def rebuilt_figures(read: ReadBack, answer: str) -> tuple[Mapping[str, JSON], list[str]]:
    """How near an answer is to the gold, by the strict scorer; what is to be said where not all
    of it is.
    """
    gold = gold_calls(gold_of(read.item))
    predicted = calls_in(answer)
    counts = counting.strict(gold, predicted)
    figures = cast("dict[str, JSON]", _figures(counts))
    if counts.tree:
        return figures, []
    if predicted is None:
        return figures, ["A reader of the text could not make calls from it."]
    low = ", ".join(f"{name} {figures[name]:.2f}" for name in PARTS if figures[name] != 1)
    noted = f"A reader of the text made other calls than yours ({low}): {_short(predicted)}"
    return figures, [f"{noted} Say what is missing or unclear."]


def _short(predicted: Sequence[Mapping[str, Any]]) -> str:
    calls = [{"api_name": one["api_name"], "parameters": one["parameters"]} for one in predicted]
    return json.dumps(calls, ensure_ascii=False, default=str)[:1500]
