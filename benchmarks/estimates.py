"""How often `toolhop run --estimate` holds what the rest of a run costs.

    python -m benchmarks.estimates [--write]

Made runs: an episode's tokens come from one of several shapes, some items are played as a pilot,
and the interval that says 90 % is compared with what the rest takes. Shapes: lognormal with a sigma
of 0.5, 0.8 and 1.2; few whole numbers of turns; tokens that grow with the square of the turns, as
each turn sends the conversation again; three epochs of items that differ more than their epochs do;
and one that no small pilot can see: every tenth item costs five times as much. `--write` puts the
table into benchmarks/tables.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.pages import print_or_put
from tests.env.made import attempt
from toolhop_agents.runs.estimate import estimate
from toolhop_env.attempt import Attempt
from toolhop_env.score import Conduct, Score
from toolhop_env.trace import Ending

COUNT = 1000
PILOTS = (5, 10, 20)
SIZES = (40, 200, 1000)

Tokens: TypeAlias = NDArray[np.int64]
Shape: TypeAlias = Callable[[np.random.Generator, int], Tokens]
"""Tokens by item and epoch, given how many items."""


def _lognormal(sigma: float) -> Shape:
    return lambda rng, n: np.rint(rng.lognormal(8, sigma, (n, 1))).astype(np.int64)


def _turns(rng: np.random.Generator, n: int) -> Tokens:
    hops = rng.choice([3, 4, 5, 6, 7], (n, 1), p=[0.43, 0.355, 0.137, 0.01, 0.068])
    return 800 * (hops + 1)


def _conversations(rng: np.random.Generator, n: int) -> Tokens:
    turns = 2 + rng.poisson(3, (n, 1))
    return np.rint(150 * turns**2 * rng.lognormal(0, 0.2, (n, 1))).astype(np.int64)


def _epochs(rng: np.random.Generator, n: int) -> Tokens:
    return np.rint(rng.lognormal(8, 0.7, (n, 1)) * rng.lognormal(0, 0.3, (n, 3))).astype(np.int64)


def _rare(rng: np.random.Generator, n: int) -> Tokens:
    long = np.where(rng.random((n, 1)) < 0.1, 5, 1)
    return np.rint(long * rng.lognormal(8, 0.4, (n, 1))).astype(np.int64)


SHAPES: Mapping[str, Shape] = {
    "lognormal, sigma 0.5": _lognormal(0.5),
    "lognormal, sigma 0.8": _lognormal(0.8),
    "lognormal, sigma 1.2": _lognormal(1.2),
    "4 to 8 turns": _turns,
    "square of the turns": _conversations,
    "three epochs an item": _epochs,
    "rare long items": _rare,
}


def _played(item: int, tokens: int) -> Attempt:
    conduct = Conduct(
        ending=Ending.ANSWERED, turns=4, calls=3, errors={}, repairable=0, input_tokens=tokens,
        output_tokens=7, cost_usd=0.0, wall_s=2.0, tool_s=0.1, retries=0,
    )  # fmt: skip
    return attempt(str(item), Score(conduct, {}))


def held(
    shape: Shape, pilots: int, size: int, *, count: int = COUNT, seed: int = 1
) -> tuple[float, float]:
    """The share of made runs whose rest lies in the interval, and the median of high by low."""
    rng = np.random.default_rng(seed)
    hits, widths = 0, []
    for study in range(count):
        tokens = shape(rng, size)
        rest = int(tokens.sum() - tokens[:pilots, 0].sum())
        left = tokens.size - pilots
        made = estimate(
            [_played(item, int(tokens[item, 0])) for item in range(pilots)],
            {"mandatory": left},
            items_left=size if tokens.shape[1] > 1 else left,
            at_a_time=1,
            seed=study,
        ).input_tokens
        low, high = made.low or 0.0, made.high or 0.0
        hits += low <= rest <= high
        widths.append(high / max(1.0, low))
    return hits / count, float(np.median(widths))


def table(count: int = COUNT) -> Iterator[str]:
    yield (
        "| tokens of an episode | items played | "
        + " | ".join(f"{size} items: held, high / low" for size in SIZES)
        + " |"
    )
    yield "|---|---|" + "---|" * len(SIZES)
    for name, shape in SHAPES.items():
        for pilots in PILOTS:
            found = [held(shape, pilots, size, count=count) for size in SIZES]
            cells = " | ".join(f"{100 * share:.1f} %, {width:.1f}" for share, width in found)
            yield f"| {name} | {pilots} | {cells} |"


if __name__ == "__main__":
    print_or_put(table(), "estimates", __doc__)
