"""The attack suite: every attack in every setting, and proof that the suite would notice."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from sandbox.base import Limits, Policy, Program
from sandbox.link import WorkerLink
from sandbox.outcome import Outcome, Raised, Returned, TimedOut, TooLarge
from sandbox.pool import PooledSandbox
from sandbox.process import START_S, WORKER_ENVIRONMENT, ProcessLauncher, ProcessWorker
from sandbox.replies import MOST_BYTES, read_answer
from sandbox.worker import wire
from tests.attacks import probes, suite
from tests.attacks.make_report import MARKER
from tests.attacks.suite import Arena, Attack, arena
from tests.sandbox.conftest import require_engine

ATTACKS = {attack.name: attack for attack in suite.attacks()}


def _settings() -> Iterator[object]:
    for kind, policy in suite.SETTINGS:
        marks = [pytest.mark.xdist_group(f"attacks-{kind}-{policy}")]
        if kind == "docker":
            marks.append(pytest.mark.docker)
        yield pytest.param((kind, policy), id=f"{kind}-{policy}", marks=marks)


@pytest.fixture(scope="module", params=_settings())
def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Arena]:
    kind, policy = request.param
    if kind == "docker":
        require_engine()
    with arena(suite.MAKERS[kind], policy, tmp_path_factory.mktemp("attacked")) as found:
        yield found


@pytest.mark.parametrize("name", ATTACKS)
def test_attack_is_contained(place: Arena, name: str) -> None:
    verdict = place.play(ATTACKS[name])
    assert not verdict.problems, "\n".join(verdict.problems)


def test_every_attack_says_what_it_tries_and_what_containment_is() -> None:
    assert len(ATTACKS) >= 70
    assert not [name for name, one in ATTACKS.items() if not (one.tries and one.contained)]


def test_the_security_page_lists_every_attack() -> None:
    page = (Path(__file__).parents[2] / "docs" / "security.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+/\w+)` \|", page.partition(MARKER)[2], flags=re.MULTILINE)
    assert listed == list(ATTACKS), "run `python -m tests.attacks.make_report`"


def test_a_standby_has_given_up_its_powers(tmp_path: Path) -> None:
    with arena(suite.MAKERS["process"], "none", tmp_path) as place:
        place.settle()
        worker = place.pool._started[0]
        assert isinstance(worker, ProcessWorker)
        for pid in suite.children(worker.process.pid):
            deadline = time.monotonic() + 5
            # It gives them up one after another once it was forked.
            while (told := powers(pid)) != {"NoNewPrivs": 1, "Seccomp": 2, "CapEff": 0}:
                assert time.monotonic() < deadline, told
                time.sleep(0.01)


def powers(pid: int) -> dict[str, int]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    told = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    # CAP_DAC_READ_SEARCH may stay, to read a library in a closed home.
    capabilities = (int(told["CapEff"], 16) | int(told["CapPrm"], 16)) & ~4
    return {name: int(told[name]) for name in ("NoNewPrivs", "Seccomp")} | {"CapEff": capabilities}


@pytest.mark.docker
def test_no_container_is_left(tmp_path: Path) -> None:
    require_engine()
    with arena(suite.MAKERS["docker"], "none", tmp_path) as place:
        worker = place.pool._started[0]
        container_id: str = worker.container_id  # type: ignore[attr-defined]
        assert place.play(ATTACKS["processes/exits"]).problems == ()
    from sandbox import containers

    client = containers.connect()
    try:
        assert container_id not in {one.id for one in containers.ours(client)}
    finally:
        client.close()


@pytest.mark.docker
def test_a_process_asked_for_while_there_is_no_room_does_not_end_the_worker(
    tmp_path: Path,
) -> None:
    require_engine()
    with arena(suite.MAKERS["docker"], "none", tmp_path) as place:
        link = place.pool._started[0].link

        async def ask() -> None:
            link._spares[True].append(link._spawn_now(once=True))

        # By then threads take all the room; more than two seconds later they still do.
        later = threading.Timer(0.7, lambda: place.portal.call(ask))
        later.start()
        program = Program(ATTACKS["processes/thread_bomb"].source, "attack")
        assert place.call(program, {}, wall_s=3.5) == TimedOut(3.5)
        later.join()
        assert place.check() == []
        assert link is place.pool._started[0].link


@pytest.mark.parametrize("number", [-5, 0, 10**3000], ids=["negative", "zero", "huge"])
def test_numbers_that_nothing_can_have_are_not_passed_on(number: int) -> None:
    def read(**fields: object) -> Outcome:
        return read_answer(wire.OUTCOME + json.dumps(fields).encode(), Limits())

    raised = read(kind="raised", error="E", message="m", line=number)
    assert raised == Raised("E", "m", None)
    large = read(kind="too_large", size_bytes=number, limit_bytes=number)
    assert isinstance(large, TooLarge)
    assert large.limit_bytes < large.size_bytes <= MOST_BYTES


# -- would the suite notice? -----------------------------------------------------------------

NO_WALLS = """
from sandbox.worker import lockdown, zygote
lockdown.Prepared.lock = lambda self: (False, False)
zygote.main()
"""


class WithoutWalls(ProcessLauncher):
    """Starts workers whose standbys lock nothing down."""

    async def start(self) -> ProcessWorker:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        root = str(Path(__file__).parents[2])
        with theirs:
            process = subprocess.Popen(  # noqa: ASYNC220 -- as ProcessLauncher does
                [sys.executable, "-c", NO_WALLS, "--fd", str(theirs.fileno())],
                env={**WORKER_ENVIRONMENT, "PYTHONPATH": root},
                pass_fds=[theirs.fileno()],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        worker = ProcessWorker(process, WorkerLink(ours))
        await worker.link.greet(START_S)
        return worker


@pytest.fixture(scope="module")
def open_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    def make(policy: Policy) -> PooledSandbox:
        return PooledSandbox(WithoutWalls(), policy=policy)

    with arena(make, "none", tmp_path_factory.mktemp("open"), walls=False) as found:
        yield found


@pytest.mark.xdist_group("attacks-open")
@pytest.mark.parametrize(
    ("name", "noticed"),
    {
        "secrets/files_of_the_host": "it told of file",
        "processes/fork_bomb": "it says that it got through",
        "processes/daemon": "escaped from the worker",
        "network/unix_sockets": "it says that it got through",
        "frames/out_of_band": "it says that it got through",
        "files/changes_what_it_cannot_open": "it says that it got through",
        "signals/parent_and_all": "it says that it got through",
        "kernel/mounts": "it says that it got through",
    }.items(),
)
def test_a_wall_that_is_down_is_noticed(open_place: Arena, name: str, noticed: str) -> None:
    (Path(open_place.paths[0])).write_text(open_place.canaries["file"])
    verdict = open_place.play(ATTACKS[name])
    assert noticed in "\n".join(verdict.problems)


@pytest.mark.xdist_group("attacks-open")
def test_attacks_are_not_played_where_a_wall_is_missing(tmp_path: Path) -> None:
    def make(policy: Policy) -> PooledSandbox:
        return PooledSandbox(WithoutWalls(), policy=policy)

    with pytest.raises(RuntimeError, match="has no"), arena(make, "none", tmp_path):
        pytest.fail("it was opened")


@pytest.mark.parametrize("what", suite.CANARIES)
def test_a_canary_that_gets_out_is_noticed(what: str) -> None:
    canaries = {what: "canary-0123456789abcdef"}
    said = Returned('"held: canary-0123456789abcdef"')
    attack = ATTACKS["secrets/raw_memory"]
    assert suite.judge(attack, "docker", "none", said, canaries) == [f"it told of {what}"]


def test_a_policy_that_is_left_is_noticed() -> None:
    attack, said = ATTACKS["policy/f_string"], Returned('"escaped: [1]"')
    assert suite.judge(attack, "docker", "none", said, {}) == []
    assert len(suite.judge(attack, "docker", "restricted", said, {})) == 2


class Keeping:
    """A session whose calls leave something behind: a fake of a worker that forks none."""

    def __init__(self, place: Arena) -> None:
        self.place, self.left = place, 0

    async def call(self, program: Program, arguments: object) -> Returned:
        self.left += 1
        return Returned(json.dumps({"left": self.left, "drawn": 0.5}))


@pytest.mark.xdist_group("attacks-open")
def test_what_is_left_for_the_next_call_is_noticed(open_place: Arena) -> None:
    session, before = open_place.session, open_place.baseline
    open_place.session = Keeping(open_place)
    try:
        open_place.baseline = open_place.probe()
        problems = "\n".join(open_place.check())
    finally:
        open_place.session, open_place.baseline = session, before
    assert "found left 2, before it was 1" in problems
    assert "random numbers repeat" in problems


@pytest.mark.xdist_group("attacks-open")
def test_a_descriptor_that_stays_open_is_noticed(
    open_place: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suite, "SETTLE_S", 0.2)
    kept = os.open(os.devnull, os.O_RDONLY)
    try:
        assert "the host has 1 more descriptors open" in open_place.check()
    finally:
        os.close(kept)


def test_an_outcome_that_no_table_names_is_noticed() -> None:
    attack: Attack = replace(ATTACKS["limits/infinite_loop"])
    (problem,) = suite.judge(attack, "docker", "none", Returned("1"), {})
    assert problem.startswith("it ended as 'value 1'")


# -- module levels that run ahead of their calls, beside the calls of others ------------------


def ahead_of(kind: str, source: str, count: int, then: Program, mib: int) -> tuple[Outcome, int]:
    """What `then` gives beside `count` programs that stand ready, and how many still do."""

    async def play() -> tuple[Outcome, int]:
        programs = [Program(f"NUMBER = {number}\n{source}", "f") for number in range(count)]
        async with (
            suite.MAKERS[kind]("restricted") as pool,
            pool.session([*programs, then]) as session,
        ):
            link = pool._started[0].link
            deadline = time.monotonic() + 60
            ready = count + 1
            while time.monotonic() < deadline and ready > 1:
                await anyio.sleep(0.2)
                ready = sum(one.waits for one in link._primed.values())
                if mib and time.monotonic() > deadline - 58:
                    break
            return await session.call(then, {"mib": mib}), ready

    return anyio.run(play)


@pytest.mark.docker
def test_seven_that_hold_memory_ahead_leave_an_honest_one_its_own() -> None:
    require_engine()
    source = "KEPT = bytearray(b'x') * (28 << 20)\ndef f(): return len(KEPT)"
    assert ahead_of("docker", source, 7, probes.HUNGRY, 200)[0] == Returned(str(200 << 20))


def test_a_loop_in_c_ahead_of_its_call_ends() -> None:
    source = "import itertools\nTOTAL = sum(itertools.repeat(0))\ndef f(): return TOTAL"
    assert ahead_of("process", source, 1, probes.HUNGRY, 0) == (Returned("0"), 1)


def test_a_call_of_what_reaches_the_limit_ahead_is_run_anew() -> None:
    source = "TOTAL = sum(range(10**8))\ndef f(mib): return TOTAL"
    outcome, _ = ahead_of("process", "def f(): return 1", 0, Program(source, "f"), 1)
    assert outcome == Returned(str(sum(range(10**8))))
