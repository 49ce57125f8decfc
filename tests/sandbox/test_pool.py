"""The pool over process workers: how many there are, which are used again, what is left."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import anyio
import pytest
from anyio.lowlevel import checkpoint

from tests.waiting import until_async
from toolhop_sandbox.base import Program, Session
from toolhop_sandbox.errors import SandboxFault, SandboxUnavailable
from toolhop_sandbox.outcome import Raised, Returned, TimedOut
from toolhop_sandbox.pool import PooledSandbox
from toolhop_sandbox.process import ProcessLauncher, ProcessWorker

ADD = Program("def f(a):\n    return a + 1", "f")
LOOP = Program("def f():\n    while True: pass", "f")


class Launcher(ProcessLauncher):
    """Keeps what it started, to look at."""

    def __init__(self) -> None:
        super().__init__()
        self.workers: list[ProcessWorker] = []
        self.closed = 0
        self.fails = False

    async def prepare(self) -> None:
        await checkpoint()

    async def start(self) -> ProcessWorker:
        if self.fails:
            raise SandboxUnavailable("no", fix="none")
        worker = await super().start()
        self.workers.append(worker)
        return worker

    async def close(self) -> None:
        await checkpoint()
        self.closed += 1

    @property
    def alive(self) -> int:
        return sum(worker.process.poll() is None for worker in self.workers)


@pytest.fixture
def launcher() -> Launcher:
    return Launcher()


def pool_of(launcher: Launcher, max_workers: int = 2) -> PooledSandbox:
    return PooledSandbox(launcher, policy="none", max_workers=max_workers)


async def add(session: Session, a: int = 1) -> None:
    assert await session.call(ADD, {"a": a}) == Returned(str(a + 1))


async def add_often(session: Session) -> None:
    for number in range(10):
        await add(session, number)


def test_sessions_wait_for_a_place(launcher: Launcher) -> None:
    most = 0

    async def one(pool: PooledSandbox) -> None:
        nonlocal most
        async with pool.session() as session:
            most = max(most, len(launcher.workers))
            await add(session)

    async def run() -> None:
        async with pool_of(launcher) as pool, anyio.create_task_group() as tasks:
            for _ in range(6):
                tasks.start_soon(one, pool)

    anyio.run(run)
    assert most == len(launcher.workers) == 2
    assert launcher.alive == 0


async def until_alive(launcher: Launcher, wanted: int) -> None:
    await until_async(lambda: launcher.alive >= wanted, f"{wanted} workers")


@pytest.mark.heavy  # without its processes it waits for long
def test_workers_are_started_before_anybody_asks(launcher: Launcher) -> None:
    async def run() -> None:
        async with PooledSandbox(launcher, policy="none", max_workers=3, ahead=2) as pool:
            await until_alive(launcher, 2)
            async with pool.session() as a, pool.session() as b:
                await add(a)
                await add(b)
            assert launcher.alive == 2

    anyio.run(run)
    assert len(launcher.workers) == 2
    assert launcher.alive == 0


def test_a_session_takes_the_worker_that_is_being_started(launcher: Launcher) -> None:
    async def run() -> None:
        async with PooledSandbox(launcher, policy="none", max_workers=1, ahead=9) as pool:
            for _ in range(2):
                async with pool.session() as session:
                    await add(session)

    anyio.run(run)
    assert len(launcher.workers) == 1


class OneAfterAnother(Launcher):
    """Has the starts of one moment end in their order, the first long before the others."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    async def start(self) -> ProcessWorker:
        self.asked += 1
        await anyio.sleep(0.1 * (self.asked - 1))
        return await super().start()


def test_workers_started_ahead_count_among_those_that_sessions_start() -> None:
    launcher = OneAfterAnother()

    async def one(pool: PooledSandbox) -> None:
        async with pool.session() as session:
            await add(session)

    async def run() -> None:
        pool = PooledSandbox(launcher, policy="none", max_workers=3, ahead=2)
        async with pool, anyio.create_task_group() as tasks:
            for _ in range(9):
                tasks.start_soon(one, pool)

    anyio.run(run)
    assert launcher.asked == 3
    assert launcher.alive == 0


