"""An engine that went away during a run: how long it is waited for, and what is said meanwhile."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass

import anyio

from toolhop_sandbox.errors import SandboxUnavailable

log = logging.getLogger(__name__)

BACK_S = 60.0
"""How long an engine may be away before a run stops. A restart takes 1 to 5 s, an upgrade of its
package half a minute; who stopped it for good should not wait longer for the run to say so."""
ASK_S = 0.5
"""Pause between two attempts."""


class EngineLost(SandboxUnavailable):
    """The engine did not answer, or hung up. It may be back in a moment."""


@dataclass
class Outage:
    """How long the engine has been away, as all the starts of one run see it together."""

    since: float | None = None
    """Clock of the first failure after the last success; None while all is well."""

    async def wait(self, error: EngineLost) -> None:
        """Wait a little before the next attempt; the first time the log says so.

        Raises:
            SandboxUnavailable: it has been away for `BACK_S`.
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
        """The engine did what it was asked."""
        if self.since is not None:
            log.warning("the engine is back after %.0f s", time.monotonic() - self.since)
            self.since = None
