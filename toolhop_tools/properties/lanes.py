"""Lanes as their parent sees them: processes that are given tools and give back verdicts.

A lane that dies, or gives no sign of life, costs the properties of the tool that it was at, of
which that is told as a failure; what needs none of the tool's examples, and the next tool, get a
new process.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import TracebackType

from sandbox.errors import SandboxFault, SandboxUnavailable
from toolhop_tools.properties.messages import Beat, Job, Judged, Ready, Stopped, Task
from toolhop_tools.properties.model import CounterExample, Fails, Subject, Verdict
from toolhop_tools.properties.store import REPLAYED

SILENT_S = 30.0
"""Seconds without a call or a verdict after which a lane is ended: a pattern of the schema that
backtracks without end, or a schema of which no examples can be made in any time. Making examples
of a usual tool takes well under a second."""
EXAMPLE_S = 0.05
"""Seconds that are allowed more for each example that was asked for."""
GRACE_S = 10.0
"""Seconds that a lane has to put its sandboxes away, before it is killed."""
_CACHES = "HYPOTHESIS_STORAGE_DIRECTORY"
_START = (
    "import sys; sys.path[:] = sys.argv[3:]; from toolhop_tools.properties.lane import main; "
    "main(int(sys.argv[1]), int(sys.argv[2]))"
)


@dataclass
class _Process:
    """A lane's process."""

    process: subprocess.Popen[bytes]
    pipe: Connection
    heard_s: float
    """Time of the last sign of life, on the monotonic clock."""
    ready: bool = False
    calls: int = 0


