"""What a cluster of nodes needs that can be shown without one: what is compared, sent and refused.

The cluster itself is tried by `make test-adapters`.
"""

from __future__ import annotations

import asyncio
import importlib.util
import pickle
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from click.testing import CliRunner

from tests.agents.command import toolhop
from toolhop_agents.cluster.alike import differences, software
from toolhop_agents.cluster.connect import ClusterFault
from toolhop_agents.cluster.host import Channel, Done, Failed, Host
from toolhop_agents.cluster.jobs import NodeLost
from toolhop_agents.cluster.nodes import MOST_LOST, Nodes
from toolhop_agents.construct.workshop import NodeSandbox
from toolhop_agents.models.base import ModelFault, NoKey
from toolhop_agents.models.rate import Connections
from toolhop_agents.runs.command import run
from toolhop_agents.runs.executors.cluster import _Given, _shared, _stage
from toolhop_agents.runs.ledger import RunLimitReached
from toolhop_agents.runs.means import Given
from toolhop_agents.runs.settings import RunSettings
from toolhop_env.extras import install_command
from toolhop_sandbox.base import Program
from toolhop_sandbox.errors import SandboxFault, SandboxUnavailable
from toolhop_sandbox.outcome import Returned
from toolhop_tools.errors import BadChoice
from toolhop_tools.load import load

GIVEN = {
    "run": [],
    "certify": ["--data", "builtin"],
    "check": ["--data", "builtin"],
    "perturb": ["--data", "builtin", "--into", "all", "--out", "never.jsonl"],
    "construct from-domain": ["D", "--model", "scripted/honest", "--items", "1", "--out", "never"],
}  # fmt: skip


@pytest.mark.parametrize("name", GIVEN)
def test_without_ray_the_command_says_how_to_install_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "toolhop_env.extras.find_spec", lambda one: None if one == "ray" else find(one)
    )
    done = toolhop(*name.split(), *GIVEN[name], "--executor", "ray")
    assert done.returncode == 3
    assert "--executor ray needs the package ray, which is not installed" in done.stderr
    assert install_command("ray") in done.stderr


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--ray-address", "h:1"], "--ray-address goes with --executor ray"),
        (["--executor", "ray", "--approve"], "--approve asks at this terminal"),
        (["--executor", "ray", "--gguf", "x.gguf"], "--gguf serves a model on one machine"),
        (["--executor", "slurm"], "is not one of"),
    ],
)
def test_what_nodes_cannot_do_is_refused(flags: list[str], says: str) -> None:
    done = CliRunner().invoke(run, flags)
    assert done.exit_code == 2
    assert says in " ".join(done.output.split())


