"""Outages of the engine during a run: how long to wait for its return, and what to log."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass

import anyio

from toolhop_sandbox.errors import SandboxUnavailable

log = logging.getLogger(__name__)

BACK_S = 60.0
"""Seconds that an engine may be away before a run stops. A restart takes 1 to 5 s, an upgrade of
its package half a minute; a user who stopped it for good should not wait longer for the message."""
ASK_S = 0.5
"""Seconds between two attempts."""


class EngineLost(SandboxUnavailable):
    """The engine is not there, drops connections, or refuses what it did before."""


@dataclass
class Outage:
    """State of an outage, shared by all starts of one run."""

    since: float | None = None
    """Time of the first failure since the last success; None if there is no outage."""

    async def wait(self, error: EngineLost) -> None:
        """Wait briefly before the next attempt; log the outage the first time.

        Raises:
            SandboxUnavailable: the engine has been away for `BACK_S`.
        """
        now = time.monotonic()
        if self.since is None:
            self.since = now
            log.warning("%s; waiting up to %g s for it to come back", error.message, BACK_S)
        if now - self.since >= BACK_S:
            raise SandboxUnavailable(
                f"the engine did not come back within {BACK_S:g} s: {error.message}",
                fix=error.fix,
            ) from error
        await anyio.sleep(ASK_S)

    def over(self) -> None:
        """Note that the engine works again."""
        if self.since is not None:
            log.warning("the engine is back after %.0f s", time.monotonic() - self.since)
            self.since = None
