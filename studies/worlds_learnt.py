"""Whether the grammar of worlds is simply learnt: the chain's shape, guessed from the question.

    python -m studies.worlds_learnt [--items 2000] [--seed 11] [--spec hops=2-5]

A softmax regression over words, and one over runs of one to three words, are fitted on questions in
forms 0 to 2 and guess the shape of chains (``Named-Pick-Follow-Read``) of other worlds: in the same
forms, in form 3, and of domains that they have not seen. Beside each accuracy stand its 95 %
interval (worlds drawn again) and the share of the shape that is commonest where it was fitted.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from toolhop_tools.worlds.domain import domains
from toolhop_tools.worlds.items import BLOCK, HARD, block
from toolhop_tools.worlds.spec import parse

LEAST = 3
"""A run of words is a feature if at least this many questions contain it."""
STEPS, RATE, MOMENTUM, DECAY = 400, 10.0, 0.9, 1e-5
"""Of the fit."""
RESAMPLES = 1000
FITTED, HELD_OUT = "0+1+2", "3"
"""Surface forms."""


@dataclass(frozen=True)
class Asked:
    """A question, and what is guessed of it."""

    question: str
    shape: str
    world: int


def asked(spec: str, seed: int, items: int, forms: str, names: Iterable[str]) -> list[Asked]:
    """Questions over worlds of some domains."""
    series = parse(f"{spec},seed={seed},forms={forms},domains={'+'.join(names)}")
    made = [(number, block(series.specs[0], number)) for number in range(-(-items // BLOCK))]
    rows = [(number, item) for number, block_items in made for item in block_items][:items]
    return [Asked(item.question, shape(item.extra[HARD]), number) for number, item in rows]


def shape(hard: object) -> str:
    """The chain's shape, of what an item says of its difficulty."""
    if not isinstance(hard, dict):
        raise TypeError(f"an item says no {HARD}")
    return str(hard["shape"])


def grams(question: str, longest: int) -> Iterator[str]:
    """Runs of words; numbers and codes count as one word each."""
    words = re.findall(r"[a-z]+|[.,:;?']", re.sub(r"\S*\d\S*", "number", question.lower()))
    for length in range(1, longest + 1):
        for start in range(len(words) - length + 1):
            yield " ".join(words[start : start + length])


class Guesser:
    """Softmax regression on which runs of words a question has, of up to so many words."""

    def __init__(self, rows: list[Asked], longest: int) -> None:
        self.longest = longest
        self.shapes = sorted({row.shape for row in rows})
        held = Counter(gram for row in rows for gram in set(grams(row.question, longest)))
        often = sorted(gram for gram, count in held.items() if count >= LEAST)
        self.places = {gram: at for at, gram in enumerate(often)}
        self.commonest = Counter(row.shape for row in rows).most_common(1)[0][0]
        inputs = self._inputs([row.question for row in rows])
        wanted = np.zeros((len(rows), len(self.shapes)), np.float32)
        wanted[range(len(rows)), [self.shapes.index(row.shape) for row in rows]] = 1
        self.weights = np.zeros((inputs.shape[1], len(self.shapes)), np.float32)
        moved = np.zeros_like(self.weights)
        for _ in range(STEPS):
            scores = inputs @ self.weights
            shares = np.exp(scores - scores.max(axis=1, keepdims=True))
            shares /= shares.sum(axis=1, keepdims=True)
            slope = inputs.T @ (shares - wanted) / len(rows) + DECAY * self.weights
            moved = MOMENTUM * moved - RATE * slope
            self.weights += moved

    def _inputs(self, questions: list[str]) -> npt.NDArray[np.float32]:
        """A row of length one for each question; the last column is the same in all."""
        inputs = np.zeros((len(questions), len(self.places) + 1), np.float32)
        for row, question in zip(inputs, questions, strict=True):
            row[
                [self.places[each] for each in grams(question, self.longest) if each in self.places]
            ] = 1
            row[-1] = 1
        inputs /= np.linalg.norm(inputs, axis=1, keepdims=True)
        return inputs

    def guesses(self, questions: list[str]) -> list[str]:
        """The likeliest shape of each; runs of words that were never seen say nothing."""
        likeliest = (self._inputs(questions) @ self.weights).argmax(axis=1)
        return [self.shapes[at] for at in likeliest]


def interval(rows: list[Asked], right: list[bool]) -> tuple[float, float]:
    """95 % of the accuracies when worlds are drawn again."""
    worlds = sorted({row.world for row in rows})
    sums: npt.NDArray[np.float64] = np.zeros((len(worlds), 2))
    for row, is_right in zip(rows, right, strict=True):
        sums[worlds.index(row.world)] += (is_right, 1)
    drawn = np.random.default_rng(0).integers(len(worlds), size=(RESAMPLES, len(worlds)))
    totals = sums[drawn].sum(axis=1)
    low, high = np.quantile(totals[:, 0] / totals[:, 1], [0.025, 0.975])
    return float(low), float(high)


def main() -> None:
    """Print a line for each model and test."""
    about = __doc__ or ""
    parser = argparse.ArgumentParser(description=about.split("\n", 1)[0])
    parser.add_argument("--items", type=int, default=2000, help="questions to fit on; half to test")
    parser.add_argument("--seed", type=int, default=11, help="of the worlds; others test")
    parser.add_argument("--spec", default="hops=2-5", help="settings of the items")
    given = parser.parse_args()
    every, unseen = [*domains()], [*domains()][::4]
    seen = [name for name in every if name not in unseen]
    half = given.items // 2
    rows = asked(given.spec, given.seed, given.items, FITTED, every)
    seen_rows = asked(given.spec, given.seed + 1, given.items, FITTED, seen)
    tests = [
        ("same forms", rows, asked(given.spec, given.seed + 2, half, FITTED, every)),
        ("held-out form", rows, asked(given.spec, given.seed + 3, half, HELD_OUT, every)),
        ("held-out domains", seen_rows, asked(given.spec, given.seed + 4, half, FITTED, unseen)),
    ]
    print(f"{'test':18}{'features':12}{'accuracy':>10}{'95 %':>18}{'commonest':>11}{'shapes':>8}")
    for title, fitted, test in tests:
        for features, longest in (("words", 1), ("1-3 words", 3)):
            guesser = Guesser(fitted, longest)
            guesses = guesser.guesses([row.question for row in test])
            right = [row.shape == guess for row, guess in zip(test, guesses, strict=True)]
            low, high = interval(test, right)
            commonest = sum(row.shape == guesser.commonest for row in test) / len(test)
            shapes = len({row.shape for row in test})
            accuracy = sum(right) / len(right)
            print(
                f"{title:18}{features:12}{accuracy:10.1%}{f'{low:.1%} to {high:.1%}':>18}"
                f"{commonest:11.1%}{shapes:8}"
            )


if __name__ == "__main__":
    main()
