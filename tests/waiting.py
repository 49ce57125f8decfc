"""Waiting for what other processes and threads do, on a machine that may be busy."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import anyio

from toolhop_agents.models.loopback import Request, RequestResponder
from toolhop_env.messages import Reply

CEILING_S = 120.0
"""The most that anything is waited for: no promise of the product, so that a busy machine breaks
no test. Whatever is watched takes seconds on an idle one."""
PAUSE_S = 0.02
"""Between two looks."""


def until(true: Callable[[], object], what: str = "it") -> None:
    """Wait for something, up to `CEILING_S`."""
    began = time.monotonic()
    while not true():
        assert time.monotonic() - began < CEILING_S, f"{what}: not within {CEILING_S:g} s"
        time.sleep(PAUSE_S)


async def until_async(true: Callable[[], object], what: str = "it") -> None:
    """The same, while other tasks go on."""
    began = time.monotonic()
    while not true():
        assert time.monotonic() - began < CEILING_S, f"{what}: not within {CEILING_S:g} s"
        await anyio.sleep(PAUSE_S)


class Gate:
    """Answers as `respond` does; from request `first_held` on, once it is opened.

    So a client can be ended at a certain request, however fast it goes.
    """

    def __init__(self, respond: RequestResponder, first_held: int) -> None:
        self._respond, self._first_held = respond, first_held
        self._lock, self._opened = threading.Lock(), threading.Event()
        self.asked = self.held = 0
        """Requests that came, and those that wait."""

    def __call__(self, request: Request) -> Reply:
        with self._lock:
            self.asked += 1
            held = self.asked >= self._first_held and not self._opened.is_set()
            self.held += held
        if held:
            self._opened.wait(CEILING_S)
        return self._respond(request)

    def wait(self, clients: int = 1) -> None:
        """Wait until so many requests are held."""
        until(lambda: self.held >= clients, f"{clients} requests that wait")

    def open(self) -> None:
        """Answer what waits, and whatever comes."""
        self._opened.set()
