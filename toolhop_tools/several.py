"""Many things, several at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import anyio

Thing = TypeVar("Thing")


async def each(
    things: Iterable[Thing], work: Callable[[Thing], Awaitable[object]], *, at_a_time: int
) -> None:
    """Await `work` for each of the things, `at_a_time` of them at once; at least one.

    Things are taken as there is room for them, and nothing is kept: memory does not grow with
    their number.

    Raises:
        Exception: the first one that `work` raises; what is under way is cancelled.
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
