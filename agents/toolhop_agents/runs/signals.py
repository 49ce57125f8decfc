"""Run work that SIGINT and SIGTERM end cleanly."""

from __future__ import annotations

import signal
import threading
from collections.abc import Awaitable, Callable

import anyio
from anyio.abc import TaskStatus


class Interrupted(SystemExit):
    """A signal arrived before the run began. The process exits with the usual shell code."""

    def __init__(self) -> None:
        super().__init__(130)


async def until_signal(work: Callable[[], Awaitable[None]]) -> bool:
    """Do `work`, and return True if SIGINT or SIGTERM cut it off. Raises what `work` raises.

    Only the main thread receives signals; on other threads work can only be cancelled.
    """
    if threading.current_thread() is not threading.main_thread():
        await work()
        return False
    cut = False
    fault: list[Exception] = []
    async with anyio.create_task_group() as tasks:

        async def watch(*, task_status: TaskStatus[None]) -> None:
            nonlocal cut
            with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
                task_status.started()
                async for _ in signals:
                    cut = True
                    tasks.cancel_scope.cancel()
                    return

        # Before the work, since a SIGINT that nobody awaits is raised inside the group.
        await tasks.start(watch)
        try:
            await work()
        except Exception as error:  # noqa: BLE001 -- raised below, outside of the group
            fault.append(error)
        tasks.cancel_scope.cancel()
    if fault and not cut:
        raise fault[0]
    return cut