def test_a_worker_that_was_lost_is_made_up_for(launcher: Launcher) -> None:
    async def run() -> None:
        async with PooledSandbox(launcher, policy="none", max_workers=2, ahead=1) as pool:
            async with pool.session() as session:
                os.kill(launcher.workers[0].process.pid, signal.SIGKILL)
                with pytest.raises(SandboxFault):
                    await add(session)
                await until_alive(launcher, 1)
                await add(session)
            assert len(launcher.workers) == 2

    anyio.run(run)
    assert launcher.alive == 0


def test_a_start_ahead_that_failed_is_told_to_the_session(launcher: Launcher) -> None:
    launcher.fails = True

    async def run() -> None:
        async with PooledSandbox(launcher, policy="none", ahead=1) as pool:
            await anyio.sleep(0.05)
            with pytest.raises(SandboxUnavailable):
                async with pool.session():
                    pass

    anyio.run(run)


def test_leaving_at_once_leaves_nothing(launcher: Launcher) -> None:
    async def run() -> None:
        for delay_s in (0.0, 0.02, 0.1):
            async with PooledSandbox(launcher, policy="none", ahead=2):
                await anyio.sleep(delay_s)

    anyio.run(run)
    assert launcher.alive == 0
    assert launcher.closed == 3


def test_one_task_may_hold_two_sessions(launcher: Launcher) -> None:
    async def run() -> None:
        async with pool_of(launcher) as pool, pool.session() as a, pool.session() as b:
            await add(a)
            await add(b)

    anyio.run(run)


def test_a_worker_is_used_again(launcher: Launcher) -> None:
    async def run() -> None:
        async with pool_of(launcher) as pool:
            for _ in range(3):
                async with pool.session([ADD]) as session:
                    await add(session)

    anyio.run(run)
    assert len(launcher.workers) == 1
    assert launcher.closed == 1


def test_calls_of_one_session_take_turns(launcher: Launcher) -> None:
    async def run() -> None:
        async with (
            pool_of(launcher) as pool,
            pool.session() as session,
            anyio.create_task_group() as tasks,
        ):
            for number in range(8):
                tasks.start_soon(add, session, number)

    anyio.run(run)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["dead", "frozen"])
