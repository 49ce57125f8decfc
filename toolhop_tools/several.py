"""Run work for many things with bounded concurrency."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import anyio

Thing = TypeVar("Thing")


async def each(
    things: Iterable[Thing], work: Callable[[Thing], Awaitable[object]], *, at_a_time: int
) -> None:
    """Await `work` for each thing, `at_a_time` of them at once (at least one).

    Things are taken as capacity frees up and no result is stored: memory does not grow with their
    number.

    Raises:
        Exception: the first exception of `work`; running work is cancelled.
    """
    waiting = iter(things)

    async def take() -> None:
        for thing in waiting:
            await work(thing)

    try:
        async with anyio.create_task_group() as group:
            for _ in range(max(1, at_a_time)):
                group.start_soon(take)
    except ExceptionGroup as faults:
        raise faults.exceptions[0] from None
