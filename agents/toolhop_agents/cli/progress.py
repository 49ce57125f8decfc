"""Live progress: counts, figures so far, time left."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from statistics import fmean
from typing import Any, Self

from rich import progress as rich_progress
from rich.console import Console, RenderableType
from rich.table import Column

from toolhop_agents.terminal import plain
from toolhop_env.attempt import Attempt, Key
from toolhop_env.benchmark import Benchmark
from toolhop_env.benchmarks import named
from toolhop_env.measures import Measure, Unit
from toolhop_env.messages import Origin
from toolhop_env.score import Score
from toolhop_env.spending import spent_on
from toolhop_env.trace import Event, Replied

PLAIN_EVERY_S = 5.0
"""Seconds between lines if the output is not a terminal and the count has changed."""
QUIET_S = 30.0
"""Seconds after which a line is printed even if the count has not changed."""
CAUSE_CHARS = 100
"""Maximum length of the reason shown for an errored episode, in characters."""


class ErrorConsole(Console):
    """Rich's console on standard error, safe for untrusted strings."""

    def __init__(self) -> None:
        super().__init__(stderr=True)

    def print(self, *objects: object, **options: Any) -> None:  # noqa: ANN401 -- passed on to `Console.print`, which types each
        """Print as `Console.print` does, but without markup in strings."""
        super().print(*(plain(o) if isinstance(o, str) else o for o in objects), **options)


class _Bar(rich_progress.Progress):
    """A bar with the figures on the line below; beside the bar they would wrap at every word."""

    def __init__(self, steps: Steps, *columns: rich_progress.ProgressColumn) -> None:
        self._steps = steps
        console = steps.console
        super().__init__(*columns, console=console, disable=not console.is_terminal)

    def get_renderables(self) -> Iterator[RenderableType]:
        """Rebuild the lines at each refresh: the figures include the age of the last reply."""
        yield from super().get_renderables()
        if figures := self._steps.figures:
            yield plain(figures)


class Steps:
    """Progress in equal steps: a live line on a terminal, otherwise a plain line now and then."""

    def __init__(
        self, console: Console, what: str, total: int | None = None, done: int = 0
    ) -> None:
        """Show `total` steps, `done` of them finished; without a total, wait for `start`."""
        self.console, self._what = console, what
        self._total, self._done = total or 0, done
        self._said = time.monotonic()
        self._lines = 0
        self._stale = False
        """Whether the count has changed since the last plain line."""
        one_line = Column(no_wrap=True, overflow="ellipsis")
        self._bar = _Bar(
            self,
            rich_progress.TextColumn("{task.description}", markup=False, table_column=one_line),
            rich_progress.BarColumn(bar_width=24),
            rich_progress.MofNCompleteColumn(),
            rich_progress.TimeElapsedColumn(),
            rich_progress.TextColumn("left"),
            rich_progress.TimeRemainingColumn(),
        )
        self._task: rich_progress.TaskID | None = None
        if total is not None:
            self.start(total)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._bar.stop()
        if self._stale:
            self._print()

    def start(self, total: int) -> None:
        """Show `total` steps."""
        self._total = total
        self._task = self._bar.add_task(self._what, total=total, completed=self._done)

    def step(self, _: object = None) -> None:
        """Count one step."""
        self._done += 1
        self.show()

    def show(self) -> None:
        """Show the progress so far."""
        if self._task is not None:
            self._bar.update(self._task, completed=self._done)
        if self.console.is_terminal:
            return
        now = time.monotonic()
        self._stale = self._lines > 0
        if now - self._said >= PLAIN_EVERY_S:
            self._said = now
            self._print()

    def _print(self) -> None:
        self._lines, self._stale = self._lines + 1, False
        line = f"{self._done}/{self._total} {self._what} {self.figures}"
        self.console.print(line.rstrip(), markup=False, highlight=False)

    @property
    def figures(self) -> str:
        """Figures to show beside the count."""
        return ""


class Episodes(Steps):
    """Progress over an agent's episodes, with the turns of those under way."""

    _calls = _failed = _turns = _tokens = 0
    _cause = ""
    _replied_at: float | None = None
    _lead: Measure | None = None
    _sums: dict[str, tuple[float, float]]

    def __init__(self, console: Console, what: str, total: int | None = None) -> None:
        """See `Steps`."""
        self._errored: set[Key] = set()
        self._over = threading.Event()
        super().__init__(console, what, total)

    def __enter__(self) -> Self:
        if not self.console.is_terminal:
            threading.Thread(target=self._print_when_quiet, daemon=True).start()
        return super().__enter__()

    def __exit__(self, *exc: object) -> None:
        self._over.set()
        super().__exit__(*exc)

    def _print_when_quiet(self) -> None:
        while not self._over.wait(QUIET_S):
            if self._total and time.monotonic() - self._said >= QUIET_S:
                self._said = time.monotonic()
                self._print()

    def start(self, total: int) -> None:
        """Show `total` episodes."""
        self._replied_at = time.monotonic()
        super().start(total)

    def event(self, event: Event) -> None:
        """Count a reply from a model."""
        if isinstance(event, Replied) and event.reply.origin is Origin.ASKED:
            self._turns += 1
            self._tokens += spent_on([event.reply]).tokens
            self._replied_at = time.monotonic()

    def result(self, judged: Attempt) -> None:
        """Count a finished episode. An errored one does not count as done: it may be played
        again.
        """
        verdict = judged.verdict
        self._errored.discard(judged.key)
        if isinstance(verdict, Score):
            self._done += 1
            self._add(named(judged.benchmark), verdict)
            self._calls += verdict.conduct.calls
            self._failed += verdict.conduct.failed_calls
        else:
            self._errored.add(judged.key)
            # A reason begins with who was asked, and ends with the cause.
            self._cause = (verdict.reason.splitlines() or [""])[0][-CAUSE_CHARS:]
        self.show()

    def _add(self, benchmark: Benchmark, score: Score) -> None:
        """Add an episode's score to the leading measure, or to the measures that it averages."""
        if self._lead is None:
            self._lead = benchmark.lead
            self._sums = dict.fromkeys(self._lead.mean_of or (self._lead.name,), (0.0, 0.0))
        for name, (right, of) in self._sums.items():
            more = benchmark.measure(name).of(score) or (0.0, 0.0)
            self._sums[name] = right + more[0], of + more[1]

    @property
    def figures(self) -> str:
        """The leading measure, failed calls, turns and tokens so far.

        If episodes errored, also their number and the last reason.
        """
        found = []
        if self._lead is not None and all(of for _, of in self._sums.values()):
            right = fmean(right / of for right, of in self._sums.values())
            shown = f"{right:.1%}" if self._lead.unit is Unit.SHARE else f"{right:.2f}"
            found.append(f"{self._lead.heading} {shown}")
        if self._calls:
            found.append(f"failed calls {self._failed / self._calls:.1%}")
        if self._replied_at is not None:
            age_s = time.monotonic() - self._replied_at
            last = "last reply" if self._turns else "no reply yet, asked"
            found.append(f"{self._turns} turns, {self._tokens:,} tokens, {last} {age_s:.0f} s ago")
        if self._errored:
            found.append(f"{len(self._errored)} errored: {self._cause}")
        return ", ".join(found)
