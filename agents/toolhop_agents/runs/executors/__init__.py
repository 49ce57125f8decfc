"""Executors: what drives many units of work, and where these are played.

`local` drives them and plays them in this process; `cluster` has places on the nodes of a cluster.
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
"""Plays a unit to its end, each event told as it happens; raises as `runs.means.play`."""


class Places(Protocol):
    """Where units are played."""

    on_more: Callable[[int], None]
    """Told by places of how many more units can be under way, as when a node joins."""

    @property
    def description(self) -> Mapping[str, JSON]:
        """What isolates there, for the run's manifest; complete once something was played."""
        ...

    @property
    def nodes_used(self) -> Mapping[str, JSON]:
        """What nodes did, for the session in the manifest; empty where there are none."""
        ...

    def place(self) -> AbstractAsyncContextManager[PlayUnit]:
        """Room for one unit; entering waits until there is some."""
        ...
