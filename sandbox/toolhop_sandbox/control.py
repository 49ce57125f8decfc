"""The host's end of a worker's control socket: sends orders, receives answers, reports faults.

It knows nothing of programs and calls; `toolhop_sandbox.link` does.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import anyio

from toolhop_sandbox.errors import SandboxFault
from toolhop_sandbox.outcome import JSON
from toolhop_sandbox.worker import wire

ANSWER_S = 5.0
"""Seconds in which a healthy worker answers a control packet. It only forks and kills, so
milliseconds are normal; a frozen container never answers."""


class End(NamedTuple):
    """How a standby ended."""

    exit_code: int
    """Exit code; negative for a signal."""
    killed: bool
    """Whether the worker had to kill it."""


class Control:
    """Sends orders to one worker. Methods that wait raise SandboxFault if the worker is lost."""

    def __init__(self, connected: socket.socket) -> None:
        connected.setblocking(False)
        self._socket = connected
        self._number = 0

    def close(self) -> None:
        """Close the connection; the worker then kills its processes and ends."""
        self._socket.close()

    async def greeting(self, limit_s: float) -> Mapping[str, JSON]:
        """Return the worker's greeting, sent once it is ready.

        Raises:
            SandboxFault: the worker ended, or sent nothing within `limit_s` seconds.
        """
        try:
            with anyio.fail_after(limit_s):
                letter, _, rest = await self._receive()
        except TimeoutError:
            raise SandboxFault(f"the worker said nothing within {limit_s:g} s") from None
        if letter != wire.HELLO:
            raise SandboxFault(f"the worker began with {letter!r}; {wire.HELLO!r} was expected")
        try:
            return dict(json.loads(rest))
        except (ValueError, TypeError) as error:
            raise SandboxFault(f"the worker's greeting cannot be read: {error}") from error

    def spawn_now(self, ended: Iterable[int]) -> tuple[int, socket.socket]:
        """Order a standby, after those numbered `ended`; return its number and connection.

        Raises:
            OSError: the control channel is full (BlockingIOError) or closed.
        """
        number = self._next()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        ours.setblocking(False)
        try:
            with theirs:
                data = wire.packet(wire.SPAWN, number, _numbers(ended))
                socket.send_fds(self._socket, [data], [theirs.fileno()])
        except BaseException:
            ours.close()
            raise
        return number, ours

    async def room(self) -> None:
        """Wait until the control channel accepts a packet."""
        try:
            await anyio.wait_writable(self._socket)
        except OSError as error:
            raise _gone(error) from error

    def kill_now(self, number: int) -> None:
        """Kill a standby. Raises OSError as `spawn_now` does."""
        self._socket.send(wire.packet(wire.KILL, number))

    async def end(self, number: int, patience_s: float) -> End:
        """End a standby, killing it if it has not ended within `patience_s` seconds."""
        patience = wire.MILLISECONDS.pack(int(patience_s * 1000))
        rest = await self._asked(wire.END, number, patience, wire.ENDED)
        if not rest:
            raise SandboxFault("the worker had no room for the process of a call")
        if len(rest) != wire.STATUS.size:
            raise SandboxFault(f"the worker reported an end in {len(rest)} bytes")
        return End(*wire.STATUS.unpack(rest))

    async def reset(self, kept: Iterable[int]) -> None:
        """Kill all standbys except those `kept`; they are dead when this returns."""
        await self._asked(wire.RESET, self._next(), _numbers(kept))

    async def ping(self) -> int:
        """Check that the worker is alive; return the number of its processes, as it reports it."""
        rest = await self._asked(wire.PING, self._next())
        if len(rest) != wire.NUMBER.size:
            raise SandboxFault(f"the worker counted its processes in {len(rest)} bytes")
        count: int = wire.NUMBER.unpack(rest)[0]
        return count

    def _next(self) -> int:
        self._number += 1
        return self._number

    async def _asked(
        self, letter: bytes, number: int, rest: bytes = b"", answer: bytes | None = None
    ) -> bytes:
        """Send a packet and return the body of its answer.

        Other packets, which are answers that nobody awaits any more, are skipped.
        """
        try:
            with anyio.fail_after(ANSWER_S):
                await self._send(wire.packet(letter, number, rest))
                while True:
                    got, which, found = await self._receive()
                    if (got, which) == (answer or letter, number):
                        return found
        except TimeoutError:
            raise SandboxFault(f"the worker did not answer within {ANSWER_S:g} s") from None

    async def _send(self, data: bytes) -> None:
        while True:
            try:
                self._socket.send(data)
            except BlockingIOError:
                await self.room()
            except OSError as error:
                raise _gone(error) from error
            else:
                return

    async def _receive(self) -> tuple[bytes, int, bytes]:
        try:
            while True:
                try:
                    data = self._socket.recv(wire.PACKET_BYTES)
                except BlockingIOError:
                    await anyio.wait_readable(self._socket)
                else:
                    break
        except OSError as error:
            raise _gone(error) from error
        if not data:
            raise SandboxFault("the worker ended")
        try:
            return wire.unpack(data)
        except ValueError as error:
            raise SandboxFault(f"the worker cannot be understood: {error}") from error


def _gone(error: OSError) -> SandboxFault:
    return SandboxFault(f"the worker is gone: {error}")


def _numbers(numbers: Iterable[int]) -> bytes:
    return b"".join(map(wire.NUMBER.pack, numbers))
