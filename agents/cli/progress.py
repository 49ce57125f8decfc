"""What is under way, as it goes: counts, figures so far, time left."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich import progress as rich_progress
from rich.console import Console

from env.score import Score
from env.summary import Judged

PLAIN_EVERY_S = 5.0
"""Seconds between lines where the output is no terminal."""


class Steps:
    """Equal steps of a known number: a live line on a terminal, a plain one now and then."""

    def __init__(
        self, console: Console, what: str, total: int | None = None, done: int = 0
    ) -> None:
        """Show `total` steps, of which some may be `done`; without a total, from `start` on."""
        self._console, self._what = console, what
        self._total, self._done = total or 0, done
        self._said = time.monotonic()
        self._bar = rich_progress.Progress(
            rich_progress.TextColumn("{task.description}", markup=False),
            rich_progress.BarColumn(bar_width=24),
            rich_progress.MofNCompleteColumn(),
            rich_progress.TextColumn("{task.fields[figures]}", markup=False),
            rich_progress.TimeElapsedColumn(),
            rich_progress.TextColumn("left"),
            rich_progress.TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._task: rich_progress.TaskID | None = None
        if total is not None:
            self.start(total)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def start(self, total: int) -> None:
        """Show `total` steps."""
        self._total = total
        self._task = self._bar.add_task(
            self._what, total=total, completed=self._done, figures=self.figures
        )

    def step(self, _: object = None) -> None:
        """Count one."""
        self._done += 1
        self.show()

    def show(self) -> None:
        """Show what has come of it so far."""
        if self._task is not None:
            self._bar.update(self._task, completed=self._done, figures=self.figures)
        now = time.monotonic()
        if not self._console.is_terminal and now - self._said >= PLAIN_EVERY_S:
            self._said = now
            line = f"{self._done}/{self._total} {self._what} {self.figures}"
            self._console.print(line.rstrip(), markup=False, highlight=False)

    @property
    def figures(self) -> str:
        """What is known so far, beside the count."""
        return ""


class Episodes(Steps):
    """Episodes of a player, as they end."""

    _void = _right = _calls = _failed = 0

    def result(self, judged: Judged) -> None:
        """Count a finished episode. A void one is not done: it may be played again."""
        verdict = judged.verdict
        if isinstance(verdict, Score):
            self._done += 1
            self._right += verdict.strict
            self._calls += verdict.calls
            self._failed += verdict.failed_calls
        else:
            self._void += 1
        self.show()

    @property
    def figures(self) -> str:
        """Accuracy (strict) and call errors so far, and void episodes where there are any."""
        right = self._right / self._done if self._done else 0.0
        failed = self._failed / self._calls if self._calls else 0.0
        void = f", {self._void} void" if self._void else ""
        return f"strict {right:.1%}, failed calls {failed:.1%}{void}"
