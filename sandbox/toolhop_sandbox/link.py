"""The host's use of one worker: standbys made ahead, programs sent to them, calls, compiling.

Used by every sandbox alike; they differ only in how the worker's process is started. What comes
over a standby's connection counts for the call that it was given, and for no other;
`toolhop_sandbox.replies` reads it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections import deque
from collections.abc import Mapping
from dataclasses import replace

import anyio

from toolhop_sandbox.base import Limits, Policy, Program
from toolhop_sandbox.control import Control
from toolhop_sandbox.errors import SandboxFault
from toolhop_sandbox.outcome import JSON, Died, Outcome, Raised
from toolhop_sandbox.replies import OVERSIZED, StandbyEnded, read_answer, read_frame, send_all
from toolhop_sandbox.standbys import Compiled, Loadable, Standby
from toolhop_sandbox.worker import wire

PRIMED = 3
"""Standbys that hold a program of the session already, so that its call sends no more than its
arguments: without them a call takes three times as long. Each takes 1.4 MB. Of more programs the
next gets its own when one was called."""
PRIMED_BYTES = 65_536
"""Longest program sent ahead: a fresh connection takes that much at once (its buffer holds three
times as much), so that nobody has to wait for it. Longer ones are sent with the call."""
HANG_UP_S = 1.0
"""How long a process may live on after it closed its connection. One that ends does both at once;
one that closed it and goes on has nothing left to say, and is killed."""
FRAME_OVERHEAD_BYTES = 65536
"""Room for what is not a result: an exception's text, a refusal."""
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
        self._control = Control(control)
        self._spare: Standby | None = None
        """A standby that is kept ready for any request."""
        self._wanted: deque[Loadable] = deque()
        """Programs that are to have a standby, the one to be served first in front."""
        self._primed: dict[Loadable, Standby] = {}
        """Standbys that hold their program already."""
        self._called: set[Loadable] = set()
        self._spent: list[Standby] = []
        """Standbys whose call is over, and whose end the worker does not know yet."""
        self._closed = False
        self.facts: Mapping[str, JSON] = {}
        """What the worker said of itself."""

    async def greet(self, limit_s: float) -> None:
        """Wait for the worker to be ready, then have its standbys made.

        Raises:
            SandboxFault: it ended, or said nothing within `limit_s` seconds.
        """
        self.facts = await self._control.greeting(limit_s)
        self._tidy()

    def prime(self, program: Loadable) -> None:
        """Have a standby hold `program` before it is called."""
        self._want(program)
        self._later()

    def _want(self, program: Loadable, *, first: bool = False) -> None:
        known = program in self._wanted or program in self._primed
        if len(program.frame) <= PRIMED_BYTES and not known:
            (self._wanted.appendleft if first else self._wanted.append)(program)

    async def call(self, program: Loadable, arguments: bytes) -> Outcome:
        """Run a program in a fresh process; `arguments` is a JSON object's text.

        Raises:
            SandboxFault: the worker was lost.
        """
        standby = self._primed.pop(program, None)
        if program in self._wanted:
            self._wanted.remove(program)
        # A program that is called once is seldom called again; one called twice is kept ready.
        if program in self._called:
            self._want(program, first=True)
        self._called.add(program)
        request = wire.frame(wire.RUN, arguments)
        if standby is None or not standby.waits:
            # It ended before it was called, for want of memory.
            self._spent += [standby] if standby is not None else []
            standby, request = await self._take(), program.frame + request
        limits = program.limits
        cap_bytes = limits.result_bytes + FRAME_OVERHEAD_BYTES
        answer = await self._ask(standby, request, limits.wall_s, cap_bytes)
        return await read_answer(answer, limits)

    async def compile(self, program: Program, policy: Policy, limits: Limits) -> Compiled | Outcome:
        """Have a standby compile `program`; the outcome says why where that fails.

        Not part of a call's time: it happens once, and gets `COMPILE_S` at least.
        """
        limits = replace(limits, wall_s=max(limits.wall_s, COMPILE_S))
        body = json.dumps({"source": program.source, "policy": policy}).encode()
        request = wire.frame(wire.COMPILE, body)
        answer = await self._ask(await self._take(), request, limits.wall_s, CODE_BYTES)
        if isinstance(answer, bytes) and answer[:1] == wire.CODE:
            return Compiled(answer[1:])
        if isinstance(answer, bytes) and answer[:1] == OVERSIZED:
            return Raised("SyntaxError", f"the compiled source is longer than {CODE_BYTES} bytes")
        if isinstance(answer, StandbyEnded) and answer.exit_code == wire.FAULT_EXIT_CODE:
            raise SandboxFault("the worker's compile step failed; this is a bug of the sandbox")
        outcome = await read_answer(answer, limits, compiling=True)
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
        kept = self._spare if self.facts.get("seccomp") is True else None
        if kept is not None:
            self._spare = None
        self._hang_up()
        self._spare = kept
        await self._control.reset([] if kept is None else [kept.number])
        self._tidy()

    async def ping(self) -> int:
        """Find out whether the worker lives; how many processes it is, as far as it knows.

        Raises:
            SandboxFault: it does not.
        """
        return await self._control.ping()

    def close(self) -> None:
        """Hang up: the worker kills what it holds and ends."""
        self._closed = True
        self._hang_up()
        self._control.close()

    @property
    def waiting(self) -> int:
        """How many standbys it holds a connection to."""
        return len(self._primed) + (self._spare is not None)

    def _hang_up(self) -> None:
        """Close every connection, and forget the programs."""
        spare, self._spare = self._spare, None
        for standby in (*self._primed.values(), *self._spent, *([spare] if spare else [])):
            standby.close()
        for some in (self._primed, self._spent, self._wanted, self._called):
            some.clear()

    async def _ask(
        self, standby: Standby, request: bytes, limit_s: float, cap_bytes: int
    ) -> bytes | StandbyEnded:
        """Send `request` to a standby; its frame, or how it ended without one."""
        try:
            try:
                async with asyncio.timeout(limit_s):
                    await send_all(standby.connection, request)
                    # What the call before left to do is done while this one runs.
                    self._tidy()
                    answer = await read_frame(standby.connection, cap_bytes)
            except TimeoutError:
                return await self._ended(standby, 0, overdue=True)
            return await self._ended(standby, HANG_UP_S) if answer is None else answer
        except asyncio.CancelledError:
            # Whatever the process is doing now is over.
            with anyio.CancelScope(shield=True), contextlib.suppress(SandboxFault):
                await self._ended(standby, 0)
            raise
        finally:
            self._spent.append(standby)
            self._later()

    async def _ended(
        self, standby: Standby, patience_s: float, *, overdue: bool = False
    ) -> StandbyEnded:
        """End a standby, if it does not do so itself in time; how it ended."""
        standby.ended = True
        end = await self._control.end(standby.number, patience_s)
        return StandbyEnded(end.exit_code, overdue=overdue, hung_up=end.killed and not overdue)

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
        for standby in self._spent:
            standby.close()
        with contextlib.suppress(OSError):
            while self._wanted and len(self._primed) < PRIMED:
                fresh = self._spawn_now()
                self._primed[program := self._wanted.popleft()] = fresh
                fresh.connection.send(program.frame)
            if self._spare is None:
                self._spare = self._spawn_now()
            while self._spent:
                if not self._spent[-1].ended:
                    self._control.kill_now(self._spent[-1].number)
                self._spent.pop()

    async def _take(self) -> Standby:
        """A standby to call; a spare that ended while it waited is passed over."""
        spare, self._spare = self._spare, None
        if spare is not None and spare.waits:
            return spare
        self._spent += [spare] if spare is not None else []
        while True:
            try:
                return self._spawn_now()
            except BlockingIOError:
                await self._control.room()
            except OSError as error:
                raise SandboxFault(f"the worker is gone: {error}") from error

    def _spawn_now(self) -> Standby:
        """Have a standby made, after the worker has ended those that are spent.

        Raises:
            OSError: the control channel is full (BlockingIOError) or closed.
        """
        over = [standby.number for standby in self._spent if not standby.ended]
        number, connection = self._control.spawn_now(over)
        for standby in self._spent:
            standby.close()
        self._spent.clear()
        return Standby(number, connection)