def test_an_idle_worker_that_is_lost_is_replaced(
    launcher: Launcher, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolhop_sandbox.control.ANSWER_S", 2.0)  # also of the worker that is well
    monkeypatch.setattr("toolhop_sandbox.process.STOP_S", 0.2)

    async def run() -> None:
        async with pool_of(launcher) as pool:
            async with pool.session() as session:
                await add(session)
            launcher.workers[0].process.send_signal(number)
            async with pool.session() as session:
                await add(session)
            assert launcher.alive == 1

    anyio.run(run)
    assert len(launcher.workers) == 2


def test_a_worker_lost_in_a_session_is_not_used_again(launcher: Launcher) -> None:
    async def run() -> None:
        async with pool_of(launcher) as pool:
            async with pool.session() as session:
                await add(session)
                launcher.workers[0].process.kill()
                launcher.workers[0].process.wait()
                with pytest.raises(SandboxFault):
                    # Spares may answer still before the loss shows.
                    await add_often(session)
                # The session resumes another one.
                await add(session)
            async with pool.session() as session:
                await add(session)

    anyio.run(run)
    assert len(launcher.workers) == 2
    assert launcher.alive == 0


def test_a_worker_lost_between_calls_is_not_given_back(launcher: Launcher) -> None:
    async def run() -> None:
        async with pool_of(launcher) as pool:
            async with pool.session():
                launcher.workers[0].process.kill()
            assert pool._idle == []

    anyio.run(run)
    assert launcher.alive == 0


def test_a_session_that_ended_cannot_be_used(launcher: Launcher) -> None:
    async def run() -> None:
        async with pool_of(launcher) as pool:
            async with pool.session() as session:
                await add(session)
            with pytest.raises(RuntimeError, match="this session has ended"):
                await add(session)

    anyio.run(run)


def test_nothing_is_left_after_an_exception(launcher: Launcher) -> None:
    async def run() -> None:
        async with pool_of(launcher) as pool, pool.session() as session:
            await add(session)
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        anyio.run(run)
    assert len(launcher.workers) == 1
    assert launcher.alive == 0
    assert launcher.closed == 1


@pytest.mark.parametrize("delay_s", [0.0, 0.02, 0.1, 0.3])
def test_nothing_is_left_after_cancellation(launcher: Launcher, delay_s: float) -> None:
    async def run() -> None:
        with anyio.move_on_after(delay_s):
            async with pool_of(launcher) as pool, pool.session() as session:
                await session.call(LOOP, {})

    anyio.run(run)
    assert launcher.alive == 0
    assert _descendants() == []


def test_cancelling_a_call_leaves_the_session_usable(launcher: Launcher) -> None:
    async def run() -> None:
        async with pool_of(launcher) as pool, pool.session() as session:
            with anyio.move_on_after(0.1) as scope:
                await session.call(LOOP, {})
            assert scope.cancelled_caught
            await add(session)

    anyio.run(run)
    assert len(launcher.workers) == 1


def test_a_start_that_fails_gives_its_place_back(launcher: Launcher) -> None:
    async def run() -> None:
        async with pool_of(launcher, 1) as pool:
            for fails in (True, False):
                launcher.fails = fails
                try:
                    async with pool.session() as session:
                        await add(session)
                except SandboxUnavailable:
                    assert fails

    anyio.run(run)
    assert len(launcher.workers) == 1


def test_a_sandbox_that_cannot_be_prepared_is_closed(
    launcher: Launcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail() -> None:
        await checkpoint()
        raise SandboxUnavailable("no", fix="none")

    monkeypatch.setattr(launcher, "prepare", fail)

    async def run() -> None:
        async with pool_of(launcher):
            pass

    with pytest.raises(SandboxUnavailable):
        anyio.run(run)
    assert launcher.closed == 1


def test_programs_are_compiled_once(launcher: Launcher, monkeypatch: pytest.MonkeyPatch) -> None:
    from toolhop_sandbox.link import WorkerLink

    compiled: list[str] = []
    real = WorkerLink.compile

    async def noting(self: WorkerLink, program: Program, *rest: object) -> object:
        compiled.append(program.digest)
        return await real(self, program, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(WorkerLink, "compile", noting)

    async def run() -> None:
        async with pool_of(launcher) as pool:
            for _ in range(2):
                async with pool.session([ADD]) as session:
                    await add(session)

    anyio.run(run)
    assert compiled == [ADD.digest]


def test_bad_source_is_kept_and_a_slow_compiler_is_not(
    launcher: Launcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    from toolhop_sandbox.link import WorkerLink

    answers: list[object] = [TimedOut(1.0), Raised("SyntaxError", "bad"), None]

    async def scripted(self: WorkerLink, *_: object) -> object:
        await checkpoint()
        return answers.pop(0)

    monkeypatch.setattr(WorkerLink, "compile", scripted)

    async def run() -> None:
        async with pool_of(launcher) as pool, pool.session() as session:
            assert await session.call(ADD, {}) == TimedOut(1.0)
            for _ in range(2):
                assert await session.call(ADD, {}) == Raised("SyntaxError", "bad")

    anyio.run(run)
    assert answers == [None]


def _descendants() -> list[int]:
    """Live children of this process that are workers."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
            command = (path.parent / "cmdline").read_bytes()
        except OSError:
            continue
        mine = int(fields[1]) == os.getpid() and fields[0] != "Z"
        if mine and b"toolhop_sandbox.worker.zygote" in command and b"--fd" in command:
            found.append(int(path.parent.name))
    # The boxes that other tests of this process share are alive by right.
    return [pid for pid in found if pid not in _SHARED]


_SHARED: set[int] = set()


@pytest.fixture(autouse=True)
def shared_workers() -> None:
    _SHARED.clear()
    _SHARED.update(_descendants())
