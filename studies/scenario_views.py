"""Whether scenarios give their label away to who sees only a part, and what shallow policies get.

    python -m studies.scenario_views FILE [--seed 0] [--resamples 2000]

FILE is what `toolhop perturb` wrote. A logistic regression, and the one feature that tells most,
say from a partial view whether an item can be solved as shown: from the question alone, the list of
tools alone, the form of both alone (lengths, counts, order). They are fitted on half of the
families and measured on the other half, and the other way round. Each figure is balanced accuracy,
with the 95 % interval of families drawn again. Below stand policies that see everything and solve
nothing, as the benchmark scores them: no gate, as who reads question and tools well should see what
is missing.

Exit code 0: no view's interval reaches above 60 %, 1: one does, 3: no file.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from pathlib import Path

import anyio
import numpy as np
from numpy.typing import NDArray

from tests.canned import CannedSandbox
from toolhop_env.benchmarks import score
from toolhop_env.episode import Episode
from toolhop_env.messages import RawCall, Reply
from toolhop_env.responders import StandIns
from toolhop_env.score import Score
from toolhop_sandbox.outcome import Raised
from toolhop_tools.load import load
from toolhop_tools.model import ActionChoice, EpisodeAction, Item, Tool
from toolhop_tools.scenarios.label import label_of
from toolhop_tools.words import words

MOST = 0.60
LEAST = 3
"""Rows of those fitted on that have a feature, at least."""
STEPS, RATE, MOMENTUM, DECAY = 400, 3.0, 0.9, 1e-3
BOUNDS = 21
"""Of a feature's values that are tried: quantiles."""
Rows = NDArray[np.float64]
Features = Mapping[str, float]


# -- what is seen ------------------------------------------------------------------------------


def shown(item: Item) -> list[Tool]:
    """The tools on offer, in order, without those that act on the episode."""
    acts = (EpisodeAction, ActionChoice)
    return [tool for tool in item.tools.values() if not isinstance(tool.body, acts)]


def runs_of(text: str) -> Features:
    """The words of a text, and its pairs of words."""
    found = words(text)
    return dict.fromkeys((*found, *map(" ".join, pairwise(found))), 1.0)


def document(tool: Tool) -> str:
    return f"{tool.name.replace('_', ' ')} {tool.schema.description}"


def of_question(item: Item) -> Features:
    return runs_of(item.question)


def of_tools(item: Item) -> Features:
    """The words of the documents, and how much the tools have in common."""
    each = [frozenset(words(document(tool))) for tool in shown(item)]
    pairs = [len(a & b) / max(1, len(a | b)) for a, b in combinations(each, 2)] or [0.0]
    alike = {"#mean": float(np.mean(pairs)), "#most": max(pairs), "#least": min(pairs)}
    return {**runs_of(" . ".join(map(document, shown(item)))), **alike}


def of_form(item: Item) -> Features:
    """Lengths, counts and order; no word."""
    tools, question = shown(item), item.question
    sizes = [len(tool.schema.description) for tool in tools] or [0]
    names = [tool.name for tool in tools]
    given = [len(tool.schema.parameters.get("properties") or ()) for tool in tools] or [0]  # type: ignore[arg-type]  # of a JSON Schema
    return {
        "#letters": len(question), "#words": len(words(question)),
        "#capitals": sum(letter.isupper() for letter in question),
        "#digits": sum(letter.isdigit() for letter in question),
        "#marks": sum(not (letter.isalnum() or letter.isspace()) for letter in question),
        "#sentences": question.count(". ") + question.count("? "),
        "#tools": len(tools), "#documents": sum(sizes), "#longest": max(sizes),
        "#shortest": min(sizes), "#first": sizes[0], "#last": sizes[-1],
        "#parameters": sum(given), "#sorted": float(names == sorted(names)),
        "#numbered": sum(name[-1:].isdigit() for name in names),
    }  # fmt: skip


VIEWS: Mapping[str, Callable[[Item], Features]] = {
    "question alone": of_question, "tools alone": of_tools, "form alone": of_form,
}  # fmt: skip


# -- what is learnt of it ----------------------------------------------------------------------


