"""How far a run has come, from its attempts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from toolhop_env.attempt import Attempt, Key
from toolhop_env.score import Errored


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come."""

    finished: frozenset[Key]
    """Episodes with a score: they are not played again."""
    attempts: dict[Key, int]
    """The number of the last attempt, of those that are not finished."""


def progress(attempts: Iterable[Attempt]) -> Progress:
    """From the attempts of a run, in any order."""
    finished: set[Key] = set()
    last: dict[Key, int] = {}
    for one in attempts:
        if isinstance(one.verdict, Errored):
            last[one.key] = max(last.get(one.key, 0), one.attempt)
        else:
            finished.add(one.key)
    return Progress(frozenset(finished), {k: n for k, n in last.items() if k not in finished})
