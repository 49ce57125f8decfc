"""Probes that look from the host's side, for what no call can see of itself.

Each returns what it found wrong: nothing where the step that it looks at is in place.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import anyio
import anyio.to_thread

from tests.attacks import process_tree, suite
from toolhop_sandbox import json_text
from toolhop_sandbox.base import Program, Session
from toolhop_sandbox.docker import folders
from toolhop_sandbox.docker.meeting import meeting
from toolhop_sandbox.errors import SandboxError, SandboxFault
from toolhop_sandbox.outcome import Returned
from toolhop_sandbox.process import ProcessLauncher

if TYPE_CHECKING:
    from tests.attacks.sabotage import Bench

SOON_S = 2.0
"""Within this what has to end has ended; where a step is left out it is not waited for longer."""
PATIENT_S = 60.0
"""The same on a busy machine, where every step is in place."""
LONG = Program("def f():\n    return 'x' * 500_000", "f")
DRAWING = Program("import random\ndef f():\n    return random.random()", "f")
STRANGER = """
import os, socket, sys
os.setuid(12345)
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
    one.connect(sys.argv[1])
    one.recv(1)
"""
Attacks = Mapping[str, suite.Attack]


async def _soon(condition: Callable[[], bool], within_s: float = PATIENT_S) -> bool:
    with anyio.move_on_after(within_s):
        while not condition():  # noqa: ASYNC110 -- other processes set no event
            await anyio.sleep(0.01)
        return True
    return False


async def _gone(pids: list[int], within_s: float) -> list[str]:
    """Which of these processes are still there in the end; they are killed then."""
    await _soon(lambda: not any(map(process_tree.lives, pids)), within_s)
    left = [pid for pid in pids if process_tree.lives(pid)]
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return [f"process {pid} lives on" for pid in left]


async def standbys_end_with_their_worker(bench: Bench, attacks: Attacks) -> list[str]:
    """Kill the worker's first process, and see that its standbys go too."""
    async with bench.another() as other:
        worker = other.worker.process
        await _soon(lambda: bool(process_tree.children(worker.pid)))
        standbys = process_tree.children(worker.pid)
        worker.kill()
        return await _gone(standbys, bench.soon_s)


async def children_end_with_their_call(bench: Bench, attacks: Attacks) -> list[str]:
    """Where calls can fork: have one leave a child, and see that it goes with the call."""
    outcome = await bench.call(attacks["layers/leaves_a_child"])
    if not isinstance(outcome, Returned):
        return [f"no child was made: {outcome}"]
    return await _gone([int(outcome.json_text)], bench.soon_s)


async def children_end_with_their_run(bench: Bench, attacks: Attacks) -> list[str]:
    """Where calls can fork: hang up on a call that has a child, and see that the child goes."""
    source = attacks["layers/leaves_a_child"].source
    stays = Program(source.replace("    return child", "    time.sleep(30)"), "attack")
    made: list[int] = []

    async def call(session: Session) -> None:
        with contextlib.suppress(SandboxFault):
            await session.call(stays, {})

    async with bench.another() as other, anyio.create_task_group() as tasks:
        worker = other.worker

        def forked() -> bool:
            for standby in process_tree.children(worker.process.pid):
                made.extend(process_tree.children(standby))
            return bool(made)

        tasks.start_soon(call, other.session)
        await _soon(forked)
        worker.link.close()
        tasks.cancel_scope.cancel()
    return await _gone(made, bench.soon_s) if made else ["no child was made"]


async def calls_draw_other_numbers(bench: Bench, attacks: Attacks) -> list[str]:
    """Two calls draw two numbers."""
    drawn = [await bench.session.call(DRAWING, {}) for _ in range(2)]
    return ["random numbers repeat"] if drawn[0] == drawn[1] else []


async def ended_calls_are_gone(bench: Bench, attacks: Attacks) -> list[str]:
    """A call that has replied and computes on is killed: only what waits is left."""
    await bench.call(attacks["frames/replies_and_goes_on"])
    worker = bench.worker
    # What it was asked for before is there when it answers this.
    await worker.link.ping()
    gone = await _soon(
        lambda: len(process_tree.children(worker.process.pid)) <= worker.link.waiting,
        bench.soon_s,
    )
    return [] if gone else ["a call that has replied computes on"]