def test_no_other_command_imports_ray() -> None:
    code = (
        "import sys\nimport toolhop_agents.runs.command, toolhop_agents.certify.command\n"
        "import toolhop_agents.check.command, toolhop_agents.construct.command\n"
        "assert 'ray' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_what_differs_is_named() -> None:
    here = software()
    assert differences(here, software()) == []
    other = {**here, "code": "f" * 64, "pydantic": None, "more": "1"}
    assert differences(here, other) == [
        f"code: {str(here['code'])[:12]} here, ffffffffffff there",
        f"pydantic: {here['pydantic']} here, none there",
        "more: none here, 1 there",
    ]
    assert {"python", "code", "toolhop-env", "anyio", "pydantic"} <= here.keys()
    assert "xllamacpp" not in here, "an extra"


class Odd(Exception):
    """An exception that cannot be pickled."""

    def __init__(self) -> None:
        super().__init__("odd")
        self.kept = lambda: None


@pytest.mark.parametrize(
    "error",
    [
        SandboxUnavailable("no engine", fix="start it"),
        SandboxFault("lost"),
        ModelFault("no", fatal=True),
        NoKey("no key"),
        RunLimitReached("run_token_limit", "reached"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_faults_arrive_as_they_were(error: Exception) -> None:
    found = pickle.loads(pickle.dumps(Failed.of(error))).error  # noqa: S301 -- our own
    assert type(found) is type(error)
    assert str(found) == str(error)
    assert vars(found) == vars(error)


def test_what_cannot_be_sent_arrives_as_its_text() -> None:
    assert str(Failed.of(Odd()).error) == "Odd: odd"


class Room:
    """A place that says whether it is open."""

    def __init__(self) -> None:
        self.open = False

    @property
    def description(self) -> Mapping[str, str]:
        return {"kind": "room"}


@asynccontextmanager
async def open_room(room: Room) -> AsyncIterator[Room]:
    room.open = True
    try:
        yield room
    finally:
        room.open = False


def no_room(given: object) -> Any:
    raise SandboxUnavailable("no engine", fix="start it")


async def echo(place: Room, argument: object, channel: Channel) -> object:
    channel.post(argument)
    return await channel.received.get()


async def fails(place: Room, argument: object, channel: Channel) -> None:
    raise SandboxFault("lost")


def test_a_host_does_jobs_and_is_closed() -> None:
    async def play() -> None:
        host, room = Host(), Room()
        assert await host.open(open_room, room) == {"kind": "room"}
        await host.begin(1, echo, "one")
        await host.begin(2, fails, None)
        await host.begin(3, echo, "three")
        found: list[Any] = []
        while len(found) < 3:
            found += await host.news()
        assert found[0] == (1, "one")
        assert isinstance(found[1][1], Failed)
        assert found[2] == (3, "three")
        await host.tell(1, "end")
        assert await host.news() == [(1, Done("end"))]
        await host.tell(1, "nobody hears it")
        await host.cut(3)
        await host.close()
        assert not room.open
        with anyio.move_on_after(0.05) as waited:
            await host.news()
        assert waited.cancelled_caught, "a job that was cut says nothing"

    anyio.run(play)


def test_a_place_that_cannot_be_opened() -> None:
    async def play() -> None:
        host = Host()
        found = await host.open(no_room, None)
        assert isinstance(found, Failed)
        assert "fix: start it" in str(found.error)
        await host.close()

    anyio.run(play)


def test_a_cache_that_a_node_does_not_have_is_refused(tmp_path: Path) -> None:
    async def play() -> None:
        settings = RunSettings(sandbox="process", cache=tmp_path)
        items = tuple(load("builtin").items[:1])
        with _shared(tmp_path / "cache") as file:
            assert file is not None
            async with _stage(_Given(Given(settings, items), 1, file)):
                pass
        with pytest.raises(BadChoice, match="cache is not the same folder on all nodes"):
            async with _stage(_Given(Given(settings, items), 1, file)):
                pass

    anyio.run(play)


class FewNodes:
    """Nodes of which the first ones are lost under a call."""

    do = Nodes.do
    value = Returned("1")

    def __init__(self, lost: int) -> None:
        self.left, self.given = lost, list[object]()

    @asynccontextmanager
    async def seat(self) -> AsyncIterator[FewNodes]:
        yield self

    @asynccontextmanager
    async def job(self, work: object, argument: object) -> AsyncIterator[FewNodes]:
        self.given.append(argument)
        yield self

    async def __aiter__(self) -> AsyncIterator[object]:
        if self.left:
            self.left -= 1
            raise NodeLost("switched off")
        return
        yield


@pytest.mark.parametrize("lost", [0, 2, 3])
def test_a_call_whose_node_is_lost_is_made_on_another(lost: int) -> None:
    nodes = FewNodes(lost)

    async def play() -> None:
        async with NodeSandbox(cast("Nodes", nodes), "process").session() as session:
            for _ in range(2):
                assert await session.call(Program("", "f"), {}) == Returned("1")

    if lost < MOST_LOST:
        anyio.run(play)
        assert nodes.given == [("process", Program("", "f"), {})] * (lost + 2)
    else:
        with pytest.raises(ClusterFault, match="3 nodes were lost while they were at"):
            anyio.run(play)


def test_more_requests_are_let_in_as_nodes_join() -> None:
    async def play() -> None:
        connections, entered = Connections(2), list[int]()

        async def request(number: int) -> None:
            async with connections.slot():
                entered.append(number)
                await asyncio.Event().wait()

        async with anyio.create_task_group() as tasks:
            for number in range(6):
                tasks.start_soon(request, number)
            await anyio.wait_all_tasks_blocked()
            assert len(entered) == 2
            connections.widen(5)
            connections.widen(4)
            await anyio.wait_all_tasks_blocked()
            assert len(entered) == 5
            tasks.cancel_scope.cancel()
        assert connections.rates.most == 5

    anyio.run(play)


ORPHAN = """
import asyncio
import anyio.to_thread
from toolhop_agents.cluster import host

host.LEAVING_S = 0.1
loop = asyncio.new_event_loop()
held = host.Host(owns_process=True)

async def work():
    await anyio.to_thread.run_sync(int)
    loop.stop()
    await asyncio.Event().wait()

task = loop.create_task(work())
loop.run_forever()
"""
"""A loop that stops in the middle of its work: its threads wait for what to do next."""


def test_a_host_ends_with_its_main_thread_whatever_its_other_threads_wait_for() -> None:
    ended = subprocess.run([sys.executable, "-c", ORPHAN], timeout=60)
    assert ended.returncode == 1
