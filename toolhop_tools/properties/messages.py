"""What a lane and its parent say to each other: values that go through a pipe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from sandbox.base import Limits
from sandbox.choose import Kind
from sandbox.errors import SandboxError
from toolhop_tools.errors import ToolsError
from toolhop_tools.properties.model import Rejection, Subject, Verdict
from toolhop_tools.properties.store import Store


@dataclass(frozen=True, slots=True)
class Job:
    """What a lane is told once."""

    kind: Kind
    limits: Limits
    properties: tuple[str, ...]
    """All that it may be asked for."""
    count: int
    seed: int
    store: Store | None
    rejections: Callable[[], Rejection]
    """Makes the simulator's part; importable by its name."""


@dataclass(frozen=True, slots=True)
class Task:
    """Properties of one tool to judge, in this order."""

    serial: int
    """The same for tasks with the same tool, whose examples and runs are then kept."""
    subject: Subject
    properties: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ready:
    """The sandboxes stand."""


@dataclass(frozen=True, slots=True)
class Beat:
    """A sign of life: the interpreter's lock is passed on."""

    calls: int
    """That were begun or ended since the start."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One property of the task in hand."""

    property: str
    verdict: Verdict
    unreadable: tuple[Path, ...] = ()
    """Files of the store that were passed over, since the last one."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """The sandbox, or the store, is at fault; the lane ends."""

    fault: SandboxError | ToolsError | None
    unavailable: tuple[str, str] | None = None
    """Message and mend of a `SandboxUnavailable`, which does not survive pickling."""


Message: TypeAlias = Ready | Beat | Judged | Stopped