async def ended_sessions_leave_no_process(bench: Bench, attacks: Attacks) -> list[str]:
    """A session with a program kept ready, whose last call computes on, ends: all are gone.

    One that was given nothing may stay, where no call can make processes.
    """
    busy = Program(attacks["frames/replies_and_goes_on"].source, "attack")
    async with bench.pool.session([LONG, busy]) as session:
        worker: Any = bench.pool._started[-1]
        pid, link = worker.process.pid, worker.link
        may_stay = link.facts["seccomp"]
        # Wait until the worker has three processes: two hold a program, one is empty.
        settled = False
        with anyio.fail_after(PATIENT_S):
            while not settled:
                await anyio.sleep(0.01)
                with contextlib.suppress(SandboxFault):  # an answer may take longer than it waits
                    # What answers has done all that was asked before; it counts itself too.
                    settled = await link.ping() == link.waiting + 1 == 4
                given = map(_was_given_a_program, process_tree.children(pid))
                settled = settled and sum(given) == 2
        before = process_tree.children(pid)
        await session.call(busy, {})
        # Nothing is tidied up before the session ends: the event loop does not turn meanwhile.
    with contextlib.suppress(SandboxFault):  # too slow an answer to the reset stops the worker
        await link.ping()

    def left() -> list[int]:
        there = {*before} & {*process_tree.children(pid)}
        return [one for one in there if not may_stay or _was_given_a_program(one)]

    ended = await _soon(lambda: not left(), bench.soon_s)
    return [] if ended else [f"of an ended session is left: {left()}"]


async def compiling_is_limited(bench: Bench, attacks: Attacks) -> list[str]:
    """While a long source is compiled, a process has a limit of memory; none of it is ever run."""
    long = Program("a = 1\n" * 200_000 + "(", "f")
    seen: list[int] = []

    async def look() -> None:
        while True:
            seen.extend(map(_memory_limit, process_tree.children(bench.worker.process.pid)))
            await anyio.sleep(0.005)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(look)
        await bench.session.call(long, {})
        tasks.cancel_scope.cancel()
    return [] if any(most < 1 << 30 for most in seen) else ["memory without end to compile"]


def _was_given_a_program(pid: int) -> bool:
    """Whether a standby has limits of memory, which it takes on with its program."""
    return _memory_limit(pid) < 1 << 60


def _memory_limit(pid: int) -> int:
    """Bytes of address space that a process may have; much where there is no limit or process."""
    limits = ""
    with contextlib.suppress(OSError):
        limits = Path(f"/proc/{pid}/limits").read_text(encoding="utf-8")
    lines = [line.split() for line in limits.splitlines() if line.startswith("Max address space")]
    return int(lines[0][3]) if lines and lines[0][3].isdecimal() else 1 << 60


TRAP = "from pathlib import Path\nPath(__file__).with_name('ran').touch()\nraise ImportError"


async def no_module_of_the_users_folder_is_run(bench: Bench, attacks: Attacks) -> list[str]:
    """Start a worker from a folder with a module that has the name of one of Python's."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        await anyio.Path("json.py").write_text(TRAP, encoding="utf-8")
        with contextlib.suppress(SandboxError):
            await (await ProcessLauncher().start()).stop()
        ran = await anyio.Path("ran").exists()
    return ["a module of the user's folder ran"] if ran else []


async def no_key_of_the_terminal_reaches_a_worker(bench: Bench, attacks: Attacks) -> list[str]:
    """The terminal sends what a key stands for to all processes of a group."""
    worker = await ProcessLauncher().start()
    reached = os.getpgid(worker.process.pid) == os.getpgrp()
    await worker.stop()
    return ["it is in the user's process group"] if reached else []


async def a_worker_that_cannot_start_prints_nothing(bench: Bench, attacks: Attacks) -> list[str]:
    """Python itself says on standard error that it knows no such hash seed."""
    kept = os.dup(2)
    with tempfile.TemporaryFile() as terminal:
        os.dup2(terminal.fileno(), 2)
        try:
            with contextlib.suppress(SandboxError):
                await ProcessLauncher(hash_seed=-1).start()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        terminal.seek(0)
        return ["it printed"] if b"PYTHONHASHSEED" in terminal.read() else []


_LEFT = """
    for _ in range(2000):
        if os.getsid(child) == child:
            break
        time.sleep(0.001)
    return child
