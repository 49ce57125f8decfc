"""The process of a lane, which judges one property after another in its own sandboxes.

Drawing examples and reading results is Python code that holds the interpreter's lock. Lanes that
work in parallel are therefore processes, each the only worker of an executor. This module also ends
the process with its parent, and reports signs of life.
"""

from __future__ import annotations

import fcntl
import importlib
import multiprocessing
import os
import signal
import time
import traceback
from contextlib import ExitStack
from dataclasses import replace
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path

from toolhop_sandbox.base import Program
from toolhop_sandbox.errors import SandboxError
from toolhop_sandbox.outcome import Outcome, TimedOut
from toolhop_tools.batch import Arguments
from toolhop_tools.errors import ToolsError
from toolhop_tools.properties.bench import calling, settings_for
from toolhop_tools.properties.case import Case
from toolhop_tools.properties.check import CheckJob, CheckTask, check
from toolhop_tools.properties.model import (
    Caller,
    CounterExample,
    Fails,
    PropertyVerdict,
    SandboxSetting,
)

LOADED = tuple(f"toolhop_tools.strategies.{name}" for name in ("invalid", "literals", "valid"))
"""Modules loaded before the first draw: Hypothesis also draws constants from loaded modules, so
all lanes must load the same ones to draw the same examples."""
SPUN_S = 0.1
"""Processor time spent on measuring the machine's load after a call timed out, in seconds."""
BUSY = 1.25
"""Slowdown above which a wall-clock timeout is not held against a tool."""
PATIENCE = 2.0
"""Factor on the slowdown when extending a timeout, since the load fluctuates."""
_CACHES = "HYPOTHESIS_STORAGE_DIRECTORY"


class _Ended(BaseException):
    """Raised when the parent ends the lane. A BaseException, as Hypothesis takes an Exception
    for a failing example.
    """


class _Worker:
    """State of the process between tasks."""

    def __init__(
        self, job: CheckJob, heard_s: Synchronized[float], stop: Synchronized[int]
    ) -> None:
        self.job, self.heard_s, self.stop = job, heard_s, stop
        self.stack = ExitStack()
        self.reject = job.rejections()
        self._call: Caller | None = None
        self._endless: set[Program] = set()
        """Programs that timed out once even when given extra time for the machine's load."""
        self._held: tuple[int, Case] | None = None

    def case(self, task: CheckTask) -> Case:
        """Return the case of the task's tool, with its examples and runs so far."""
        if self._held is None or self._held[0] != task.serial:
            job = self.job
            case = Case(
                task.subject, self.call, self.reject, count=job.count, seed=job.seed,
                formats=job.formats, stored=task.before,
            )  # fmt: skip
            self._held = task.serial, case
        return self._held[1]

    def call(self, setting: SandboxSetting, program: Program, arguments: Arguments) -> Outcome:
        """Run a call, with a sign of life before and after; open the sandboxes on first use."""
        if self.stop.value:
            raise _Ended
        self.heard_s.value = time.monotonic()
        if self._call is None:
            settings = settings_for(self.job.properties)
            opened = calling(self.job.kind, limits=self.job.limits, settings=settings)
            self._call = self.stack.enter_context(opened)
        try:
            outcome = self._call(setting, program, arguments)
            if isinstance(outcome, TimedOut) and program not in self._endless:
                outcome = self._patient(setting, program, arguments)
            return outcome
        finally:
            self.heard_s.value = time.monotonic()

    def _patient(self, setting: SandboxSetting, program: Program, arguments: Arguments) -> Outcome:
        """Repeat a timed-out call with more time if the machine is busy."""
        limits, slowdown = self.job.limits, _slowdown()
        outcome: Outcome = TimedOut(limits.wall_s)
        if slowdown > BUSY:
            longer = replace(limits, wall_s=min(3600, PATIENCE * slowdown * limits.wall_s))
            with calling(self.job.kind, limits=longer, settings=(setting,)) as call:
                outcome = call(setting, program, arguments)
        if isinstance(outcome, TimedOut):
            self._endless.add(program)
            return TimedOut(limits.wall_s)
        return outcome


def _slowdown() -> float:
    """Return the wall-clock seconds that one second of processor time currently takes."""
    began_s, used_s = time.monotonic(), time.thread_time()
    while time.thread_time() - used_s < SPUN_S:
        pass
    return (time.monotonic() - began_s) / SPUN_S


_held: list[_Worker] = []
"""The only worker of the process, global because tasks of an executor are plain functions."""


def begin(job: CheckJob, heard_s: Synchronized[float], stop: Synchronized[int]) -> None:
    """Initialise the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _die_with_asker()
    if job.store is not None:
        # Put Hypothesis's caches beside the store, not into a folder in the working directory.
        os.environ.setdefault(_CACHES, str(job.store.folder.parent / "hypothesis"))
    for name in LOADED:
        importlib.import_module(name)
    _held.append(_Worker(job, heard_s, stop))


def _die_with_asker() -> None:
    """Have the kernel kill this process when the process that requested it has ended.

    An endless pattern match would keep this process from noticing. Its parent is the fork server,
    which lives as long as the lanes do.
    """
    asker = multiprocessing.parent_process()
    if asker is None:
        return
    # A pipe whose other end the requesting process holds.
    end = asker.sentinel
    fcntl.fcntl(end, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(end, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(end, fcntl.F_SETFL, fcntl.fcntl(end, fcntl.F_GETFL) | os.O_ASYNC)
    if not asker.is_alive():
        os._exit(1)


def judge(task: CheckTask) -> PropertyVerdict:
    """Return the verdict on one property.

    Raises:
        SandboxError: the sandbox is at fault.
    """
    worker = _held[0]
    worker.heard_s.value = time.monotonic()
    try:
        return check(worker.case(task), task.property)
    except (SandboxError, ToolsError):
        raise
    except Exception as error:  # noqa: BLE001 -- the rim: one tool must not end the check of all
        return Fails(0, (_fault(task.property, error),))


def end() -> None:
    """Close the sandboxes."""
    _held[0].stack.close()


def _fault(property_: str, error: Exception) -> CounterExample:
    """Report a fault of the checker itself as a counter-example."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(last.filename).name}, line {last.lineno}"
    reported = f"a fault of the check, not of the tool: {type(error).__name__}: {error} ({where})"
    return CounterExample(property_, "the check itself fails", reported)
