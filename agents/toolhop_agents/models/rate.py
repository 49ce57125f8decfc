"""Concurrent requests: a cap that adapts to the server's load.

Additive increase, multiplicative decrease, as in TCP: each reply raises the limit a little, by up
to one request per round of replies; a refusal for overload (429, 503, 529) halves it, but refusals
of requests sent before the last halving do not. Nothing is sent until the wait requested by the
server is over (`Retry-After`, else the refused request's back-off).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

import anyio

OVERLOADED = frozenset({429, 503, 529})
"""Statuses of an overloaded server; 529 is Anthropic's."""


@dataclass(frozen=True, slots=True)
class Rates:
    """History of the limit, for the manifest."""

    most: int
    """Highest number of concurrent requests allowed."""
    lowest: int
    """Lowest number of concurrent requests allowed at any time."""
    refused: int
    """Number of requests refused for overload."""
    held_s: float
    """Seconds during which nothing was sent, because of a refusal or a server's request to wait."""


class Gate(Protocol):
    """Admits requests and learns their outcomes: `Connections`, or a proxy for it."""

    def slot(self) -> AbstractAsyncContextManager[float]:
        """See `Connections.slot`."""
        ...

    def answered(self) -> None:
        """See `Connections.answered`."""
        ...

    def refused(self, began: float, wait_s: float) -> None:
        """See `Connections.refused`."""
        ...


class Connections:
    """Limits the concurrent requests of all episodes of a run."""

    def __init__(
        self, most: int, *, adaptive: bool = True, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Allow `most` concurrent requests.

        Args:
            most: the limit, at least 1.
            adaptive: lower the limit after refusals; otherwise it is constant.
            clock: monotonic time in seconds.
        """
        if most < 1:
            raise ValueError(f"{most} connections are given; at least 1 is needed")
        self._most = most
        self._adaptive = adaptive
        self._clock = clock
        self._allowed = float(most)
        self._under_way = 0
        self._waiting: deque[anyio.Event] = deque()
        self._cut_at = self._held_until = clock()
        self._lowest, self._refused, self._held_s = most, 0, 0.0

    @property
    def allowed(self) -> int:
        """Number of concurrent requests currently allowed."""
        return max(1, int(self._allowed))

    def widen(self, most: int) -> None:
        """Raise the limit to at least `most`, for example when more episodes can run at once."""
        self._allowed += max(0, most - self._most)
        self._most = max(self._most, most)
        self._wake()

    @property
    def rates(self) -> Rates:
        """History of the limit so far."""
        return Rates(self._most, self._lowest, self._refused, round(self._held_s, 3))

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[float]:
        """Wait until a request may be sent, and hold its slot until the context is left.

        Yields:
            The time when the request began, to pass to `refused`.
        """
        await self._enter()
        try:
            yield self._clock()
        finally:
            self._under_way -= 1
            self._wake()

    async def _enter(self) -> None:
        while True:
            held_s = self._held_until - self._clock()
            if held_s > 0:
                await anyio.sleep(held_s)
            elif self._under_way < self.allowed:
                self._under_way += 1
                return
            else:
                await self._turn()

    async def _turn(self) -> None:
        turn = anyio.Event()
        self._waiting.append(turn)
        try:
            await turn.wait()
        except BaseException:
            if turn in self._waiting:
                self._waiting.remove(turn)
            else:
                self._wake()
            raise

    def _wake(self) -> None:
        for _ in range(self.allowed - self._under_way):
            if self._waiting:
                self._waiting.popleft().set()

    def answered(self) -> None:
        """Record a reply, which raises the limit a little."""
        if self._adaptive:
            self._allowed = min(self._most, self._allowed + 1 / self._allowed)
            self._wake()

    def refused(self, began: float, wait_s: float) -> None:
        """Record that a request that began at `began` was refused for overload and waits
        `wait_s`.
        """
        self._refused += 1
        if not self._adaptive:
            return
        now = self._clock()
        if began >= self._cut_at:
            self._allowed = max(1.0, self._allowed / 2)
            self._lowest = min(self._lowest, self.allowed)
            self._cut_at = now
        until = now + wait_s
        if until > self._held_until:
            self._held_s += until - max(now, self._held_until)
            self._held_until = until
