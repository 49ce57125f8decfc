"""The host's end of one worker: spawns standbys, compiles, calls, kills.

Used by every sandbox alike; they differ only in how the worker's process is started. What comes
over a standby's connection counts for the call that it was given, and for no other;
`sandbox.replies` reads it.
"""

from __future__ import annotations

import contextlib
import json
import socket
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace

import anyio

from sandbox.base import Limits, Policy, Program
from sandbox.errors import SandboxFault
from sandbox.outcome import JSON, Died, Outcome, Raised
from sandbox.replies import Ending, read_answer, read_frame, send_all
from sandbox.worker import wire

SPARES = 2
"""Standbys kept ready. With one, a call after a call that replied early and went on has to wait
for the next fork; with two it does not."""
ANSWER_S = 5.0
"""How long a healthy worker may take to answer a control packet. It only forks and kills, so
milliseconds are normal; a frozen container never answers."""
HANG_UP_S = 1.0
"""How long a process may live on after it closed its connection. One that ends does both at once;
one that closed it and goes on has nothing left to say, and is killed."""
FRAME_OVERHEAD_BYTES = 65536
"""Room for what is no result: an exception's text, a refusal."""
COMPILE_S = 10.0
"""A source of 64 KiB compiles under the policy in less than 1 s."""
CODE_BYTES = 16 << 20
"""Largest compiled code accepted."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """Code as the worker compiled it, opaque here: never unpacked outside a standby."""

    code: bytes


@dataclass(slots=True)
class Standby:
    """A process that waits for one call."""

    number: int
    connection: socket.socket
    killed: bool = False

    @property
    def waits(self) -> bool:
        """Whether it is there to be called.

        It says nothing before it is asked, so it ended if its connection can be read.
        """
        try:
            self.connection.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        """Hang up. A standby that still waits ends by itself."""
        self.connection.close()


class WorkerLink:
    """Exclusive use of one worker over its control socket. One call is under way at a time."""

    def __init__(self, control: socket.socket) -> None:
        control.setblocking(False)
        self._control = control
        self._number = 0
        self._spares: deque[Standby] = deque()
        self._ended: dict[int, int] = {}
        """Exit codes by standby number, until asked for."""
        self.facts: Mapping[str, JSON] = {}
        """What the worker said of itself."""

    async def greet(self, limit_s: float) -> None:
        """Wait for the worker to be ready, then have its standbys made.

        Raises:
            SandboxFault: it ended, or said nothing within `limit_s` seconds.
        """
        try:
            with anyio.fail_after(limit_s):
                letter, _, rest = await self._receive()
        except TimeoutError:
            raise SandboxFault(f"the worker said nothing within {limit_s:g} s") from None
        if letter != wire.HELLO:
            raise SandboxFault(f"the worker began with {letter!r}; {wire.HELLO!r} was expected")
        try:
            self.facts = dict(json.loads(rest))
        except (ValueError, TypeError) as error:
            raise SandboxFault(f"the worker's greeting cannot be read: {error}") from error
        await self._refill()

    async def call(
        self, compiled: Compiled, program: Program, arguments: bytes, limits: Limits, policy: Policy
    ) -> Outcome:
        """Run compiled code in a fresh process; `arguments` is a JSON object's text.

        Raises:
            SandboxFault: the worker was lost.
        """
        head = {
            "function": program.function,
            "policy": policy,
            "memory_mib": limits.memory_mib,
            "cpu_s": int(limits.wall_s) + 2,
            "result_bytes": limits.result_bytes,
        }
        text = json.dumps(head).encode()
        load = wire.frame(wire.LOAD, wire.LENGTH.pack(len(text)) + text + compiled.code)
        request = load + wire.frame(wire.RUN, arguments)
        answer = await self._ask(request, limits.wall_s, limits.result_bytes + FRAME_OVERHEAD_BYTES)
        return read_answer(answer, limits)

    async def compile(self, program: Program, policy: Policy, limits: Limits) -> Compiled | Outcome:
        """Have a standby compile `program`; the outcome says why where that fails.

        Not part of a call's time: it happens once, and gets `COMPILE_S` at least.
        """
        limits = replace(limits, wall_s=max(limits.wall_s, COMPILE_S))
        body = json.dumps({"source": program.source, "policy": policy}).encode()
        answer = await self._ask(wire.frame(wire.COMPILE, body), limits.wall_s, CODE_BYTES)
        if isinstance(answer, bytes) and answer[:1] == wire.CODE:
            return Compiled(answer[1:])
        if isinstance(answer, Ending) and answer.exit_code == wire.FAULT_EXIT_CODE:
            raise SandboxFault("the worker's compile step failed; this is a bug of the sandbox")
        outcome = read_answer(answer, limits, compiling=True)
        if isinstance(outcome, Died):
            # Only the parser ran: nesting deep enough overflows its stack.
            return Raised("SyntaxError", "the source crashed Python's compiler")
        return outcome

    async def reset(self) -> None:
        """Kill every process of the worker but the first, and make new standbys.

        Raises:
            SandboxFault: the worker is gone or does not answer: do not use it again.
        """
        for spare in self._spares:
            spare.close()
        self._spares.clear()
        self._number += 1
        await self._send(wire.packet(wire.RESET, self._number))
        await self._until(wire.RESET, self._number)
        self._ended.clear()
        await self._refill()

    async def ping(self) -> None:
        """Find out whether the worker lives.

        Raises:
            SandboxFault: it does not.
        """
        self._number += 1
        await self._send(wire.packet(wire.PING, self._number))
        await self._until(wire.PING, self._number)

    def close(self) -> None:
        """Hang up: the worker kills what it holds and ends."""
        for spare in self._spares:
            spare.close()
        self._spares.clear()
        self._control.close()

    async def _ask(self, request: bytes, limit_s: float, cap_bytes: int) -> bytes | Ending:
        """Send `request` to a standby; its frame, or how it ended without one."""
        standby = await self._take()
        try:
            with anyio.move_on_after(limit_s):
                await send_all(standby.connection, request)
                answer = await read_frame(standby.connection, cap_bytes)
                if answer is not None:
                    return answer
                return await self._hung_up(standby)
            await self._kill(standby)
            return Ending(await self._exit_code(standby), overdue=True)
        finally:
            # Also on cancellation: whatever the process is doing now is over.
            with anyio.CancelScope(shield=True):
                standby.close()
                # An answer that was read stays true; a lost worker shows at the next call.
                with contextlib.suppress(SandboxFault):
                    await self._kill(standby)
                    await self._refill()
                    self._drain()

    async def _take(self) -> Standby:
        """A standby to call; spares that ended while they waited are passed over."""
        while self._spares:
            spare = self._spares.popleft()
            if spare.waits:
                return spare
            spare.close()
        return await self._spawn()

    async def _hung_up(self, standby: Standby) -> Ending:
        """How a process ended that closed its connection, or that it had to be ended."""
        with anyio.move_on_after(HANG_UP_S):
            return Ending(await self._exit_code(standby), overdue=False)
        await self._kill(standby)
        return Ending(await self._exit_code(standby), overdue=False, hung_up=True)

    async def _kill(self, standby: Standby) -> None:
        if not standby.killed:
            standby.killed = True
            await self._send(wire.packet(wire.KILL, standby.number))

    async def _exit_code(self, standby: Standby) -> int:
        """The code that `standby` ended with, as the worker reports it."""
        if standby.number not in self._ended:
            await self._until(wire.EXIT, standby.number)
        return self._ended.pop(standby.number)

    def _drain(self) -> None:
        """Take the ends reported so far, so that they never fill the channel."""
        while True:
            try:
                data = self._control.recv(wire.PACKET_BYTES)
            except OSError:
                return
            if not data:
                return
            letter, number, rest = _unpack(data)
            if letter == wire.EXIT:
                self._note_end(number, rest)

    async def _refill(self) -> None:
        while len(self._spares) < SPARES:
            self._spares.append(await self._spawn())

    async def _spawn(self) -> Standby:
        self._number += 1
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        ours.setblocking(False)
        try:
            with theirs:
                await self._send(wire.packet(wire.SPAWN, self._number), [theirs.fileno()])
        except BaseException:
            ours.close()
            raise
        return Standby(self._number, ours)

    async def _send(self, data: bytes, descriptors: list[int] | None = None) -> None:
        try:
            with anyio.fail_after(ANSWER_S):
                while True:
                    try:
                        socket.send_fds(self._control, [data], descriptors or [])
                    except BlockingIOError:
                        await anyio.wait_writable(self._control)
                    else:
                        return
        except TimeoutError:
            raise SandboxFault(f"the worker took no packet for {ANSWER_S:g} s") from None
        except OSError as error:
            raise SandboxFault(f"the worker is gone: {error}") from error

    async def _until(self, letter: bytes, number: int) -> None:
        """Read control packets up to the one named, noting the ends that pass by."""
        try:
            with anyio.fail_after(ANSWER_S):
                while True:
                    got, which, rest = await self._receive()
                    if got == wire.EXIT:
                        self._note_end(which, rest)
                    if (got, which) == (letter, number):
                        return
        except TimeoutError:
            raise SandboxFault(f"the worker did not answer within {ANSWER_S:g} s") from None

    def _note_end(self, number: int, rest: bytes) -> None:
        # Calls that answered are never asked for; keep the table from growing with them.
        while len(self._ended) > 64:
            del self._ended[next(iter(self._ended))]
        if len(rest) != wire.STATUS.size:
            raise SandboxFault(f"the worker reported an end in {len(rest)} bytes")
        self._ended[number] = wire.STATUS.unpack(rest)[0]

    async def _receive(self) -> tuple[bytes, int, bytes]:
        try:
            while True:
                try:
                    data = self._control.recv(wire.PACKET_BYTES)
                except BlockingIOError:
                    await anyio.wait_readable(self._control)
                else:
                    break
        except OSError as error:
            raise SandboxFault(f"the worker is gone: {error}") from error
        if not data:
            raise SandboxFault("the worker ended")
        return _unpack(data)


def _unpack(data: bytes) -> tuple[bytes, int, bytes]:
    try:
        return wire.unpack(data)
    except ValueError as error:
        raise SandboxFault(f"the worker cannot be understood: {error}") from error