@dataclass
class Lane:
    """A lane, for one tool at a time; its process is started when it is needed."""

    job: Job
    silent_s: float = SILENT_S
    unreadable: list[Path] = field(default_factory=list)
    """Files of the store that were passed over."""
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    """On the tool in hand, by property, as they come."""
    _lane: _Process | None = None
    _task: Task | None = None
    _lost: dict[int, CounterExample] = field(default_factory=dict)
    """By serial: the tool at which a process was lost, and how."""

    def __enter__(self) -> Lane:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.ask_to_end()
        self.end()

    def give(self, serial: int, subject: Subject, properties: Sequence[str]) -> None:
        """Have properties of a tool judged; to be called from a thread that outlives the lane.

        Args:
            serial: the same for the same tool, whose examples are then kept from call to call.
            subject: the tool.
            properties: of those that the job names.
        """
        self.verdicts = {}
        self._task = Task(serial, subject, tuple(properties))
        self._ask()

    def _ask(self) -> None:
        """Have the process do what is left of the task, but for what lost one before."""
        if self._task is None:
            return
        if (how := self._lost.get(self._task.serial)) is not None:
            self._give_up(how, [name for name in self._left if name in REPLAYED])
        if self.idle:
            return
        if self._lane is None:
            self._lane = _started(self.job)
        self._lane.heard_s = time.monotonic()
        # A pipe that is closed tells why when it is read.
        with contextlib.suppress(OSError):
            self._lane.pipe.send(replace(self._task, properties=tuple(self._left)))

    @property
    def _left(self) -> list[str]:
        """Properties of the task that are not judged yet."""
        asked = self._task.properties if self._task else ()
        return [name for name in asked if name not in self.verdicts]

    @property
    def idle(self) -> bool:
        """Whether all that was asked for is judged."""
        return not self._left

    @property
    def patience_s(self) -> float:
        """Seconds that may pass between two signs of life; a call may be made three times."""
        return self.silent_s + 3 * self.job.limits.wall_s + EXAMPLE_S * self.job.count

    def look(self) -> None:
        """Take what the process has said since, or see that it is lost.

        Raises:
            SandboxError, StoreFault: the sandbox or the store is at fault.
        """
        if self._lane is None or self._task is None:
            return
        try:
            while self._lane.pipe.poll():
                self._take(self._lane, self._lane.pipe.recv())
        except (EOFError, OSError):
            self._lose(self._died(self._lane))
            return
        if not self.idle and time.monotonic() - self._lane.heard_s > self.patience_s:
            told = (
                f"{self.patience_s:.0f} s without a call: no examples can be made of the schema "
                "in that time, or one of its patterns backtracks without end; its check was ended"
            )
            self._lose(CounterExample("", "the check hangs", told))

    def _take(self, lane: _Process, message: object) -> None:
        heard = not lane.ready
        match message:
            case Ready():
                lane.ready = True
            case Beat(calls):
                heard = heard or calls != lane.calls
                lane.calls = calls
            case Judged(property_, verdict, unreadable):
                self.verdicts[property_] = verdict
                self.unreadable += unreadable
                heard = True
            case Stopped(_, (message_, fix)):
                raise SandboxUnavailable(message_, fix=fix)
            case Stopped(Exception() as fault):
                raise fault
        if heard:
            lane.heard_s = time.monotonic()

    def _died(self, lane: _Process) -> CounterExample:
        """How the process ended.

        Raises:
            SandboxFault: it never began, so that no tool can be to blame.
        """
        with contextlib.suppress(subprocess.TimeoutExpired):
            lane.process.wait(GRACE_S)
        code = lane.process.returncode
        how = f"by signal {-code}" if code is not None and code < 0 else f"with code {code}"
        if not lane.ready:
            raise SandboxFault(f"the process that checks tools ended {how} before it began")
        told = f"the process that checks ended {how}; the check of this tool was ended"
        return CounterExample("", "the check dies", told)

    def _lose(self, how: CounterExample) -> None:
        """Go on with a new process, where what is left needs none of the examples."""
        self.end(grace_s=0)
        if self._task is None or self.idle:
            return
        if self._task.serial in self._lost or self._left[0] not in REPLAYED:
            self._give_up(how, self._left)
        self._lost[self._task.serial] = how
        self._ask()

    def _give_up(self, how: CounterExample, names: Sequence[str]) -> None:
        """These fail, for the same reason."""
        for name in names:
            self.verdicts[name] = Fails(0, (CounterExample(name, how.kind, how.told),))

    def ask_to_end(self) -> None:
        """Have the process put its sandboxes away and end, without waiting for it."""
        if self._lane is None:
            return
        if self._lane.process.poll() is None:
            self._lane.process.terminate()
        self._lane.pipe.close()

    def end(self, *, grace_s: float = GRACE_S) -> None:
        """End the process: by itself if it was asked to, killed when the time is over."""
        lane, self._lane = self._lane, None
        if lane is None:
            return
        try:
            lane.process.wait(grace_s)
        except BaseException as cut:
            lane.process.kill()
            lane.process.wait()
            # Anything else is a second Ctrl-C: no more patience.
            if not isinstance(cut, subprocess.TimeoutExpired):
                raise
        finally:
            lane.pipe.close()

    @property
    def waited_for(self) -> Connection | None:
        """What becomes readable when there is something to take."""
        return None if self._lane is None or self.idle else self._lane.pipe


def _started(job: Job) -> _Process:
    ours, theirs = Pipe()
    with theirs:
        end = theirs.fileno()
        # A session of its own: Ctrl-C reaches the parent alone, which ends its lanes in order.
        process = subprocess.Popen(  # noqa: S603 -- our own interpreter and module
            [sys.executable, "-P", "-c", _START, str(end), str(os.getpid()), *sys.path],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=(end,),
            start_new_session=True,
            env=_environment(job),
        )
    with contextlib.suppress(OSError):
        ours.send(job)
    return _Process(process, ours, time.monotonic())


def _environment(job: Job) -> dict[str, str]:
    """Ours, with Hypothesis's caches beside the store and not in a folder of their own."""
    beside = {} if job.store is None else {_CACHES: str(job.store.folder.parent / "hypothesis")}
    return {**beside, **os.environ}


def wait_for(lanes: Sequence[Lane]) -> None:
    """Wait until one of the lanes has something to say, or a second is over."""
    wait([pipe for lane in lanes if (pipe := lane.waited_for) is not None], 1.0)
