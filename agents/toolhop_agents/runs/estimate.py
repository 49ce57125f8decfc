"""Estimate the cost of the rest of a run from the episodes played: totals with intervals.

The sampling unit is the item: its modes and epochs are assumed to cost alike, which errs on the
safe side. The intervals are those of `toolhop_env.statistics.totals`. With a handful of items they
are wide, and still cannot reflect rare long episodes that were not sampled.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from toolhop_env.attempt import Attempt
from toolhop_env.score import Conduct, Errored
from toolhop_env.statistics import totals

LEVEL = 0.90
"""Nominal coverage of the intervals."""
REPLICATES = 4000
FIGURES = ("requests", "input_tokens", "output_tokens", "cost_usd", "seconds")

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ExpectedTotal:
    """An expected total with its interval."""

    expected: float
    low: float | None
    """None if there is only one item, which says nothing about the spread."""
    high: float | None


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """The work left in a run and its estimated cost."""

    items: int
    """Number of items the estimate is based on."""
    errored: int
    """Number of errored episodes played, which are not used."""
    episodes: int
    """Number of episodes left."""
    requests: ExpectedTotal
    input_tokens: ExpectedTotal
    output_tokens: ExpectedTotal
    cost_usd: ExpectedTotal | None
    """None if a price is unknown."""
    seconds: ExpectedTotal
    """Wall-clock time, with the run's number of concurrent episodes."""


class NothingToGoBy(Exception):
    """No item was played without an error in every mode, so there is no basis for an estimate."""


def estimate(
    judged: Iterable[Attempt],
    left: Mapping[str, int],
    *,
    items_left: int,
    at_a_time: int,
    seed: int,
    turn_limit: int | None = None,
    level: float = LEVEL,
    replicates: int = REPLICATES,
) -> RunEstimate:
    """Estimate what the remaining episodes will take.

    Args:
        judged: verdicts of the episodes played.
        left: number of remaining episodes by mode.
        items_left: number of items these episodes have.
        at_a_time: number of concurrent episodes.
        seed: seed of the bootstrap.
        turn_limit: maximum number of replies per episode; caps the high end of requests, apart from
            the expected retries.
        level: nominal coverage of the intervals.
        replicates: number of bootstrap replicates.

    Raises:
        NothingToGoBy: no item was played in all of the remaining modes.
    """
    modes = [mode for mode, episodes in left.items() if episodes]
    means, errored = _by_item(judged, modes)
    if modes and not len(means):
        raise NothingToGoBy(f"none of the items played has a score in {' and '.join(modes)}")
    wanted = np.array([left[mode] for mode in modes], dtype=np.float64)
    by_item: Floats = np.einsum("m,imf->fi", wanted / max(1, items_left), means)
    rng = np.random.default_rng(seed)
    made = dict.fromkeys(FIGURES, ExpectedTotal(0.0, 0.0, 0.0))
    for name, values in zip(FIGURES, by_item, strict=True) if modes else ():
        limits = totals.total(values, items_left, rng, level=level, replicates=replicates)
        made[name] = ExpectedTotal(items_left * float(values.mean()), *(limits or (None, None)))
    episodes = sum(left.values())
    if turn_limit is not None:
        made["requests"] = _at_most(made["requests"], float(episodes * turn_limit))
    lanes = max(1, min(at_a_time, episodes))
    return RunEstimate(
        items=len(means),
        errored=errored,
        episodes=episodes,
        requests=made["requests"],
        input_tokens=made["input_tokens"],
        output_tokens=made["output_tokens"],
        cost_usd=None if np.isnan(made["cost_usd"].expected) else made["cost_usd"],
        seconds=_shared(made["seconds"], lanes),
    )


def _at_most(one: ExpectedTotal, most: float) -> ExpectedTotal:
    high = None if one.high is None else min(one.high, max(most, one.expected))
    return replace(one, high=high)


def _shared(one: ExpectedTotal, lanes: int) -> ExpectedTotal:
    low, high = (None if end is None else end / lanes for end in (one.low, one.high))
    return ExpectedTotal(one.expected / lanes, low, high)


def _by_item(judged: Iterable[Attempt], modes: Sequence[str]) -> tuple[Floats, int]:
    """Return the mean of each figure by item and mode, for items with all modes."""
    rows: dict[str, dict[str, list[list[float]]]] = defaultdict(lambda: defaultdict(list))
    errored = 0
    for one in judged:
        if isinstance(one.verdict, Errored):
            errored += 1
        elif one.mode in modes:
            rows[one.item][one.mode].append(_figures(one.verdict.conduct))
    means = [
        [np.mean(by_mode[mode], axis=0) for mode in modes]
        for by_mode in rows.values()
        if len(by_mode) == len(modes)
    ]
    return np.array(means, dtype=np.float64).reshape(len(means), len(modes), len(FIGURES)), errored


def _figures(of: Conduct) -> list[float]:
    """Return the figures of an episode as if no reply came from a cache."""
    costs = [of.cost_usd, of.saved_usd]
    return [
        of.turns + of.retries,
        of.input_tokens + of.saved_input_tokens,
        of.output_tokens + of.saved_output_tokens,
        float("nan") if None in costs else sum(cost for cost in costs if cost is not None),
        of.wall_s,
    ]
