"""What a lane tells its process: values that are pickled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from toolhop_sandbox.base import Limits
from toolhop_sandbox.choose import Kind
from toolhop_tools.properties.check import EXAMPLES
from toolhop_tools.properties.model import PROPERTIES, Rejection, Subject
from toolhop_tools.properties.store import Store, Stored


@dataclass(frozen=True, slots=True)
class CheckJob:
    """How to check: what each lane's process knows from its start."""

    rejections: Callable[[], Rejection]
    """Makes the simulator's part, one a lane; importable by its name."""
    limits: Limits
    kind: Kind = "auto"
    """Of the sandbox."""
    properties: tuple[str, ...] = tuple(PROPERTIES)
    """All that may be asked for."""
    count: int = EXAMPLES
    seed: int = 0
    formats: bool = False
    """Whether a text that is not of its parameter's `format` is bad input."""
    store: Store | None = None
    """Written and read by the lane, not by its process."""


@dataclass(frozen=True, slots=True)
class CheckTask:
    """A property of a tool to judge."""

    serial: int
    """The same for tasks with the same tool, whose examples and runs are then kept."""
    subject: Subject
    property: str
    before: tuple[Stored, ...] = ()
    """Counter-examples to call first."""