"""


async def daemons_end_with_their_session(bench: Bench, attacks: Attacks) -> list[str]:
    """In a container where calls can fork: a process in a session of its own goes with a reset."""
    async with bench.pool.session() as session:
        worker: Any = bench.pool._started[-1]
        source = attacks["layers/leaves_a_child"].source
        source = source.replace("time.sleep", "os.setsid(), time.sleep")
        # The call's group is killed with the call: the child has to have left it by then.
        await session.call(Program(source.replace("    return child", _LEFT), "attack"), {})
    top = worker.engine._client.api.top
    expected: int = await worker.link.ping()

    def alone() -> bool:
        listed: list[list[str]] = top(worker.container_id)["Processes"]
        return sum("<defunct>" not in " ".join(one) for one in listed) <= expected

    return [] if await _soon(alone, bench.soon_s) else ["a daemon lives on"]


async def others_go_on_while_a_result_is_read(bench: Bench, attacks: Attacks) -> list[str]:
    """The reader of a long result waits for the event loop, which has to turn meanwhile."""
    turned, read = threading.Event(), []
    loop = asyncio.get_running_loop()

    def reads(_: str, **__: object) -> None:
        loop.call_soon_threadsafe(turned.set)
        read.append(turned.wait(bench.soon_s))

    with (
        patch.object(json_text, "check", reads),
        patch("toolhop_sandbox.replies.json.loads", reads),
    ):
        await bench.session.call(LONG, {})
    return [] if read == [True] else [f"it turned while a result was read: {read}"]


async def nobody_keeps_what_is_printed(bench: Bench, attacks: Attacks) -> list[str]:
    """A container prints, and the engine has kept nothing of it."""
    from docker.errors import APIError

    await bench.call(attacks["layers/prints_a_line"])

    def kept() -> bool:
        # Only its client knows how to ask; there is no log to read where none is kept. Where one
        # is, a line takes a while to get there.
        for _ in range(100):
            try:
                found: bytes = bench.worker.engine._client.api.logs(bench.worker.container_id)
            except APIError:
                return False
            if b"toolhop-printed" in found:
                return True
            time.sleep(0.1)
        return False

    return ["the engine kept it"] if await anyio.to_thread.run_sync(kept) else []


async def another_user_is_turned_away(bench: Bench, attacks: Attacks) -> list[str]:
    """A process of another user connects where a worker is waited for."""

    async def still_starting() -> bool:
        return True

    async def maps_no_users() -> bool:
        return False

    async with meeting() as place:
        place.folder.parent.chmod(0o755)  # as if the folder's own wall were not there
        stranger = subprocess.Popen(  # noqa: ASYNC220 -- it is to run beside
            [sys.executable, "-c", STRANGER, str(place.folder / folders.SOCKET)]
        )
        try:
            with anyio.move_on_after(PATIENT_S):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_turned_away, stranger, tasks.cancel_scope)
                    with await place.worker(2 * PATIENT_S, still_starting, maps_no_users) as one:
                        return [f"let in: user {_user(one)}"]
        finally:
            stranger.kill()
            await anyio.to_thread.run_sync(stranger.wait)
    return []


def _user(connected: socket.socket) -> int:
    told = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    user: int = struct.unpack("=iII", told)[1]
    return user


async def _turned_away(stranger: subprocess.Popen[bytes], scope: anyio.CancelScope) -> None:
    await anyio.to_thread.run_sync(stranger.wait, abandon_on_cancel=True)
    scope.cancel()


PROBES: dict[str, Callable[[Bench, Attacks], Awaitable[list[str]]]] = {
    probe.__name__: probe
    for probe in (
        standbys_end_with_their_worker,
        children_end_with_their_call,
        children_end_with_their_run,
        calls_draw_other_numbers,
        ended_calls_are_gone,
        ended_sessions_leave_no_process,
        daemons_end_with_their_session,
        compiling_is_limited,
        others_go_on_while_a_result_is_read,
        another_user_is_turned_away,
        nobody_keeps_what_is_printed,
        no_module_of_the_users_folder_is_run,
        no_key_of_the_terminal_reaches_a_worker,
        a_worker_that_cannot_start_prints_nothing,
    )
}
