"""Progress of a run, computed from its attempts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from toolhop_env.attempt import Attempt, Key
from toolhop_env.score import Errored
from toolhop_env.spending import Spent


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a run."""

    finished: frozenset[Key] = frozenset()
    """Episodes with a score, which are not played again."""
    attempts: dict[Key, int] = field(default_factory=dict)
    """Number of the last attempt at each episode without a score."""


@dataclass
class Tally:
    """Adds up attempts one at a time, without storing them."""

    spent: Spent = field(default_factory=Spent)
    """Spending of all attempts."""
    _finished: set[Key] = field(default_factory=set)
    _last: dict[Key, int] = field(default_factory=dict)

    def add(self, one: Attempt) -> None:
        """Add an attempt; the order does not matter."""
        self.spent += one.spent
        if isinstance(one.verdict, Errored):
            self._last[one.key] = max(self._last.get(one.key, 0), one.attempt)
        else:
            self._finished.add(one.key)

    def progress(self) -> Progress:
        """Return the progress so far."""
        left = {key: number for key, number in self._last.items() if key not in self._finished}
        return Progress(frozenset(self._finished), left)


def progress(attempts: Iterable[Attempt]) -> Progress:
    """Return the progress from a run's attempts, in any order."""
    tally = Tally()
    for one in attempts:
        tally.add(one)
    return tally.progress()
