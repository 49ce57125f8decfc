"""The container of a call is killed, frozen or starved: the episode is errored and played again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from docker import DockerClient

from tests.faults import runs
from tests.faults.engines import Engine
from tests.waiting import until
from toolhop_env.runs.store import RunStore
from toolhop_env.trace import Trace
from toolhop_sandbox.outcome import OutOfMemory

pytestmark = pytest.mark.docker

ITEMS = 2


def kill(client: DockerClient, container: str) -> None:
    client.api.kill(container)


def pause(client: DockerClient, container: str) -> None:
    client.api.pause(container)


def stop(client: DockerClient, container: str) -> None:
    client.api.stop(container, timeout=1)


@pytest.mark.parametrize("how", [kill, pause, stop])
def test_a_lost_call_is_errored_and_the_episode_is_played_again(
    how: Callable[[DockerClient, str], None], own: Engine, tmp_path: Path
) -> None:
    items = runs.data(tmp_path, ITEMS, pause_s=0.5)
    run = runs.start(
        items, tmp_path / "logs", "--max-samples", "1", "--tool-timeout", "3", address=own.address
    )
    run.wait_for_calls(1)
    (container,) = own.containers()
    with own.client() as client:
        how(client, container)
    ended = run.end()
    runs.check_all_right(ended, ITEMS, allowed=[1])
    assert own.containers() == []
    assert "the sandbox broke" in errored(Path(ended.answer["run"]))


def errored(folder: Path) -> str:
    traces = RunStore.open(folder).traces()
    (trace,) = [trace for trace in traces if trace.ended and trace.ended.reason]
    assert trace.started.attempt == 1
    assert trace.ended is not None
    return trace.ended.reason


def test_a_container_killed_between_calls_costs_one_episode(own: Engine, tmp_path: Path) -> None:
    """The agent thinks meanwhile."""
    items, gate = runs.data(tmp_path, ITEMS, pause_s=0), tmp_path / "gate"
    patch = runs.held(gate, after=1)
    run = runs.start(
        items, tmp_path / "logs", "--max-samples", "1", address=own.address, patch=patch
    )
    run.wait_for_calls(1)
    with own.client() as client:
        kill(client, own.containers()[0])
    gate.touch()
    ended = run.end()
    runs.check_all_right(ended, ITEMS, allowed=[1])
    assert "the sandbox broke" in errored(Path(ended.answer["run"]))
    assert own.containers() == []


GREEDY = "kept = [bytearray(1 << 20) for _ in range(150)]"


def test_a_container_short_of_memory_ends_one_call(own: Engine, tmp_path: Path) -> None:
    """Its limit is lowered under the call, below what the call may take by its own limit.

    The kernel then ends the call's process, or the worker: `out_of_memory`, or errored.
    """
    items = runs.data(tmp_path, ITEMS, pause_s=3, hops=1, more=GREEDY)
    run = runs.start(
        items, tmp_path / "logs", "--max-samples", "1", "--tool-timeout", "30", address=own.address
    )
    until(lambda: run.begun and own.containers("running"), "a container runs")
    with own.client() as client:
        squeeze(client, own.containers()[0], 60 << 20)
    ended = run.end()
    assert ended.code == 0, ended.said
    first, *others = run.traces()
    if starved(first):
        # The call was ended, and the worker serves on in what room it has left.
        assert runs.errored_attempts(run.folder) == 0
    else:
        # The worker was: a new one has its own room.
        assert runs.errored_attempts(run.folder) == 1
        runs.check_whole(run.folder, items=ITEMS)
    assert all(trace.ended for trace in others)
    assert own.containers() == []


def squeeze(client: DockerClient, container: str, limit_bytes: int) -> None:
    client.api.update_container(container, mem_limit=limit_bytes, memswap_limit=limit_bytes)


def starved(trace: Trace) -> bool:
    return any(isinstance(call.outcome, OutOfMemory) for call in trace.calls)


def test_the_engine_knows_nothing_of_ours_after_a_run(own: Engine, tmp_path: Path) -> None:
    runs.check_all_right(
        runs.start(runs.data(tmp_path, ITEMS), tmp_path / "logs", address=own.address).end(),
        ITEMS,
        allowed=[0],
    )
    with own.client() as client:
        assert client.api.containers(all=True) == []
        assert client.api.volumes()["Volumes"] in (None, [])
        names = [network["Name"] for network in client.api.networks()]
    assert set(names) <= {"bridge", "host", "none"}
