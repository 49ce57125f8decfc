"""How far a run has come, from its attempts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from toolhop_env.attempt import Attempt, Key
from toolhop_env.score import Errored
from toolhop_env.spending import Spent


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come."""

    finished: frozenset[Key] = frozenset()
    """Episodes with a score: they are not played again."""
    attempts: dict[Key, int] = field(default_factory=dict)
    """The number of the last attempt, of those that are not finished."""


@dataclass
class Tally:
    """What attempts come to, taken in one by one: none of them is kept."""

    spent: Spent = field(default_factory=Spent)
    """By all of them, and before them."""
    _finished: set[Key] = field(default_factory=set)
    _last: dict[Key, int] = field(default_factory=dict)

    def add(self, one: Attempt) -> None:
        """Take in an attempt; in any order."""
        self.spent += one.spent
        if isinstance(one.verdict, Errored):
            self._last[one.key] = max(self._last.get(one.key, 0), one.attempt)
        else:
            self._finished.add(one.key)

    def progress(self) -> Progress:
        """How far they have come."""
        left = {key: number for key, number in self._last.items() if key not in self._finished}
        return Progress(frozenset(self._finished), left)


def progress(attempts: Iterable[Attempt]) -> Progress:
    """From the attempts of a run, in any order."""
    tally = Tally()
    for one in attempts:
        tally.add(one)
    return tally.progress()
