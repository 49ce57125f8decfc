"""How many requests are under way at a time: a cap, and less while the server has too much.

Additive increase, multiplicative decrease, as TCP does: each reply allows a little more, up to
one request more for each round of replies; a refusal for overload (429, 503, 529) halves what is
allowed, once for all requests that were sent before the last halving. Until the wait that the
server asked for is over (`Retry-After`, else the back-off of the refused request) nothing is sent.
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
"""Statuses by which a server says that it is asked too much; 529 is Anthropic's."""


@dataclass(frozen=True, slots=True)
class Rates:
    """What became of the cap, for the manifest."""

    most: int
    """Requests at a time that were allowed at best."""
    lowest: int
    """The fewest that were allowed, for a time."""
    refused: int
    """Requests that were refused for overload."""
    held_s: float
    """Seconds for which nothing was sent, because a server asked for it or refused."""


class Gate(Protocol):
    """Lets requests in, and hears what came of them: `Connections`, or a way to them elsewhere."""

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
    """A bounded number of requests at a time, shared by all episodes of a run."""

    def __init__(
        self, most: int, *, adaptive: bool = True, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Allow `most` requests at a time.

        Args:
            most: the cap, at least 1.
            adaptive: allow fewer after a refusal; without it the cap stays as it is.
            clock: seconds that only go forward.
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
        """Requests at a time as of now."""
        return max(1, int(self._allowed))

    def widen(self, most: int) -> None:
        """Allow up to `most` from now on, as after more episodes than before can be under way."""
        self._allowed += max(0, most - self._most)
        self._most = max(self._most, most)
        self._wake()

    @property
    def rates(self) -> Rates:
        """What came of it so far."""
        return Rates(self._most, self._lowest, self._refused, round(self._held_s, 3))

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[float]:
        """Wait until a request may be sent; it is under way until the context is left.

        Yields:
            When it began, for `refused`.
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
        """Wait to be woken, in the order of arrival."""
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
        """A reply came: a little more is allowed."""
        if self._adaptive:
            self._allowed = min(self._most, self._allowed + 1 / self._allowed)
            self._wake()

    def refused(self, began: float, wait_s: float) -> None:
        """A request that began at `began` was refused for overload, and waits for `wait_s`."""
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