class Guesser:
    """Logistic regression; both classes weigh the same."""

    def __init__(self, rows: Sequence[Features], solvable: Sequence[bool]) -> None:
        held = Counter(name for row in rows for name in row)
        self._places = {
            name: at
            for at, name in enumerate(sorted(n for n, count in held.items() if count >= LEAST))
        }
        raw = self._raw(rows)
        measured = np.array([name.startswith("#") for name in self._places], bool)
        self._mean = np.where(measured, raw.mean(0), 0.0)
        self._spread = np.where(measured, raw.std(0) + 1e-9, 1.0)
        inputs, wanted = self._inputs(rows), np.array(solvable, float)
        share = min(max(wanted.mean(), 1e-9), 1 - 1e-9)
        weight = np.where(wanted == 1, 0.5 / share, 0.5 / (1 - share)) / len(wanted)
        self._weights = np.zeros(inputs.shape[1])
        moved = np.zeros_like(self._weights)
        for _ in range(STEPS):
            error = (1 / (1 + np.exp(-(inputs @ self._weights))) - wanted) * weight
            moved = MOMENTUM * moved - RATE * (inputs.T @ error + DECAY * self._weights)
            self._weights += moved

    def _raw(self, rows: Sequence[Features]) -> Rows:
        found = np.zeros((len(rows), len(self._places)))
        for at, row in enumerate(rows):
            for name, value in row.items():
                if (place := self._places.get(name)) is not None:
                    found[at, place] = value
        return found

    def _inputs(self, rows: Sequence[Features]) -> Rows:
        """A row of length one for each; the last column is the same in all."""
        found = (self._raw(rows) - self._mean) / self._spread
        found /= np.linalg.norm(found, axis=1, keepdims=True) + 1e-9
        return np.hstack([found, np.ones((len(rows), 1))])

    def __call__(self, rows: Sequence[Features]) -> list[bool]:
        """Whether each can be solved."""
        return [bool(one > 0) for one in self._inputs(rows) @ self._weights]


class OneFeature:
    """The one feature, and the bound on its value, that tell most."""

    def __init__(self, rows: Sequence[Features], solvable: Sequence[bool]) -> None:
        held = Counter(name for row in rows for name in row)
        best = 0.0
        for name in sorted(n for n, count in held.items() if count >= LEAST):
            values = np.array([row.get(name, 0.0) for row in rows])
            for bound in np.unique(np.quantile(values, np.linspace(0, 1, BOUNDS))):
                for above in (True, False):
                    said = (values >= bound) == above
                    told = balanced(
                        ("", one, bool(a) == one) for a, one in zip(said, solvable, strict=True)
                    )
                    if told > best:
                        best, self._chosen = told, (name, float(bound), above)

    def __call__(self, rows: Sequence[Features]) -> list[bool]:
        """Whether each can be solved."""
        name, bound, above = self._chosen
        return [(row.get(name, 0.0) >= bound) == above for row in rows]


LEARNERS: Mapping[str, type[Guesser | OneFeature]] = {
    "regression": Guesser, "one feature": OneFeature,
}  # fmt: skip
Judged = tuple[str, bool, bool]
"""Family, whether it can be solved, whether that was guessed rightly."""


