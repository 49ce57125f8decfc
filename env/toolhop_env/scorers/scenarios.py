"""Scenarios: items that lack something, or in which something goes wrong (docs/actions.md)."""

from __future__ import annotations

from toolhop_env.benchmark import Benchmark
from toolhop_env.measures import Measure, Scorer
from toolhop_env.questions import Answers
from toolhop_env.score import Values
from toolhop_env.scorers import toolhop
from toolhop_env.trace import Trace
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import Item
from toolhop_tools.scenarios.label import BENCHMARK

INFORMED, BARE = "informed", "bare"
"""Modes: the prompt says what the actions are for, or leaves that to their schemas."""


def _gold(item: Item) -> JSON:
    chain = toolhop.chain_of(item)
    return {**chain, **item.gold} if isinstance(chain, dict) else chain


def _score(trace: Trace, answers: Answers) -> Values:
    found = toolhop.score(trace, answers)
    return {name: found[name] for name in ("strict", "hops_solved")}


SCENARIOS = Benchmark(
    name=BENCHMARK,
    title="Scenarios",
    version="1",
    modes=(INFORMED, BARE),
    measures=(
        Measure("strict", "The tagged answer equals the gold.", scorer=Scorer.STRICT, binary=True,
                leads=True),
        Measure("hops_solved", "A hop's tool returned the hop's gold.", "hops solved"),
    ),
    gold=_gold,
    score=_score,
    given=toolhop.given,
    milestones=toolhop.hops,
    milestone="hop",
)  # fmt: skip
