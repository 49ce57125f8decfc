from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from tests.sandbox.conformance import Box, Conformance, Restricted
from tests.waiting import until
from toolhop_sandbox.pool import PooledSandbox
from toolhop_sandbox.process import ProcessLauncher


class TestProcess(Conformance):
    @pytest.fixture
    def box(self, process_box: Box) -> Box:
        return process_box


class TestRestrictedProcess(Restricted):
    @pytest.fixture
    def box(self, restricted_process_box: Box) -> Box:
        return restricted_process_box


def test_the_description_says_what_holds(process_box: Box) -> None:
    told = process_box.pool.description
    assert told["kind"] == "process"
    assert told["pid_1"] is False
    assert {"landlock", "seccomp", "python", "policy", "wall_s"} <= set(told)


HOST = """
import os, sys, time, anyio
from toolhop_sandbox.pool import PooledSandbox
from toolhop_sandbox.process import ProcessLauncher

async def main():
    pool = PooledSandbox(ProcessLauncher(), policy="none")
    async with pool, pool.session():
        child = os.fork() if sys.argv[1:] else None
        if child == 0:
            time.sleep(600)  # it holds every socket of the host
        print(pool._started[0].process.pid, child, flush=True)
        await anyio.sleep(60)

anyio.run(main)
"""


@pytest.mark.parametrize("arguments", [[], ["with a child"]])
def test_a_killed_host_leaves_no_process(arguments: list[str]) -> None:
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", HOST, *arguments], cwd=root, stdout=subprocess.PIPE, text=True
    ) as host:
        assert host.stdout is not None
        worker, child = host.stdout.readline().split()
        host.kill()
    try:
        until(lambda: not _runs(int(worker)), "the worker's end")
    finally:
        if arguments:
            os.kill(int(child), signal.SIGKILL)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"


def test_a_worker_outside_of_containers_knows_that_not_all_processes_are_its_own() -> None:
    code = (
        "import socket; from toolhop_sandbox.worker.zygote import Zygote;"
        "print(Zygote(socket.socket(socket.AF_UNIX), in_container=True).in_container)"
    )
    run = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert run.stdout == "False\n"


def test_a_worker_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolhop_sandbox.process.STOP_S", 0.05)

    async def run() -> int | None:
        worker = await ProcessLauncher().start()
        worker.process.send_signal(signal.SIGSTOP)
        await worker.stop()
        return worker.process.returncode

    assert anyio.run(run) == -signal.SIGKILL


def test_other_systems_are_told_to_use_docker(monkeypatch: pytest.MonkeyPatch) -> None:
    from toolhop_sandbox.errors import SandboxUnavailable

    monkeypatch.setattr(sys, "platform", "darwin")

    async def run() -> None:
        async with PooledSandbox(ProcessLauncher()):
            pass

    with pytest.raises(SandboxUnavailable, match="needs Linux, this is darwin") as caught:
        anyio.run(run)
    assert "--sandbox docker" in caught.value.fix
