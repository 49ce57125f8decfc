"""Tests of failed calls where one side makes as many errors and fewer calls after them.

    python -m benchmarks.failed_calls [--write]

Made studies: each item has a rate of failing of its own, and both sides fail by it. The first side
makes many more good calls after its failures than the second, so that the second fails in a larger
share of its calls with not one error more. Counted is how often a test rejects at 0.05: what
`toolhop compare` reports of failed calls an episode and of one code, and for comparison a test of
the share of calls, which it does not make. In the last rows the second side fails more: there the
share of rejections is power. `--write` puts the table into benchmarks/tables.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.pages import print_or_put
from tests.env.made import attempt
from toolhop_env.attempt import Attempt
from toolhop_env.measures import CODES, CONDUCT, Measure
from toolhop_env.pairs.line import Options, line
from toolhop_env.pairs.pair import Pair
from toolhop_env.score import Conduct, Score
from toolhop_env.trace import Ending
from toolhop_env.verdicts import ErrorCode

COUNT = 4000
CODE = ErrorCode.MISSING_ARGUMENT
OTHER = ErrorCode.WRONG_TYPE
BY_NAME: Mapping[str, Measure] = {one.name: one for one in (*CONDUCT, *CODES)}
TESTS: Mapping[str, Measure] = {
    "failed calls an episode": BY_NAME["failed_calls"],
    "one code an episode": BY_NAME[f"error_{CODE.value}"],
    "share of calls (not made)": replace(BY_NAME["instance_error"], tested=True),
}
OPTIONS = Options(resamples=1000)


@dataclass(frozen=True, slots=True)
class Habit:
    """How two sides fail and call."""

    items: int
    epochs: int
    calls_after: tuple[float, float]
    """Good calls of an episode beside those that failed, mean of each side."""
    failures: float = 1.0
    """Mean failed calls of an episode of the first side, by items that differ."""
    more: float = 1.0
    """How many times as often the second side fails."""


HABITS = (
    *(Habit(n, epochs, after) for n in (20, 43, 100)
      for epochs, after in ((1, (8.0, 8.0)), (1, (8.0, 2.0)), (3, (8.0, 2.0)))),
    Habit(43, 1, (8.0, 2.0), failures=0.2),
    Habit(43, 1, (8.0, 8.0), more=2.0),
    Habit(100, 1, (8.0, 2.0), more=2.0),
)  # fmt: skip


def study(habit: Habit, rng: np.random.Generator) -> list[Pair]:
    """One made study."""
    pairs = []
    for item in range(habit.items):
        rate = rng.gamma(1.0, habit.failures)
        for epoch in range(1, habit.epochs + 1):
            sides = [
                _side(item, epoch, rng.poisson(rate * more), rng.poisson(after), rng)
                for more, after in zip((1.0, habit.more), habit.calls_after, strict=True)
            ]
            pairs.append(Pair(sides[0].key, sides[0], sides[1]))
    return pairs


def _side(item: int, epoch: int, failed: int, good: int, rng: np.random.Generator) -> Attempt:
    first = int(rng.binomial(failed, 0.5))
    counts = {CODE: first, OTHER: int(failed) - first}
    conduct = Conduct(
        ending=Ending.ANSWERED, turns=int(failed + good) + 1, calls=int(failed + good) + 1,
        errors={code: n for code, n in counts.items() if n}, repairable=0, input_tokens=0,
        output_tokens=0, cost_usd=None, wall_s=0.0, tool_s=0.0, retries=0,
    )  # fmt: skip
    return attempt(str(item), Score(conduct, {}), epoch=epoch)


def rejections(habit: Habit, *, count: int = COUNT, seed: int = 1) -> dict[str, float]:
    """By test, the share of made studies in which it rejects at 0.05."""
    rng = np.random.default_rng(seed)
    found = dict.fromkeys(TESTS, 0)
    for _ in range(count):
        pairs = study(habit, rng)
        for name, measure in TESTS.items():
            one = line(measure, pairs, OPTIONS)
            found[name] += one is not None and one.p_value is not None and one.p_value <= 0.05
    return {name: hits / count for name, hits in found.items()}


def table() -> Iterator[str]:
    yield "| items | epochs | good calls (A / B) | failures (A / B) | " + " | ".join(TESTS) + " |"
    yield "|---|---|---|---|" + "---|" * len(TESTS)
    for habit in HABITS:
        calls = " / ".join(f"{after:g}" for after in habit.calls_after)
        failures = f"{habit.failures:g} / {habit.failures * habit.more:g}"
        shares = " | ".join(f"{100 * share:.1f} %" for share in rejections(habit).values())
        yield f"| {habit.items} | {habit.epochs} | {calls} | {failures} | {shares} |"


if __name__ == "__main__":
    print_or_put(table(), "failed calls", __doc__)