def guessed(
    items: Sequence[Item],
    view: Callable[[Item], Features],
    learner: type[Guesser | OneFeature],
    seed: int,
) -> list[Judged]:
    """Each item, guessed by what was learnt of the other half of the families."""
    families = sorted({label_of(item.gold).family for item in items})
    random.Random(seed).shuffle(families)
    first = {*families[: len(families) // 2]}
    halves: tuple[list[Item], list[Item]] = ([], [])
    for item in items:
        halves[label_of(item.gold).family in first].append(item)
    found: list[Judged] = []
    for fitted, measured in (halves, halves[::-1]):
        guesser = learner([*map(view, fitted)], [label_of(one.gold).solvable for one in fitted])
        for item, said in zip(measured, guesser([*map(view, measured)]), strict=True):
            label = label_of(item.gold)
            found.append((label.family, label.solvable, said == label.solvable))
    return found


def balanced(rows: Iterable[Judged]) -> float:
    """The mean over both classes of the share that is right."""
    counts = Counter((solvable, right) for _, solvable, right in rows)
    shares = [
        counts[kind, True] / max(1, counts[kind, True] + counts[kind, False])
        for kind in (True, False)
    ]
    return sum(shares) / 2


def interval(rows: Sequence[Judged], resamples: int, seed: int) -> tuple[float, float]:
    """Of families drawn again, 95 %."""
    by_family: dict[str, list[Judged]] = {}
    for row in rows:
        by_family.setdefault(row[0], []).append(row)
    rng, each = random.Random(seed), [*by_family.values()]
    drawn = sorted(
        balanced(row for part in rng.choices(each, k=len(each)) for row in part)
        for _ in range(resamples)
    )
    return drawn[int(0.025 * resamples)], drawn[int(0.975 * resamples) - 1]


# -- shallow policies --------------------------------------------------------------------------

ASK = ("talk_to_user", '{"question": "What do I need to know?", "about": ""}')
CHANGE = ("change_tools", '{"reason": "None fits.", "need": "what the task asks for"}')
GIVE_UP = ("give_up", '{"reason": "It cannot be done."}')
ANSWER = Reply("<answer>unknown</answer>")


def calls(*each: tuple[str, str]) -> Reply:
    return Reply(calls=tuple(RawCall(name, name, text) for name, text in each))


def by_overlap(item: Item) -> tuple[Reply, ...]:
    """Asks for other tools where few words of the question stand in any document."""
    known = {word for tool in shown(item) for word in words(document(tool))}
    asked = {*words(item.question)}
    answers = len(asked & known) * 2 >= len(asked)
    return (ANSWER,) if answers else (calls(CHANGE), ANSWER)


POLICIES: Mapping[str, Callable[[Item], tuple[Reply, ...]]] = {
    "always answer": lambda _: (ANSWER,),
    "always give up": lambda _: (calls(GIVE_UP),),
    "always ask, then answer": lambda _: (calls(ASK), ANSWER),
    "ask, then give up": lambda _: (calls(ASK), calls(GIVE_UP)),
    "change tools, then give up": lambda _: (calls(CHANGE), calls(GIVE_UP)),
    "ask, change and give up at once": lambda _: (calls(ASK, CHANGE, GIVE_UP),),
    "ask, change, give up in turn": lambda _: (calls(ASK), calls(CHANGE), calls(GIVE_UP)),
    "change where words differ": by_overlap,
}  # fmt: skip


async def decided(
    items: Sequence[Item], policy: Callable[[Item], tuple[Reply, ...]]
) -> list[Score]:
    """The scores of a policy, which calls no tool."""
    found: list[Score] = []
    async with CannedSandbox(lambda *_: Raised("NotCalled", "")) as box:
        for item in items:
            async with Episode(item, box, stand_ins=StandIns()) as episode:
                for reply in policy(item):
                    if not episode.trace.ended:
                        await episode.step(reply)
            scored = score(episode.trace)
            if isinstance(scored, Score):
                found.append(scored)
    return found


def lines(items: Sequence[Item]) -> Iterator[str]:
    """What each policy gets, in per cent."""
    yield f"\n{'policy':34}{'decided':>9}{'solvable':>9}{'others':>9}{'solved after':>14}"
    for name, policy in POLICIES.items():
        scores = anyio.run(decided, items, policy)
        shares = []
        for measure in ("decided_solvable", "decided_unsolvable", "solved_after"):
            parts = [parts for one in scores if (parts := one.values.get(measure)) is not None]
            shares.append(100 * sum(part[0] for part in parts) / max(1, len(parts)))
        yield f"{name:34}{(shares[0] + shares[1]) / 2:>9.1f}{shares[0]:>9.1f}{shares[1]:>9.1f}" + (
            f"{shares[2]:>14.1f}"
        )


def main() -> int:
    """Fit, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--resamples", type=int, default=2000)
    given = parser.parse_args()
    if not given.file.exists():
        print(f"no file at {given.file}", file=sys.stderr)
        return 3
    items = load(given.file).items
    solvable = sum(label_of(item.gold).solvable for item in items)
    families = len({label_of(item.gold).family for item in items})
    print(f"{len(items)} items of {families} families, {solvable} can be solved")
    over = False
    for name, view in VIEWS.items():
        for title, learner in LEARNERS.items():
            rows = guessed(items, view, learner, given.seed)
            low, high = interval(rows, given.resamples, given.seed)
            over |= high > MOST
            print(f"{name:16}{title:14}{balanced(rows):6.1%}  {low:.1%} to {high:.1%}")
    print(*lines(items), sep="\n")
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
