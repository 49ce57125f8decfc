"""The host's process is killed or interrupted, or runs beside another one."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from docker import DockerClient

from tests.faults import runs
from tests.faults.engines import Engine
from tests.faults.runs import Played
from tests.waiting import until
from toolhop_sandbox.docker import containers, folders, image

KILLS = 21
AT_ONCE = 3
LONG_S = 1000
"""What a call would take: far longer than a test waits."""
LONG = ("--tool-timeout", "2000")

pytestmark = pytest.mark.docker


def of(client: DockerClient, pids: Sequence[int]) -> list[containers.Container]:
    owners = {str(pid) for pid in pids}
    return [one for one in containers.ours(client) if one.owner.split(":")[2] in owners]


def none_runs(client: DockerClient, pids: Sequence[int]) -> bool:
    return not any(one.state == "running" for one in of(client, pids))


def folders_of(pids: Sequence[int]) -> list[Path]:
    return [found for pid in pids for found in folders.place().glob(f"toolhop-{pid}.*")]


def test_a_host_killed_at_any_moment_loses_and_leaves_nothing(
    docker_engine: None, tmp_path: Path
) -> None:
    """Against the engine that everybody uses, with whatever else runs there."""
    chance = random.Random(20261121)
    items = runs.data(tmp_path, 10, pause_s=0.01)
    assert runs.toolhop("sandbox", "build").returncode == 0
    client = containers.connect()
    pids: list[int] = []
    scored = 0
    try:
        for batch in range(KILLS // AT_ONCE):
            killed = kill_some(items, tmp_path / f"batch-{batch}", chance)
            died = [run.process.pid for run in killed]
            until(partial(none_runs, client, died), "containers end")
            scored += sum(after_kill(run) for run in killed)
            pids += died
        # Some are killed before they play, and some in the middle of it.
        assert scored > 0
        swept = runs.start(runs.data(tmp_path, 1), tmp_path / "last").end()
        runs.check_all_right(swept, 1, allowed=[0])
        assert of(client, pids) == []
        assert folders_of(pids) == []
    finally:
        client.close()


def kill_some(items: Path, logs: Path, chance: random.Random) -> list[Played]:
    """Start runs at once, and kill them one after the other: the last one while it plays."""
    begun = [runs.start(items, logs / str(n), "--epochs", "100") for n in range(AT_ONCE)]
    for run in begun:
        if run is begun[-1]:
            run.wait_for_calls(1)
        time.sleep(chance.uniform(0.1, 1.2))
        run.signal(signal.SIGKILL)
    return begun


def after_kill(run: Played) -> int:
    """What a killed run left is whole; the number of its episodes that score."""
    run.process.communicate()
    return runs.check_whole(run.folder) if run.begun else 0


@pytest.mark.parametrize("transport", ["socket", "attach"])
def test_a_busy_container_ends_with_its_owner(transport: str, own: Engine, tmp_path: Path) -> None:
    """Its call takes a whole processor, and would for a long time."""
    busy = "\n    ".join(
        (f"until = time.monotonic() + {LONG_S}", "while time.monotonic() < until: pass")
    )
    items = runs.data(tmp_path, 1, pause_s=0, more=busy)
    flags = (*LONG, "--transport", transport)
    run = runs.start(items, tmp_path / "logs", *flags, address=own.address)
    until(lambda: run.begun and own.containers("running"), "a container runs")
    time.sleep(0.5)
    run.signal(signal.SIGKILL)
    run.process.communicate()
    until(lambda: own.containers() == [], "the container goes")


def test_two_runs_side_by_side_leave_each_other_alone(own: Engine, tmp_path: Path) -> None:
    items, gate = runs.data(tmp_path, 3, pause_s=0), tmp_path / "gate"
    patch = runs.held(gate, after=2)
    first, second = (
        runs.start(items, tmp_path / name, "--max-samples", "1", address=own.address, patch=patch)
        for name in ("one", "two")
    )
    for run in (second, first):
        run.wait_for_calls(2)
        cleaned = runs.toolhop("sandbox", "clean", "--all", address=own.address)
        assert "container " not in cleaned.stdout
        assert f"{image.tag()} stays: a container uses it" in cleaned.stderr
    gate.touch()
    for run in (first, second):
        runs.check_all_right(run.end(), 3, allowed=[0])
    assert own.containers() == []


def check_interrupted(run: Played, own: Engine, how: signal.Signals = signal.SIGINT) -> None:
    """Interrupt a run: exit code 130, nothing left."""
    run.signal(how)
    ended = run.end()
    assert ended.code == 130, ended.said
    assert own.containers() == []
    assert folders_of([run.process.pid]) == []
    if run.begun:
        runs.check_whole(run.folder)


def test_ctrl_c_while_the_image_is_made(own: Engine, tmp_path: Path) -> None:
    own.forget(image.tag())
    run = runs.start(runs.data(tmp_path, 1), tmp_path / "logs", address=own.address)
    until(lambda: folders_of([run.process.pid]), "the image is being made")
    check_interrupted(run, own)
    assert not (tmp_path / "logs").exists()


@pytest.mark.parametrize("after_s", [0.0, 0.1, 0.2, 0.4])
def test_ctrl_c_while_a_container_starts(after_s: float, own: Engine, tmp_path: Path) -> None:
    items = runs.data(tmp_path, 2, pause_s=LONG_S)
    run = runs.start(items, tmp_path / "logs", *LONG, address=own.address)
    until(lambda: folders_of([run.process.pid]), "a container is being started")
    time.sleep(after_s)
    check_interrupted(run, own)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_during_a_call(how: signal.Signals, own: Engine, tmp_path: Path) -> None:
    items = runs.data(tmp_path, 2, pause_s=LONG_S)
    run = runs.start(items, tmp_path / "logs", *LONG, address=own.address)
    until(lambda: run.begun and own.containers("running"), "a call is under way")
    time.sleep(0.3)
    check_interrupted(run, own, how)


def test_ctrl_c_while_the_engine_is_waited_for(own: Engine, tmp_path: Path) -> None:
    patch = "import toolhop_sandbox.docker.outage as o; o.BACK_S = 1000.0"
    items = runs.data(tmp_path, 2)
    run = runs.start(items, tmp_path / "logs", address=own.address, patch=patch)
    run.wait_for_calls(1)
    own.end()
    time.sleep(2)
    run.signal(signal.SIGINT)
    assert run.end().code == 130
    own.start()
    assert own.containers() == []
