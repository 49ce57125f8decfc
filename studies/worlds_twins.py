"""Whether one can tell from outside which of two siblings lacks a tool that it needs.

    python -m studies.worlds_twins [--worlds 120] [--spec near=twins,tools=20]

Of each item of some worlds `missing-tool` is made. Its two siblings have one question, so that the
question tells nothing. Their lists of tools are told apart by a logistic classifier and by naive
Bayes over words and names; each is fitted on half of the worlds and asked about the other half, and
then the other way round. Printed are the balanced accuracy and how often the right one of a pair is
chosen, with 95 % intervals by drawing whole worlds anew.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toolhop_tools.model import Item
from toolhop_tools.scenarios.scene import FURTHER, Reason
from toolhop_tools.worlds.items import BLOCK, block
from toolhop_tools.worlds.scenarios import missing_tool, scene_of
from toolhop_tools.worlds.spec import parse

Numbers = NDArray[np.float64]
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
STEPS, RATE, DECAY = 400, 0.5, 1e-3
DRAWS = 2000
"""Of worlds, for an interval."""


@dataclass(frozen=True)
class Pair:
    """Two siblings by what their tools say."""

    world: int
    whole: Counter[str]
    lacking: Counter[str]


def told(item: Item) -> Counter[str]:
    """What the list of tools says: names, their words, words of documents, and how many."""
    words = Counter[str]()
    for tool in item.tools.values():
        words[f"tool {tool.name}"] += 1
        words.update(f"name {word.lower()}" for word in WORD.findall(tool.name))
        words.update(word.lower() for word in WORD.findall(tool.schema.description))
    words[f"tools {len(item.tools)}"] += 1
    return words


def pairs(text: str, worlds: int) -> Iterator[Pair]:
    """The siblings of all items of some worlds."""
    (spec,) = parse(text).specs
    for world in range(worlds):
        for item in block(spec, world):
            scene = scene_of(item, FURTHER)
            drafts = missing_tool(scene, 0) if scene else Reason.NOT_OF_WORLDS
            if not isinstance(drafts, Reason):
                yield Pair(world, told(drafts[0].siblings[0].item), told(drafts[0].item))


def matrix(texts: Sequence[Counter[str]], words: dict[str, int]) -> Numbers:
    """Whether each text has each word, and how often."""
    rows = np.zeros((len(texts), 2 * len(words)))
    for row, text in zip(rows, texts, strict=True):
        for word, count in text.items():
            if word in words:
                row[2 * words[word]] = 1
                row[2 * words[word] + 1] = np.log1p(count)
    return rows


def logistic(rows: Numbers, lacking: Numbers) -> Numbers:
    """Weights of a logistic regression, the last of them constant."""
    rows = np.column_stack([rows, np.ones(len(rows))])
    weights = np.zeros(rows.shape[1])
    scale = RATE / max(1.0, float((rows**2).sum(axis=1).mean()) / 4)
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))
        weights -= scale * (rows.T @ (chance - lacking) / len(rows) * 4 + DECAY * weights)
    return weights


def bayes(rows: Numbers, lacking: Numbers) -> Numbers:
    """Weights of naive Bayes over which words there are, the last of them constant."""
    has, is_lacking = rows > 0, lacking > 0
    shares = [(has[side].sum(axis=0) + 1) / (side.sum() + 2) for side in (is_lacking, ~is_lacking)]
    there, absent = np.log(shares[0] / shares[1]), np.log((1 - shares[0]) / (1 - shares[1]))
    return np.append(there - absent, absent.sum())


def scores(
    made: Sequence[Pair], fit: Callable[[Numbers, Numbers], Numbers], seed: int
) -> dict[int, list[tuple[float, float]]]:
    """By world: scores of whole and lacking lists, by what was fitted on the other half."""
    worlds = sorted({pair.world for pair in made})
    random.Random(seed).shuffle(worlds)
    half, out = len(worlds) // 2, dict[int, list[tuple[float, float]]]()
    for known, asked in ((worlds[:half], worlds[half:]), (worlds[half:], worlds[:half])):
        seen = [pair for pair in made if pair.world in set(known)]
        texts = [text for pair in seen for text in (pair.whole, pair.lacking)]
        counts = Counter(word for text in texts for word in text)
        common = [word for word, count in counts.items() if count > 2]
        words = {word: at for at, word in enumerate(common)}
        weights = fit(matrix(texts, words), np.tile([0.0, 1.0], len(seen)))
        for pair in (pair for pair in made if pair.world in set(asked)):
            rows = matrix([pair.whole, pair.lacking], words)
            whole, lacking = np.column_stack([rows, np.ones(2)]) @ weights
            out.setdefault(pair.world, []).append((float(whole), float(lacking)))
    return out


def interval(by_world: Sequence[Sequence[float]], seed: int) -> tuple[float, float, float]:
    """The mean over all pairs, and its 95 % interval over worlds."""
    drawn = np.random.default_rng(seed)
    sums = np.array([(sum(values), len(values)) for values in by_world])
    picks = drawn.integers(len(sums), size=(DRAWS, len(sums)))
    totals = sums[picks].sum(axis=1)
    low, high = np.quantile(totals[:, 0] / totals[:, 1], [0.025, 0.975])
    return float(sums[:, 0].sum() / sums[:, 1].sum()), float(low), float(high)


def right(whole: float, lacking: float) -> float:
    """Balanced accuracy on a pair: each of the two for itself."""
    return ((whole < 0) + (lacking > 0) + ((whole == 0) + (lacking == 0)) / 2) / 2


def chosen(whole: float, lacking: float) -> float:
    """Whether the one that lacks a tool is chosen of the two."""
    return 0.5 if whole == lacking else float(lacking > whole)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--worlds", type=int, default=120)
    parser.add_argument("--spec", default="", help="settings of the items, beside seed= and items=")
    parser.add_argument("--seed", type=int, default=11)
    asked = parser.parse_args()
    more = f",{asked.spec}" if asked.spec else ""
    text = f"seed={asked.seed},items={asked.worlds * BLOCK}{more}"
    made = list(pairs(text, asked.worlds))
    print(f"worlds:{text}: {len(made)} of {asked.worlds * BLOCK} items give a pair")
    for name, fit in (("logistic", logistic), ("naive Bayes", bayes)):
        by_world = scores(made, fit, asked.seed)
        for what, value in (("balanced accuracy", right), ("chosen of a pair", chosen)):
            values = [[value(*pair) for pair in of] for of in by_world.values()]
            mean, low, high = interval(values, asked.seed)
            print(f"{name}, {what}: {mean:.1%} (95 %: {low:.1%} to {high:.1%})")


if __name__ == "__main__":
    main()
