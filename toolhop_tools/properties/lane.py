"""The process of a lane: it checks one tool after another, in sandboxes of its own.

Examples are drawn and results are read by Python code that holds the interpreter's lock, so lanes
that are to work side by side are processes. What comes in and goes out are pickled values through
a pipe. The process ends by itself when its parent is gone, whatever it is busy with.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import threading
import time
import traceback
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NoReturn

from sandbox.base import Program
from sandbox.errors import SandboxError, SandboxUnavailable
from sandbox.outcome import Outcome
from sandbox.worker.lockdown import die_with_parent
from toolhop_tools.errors import ToolsError
from toolhop_tools.properties.bench import calling, settings_for
from toolhop_tools.properties.case import Case
from toolhop_tools.properties.check import kept, open_case
from toolhop_tools.properties.messages import Beat, Job, Judged, Message, Ready, Stopped, Task
from toolhop_tools.properties.model import Arguments, Caller, CounterExample, Fails, Setting
from toolhop_tools.properties.store import Store

BEAT_S = 1.0
"""Seconds between two signs of life."""


def main(descriptor: int, parent: int) -> NoReturn:
    """Serve the parent at the other end of a pipe until it closes it, or is gone.

    Args:
        descriptor: this end of the pipe.
        parent: the parent's process id.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # For a process that a pattern without an end keeps from seeing that the pipe is closed.
    die_with_parent()
    code = 0
    if os.getppid() == parent:
        pipe = Pipe(Connection(descriptor))
        # Only noted: an exception out of nowhere is lost where it comes in a callback.
        signal.signal(signal.SIGTERM, lambda *_: pipe.stop())
        _load_what_draws()
        try:
            _serve(pipe)
        except (EOFError, ConnectionError, _Ended):
            code = 1
    # Threads that wait for a sandbox must not keep a process that is done.
    os._exit(code)


def _load_what_draws() -> None:
    """Import all of ours that is imported late.

    Hypothesis draws constants of the modules that are loaded, among others: with all of ours
    loaded before the first draw, all lanes draw the same.
    """
    for name in ("invalid", "literals", "valid"):
        importlib.import_module(f"toolhop_tools.strategies.{name}")


class _Ended(BaseException):
    """The parent wants no more. No Exception, which Hypothesis takes for a failing example."""


@dataclass
class Pipe:
    """The pipe, from several threads."""

    connection: Connection
    calls: int = 0
    stopped: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def say(self, message: Message) -> None:
        """Send a message."""
        with self._lock:
            self.connection.send(message)

    def stop(self) -> None:
        """Have the process end at its next call."""
        self.stopped = True

    def counting(self, call: Caller) -> Caller:
        """The same with each call counted as a sign of life, when it begins and when it ends."""

        def counted(setting: Setting, program: Program, arguments: Arguments) -> Outcome:
            if self.stopped:
                raise _Ended
            self.calls += 1
            try:
                return call(setting, program, arguments)
            finally:
                self.calls += 1

        return counted

    def beat(self) -> None:
        """Give signs of life until nobody listens."""
        with contextlib.suppress(OSError):
            while True:
                self.say(Beat(self.calls))
                time.sleep(BEAT_S)


def _serve(pipe: Pipe) -> None:
    job: Job = pipe.connection.recv()
    threading.Thread(target=pipe.beat, daemon=True).start()
    try:
        settings = settings_for(job.properties)
        with calling(job.kind, limits=job.limits, settings=settings) as call:
            pipe.say(Ready())
            _work(pipe, job, pipe.counting(call))
    except SandboxUnavailable as fault:
        pipe.say(Stopped(None, (fault.message, fault.fix)))
    except (SandboxError, ToolsError) as fault:
        pipe.say(Stopped(fault))


def _work(pipe: Pipe, job: Job, call: Caller) -> None:
    reject = job.rejections()
    held: tuple[int, Case] | None = None
    while True:
        task: Task = pipe.connection.recv()
        if held is None or held[0] != task.serial:
            held = (
                task.serial,
                open_case(
                    task.subject, call, reject, count=job.count, seed=job.seed, store=job.store
                ),
            )
        for name in task.properties:
            pipe.say(_judged(held[1], name, job.store))


def _judged(case: Case, property_: str, store: Store | None) -> Judged:
    """The verdict, with its counter-examples stored.

    Raises:
        SandboxError: the sandbox is at fault.
        StoreFault: the store cannot be written.
    """
    try:
        verdict = kept(case, property_, store)
    except (SandboxError, ToolsError):
        raise
    except Exception as error:  # noqa: BLE001 -- the rim: one tool must not end the check of all
        verdict = Fails(0, (_fault(property_, error),))
    unreadable: tuple[Path, ...] = ()
    if store is not None:
        unreadable = tuple(store.unreadable)
        store.unreadable.clear()
    return Judged(property_, verdict, unreadable)


def _fault(property_: str, error: Exception) -> CounterExample:
    """A fault of the checker itself, told of as one."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(last.filename).name}, line {last.lineno}"
    told = f"a fault of the check, not of the tool: {type(error).__name__}: {error} ({where})"
    return CounterExample(property_, "the check itself fails", told)
