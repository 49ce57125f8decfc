"""The host's end of one worker: spawns standbys, compiles, calls, kills.

Used by every sandbox alike; they differ only in how the worker's process is started. What comes
over a standby's connection counts for the call that it was given, and for no other;
`sandbox.replies` reads it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import time
from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeGuard

import anyio

from sandbox.base import Limits, Policy, Program
from sandbox.errors import SandboxFault
from sandbox.outcome import JSON, Died, Outcome, Raised
from sandbox.replies import OVERSIZED, SIGSYS, SIGXCPU, Ending, read_answer, read_frame, send_all
from sandbox.standbys import Compiled, Loadable, Standby
from sandbox.worker import wire

SPARES = 2
"""Standbys kept ready for any request; where they can be used again, one such and one for a
single call. With one, a call after a call that replied early and went on has to wait for the next
fork; with two, or one that is put back, it does not."""
PRIMED, PRIMED_AT_ONCE = 8, 4
"""Programs of a session for which a standby is kept that has the code already, so that a call
sends no more than its arguments: ToolHop's items have at most 7 tools. The first of them have one
at a time, as each takes 3 MB; the next gets its own when one was called."""
PRIMED_BYTES = 65_536
"""Longest program sent ahead: a fresh connection takes that much at once (its buffer holds three
times as much), so that nobody has to wait for it. Longer ones are sent with the call."""
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


class WorkerLink:
    """Exclusive use of one worker over its control socket. One call is under way at a time.

    It runs on asyncio's event loop. Nothing that can wait is on a call's way: the ended process is
    seen off, and the next ones are made ready, after the answer has gone back to the caller, or
    while the next call runs.
    """

    def __init__(self, control: socket.socket) -> None:
        control.setblocking(False)
        self._control = control
        self._number = 0
        self._spares: dict[bool, deque[Standby]] = {False: deque(), True: deque()}
        """By whether they are for one call."""
        self._wanted: OrderedDict[Loadable, None] = OrderedDict()
        """Programs for which a standby is kept, the one that is wanted most first."""
        self._primed: dict[Loadable, Standby] = {}
        """Standbys that hold their program already."""
        self._called: set[Loadable] = set()
        self._spent: list[Standby] = []
        """Standbys whose call is over and whose process is to be ended for certain."""
        self._doomed: list[Standby] = []
        """The same with their connection closed; the worker is still to be told."""
        self._closed = False
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
        self._tidy()

    def prime(self, program: Loadable) -> None:
        """Keep a standby that holds `program`, until it was called once."""
        self._want(program)
        self._later()

    def _want(self, program: Loadable) -> None:
        if len(program.frame) > PRIMED_BYTES:
            return
        self._wanted[program] = None
        if program in self._called:
            self._wanted.move_to_end(program, last=False)
        while len(self._wanted) > PRIMED:
            given_up, _ = self._wanted.popitem()
            if given_up in self._primed:
                self._spent.append(self._primed.pop(given_up))

    async def call(self, program: Loadable, arguments: bytes) -> Outcome:
        """Run a program in a fresh process; `arguments` is a JSON object's text.

        Raises:
            SandboxFault: the worker was lost.
        """
        primed = self._primed.pop(program, None)
        # A program that is called once is seldom called again; one called twice is kept ready.
        if program in self._called:
            self._want(program)
        else:
            self._called.add(program)
            self._wanted.pop(program, None)
        request = wire.frame(wire.RUN, arguments)
        return read_answer(await self._run(program, request, primed), program.limits)

    async def _run(
        self, program: Loadable, request: bytes, primed: Standby | None
    ) -> bytes | Ending:
        """Have a standby run the program: the one that holds it already, if it still waits."""
        end_s = time.monotonic() + program.limits.wall_s
        cap_bytes = program.limits.result_bytes + FRAME_OVERHEAD_BYTES
        if primed is not None and primed.waits:
            answer = await self._ask(primed, request, program.limits.wall_s, cap_bytes)
            # One for this call alone may have reached the limit for what runs ahead of it.
            if not _asks_for_more(answer) or (primed.once and answer.exit_code != SIGXCPU):
                return answer
            program.once = True
        elif primed is not None:
            # It ended; or it lives and has said something that nobody asked for.
            self._spent.append(primed)
        request = program.frame + request
        if not (program.once or self._always_once):
            spare = await self._take(once=False)
            answer = await self._ask(spare, request, end_s - time.monotonic(), cap_bytes)
            if not _asks_for_more(answer):
                return answer
            program.once = True
        spare = await self._take(once=True)
        return await self._ask(spare, request, end_s - time.monotonic(), cap_bytes)

    async def compile(self, program: Program, policy: Policy, limits: Limits) -> Compiled | Outcome:
        """Have a standby compile `program`; the outcome says why where that fails.

        Not part of a call's time: it happens once, and gets `COMPILE_S` at least.
        """
        limits = replace(limits, wall_s=max(limits.wall_s, COMPILE_S))
        body = json.dumps({"source": program.source, "policy": policy}).encode()
        request = wire.frame(wire.COMPILE, body)
        spare = await self._take(once=True)
        answer = await self._ask(spare, request, limits.wall_s, CODE_BYTES)
        if isinstance(answer, bytes) and answer[:1] == wire.CODE:
            return Compiled(answer[1:])
        if isinstance(answer, bytes) and answer[:1] == OVERSIZED:
            return Raised("SyntaxError", f"the compiled source is longer than {CODE_BYTES} bytes")
        if isinstance(answer, Ending) and answer.exit_code == wire.FAULT_EXIT_CODE:
            raise SandboxFault("the worker's compile step failed; this is a bug of the sandbox")
        outcome = read_answer(answer, limits, compiling=True)
        if isinstance(outcome, Died):
            # Only the parser ran: nesting deep enough overflows its stack.
            return Raised("SyntaxError", "the source crashed Python's compiler")
        return outcome

    async def reset(self) -> None:
        """Kill every process of the worker that was given anything, and forget the programs.

        Standbys that were never asked stay: they hold nothing, and where seccomp is in force no
        call can have made a process that the worker does not know.

        Raises:
            SandboxFault: the worker is gone or does not answer: do not use it again.
        """
        kept, none = self._spares, {False: deque[Standby](), True: deque[Standby]()}
        if self.facts.get("seccomp") is True:
            self._spares = none
        else:
            kept = none
        self._hang_up()
        self._spares = kept
        self._number += 1
        numbers = b"".join(wire.NUMBER.pack(one.number) for some in kept.values() for one in some)
        await self._send(wire.packet(wire.RESET, self._number, numbers))
        await self._until(wire.RESET, self._number)
        self._tidy()

    async def ping(self) -> int:
        """Find out whether the worker lives; how many processes it is, as far as it knows.

        Raises:
            SandboxFault: it does not.
        """
        self._number += 1
        await self._send(wire.packet(wire.PING, self._number))
        rest = await self._until(wire.PING, self._number)
        if len(rest) != wire.NUMBER.size:
            raise SandboxFault(f"the worker counted its processes in {len(rest)} bytes")
        count: int = wire.NUMBER.unpack(rest)[0]
        return count

    def close(self) -> None:
        """Hang up: the worker kills what it holds and ends."""
        self._closed = True
        self._hang_up()
        self._control.close()

    def _hang_up(self) -> None:
        """Close every connection, and forget the programs."""
        spares = [standby for some in self._spares.values() for standby in some]
        for standby in (*spares, *self._primed.values(), *self._spent):
            standby.close()
        self._spares = {False: deque(), True: deque()}
        self._primed.clear()
        self._spent.clear()
        self._doomed.clear()
        self._wanted.clear()
        self._called.clear()

    async def _ask(
        self, standby: Standby, request: bytes, limit_s: float, cap_bytes: int
    ) -> bytes | Ending:
        """Send `request` to a standby; its frame, or how it ended without one."""
        try:
            try:
                async with asyncio.timeout(limit_s):
                    await send_all(standby.connection, request)
                    # What the call before left to do is done while this one runs.
                    self._tidy()
                    answer = await read_frame(standby.connection, cap_bytes)
                    return await self._hung_up(standby) if answer is None else answer
            except TimeoutError:
                return Ending(await self._killed(standby), overdue=True)
        except BaseException:
            # Cancelled, or the worker is lost: whatever the process is doing now is over.
            with anyio.CancelScope(shield=True), contextlib.suppress(SandboxFault):
                await self._kill(standby)
            raise
        finally:
            self._spent.append(standby)
            self._later()

    def _later(self) -> None:
        """Tidy up once whoever waits for an answer has it."""
        asyncio.get_running_loop().call_soon(self._tidy)

    def _tidy(self) -> None:
        """End what is spent, and make standbys, as far as none has to wait.

        What a full channel does not take is left for the next time; a lost worker shows at the
        next call.
        """
        if self._closed:
            return
        while self._spent:
            standby = self._spent.pop()
            standby.close()
            if not standby.killed:
                self._doomed.append(standby)
        with contextlib.suppress(OSError):
            for program in [*self._wanted][:PRIMED_AT_ONCE]:
                if program not in self._primed:
                    once = program.once or self._always_once
                    self._primed[program] = fresh = self._spawn_now(once=once)
                    fresh.connection.send(program.frame)
            for once, count in self._spares_wanted:
                while len(self._spares[once]) < count:
                    self._spares[once].append(self._spawn_now(once=once))
            while self._doomed:
                self._control.send(wire.packet(wire.KILL, self._doomed[-1].number))
                self._doomed.pop()

    @property
    def _always_once(self) -> bool:
        """Whether every standby of this worker is for one call."""
        return self.facts.get("used_again") is not True

    @property
    def _spares_wanted(self) -> tuple[tuple[bool, int], ...]:
        """How many spares are kept, by whether they are for one call."""
        return ((True, SPARES),) if self._always_once else ((False, 1), (True, SPARES - 1))

    async def _take(self, *, once: bool) -> Standby:
        """A standby to call; spares that ended while they waited are passed over."""
        while self._spares[once]:
            spare = self._spares[once].popleft()
            if spare.waits:
                return spare
            spare.close()
        return await self._spawn(once=once)

    async def _hung_up(self, standby: Standby) -> Ending:
        """How a process ended that closed its connection, or that it had to be ended."""
        with anyio.move_on_after(HANG_UP_S):
            return Ending(await self._exit_code(standby), overdue=False)
        return Ending(await self._killed(standby), overdue=False, hung_up=True)

    async def _kill(self, standby: Standby) -> None:
        if not standby.killed:
            standby.killed = True
            await self._send(wire.packet(wire.KILL, standby.number))

    async def _killed(self, standby: Standby) -> int:
        """Kill `standby`; the code that it ended with, which may be one of its own."""
        await self._send(wire.packet(wire.WAIT, standby.number))
        await self._kill(standby)
        return await self._until_end(standby)

    async def _exit_code(self, standby: Standby) -> int:
        """The code that `standby` ended with, as the worker reports it."""
        await self._send(wire.packet(wire.WAIT, standby.number))
        return await self._until_end(standby)

    async def _until_end(self, standby: Standby) -> int:
        rest = await self._until(wire.EXIT, standby.number)
        if len(rest) != wire.STATUS.size:
            raise SandboxFault(f"the worker reported an end in {len(rest)} bytes")
        exit_code: int = wire.STATUS.unpack(rest)[0]
        return exit_code

    async def _spawn(self, *, once: bool) -> Standby:
        while True:
            try:
                return self._spawn_now(once=once)
            except BlockingIOError:
                await anyio.wait_writable(self._control)
            except OSError as error:
                raise SandboxFault(f"the worker is gone: {error}") from error

    def _spawn_now(self, *, once: bool) -> Standby:
        """Have a standby made, after the worker is done with those that are doomed.

        Raises:
            OSError: the control channel is full (BlockingIOError) or closed.
        """
        self._number += 1
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        ours.setblocking(False)
        try:
            with theirs:
                doomed = b"".join(wire.NUMBER.pack(standby.number) for standby in self._doomed)
                letter = wire.SPAWN_ONCE if once else wire.SPAWN
                data = wire.packet(letter, self._number, doomed)
                socket.send_fds(self._control, [data], [theirs.fileno()])
        except BaseException:
            ours.close()
            raise
        self._doomed.clear()
        return Standby(self._number, ours, once)

    async def _send(self, data: bytes) -> None:
        try:
            with anyio.fail_after(ANSWER_S):
                while True:
                    try:
                        self._control.send(data)
                    except BlockingIOError:
                        await anyio.wait_writable(self._control)
                    else:
                        return
        except TimeoutError:
            raise SandboxFault(f"the worker took no packet for {ANSWER_S:g} s") from None
        except OSError as error:
            raise SandboxFault(f"the worker is gone: {error}") from error

    async def _until(self, letter: bytes, number: int) -> bytes:
        """Read control packets up to the one named, and give the rest of it.

        Others are answers to what nobody waits for any more.
        """
        try:
            with anyio.fail_after(ANSWER_S):
                while True:
                    got, which, rest = await self._receive()
                    if (got, which) == (letter, number):
                        return rest
        except TimeoutError:
            raise SandboxFault(f"the worker did not answer within {ANSWER_S:g} s") from None

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


def _asks_for_more(answer: bytes | Ending) -> TypeGuard[Ending]:
    """Whether the kernel ended the process because it wanted more than such a process may have."""
    return (
        isinstance(answer, Ending)
        and not answer.overdue
        and not answer.hung_up
        and answer.exit_code in (SIGSYS, SIGXCPU)
    )
