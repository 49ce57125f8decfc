"""A check as it goes: tools done, examples, failures."""

from __future__ import annotations

import time
from types import TracebackType

from rich import progress as rich_progress
from rich.console import Console

from agents.cli.check_view import executed
from agents.cli.progress import PLAIN_EVERY_S
from toolhop_tools.properties.model import ToolReport


class CheckProgress:
    """A live line on a terminal, a plain line now and then elsewhere."""

    def __init__(self, console: Console, total: int) -> None:
        self._console, self._total = console, total
        self._done = self._examples = self._failing = 0
        self._said = time.monotonic()
        self._bar = rich_progress.Progress(
            rich_progress.TextColumn("tools"),
            rich_progress.BarColumn(bar_width=24),
            rich_progress.MofNCompleteColumn(),
            rich_progress.TextColumn("{task.fields[figures]}", markup=False),
            rich_progress.TimeElapsedColumn(),
            rich_progress.TextColumn("left"),
            rich_progress.TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("tools", total=total, figures="")

    def __enter__(self) -> CheckProgress:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def report(self, made: ToolReport) -> None:
        """Count a tool that is done."""
        self._done += 1
        self._examples += sum(executed(verdict) for verdict in made.verdicts.values())
        self._failing += bool(made.failed)
        self._bar.update(self._task, completed=self._done, figures=self.figures)
        now = time.monotonic()
        if not self._console.is_terminal and now - self._said >= PLAIN_EVERY_S:
            self._said = now
            self._console.print(f"{self._done}/{self._total} {self.figures}", markup=False)

    @property
    def figures(self) -> str:
        """Examples and failing tools so far."""
        return f"{self._examples:,} examples, {self._failing} with failures"
