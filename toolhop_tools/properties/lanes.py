"""Lanes as seen by their parent: single-process executors that judge one tool at a time.

If a process dies or hangs, the property being judged fails, and so do all others that need the
tool's examples. The remaining properties, and the next tool, get a new process. Each lane has its
own executor, since an executor breaks as soon as it loses a process.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerProcess
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import cast

from toolhop_sandbox.errors import SandboxFault, SandboxUnavailable
from toolhop_tools.properties import lane
from toolhop_tools.properties.check import CheckJob, CheckTask
from toolhop_tools.properties.model import (
    CounterExample,
    Fails,
    PropertyVerdict,
    Subject,
    ToolReport,
)
from toolhop_tools.properties.store import REPLAYED, Stored

SILENT_S = 30.0
"""Maximum processor time that a lane may use without a call or a verdict, in seconds. It is
exceeded if a pattern of the schema backtracks endlessly, or if no examples can be made. Usual
tools need well under a second. Wall-clock time would blame a sound tool for a busy machine."""
LOST_S = 900.0
"""Seconds of wall-clock time without a sign of life after which the checker itself is at fault."""
EXAMPLE_S = 0.05
"""Additional seconds allowed for each requested example."""
GRACE_S = 10.0
"""Seconds a lane has to close its sandboxes before it is killed."""
_FORKED = multiprocessing.get_context("forkserver")
"""Start method whose server imports the lanes' modules once and forks their processes."""
_FORKED.set_forkserver_preload([lane.__name__, *lane.LOADED])


class _Pool:
    """A started executor with its only process."""

    def __init__(self, job: CheckJob) -> None:
        self.heard_s: Synchronized[float] = _FORKED.Value("d", time.monotonic())
        self.stop: Synchronized[int] = _FORKED.Value("i", 0)
        given = job, self.heard_s, self.stop
        self.executor = ProcessPoolExecutor(1, _FORKED, lane.begin, given)
        before = set(multiprocessing.active_children())
        # The process inherits this mask, as only the parent handles Ctrl-C and ends its lanes.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self.began = self.executor.submit(os.getpid)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        started = set(multiprocessing.active_children()) - before
        if len(started) != 1:
            raise SandboxUnavailable("the process that checks tools did not start", fix="try again")
        self.process = cast("ForkServerProcess", started.pop())
        self._heard = (self.heard_s.value, self._used_s())

    @property
    def silent_s(self) -> float:
        """Seconds of processor time used by the process since its last sign of life."""
        used_s = self._used_s()
        if self._heard[0] != self.heard_s.value:
            self._heard = (self.heard_s.value, used_s)
        return used_s - self._heard[1]

    def _used_s(self) -> float:
        try:
            text = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii")
        except OSError:
            return 0.0  # the process has ended, which is detected elsewhere
        fields = text.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def ask_to_end(self) -> None:
        """Tell the process to drop its task, close its sandboxes and end; do not wait."""
        self.stop.value = 1
        with contextlib.suppress(BrokenProcessPool, RuntimeError):
            self.executor.submit(lane.end)
        self.executor.shutdown(wait=False)

    def end(self, grace_s: float) -> None:
        """Wait for the process to end, and kill it after `grace_s` seconds."""
        try:
            self.process.join(grace_s)
        finally:  # on a second Ctrl-C too, without waiting any longer
            self.process.kill()
            # A second shutdown does not wait, so join the process directly.
            self.process.join()
            self.executor.shutdown(cancel_futures=True)


