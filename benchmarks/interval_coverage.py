"""How often intervals hold a known difference, and how often tests see one that is not there.

    python -m benchmarks.interval_coverage [--write]

First the four intervals for one pair an item that were candidates, by enumerating every outcome
that n pairs can have: exact, nothing is drawn. Then what `toolhop compare` reports, over 1,000 made
studies an effect. `--write` puts the tables into benchmarks/tables.md.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks import studies
from benchmarks.pages import put
from benchmarks.studies import Effect, Study
from toolhop_env.statistics import bootstrap, paired, permutation

Z = 1.959963984540054
SHARES = 200
RANGES = ((0.03, 0.15), (0.15, 0.5))
"""Shares of discordant pairs that are drawn from, with any split between gained and lost."""


def wald(gained: float, lost: float, n: float) -> tuple[float, float]:
    middle = (gained - lost) / n
    half = Z * math.sqrt(gained + lost - (gained - lost) ** 2 / n) / n
    return middle - half, middle + half


def agresti_min(gained: float, lost: float, n: float) -> tuple[float, float]:
    return wald(gained + 0.5, lost + 0.5, n + 2)


def bonett_price(gained: float, lost: float, n: float) -> tuple[float, float]:
    one, other = (gained + 1) / (n + 2), (lost + 1) / (n + 2)
    half = Z * math.sqrt((one + other - (one - other) ** 2) / (n + 2))
    return one - other - half, one - other + half


def tango(gained: int, lost: int, n: int) -> tuple[float, float]:
    return paired.score_interval(gained, lost, n)


INTERVALS: dict[str, Callable[..., tuple[float, float]]] = {
    "Wald": wald, "Agresti-Min": agresti_min, "Bonett-Price": bonett_price, "Tango": tango,
}  # fmt: skip


def outcomes(n: int) -> NDArray[np.int64]:
    return np.array([(b, c) for b in range(n + 1) for c in range(n + 1 - b)])


def chances(counts: NDArray[np.int64], n: int, gained: float, lost: float) -> NDArray[np.float64]:
    b, c = counts.T
    rest = n - b - c
    logs = np.array([math.lgamma(count + 1) for count in range(n + 1)])
    ways = logs[n] - logs[b] - logs[c] - logs[rest]
    likely = b * np.log(gained) + c * np.log(lost) + rest * np.log(1 - gained - lost)
    found: NDArray[np.float64] = np.exp(ways + likely)
    return found


def exact() -> Iterator[str]:
    yield "| pairs | discordant share | interval | mean coverage | least | most |"
    yield "|---|---|---|---|---|---|"
    for n in (20, 43, 60):
        counts = outcomes(n)
        limits = {
            name: np.array([interval(int(b), int(c), n) for b, c in counts])
            for name, interval in INTERVALS.items()
        }
        for low, high in RANGES:
            rng = np.random.default_rng(1)
            found: dict[str, list[float]] = {name: [] for name in INTERVALS}
            for share, split in zip(
                rng.uniform(low, high, SHARES), rng.uniform(0.001, 0.999, SHARES), strict=True
            ):
                gained, lost = share * split, share * (1 - split)
                weights = chances(counts, n, gained, lost)
                for name, ends in limits.items():
                    inside = (ends[:, 0] <= gained - lost) & (gained - lost <= ends[:, 1])
                    found[name].append(float(weights[inside].sum()))
            for name, held in found.items():
                figures = (np.mean(held), min(held), max(held))
                cells = " | ".join(f"{100 * value:.1f} %" for value in figures)
                yield f"| {n} | {low:g} to {high:g} | {name} | {cells} |"


EFFECTS = (
    Effect(20, 0.15, 0.15),
    Effect(20, 0.3, 0.1),
    Effect(43, 0.1, 0.1),
    Effect(43, 0.2, 0.05),
    Effect(100, 0.05, 0.05),
    Effect(100, 0.2, 0.1),
    Effect(20, 0.1, 0.1, epochs=3, noise=0.2),
    Effect(20, 0.2, 0.05, epochs=4, noise=0.1),
    Effect(43, 0.1, 0.1, epochs=3, noise=0.1),
    Effect(43, 0.3, 0.05, epochs=2, noise=0.2),
)


def one_each(study: Study) -> tuple[float, float]:
    found = paired.difference(studies.pooled(study))
    return found.low, found.high


def resampled(study: Study) -> tuple[float, float]:
    found = bootstrap.clustered(study, seed=1, resamples=2000)
    return found.low, found.high


def mcnemar(study: Study) -> float:
    return paired.difference(studies.pooled(study)).p_value


def flipped(study: Study) -> float:
    return permutation.sign_flip([sum(a - b for b, a in one) for one in study.values()], seed=1)


def simulated() -> Iterator[str]:
    yield "| items | epochs | true difference | method | interval holds it | test rejects |"
    yield "|---|---|---|---|---|---|"
    for effect in EFFECTS:
        methods: Sequence[tuple[str, Callable[[Study], tuple[float, float]], Callable[..., float]]]
        methods = [("bootstrap, permutation", resampled, flipped)]
        if effect.epochs == 1:
            methods = [("Tango, McNemar", one_each, mcnemar), *methods]
        for name, interval, test in methods:
            held = studies.coverage(effect, interval, seed=1).share
            rejected = studies.rejections(effect, test, seed=1).share
            figures = f"{100 * held:.1f} % | {100 * rejected:.1f} %"
            truth = f"{100 * effect.difference:+.1f} points" if effect.difference else "none"
            yield f"| {effect.items} | {effect.epochs} | {truth} | {name} | {figures} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the tables into the page")
    wanted = parser.parse_args()
    tables = {"exact": "\n".join(exact()), "simulated": "\n".join(simulated())}
    print(*tables.values(), sep="\n\n")
    if wanted.write:
        for name, table in tables.items():
            put(name, table)


if __name__ == "__main__":
    main()
