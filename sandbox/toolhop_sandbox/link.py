"""The host's use of one worker: prepares standbys, sends them programs, calls and compiles.

Every sandbox uses it; they differ only in how the worker's process is started. Data from a
standby's connection counts only for the call that it was given; `toolhop_sandbox.replies` reads it.
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
"""Maximum number of standbys that hold one of the session's programs, so that a call sends only
its arguments; other calls take three times as long. Each takes 1.4 MB. Further programs get a
standby as others are called."""
PRIMED_BYTES = 65_536
"""Maximum size of a program sent ahead: a new connection buffers that much at once (its buffer
is three times as large), so nothing has to wait. Larger programs are sent with the call."""
HANG_UP_S = 1.0
"""Seconds that a process may live on after closing its connection. A process that ends does both at
once; one that closes it and keeps running can send nothing more, and is killed."""
FRAME_OVERHEAD_BYTES = 65536
"""Allowance for frames that are not results: an exception's text, a refusal."""
COMPILE_S = 10.0
"""Minimum time limit for compiling, in seconds. A source of 64 KiB compiles under the policy in
less than 1 s."""
CODE_BYTES = 16 << 20
"""Maximum size of compiled code, in bytes."""


class WorkerLink:
    """Exclusive use of one worker over its control socket, with one call at a time.

    It needs asyncio's event loop. Nothing that can wait delays a call: ended processes are cleaned
    up, and the next ones prepared, after the answer has been returned or while the next call runs.
    """

    def __init__(self, control: socket.socket) -> None:
        self._control = Control(control)
        self._spare: Standby | None = None
        """A standby kept ready for any request."""
        self._wanted: deque[Loadable] = deque()
        """Programs that are to get a standby, the next one first."""
        self._primed: dict[Loadable, Standby] = {}
        """Standbys that already hold their program."""
        self._called: set[Loadable] = set()
        self._spent: list[Standby] = []
        """Standbys whose call is over, but which the worker has not been told to end."""
        self._closed = False
        self.facts: Mapping[str, JSON] = {}
        """The worker's greeting."""

    async def greet(self, limit_s: float) -> None:
        """Wait until the worker is ready, then prepare its standbys.

        Raises:
            SandboxFault: the worker ended, or sent nothing within `limit_s` seconds.
        """
        self.facts = await self._control.greeting(limit_s)
        self._tidy()

    def prime(self, program: Loadable) -> None:
        """Prepare a standby that holds `program` before it is called."""
        self._want(program)
        self._later()

    def _want(self, program: Loadable, *, first: bool = False) -> None:
        known = program in self._wanted or program in self._primed
        if len(program.frame) <= PRIMED_BYTES and not known:
            (self._wanted.appendleft if first else self._wanted.append)(program)

    async def call(self, program: Loadable, arguments: bytes) -> Outcome:
        """Run a program in a fresh process; `arguments` is the text of a JSON object.

        Raises:
            SandboxFault: the worker was lost.
        """
        standby = self._primed.pop(program, None)
        if program in self._wanted:
            self._wanted.remove(program)
        # A program is seldom called a second time; if it is, prepare a standby for further calls.
        if program in self._called:
            self._want(program, first=True)
        self._called.add(program)
        request = wire.frame(wire.RUN, arguments)
        if standby is None or not standby.waits:
            # If it ended before it was called, it lacked memory.
            self._spent += [standby] if standby is not None else []
            standby, request = await self._take(), program.frame + request
        limits = program.limits
        cap_bytes = limits.result_bytes + FRAME_OVERHEAD_BYTES
        answer = await self._ask(standby, request, limits.wall_s, cap_bytes)
        return await read_answer(answer, limits)

    async def compile(self, program: Program, policy: Policy, limits: Limits) -> Compiled | Outcome:
        """Compile `program` in a standby; if that fails, return the outcome that says why.

        The time does not count for a call: compiling happens once, with a limit of at least
        `COMPILE_S`.
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
            # Only the parser ran: deep nesting overflows its stack.
            return Raised("SyntaxError", "the source crashed Python's compiler")
        return outcome

    async def reset(self) -> None:
        """Kill every process of the worker that was given anything, and forget the programs.

        Unused standbys are kept: they hold nothing, and where seccomp is in force, no call can have
        created a process unknown to the worker.

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
        """Check that the worker is alive; return the number of its processes, as it reports it.

        Raises:
            SandboxFault: it is not.
        """
        return await self._control.ping()

    def close(self) -> None:
        """Close the connections; the worker then kills its processes and ends."""
        self._closed = True
        self._hang_up()
        self._control.close()

    @property
    def waiting(self) -> int:
        """Number of standbys with an open connection."""
        return len(self._primed) + (self._spare is not None)

    def _hang_up(self) -> None:
        """Close every standby's connection, and forget the programs."""
        spare, self._spare = self._spare, None
        for standby in (*self._primed.values(), *self._spent, *([spare] if spare else [])):
            standby.close()
        for some in (self._primed, self._spent, self._wanted, self._called):
            some.clear()

    async def _ask(
        self, standby: Standby, request: bytes, limit_s: float, cap_bytes: int
    ) -> bytes | StandbyEnded:
        """Send `request` to a standby; return its frame, or how it ended without one."""
        try:
            try:
                async with asyncio.timeout(limit_s):
                    await send_all(standby.connection, request)
                    # Clean up after the previous call while this one runs.
                    self._tidy()
                    answer = await read_frame(standby.connection, cap_bytes)
            except TimeoutError:
                return await self._ended(standby, 0, overdue=True)
            return await self._ended(standby, HANG_UP_S) if answer is None else answer
        except asyncio.CancelledError:
            # End the process, whatever it is doing.
            with anyio.CancelScope(shield=True), contextlib.suppress(SandboxFault):
                await self._ended(standby, 0)
            raise
        finally:
            self._spent.append(standby)
            self._later()

    async def _ended(
        self, standby: Standby, patience_s: float, *, overdue: bool = False
    ) -> StandbyEnded:
        """End a standby, killing it if it does not end in time; return how it ended."""
        standby.ended = True
        end = await self._control.end(standby.number, patience_s)
        return StandbyEnded(end.exit_code, overdue=overdue, hung_up=end.killed and not overdue)

    def _later(self) -> None:
        """Tidy up once the caller has its answer."""
        asyncio.get_running_loop().call_soon(self._tidy)

    def _tidy(self) -> None:
        """End used standbys and prepare new ones, without waiting.

        Whatever does not fit into a full channel is left for the next time; the next call notices a
        lost worker.
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
        """Return a standby to call, discarding a spare one that has ended."""
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
        """Order a standby, to be made after the worker has ended the used ones.

        Raises:
            OSError: the control channel is full (BlockingIOError) or closed.
        """
        over = [standby.number for standby in self._spent if not standby.ended]
        number, connection = self._control.spawn_now(over)
        for standby in self._spent:
            standby.close()
        self._spent.clear()
        return Standby(number, connection)
