"""Examples from Hypothesis: drawn in bulk, and made smaller where one fails.

Hypothesis is imported when it is used. It runs without its own database: what failed is kept by
`toolhop_tools.properties.store`, as calls that a person can read.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Collection
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

T = TypeVar("T")

SHRINK_CALLS = 150
"""Calls that making one example smaller may take; 3 ms each."""
SHRINK_S = 8.0
"""Seconds that it may take, where the calls are those that hang."""


def text_of(value: object) -> str:
    """The value as JSON with sorted keys: what tells examples from each other."""
    plain = asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
    return json.dumps(plain, sort_keys=True, ensure_ascii=False, default=str)


def drawn(strategy: SearchStrategy[T], count: int, seed: int) -> list[T]:
    """`count` different examples, or as many as there are; the same for the same seed.

    A strategy with no example at all gives an empty list.
    """
    if strategy.is_empty:
        return []
    found: dict[str, T] = {}

    def note(value: T) -> None:
        found.setdefault(text_of(value), value)
        if len(found) >= count:
            raise _Failed  # enough

    with contextlib.suppress(_Failed):
        _run(strategy, note, count, seed, shrink=False)
    return list(found.values())[:count]


def shrunk(
    strategy: SearchStrategy[T],
    count: int,
    seed: int,
    fails: Callable[[T], bool],
    *,
    sound: Collection[str] = (),
) -> T | None:
    """The smallest example found for which `fails`; None where none was.

    Args:
        strategy: as it was drawn from.
        count: as it was drawn with, so that the same examples come up first.
        seed: the same.
        fails: makes the real calls.
        sound: texts (`text_of`) of examples known not to fail, for which no call is made.
    """
    budget: _Budget[T] = _Budget(fails, sound)

    def check(value: T) -> None:
        if budget.fails(value):
            raise _Failed

    with contextlib.suppress(_Failed):
        _run(strategy, check, count, seed, shrink=True)
    return budget.smallest


class _Failed(Exception):
    """Raised so that Hypothesis sees that an example fails."""


class _Budget(Generic[T]):
    """A memory of what failed: the same answer each time, and no more calls than allowed."""

    def __init__(self, fails: Callable[[T], bool], sound: Collection[str]) -> None:
        self._fails = fails
        self._known = dict.fromkeys(sound, False)
        self._calls = 0
        self._end_s = time.monotonic() + SHRINK_S
        self._best: tuple[int, str] | None = None
        self.smallest: T | None = None

    def fails(self, value: T) -> bool:
        """Whether `value` fails, as far as may still be found out."""
        text = text_of(value)
        known = self._known.get(text)
        if known is not None:
            return known
        if self._calls >= SHRINK_CALLS or time.monotonic() > self._end_s:
            return False
        self._calls += 1
        failed = self._known[text] = self._fails(value)
        size = (len(text), text)
        if failed and (self._best is None or size < self._best):
            self._best, self.smallest = size, value
        return failed


def _run(
    strategy: SearchStrategy[T],
    check: Callable[[T], None],
    count: int,
    seed: int,
    *,
    shrink: bool,
) -> None:
    import hypothesis
    from hypothesis import HealthCheck, Phase, Verbosity

    phases = [Phase.generate, Phase.shrink] if shrink else [Phase.generate]
    how = hypothesis.settings(
        # Some are drawn twice; both ways of running must begin with the same ones.
        max_examples=2 * count + 10,
        database=None,
        deadline=None,
        phases=phases,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
        verbosity=Verbosity.quiet,
    )

    def body(value: T) -> None:
        check(value)

    hypothesis.seed(seed)(how(hypothesis.given(strategy)(body)))()
