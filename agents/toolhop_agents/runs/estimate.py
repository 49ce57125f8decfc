"""What the rest of a run will cost, from the episodes that were played: totals with intervals.

Items are what was sampled, so the interval is a bootstrap over items. Each replicate draws as many
items as were played, with replacement, and from these as many as are left: so the interval holds
both how little is known of the mean, and how the rest will scatter around it. Deviations from the
mean are widened by sqrt(m / (m - 1)) for m items, as a sample's own scatter is too small by that.
With a handful of items the interval is rough, and blind to rare long episodes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toolhop_env.attempt import Attempt
from toolhop_env.score import Conduct, Errored

LEVEL = 0.90
"""Share of cases that the interval is made for."""
REPLICATES = 4000
FIGURES = ("requests", "input_tokens", "output_tokens", "cost_usd", "seconds")

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ExpectedTotal:
    """An expected total, and where it should come to lie."""

    expected: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """What is left, and what it will take."""

    items: int
    """Items that it is drawn from."""
    errored: int
    """Episodes played that are errored, and tell nothing."""
    episodes: int
    """Episodes that are left."""
    requests: ExpectedTotal
    input_tokens: ExpectedTotal
    output_tokens: ExpectedTotal
    cost_usd: ExpectedTotal | None
    """None where a price is not known."""
    seconds: ExpectedTotal
    """On the clock, with as many episodes at a time as in the run."""


class NothingToGoBy(Exception):
    """No item was played in every mode without a fault: nothing can be said of the rest."""


def estimate(
    judged: Iterable[Attempt],
    left: Mapping[str, int],
    *,
    at_a_time: int,
    seed: int,
    level: float = LEVEL,
    replicates: int = REPLICATES,
) -> RunEstimate:
    """What the episodes that are left will take.

    Args:
        judged: the verdicts of the episodes played.
        left: by mode, how many episodes are left.
        at_a_time: episodes under way at a time.
        seed: of the bootstrap.
        level: of the intervals.
        replicates: of the bootstrap.

    Raises:
        NothingToGoBy: no item was played in all of the modes that are left.
    """
    modes = [mode for mode, episodes in left.items() if episodes]
    means, errored = _by_item(judged, modes)
    if modes and not len(means):
        raise NothingToGoBy(f"none of the items played has a score in {' and '.join(modes)}")
    wanted = np.array([left[mode] for mode in modes], dtype=np.float64)
    totals = _totals(means, wanted, np.random.default_rng(seed), replicates)
    expected = np.einsum("m,mf->f", wanted, means.mean(axis=0)) if modes else np.zeros(len(FIGURES))
    low, high = np.quantile(totals, [(1 - level) / 2, (1 + level) / 2], axis=0)
    made = {
        name: ExpectedTotal(float(expected[n]), max(0.0, float(low[n])), float(high[n]))
        for n, name in enumerate(FIGURES)
    }
    known = not np.isnan(expected[FIGURES.index("cost_usd")])
    clock, lanes = made["seconds"], max(1, min(at_a_time, sum(left.values())))
    return RunEstimate(
        items=len(means),
        errored=errored,
        episodes=sum(left.values()),
        requests=made["requests"],
        input_tokens=made["input_tokens"],
        output_tokens=made["output_tokens"],
        cost_usd=made["cost_usd"] if known else None,
        seconds=ExpectedTotal(clock.expected / lanes, clock.low / lanes, clock.high / lanes),
    )


def _by_item(judged: Iterable[Attempt], modes: Sequence[str]) -> tuple[Floats, int]:
    """By item, mode and figure, the mean over the item's episodes; items that have all modes."""
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
    """What an episode takes where no reply comes from a cache."""
    costs = [of.cost_usd, of.saved_usd]
    return [
        of.turns + of.retries,
        of.input_tokens + of.saved_input_tokens,
        of.output_tokens + of.saved_output_tokens,
        float("nan") if None in costs else sum(cost for cost in costs if cost is not None),
        of.wall_s,
    ]


def _totals(means: Floats, wanted: Floats, rng: np.random.Generator, replicates: int) -> Floats:
    """Totals of the rest, one row a replicate."""
    items = len(means)
    if not items or not wanted.any():
        return np.zeros((replicates, len(FIGURES)))
    rounds = int(wanted.max())
    # Every mode is played of the same items: an item that is drawn is drawn with all its modes.
    per_item = np.einsum("m,imf->if", wanted / rounds, means)
    resampled = rng.multinomial(items, np.full(items, 1 / items), size=replicates)
    drawn = rng.multinomial(rounds, resampled / items)
    totals: Floats = drawn @ per_item
    middle = rounds * per_item.mean(axis=0)
    widened: Floats = middle + (totals - middle) * np.sqrt(items / max(1, items - 1))
    return widened
