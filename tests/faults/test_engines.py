"""The engine is stopped, killed, slow, cut off or gone while a run is under way."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests.faults import runs
from tests.faults.engines import Engine
from tests.faults.proxy import Proxy
from tests.waiting import until

pytestmark = pytest.mark.docker

ITEMS = 4
SOON = "import toolhop_sandbox.docker.outage as o; o.BACK_S = 2.0"
"""The run waits 2 s for the engine in place of 60."""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_outlasts_a_restart_of_the_engine(
    how: signal.Signals, own: Engine, tmp_path: Path
) -> None:
    items = runs.data(tmp_path, ITEMS, pause_s=0.4)
    run = runs.start(items, tmp_path / "logs", "--max-samples", "2", address=own.address)
    run.wait_for_calls(2)
    own.end(how)
    # What an engine says when a worker does not obey SIGTERM.
    assert "using the force" not in own.said()
    time.sleep(1)
    own.start()
    ended = run.end()
    # A retry that was quick enough may meet one of the two containers that stood ahead and that
    # the engine has yet to stop.
    runs.check_all_right(ended, ITEMS, allowed=[1, 2, 3, 4])
    if how is signal.SIGTERM:
        assert "waiting up to 60 s for it to come back" in ended.said
        assert "the engine is back after" in ended.said
    assert own.containers() == []


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_an_engine_that_stays_away(how: signal.Signals, own: Engine, tmp_path: Path) -> None:
    """Stopped, it takes the workers along, and the run stops. Killed, it leaves them, and the
    run ends as if nothing had happened, with containers that end by themselves.
    """
    items = runs.data(tmp_path, ITEMS, pause_s=0.3)
    run = runs.start(
        items, tmp_path / "logs", "--max-samples", "1", address=own.address, patch=SOON
    )
    run.wait_for_calls(4)
    with own.client() as client:
        pids = [client.api.inspect_container(one)["State"]["Pid"] for one in own.containers()]
    own.end(how)
    ended = run.end()
    if how is signal.SIGKILL:
        runs.check_all_right(ended, ITEMS, allowed=[0])
    else:
        assert ended.code == 1
        assert ended.answer["status"] == "error"
        assert "the engine did not come back within 2 s" in ended.said
        assert "fix: " in ended.said
        assert 1 <= runs.check_whole(run.folder) < ITEMS
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), "workers end")
    own.start()
    until(lambda: own.containers() == [], "the engine removes what ended")


@pytest.fixture
def path(own: Engine) -> Path:
    return own.folder / "p.sock"


def test_a_slow_engine_makes_a_run_slow_and_nothing_else(
    own: Engine, path: Path, tmp_path: Path
) -> None:
    items = runs.data(tmp_path, 2, pause_s=0)
    with Proxy(path, own.socket, late_s=(0.5, 1.5)) as proxy:
        flags = ("--max-samples", "1")
        ended = runs.start(items, tmp_path / "logs", *flags, address=proxy.address).end()
        assert proxy.replies > 5
    runs.check_all_right(ended, 2, allowed=[0])
    assert own.containers() == []


@pytest.mark.parametrize("seed", range(4))
def test_a_connection_that_breaks_now_and_then(
    seed: int, own: Engine, path: Path, tmp_path: Path
) -> None:
    """Four of ten replies are lost; what the engine started in vain goes."""
    items = runs.data(tmp_path, 3, pause_s=0.1)
    with Proxy(path, own.socket, seed=seed) as proxy:
        run = runs.start(items, tmp_path / "logs", "--max-samples", "1", address=proxy.address)
        run.wait_for_calls(1)
        proxy.cut = 0.4
        with own.client() as client:
            client.api.kill(own.containers()[0])
        ended = run.end()
        assert proxy.cuts > 0
    # None where the kill came between two sessions; two where a start was cut as well.
    runs.check_all_right(ended, 3, allowed=[0, 1, 2])
    until(lambda: own.containers("running") == [], "no worker outlives the run")
    swept = runs.toolhop("sandbox", "clean", address=own.address)
    assert swept.returncode == 0, swept.stderr
    assert own.containers() == []


def test_a_connection_that_breaks_at_the_start_is_told(
    own: Engine, path: Path, tmp_path: Path
) -> None:
    items = runs.data(tmp_path, 1)
    with Proxy(path, own.socket, cut=1.0) as proxy:
        ended = runs.start(items, tmp_path / "logs", address=proxy.address).end()
    assert ended.code == 3
    assert "no Docker engine answers" in ended.said
    assert "fix: " in ended.said


@pytest.mark.parametrize("when", ["at first", "later"])
def test_an_engine_that_refuses_for_a_while(
    when: str, own: Engine, path: Path, tmp_path: Path
) -> None:
    """A stopping engine refuses containers. If it refuses the first one, the run ends."""
    items = runs.data(tmp_path, 3, pause_s=0.3)
    with Proxy(path, own.socket, refusals=1 if when == "at first" else 0) as proxy:
        run = runs.start(items, tmp_path / "logs", "--max-samples", "1", address=proxy.address)
        if when == "later":
            run.wait_for_calls(1)
            proxy.refusals = 3
            with own.client() as client:
                for container_id in own.containers("running"):
                    client.api.kill(container_id)
        ended = run.end()
    if when == "later":
        runs.check_all_right(ended, 3, allowed=[0, 1, 2, 3])
        said = " ".join(ended.said.split())
        assert "no mount for now; waiting up to 60 s for it to come back" in said
    else:
        assert ended.code == 1
        assert "the engine refused a container: no mount for now" in ended.answer["fault"]
    until(lambda: own.containers() == [], "nothing is left of the refused starts")


def test_a_socket_that_is_gone_before_a_run_is_told(tmp_path: Path) -> None:
    address = f"unix://{tmp_path}/none.sock"
    ended = runs.start(runs.data(tmp_path, 1), tmp_path / "logs", address=address).end()
    assert ended.code == 3
    assert f"DOCKER_HOST names {tmp_path}/none.sock, which is not there" in ended.said
    assert not (tmp_path / "logs").exists()


@pytest.mark.parametrize("back", [True, False], ids=["back", "away"])
def test_a_socket_that_goes_during_a_run(
    back: bool, own: Engine, path: Path, tmp_path: Path
) -> None:
    items = runs.data(tmp_path, 3, pause_s=0.3)
    patch = "" if back else SOON
    with Proxy(path, own.socket) as proxy:
        run = runs.start(
            items, tmp_path / "logs", "--max-samples", "1", address=proxy.address, patch=patch
        )
        run.wait_for_calls(4)
        proxy.vanish()
        with own.client() as client:
            client.api.kill(own.containers()[0])
        time.sleep(1)
        if back:
            proxy.appear()
        ended = run.end()
    if back:
        runs.check_all_right(ended, 3, allowed=[1])
    else:
        assert ended.code == 1
        assert "the engine did not come back within 2 s" in ended.answer["fault"]
        assert runs.check_whole(run.folder) == 1
    until(lambda: own.containers() == [], "the engine removes what ended")
