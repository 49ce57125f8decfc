"""Select the episodes of a large run that a page holds: informative ones, and a sample of the rest.

The selection never affects figures. Episodes are drawn by the digest of their names, so that the
same runs give the same page, and runs of the same items show the same episodes.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from typing import NamedTuple

from toolhop_env.attempt import Attempt, Place
from toolhop_env.benchmarks import named
from toolhop_sandbox.outcome import JSON

EPISODES = 10_000
"""Maximum number of episodes that a page holds without a selection."""
SHARE = 4
"""Each reason may select at most one in this many of a page's episodes."""


class Ref(NamedTuple):
    """A reference with which an attempt can be read again."""

    run: int
    rank: int
    """Position in the order of reading."""
    name: str
    file: str
    place: Place | None

    @classmethod
    def of(cls, run: int, rank: int, one: Attempt) -> Ref:
        """Return a reference to an attempt that was read."""
        return cls(run, rank, one.episode, one.file, one.place)


@dataclass
class Drawn:
    """A sample of the groups offered: those with the smallest digests."""

    most: int
    offered: int = 0
    _kept: list[tuple[int, tuple[Ref, ...]]] = field(default_factory=list)

    def add(self, *refs: Ref) -> None:
        """Offer an episode, or several that belong together."""
        self.offered += 1
        one = (-_digest(refs[0].name), refs)
        if len(self._kept) < self.most:
            heappush(self._kept, one)
        elif self._kept:
            heappushpop(self._kept, one)

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def refs(self) -> list[tuple[Ref, ...]]:
        """The sample, the smallest digest first."""
        return [refs for _, refs in sorted(self._kept, reverse=True)]


@dataclass
class Sides:
    """One right and one wrong episode to show for an item, among those that count."""

    right: Ref | None = None
    wrong: Ref | None = None


class Selection:
    """Selects at most `most` episodes for a page. Attempts are offered one by one."""

    def __init__(self, most: int) -> None:
        quota = most // SHARE
        self._most = most
        self._errored, self._differ = Drawn(quota), Drawn(quota)
        self._pairs = Drawn(quota // 2)
        self._any = Drawn(most)
        self._items: dict[str, Sides] = {}
        self._calls = 0
        self._verdicts: Counter[str] = Counter()
        self._runs: Counter[int] = Counter()

    def add(self, ref: Ref, one: Attempt, calls: int, verdict: str) -> None:
        """Offer an attempt.

        Args:
            ref: reference for reading it again.
            one: the attempt.
            calls: number of tool calls.
            verdict: verdict as in the page's list.
        """
        self._runs[ref.run] += 1
        self._calls += calls
        self._verdicts[verdict] += 1
        self._any.add(ref)
        self._items.setdefault(one.item, Sides())
        if verdict in ("errored", "unfinished"):
            self._errored.add(ref)
        elif scorers_differ(one):
            self._differ.add(ref)

    def add_counting(self, ref: Ref, one: Attempt, verdict: str) -> None:
        """Note that an attempt counts; the right and the wrong one with the smallest digests are
        shown.
        """
        sides = self._items[one.item]
        if verdict == "right":
            sides.right = _first(sides.right, ref)
        elif verdict == "wrong":
            sides.wrong = _first(sides.wrong, ref)

    def chosen(self, discordant: Iterable[tuple[Ref, Ref]] = ()) -> tuple[list[Ref], JSON]:
        """Return the selected episodes in order, and the page's description of the selection.

        Args:
            discordant: pairs of episodes at two feedback levels, one right and one wrong.
        """
        differing = self._items_that_differ()
        for sides in differing:
            self._pairs.add(*sides)
        pairs = Drawn(self._pairs.most)
        for pair in discordant:
            pairs.add(*pair)
        reasons = (
            ("errored or unfinished", self._errored),
            ("scorers differ", self._differ),
            ("items with right and wrong answers, one of each", self._pairs),
            ("pairs of two levels with right and wrong answers", pairs),
        )
        taken: dict[Ref, None] = {}
        for _, drawn in reasons:
            taken.update(dict.fromkeys(ref for refs in drawn.refs for ref in refs))
        telling = len(taken)
        for refs in self._any.refs:
            if len(taken) >= self._most:
                break
            taken[refs[0]] = None
        return sorted(taken, key=lambda ref: (ref.run, ref.rank)), {
            "episodes": self._verdicts.total(),
            "items": len(self._items),
            "calls": self._calls,
            "verdicts": dict(self._verdicts),
            "runs": [self._runs[run] for run in range(max(self._runs, default=-1) + 1)],
            "judged": sum(bool(one.right or one.wrong) for one in self._items.values()),
            "differing": len(differing),
            "reasons": [[why, len(one), one.offered] for why, one in reasons if one.offered],
            "sample": len(taken) - telling,
        }

    def _items_that_differ(self) -> Sequence[tuple[Ref, Ref]]:
        both = ((one.right, one.wrong) for one in self._items.values())
        return [(right, wrong) for right, wrong in both if right and wrong]


def scorers_differ(one: Attempt) -> bool:
    """Whether the benchmark's scorers disagree about an attempt's answer."""
    score = one.score
    if score is None:
        return False
    said = [measure.of(score) for measure in named(one.benchmark).answer_measures if measure.binary]
    return len({parts[0] > 0 for parts in said if parts is not None}) > 1


def _first(before: Ref | None, ref: Ref) -> Ref:
    return ref if before is None else min(before, ref, key=lambda one: (_digest(one.name), one.run))


def _digest(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode(errors="surrogatepass")).digest()[:8])
