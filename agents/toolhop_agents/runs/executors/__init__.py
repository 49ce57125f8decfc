"""Executors: what drives many units of work. `local` plays them in this process."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from toolhop_agents.runs.unit import WorkUnit


class Executor(Protocol):
    """Plays units of work and keeps what comes of them. The only writer of the run's folder."""

    async def run(self, work: Iterable[WorkUnit], at_a_time: int) -> None:
        """Play all of `work`, at most `at_a_time` episodes at a time.

        Cancelling leaves finished episodes as they are and the others cut off.

        Raises:
            RunLimitReached: after the replies under way were taken; other episodes are cut off.
            ModelFault: the model cannot be asked at all; the episodes so far are kept. Or a judge
                could not, once all are played.
            SandboxUnavailable: no worker can be started any more.
            StoreError: traces cannot be written.
        """
        ...
