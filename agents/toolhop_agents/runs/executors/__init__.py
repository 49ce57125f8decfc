"""Executors run many units of work. `local` schedules them and plays them in this process;
`cluster` provides places on the nodes of a Ray cluster.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeAlias

from toolhop_agents.runs.resume import Prefix
from toolhop_agents.runs.unit import WorkUnit
from toolhop_env.episode import Sink
from toolhop_sandbox.outcome import JSON

PlayUnit: TypeAlias = Callable[[WorkUnit, Sink, Prefix], Awaitable[object]]
"""Plays a unit to its end and passes each event to the sink. Raises the same exceptions as
`runs.means.play`."""


class Places(Protocol):
    """Where units are played."""

    on_more: Callable[[int], None]
    """Called by places when more units can be played at once, for example when a node joins."""

    @property
    def description(self) -> Mapping[str, JSON]:
        """The isolation used, for the run's manifest; complete after the first unit was played."""
        ...

    @property
    def nodes_used(self) -> Mapping[str, JSON]:
        """Statistics of the nodes, for the session in the manifest; empty without nodes."""
        ...

    def place(self) -> AbstractAsyncContextManager[PlayUnit]:
        """Wait for and reserve room for one unit."""
        ...
