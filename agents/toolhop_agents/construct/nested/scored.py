"""Nested tasks put to the product's own reader and scorer of NesTools. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from toolhop_env.benchmarks.nestools import counts as counting
from toolhop_env.benchmarks.nestools.scorer import answer_text, gold_calls, gold_of
from toolhop_env.benchmarks.nestools.shape import depth, structure
from toolhop_env.benchmarks.nestools.values import calls_in
from toolhop_env.measures import Scorer
from toolhop_sandbox.outcome import JSON
from toolhop_tools.benchmarks.nestools.reader import item_of
from toolhop_tools.blind.votes import Vote
from toolhop_tools.construct.nested.model import Nest

PARTS = ("selection", "order", "param", "nested")


def gold_figures(nest: Nest, topic: str) -> tuple[Mapping[str, JSON], bool]:
    """What the gold answer gets by both scorers, with depth and structure as the released code
    counts them; and whether it is all that can be got.

    Raises:
        DataError: the format's reader refuses the task's row.
    """
    read_back = gold_of(item_of(nest.to_row(1, topic)))
    gold, predicted = gold_calls(read_back), calls_in(answer_text(read_back))
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


def vote_of(nest: Nest, answer: str) -> tuple[Vote, str]:
    """What a reader's answer says of a task, whose tools it saw numbered from 1; in words, too.

    It agrees where all F1 are 1 by the strict scorer. Calls that break off are those of unknown
    tools or parameters, or without required ones.
    """
    predicted = calls_in(answer)
    if not predicted:
        return Vote.MALFORMED, "no calls could be made from the text"
    gold = gold_calls(gold_of(item_of(nest.to_row(1, ""))))
    counts = counting.strict(gold, predicted)
    if counts.tree:
        return Vote.AGREES, ""
    low = ", ".join(f"{name} {part:.2f}" for name, part in _f1(counts).items() if part != 1)
    plain = [{name: call[name] for name in ("api_name", "parameters")} for call in predicted]
    shown = json.dumps(plain, ensure_ascii=False, default=str)[:1500]
    words = f"other calls than yours ({low}): {shown}"
    return Vote.DIFFERS if all(_taken(nest, call) for call in predicted) else Vote.BREAKS, words


def _taken(nest: Nest, call: Mapping[str, Any]) -> bool:
    """Whether a call is such as the tools take."""
    api, given = nest.by_name.get(call["api_name"]), call["parameters"]
    return api is not None and {*api.required} <= {*given} <= {*api.parameters}
