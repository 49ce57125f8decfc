"""The connection of a worker in a container: a socket in a mounted folder.

Only this user can enter the folder, the socket has a name only for the 0.2 s of the start, and only
the worker may connect: the kernel tells which user's process it is.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread

from toolhop_sandbox.docker import folders
from toolhop_sandbox.docker.refusals import NEVER_CONNECTED, Unshared
from toolhop_sandbox.errors import SandboxFault

log = logging.getLogger(__name__)

USER = 65534
"""User id of a worker in its container: nobody, who owns nothing."""
LEAST_MAPPED = 65536
"""First user id that rootless engines, and those that map users, assign to containers."""
LOOK_S = 0.5
"""Seconds between checks on a container that has not connected yet."""
_CREDENTIALS = struct.Struct("=iII")


class Meeting:
    """A socket to which one worker connects."""

    def __init__(self, folder: Path, listener: socket.socket) -> None:
        self.folder = folder
        """The folder to mount into the container."""
        self.listener = listener

    async def worker(
        self,
        limit_s: float,
        is_running: Callable[[], Awaitable[bool]],
        maps_users: Callable[[], Awaitable[bool]],
    ) -> socket.socket:
        """Return the control socket of the worker once it has connected; reject other processes.

        Args:
            limit_s: seconds that the worker may take.
            is_running: returns whether its container is running.
            maps_users: returns whether container users are mapped to other host users.

        Raises:
            Unshared: its container ended without connecting.
            SandboxFault: it did not connect in time.
        """
        deadline_s = anyio.current_time() + limit_s
        while anyio.current_time() < deadline_s:
            with anyio.move_on_after(LOOK_S):
                await anyio.wait_readable(self.listener)
                connected = self.listener.accept()[0]
                user = peer(connected)
                if user in (USER, 0, os.geteuid()):
                    return connected
                if user >= LEAST_MAPPED and await maps_users():
                    return connected
                connected.close()
                log.warning("a process of user %d connected to a worker's socket: refused", user)
                continue
            if not await is_running():
                raise Unshared(
                    "a container was started, but its worker ended without connecting to "
                    f"{self.listener.getsockname()}",
                    fix=NEVER_CONNECTED,
                )
        raise SandboxFault(f"a container did not connect within {limit_s:g} s")


def peer(connected: socket.socket) -> int:
    """Return the user id of the connected process, as seen by this process."""
    reported = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    user: int = _CREDENTIALS.unpack(reported)[1]
    return user


@asynccontextmanager
async def meeting() -> AsyncIterator[Meeting]:
    """Provide a socket for a worker to connect to; on exit, no one can connect any more."""
    folder = await anyio.to_thread.run_sync(folders.control_folder)
    with contextlib.ExitStack() as undo:
        undo.callback(folders.discard, folder)
        listener = undo.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        listener.setblocking(False)
        listener.bind(str(folder / folders.SOCKET))
        # The container's user differs; the parent folder keeps all others out.
        await anyio.to_thread.run_sync((folder / folders.SOCKET).chmod, 0o666)
        listener.listen(1)
        yield Meeting(folder, listener)