@dataclass
class Lane:
    """A lane that checks one tool at a time, in a process started on demand."""

    job: CheckJob
    silent_s: float = SILENT_S
    verdicts: dict[str, PropertyVerdict] = field(default_factory=dict)
    """Verdicts on the current tool so far, by property."""
    _pool: _Pool | None = None
    _serial: int = 0
    _subject: Subject | None = None
    _properties: tuple[str, ...] = ()
    _before: tuple[Stored, ...] = ()
    _asked: dict[str, Future[PropertyVerdict]] = field(default_factory=dict)
    _lost: dict[int, CounterExample] = field(default_factory=dict)
    """How a process was lost, by the serial of the tool it was checking."""

    def __enter__(self) -> Lane:
        return self

    def __exit__(self, *exc: object) -> None:
        self.ask_to_end()
        self.end()

    def give(
        self,
        serial: int,
        subject: Subject,
        properties: Sequence[str],
        before: Sequence[Stored] = (),
    ) -> None:
        """Start judging properties of a tool.

        Args:
            serial: number of the tool; calls with the same number reuse its examples.
            subject: the tool.
            properties: some of the job's properties.
            before: counter-examples to call first, in addition to those in the job's store.
        """
        stored = self.job.store.kept(subject) if self.job.store else ()
        self.verdicts, self._asked, self._before = {}, {}, (*stored, *before)
        self._serial, self._subject, self._properties = serial, subject, tuple(properties)
        self._ask()

    def _ask(self) -> None:
        """Submit the remaining properties; fail those that need examples if a process was lost."""
        if (how := self._lost.get(self._serial)) is not None:
            self._give_up(how, [name for name in self._left if name in REPLAYED])
        if self.idle or self._subject is None:
            return
        if self._pool is None:
            self._pool = _Pool(self.job)
        self._pool.heard_s.value = time.monotonic()
        try:
            for name in self._left:
                task = CheckTask(self._serial, self._subject, name, self._before)
                self._asked[name] = self._pool.executor.submit(lane.judge, task)
        except BrokenProcessPool as error:
            for name in self._left:
                self._asked.setdefault(name, Future()).set_exception(error)

    @property
    def _left(self) -> list[str]:
        """Properties of the current tool that are not judged yet."""
        return [name for name in self._properties if name not in self.verdicts]

    @property
    def idle(self) -> bool:
        """Whether all requested properties are judged."""
        return not self._left

    @property
    def patience_s(self) -> float:
        """Maximum processor time between two signs of life, in seconds."""
        return self.silent_s + EXAMPLE_S * self.job.count

    def look(self) -> None:
        """Collect new verdicts, or find that the process is lost.

        Raises:
            SandboxError, StoreFault: the sandbox or the store is at fault.
        """
        if self._pool is None or self.idle:
            return
        for name in [name for name in self._left if self._asked[name].done()]:
            try:
                self._take(name, self._asked[name].result())
            except BrokenProcessPool:
                self._lose(self._died(self._pool))
                return
        # Startup, which is slow on a busy machine, does not count against any tool.
        if not self._pool.began.done():
            self._pool.heard_s.value = time.monotonic()
        if self.idle:
            return
        if self._pool.silent_s > self.patience_s:
            reported = (
                f"{self.patience_s:.0f} s of processor time without a call: no examples can be "
                "made of the schema in that time, or one of its patterns backtracks without end; "
                "its check was ended"
            )
            self._lose(CounterExample("", "the check hangs", reported))
        elif time.monotonic() - self._pool.heard_s.value > LOST_S:
            raise SandboxFault(f"the process that checks tools was silent for {LOST_S:.0f} s")

    def _take(self, name: str, verdict: PropertyVerdict) -> None:
        """Record a verdict, and store its counter-examples."""
        self.verdicts[name] = verdict
        store, subject = self.job.store, self._subject
        if store is not None and subject is not None and isinstance(verdict, Fails):
            for found in verdict.found:
                store.keep(subject, found)

    def _died(self, pool: _Pool) -> CounterExample:
        """Describe how the process ended.

        Raises:
            SandboxUnavailable: the process never started, so no tool can be to blame.
        """
        pool.process.join(GRACE_S)
        code = pool.process.exitcode
        how = f"by signal {-code}" if code is not None and code < 0 else f"with code {code}"
        if pool.began.exception() is not None:
            reported = f"the process that checks tools ended {how} before it began"
            raise SandboxUnavailable(reported, fix="its own message is on stderr")
        reported = f"the process that checks ended {how}; the check of this tool was ended"
        return CounterExample("", "the check dies", reported)

    def _lose(self, how: CounterExample) -> None:
        """Replace a lost process; remaining properties that need examples fail."""
        self.end(grace_s=0)
        if self._serial in self._lost or self._left[0] not in REPLAYED:
            self._give_up(how, self._left)
        self._lost[self._serial] = how
        self._ask()

    def _give_up(self, how: CounterExample, names: Sequence[str]) -> None:
        """Fail the named properties for the same reason."""
        for name in names:
            self.verdicts[name] = Fails(0, (CounterExample(name, how.kind, how.reported),))

    def ask_to_end(self) -> None:
        """Tell the process to close its sandboxes and end, without waiting for it."""
        if self._pool is not None:
            self._pool.ask_to_end()

    def end(self, *, grace_s: float = GRACE_S) -> None:
        """Wait for the process to end, and kill it after `grace_s` seconds."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.end(grace_s)

    @property
    def waited_for(self) -> list[Future[PropertyVerdict]]:
        """Futures of the verdicts that are still missing."""
        return [self._asked[name] for name in self._left]


def wait_for(lanes: Sequence[Lane]) -> None:
    """Wait for a verdict from one of the lanes, but at most one second."""
    futures = [future for one in lanes for future in one.waited_for]
    wait(futures, 1.0, FIRST_COMPLETED)


def check_all(
    subjects: Sequence[Subject],
    job: CheckJob,
    *,
    lanes: int = 1,
    silent_s: float = SILENT_S,
    on_report: Callable[[ToolReport], None] = lambda _: None,
) -> list[ToolReport]:
    """Return a report for each subject, in their order, whatever the number of lanes.

    Args:
        subjects: the tools to check.
        job: settings of the check.
        lanes: number of tools checked in parallel.
        silent_s: processor time without a sign of life after which a lane's process is ended.
        on_report: called with each report as it is completed.

    Raises:
        SandboxError: the sandbox is at fault.
        StoreFault: the store cannot be written.
    """
    waiting = deque(enumerate(subjects))
    done: dict[int, ToolReport] = {}
    at_work: dict[int, Lane] = {}
    team = [Lane(job, silent_s) for _ in range(max(1, min(lanes, len(subjects))))]
    idle = deque(team)
    try:
        while waiting or at_work:
            while waiting and idle:
                at, subject = waiting.popleft()
                at_work[at] = idle.popleft()
                at_work[at].give(at, subject, job.properties)
            wait_for(list(at_work.values()))
            for at, one in list(at_work.items()):
                one.look()
                if one.idle:
                    done[at] = ToolReport(subjects[at], one.verdicts)
                    idle.append(at_work.pop(at))
                    on_report(done[at])
    finally:
        for one in team:
            one.ask_to_end()
        for one in team:
            one.end()
    return [done[at] for at in range(len(subjects))]
