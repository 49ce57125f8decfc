"""Examples from Hypothesis: drawn in bulk, and shrunk if one fails.

Hypothesis is imported on first use. It runs without its own database: failures are stored by
`toolhop_tools.properties.store` as readable calls.
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
"""Maximum number of calls for shrinking one example; each takes about 3 ms."""
SHRINK_S = 8.0
"""Maximum time for shrinking one example, in seconds, in case calls hang."""


def text_of(value: object) -> str:
    """Return a value as JSON with sorted keys, which identifies an example."""
    plain = asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
    return json.dumps(plain, sort_keys=True, ensure_ascii=False, default=str)


def drawn(strategy: SearchStrategy[T], count: int, seed: int) -> list[T]:
    """Return up to `count` distinct examples; the same seed gives the same examples.

    The list is empty if the strategy has no examples.
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
    """Return the smallest example found for which `fails` is true, or None.

    Args:
        strategy: the strategy from which the examples were drawn.
        count: the number of examples drawn, so that the same ones come up first.
        seed: the seed with which they were drawn.
        fails: makes the real calls.
        sound: texts (`text_of`) of examples known not to fail, which are not called.
    """
    budget: _Budget[T] = _Budget(fails, sound)

    def check(value: T) -> None:
        if budget.fails(value):
            raise _Failed

    with contextlib.suppress(_Failed):
        _run(strategy, check, count, seed, shrink=True)
    return budget.smallest


class _Failed(Exception):
    """Raised to signal to Hypothesis that an example fails."""


class _Budget(Generic[T]):
    """Known verdicts on examples, so that answers are consistent and calls are limited."""

    def __init__(self, fails: Callable[[T], bool], sound: Collection[str]) -> None:
        self._fails = fails
        self._known = dict.fromkeys(sound, False)
        self._calls = 0
        self._end_s = time.monotonic() + SHRINK_S
        self._best: tuple[int, str] | None = None
        self.smallest: T | None = None

    def fails(self, value: T) -> bool:
        """Whether `value` fails; False if unknown and the budget is used up."""
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
        # Some examples are drawn twice; both modes must begin with the same ones.
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
