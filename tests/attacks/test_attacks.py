"""The attack suite: every attack in every setting, and proof that the suite would notice."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.attacks import process_tree, suite
from tests.attacks.expected import is_refused
from tests.attacks.make_report import MARKER
from tests.attacks.sabotage import Without
from tests.attacks.steps import steps
from tests.attacks.suite import Arena, Attack, arena
from tests.attacks.witness import Ran, unlike
from tests.sandbox.conftest import require_engine
from tests.waiting import until, until_async
from toolhop_sandbox.base import Limits, Policy, Program
from toolhop_sandbox.outcome import Outcome, Raised, Returned, TimedOut, TooLarge
from toolhop_sandbox.pool import PooledSandbox
from toolhop_sandbox.process import ProcessWorker
from toolhop_sandbox.replies import MOST_BYTES, read_answer
from toolhop_sandbox.worker import wire

ATTACKS = {attack.name: attack for attack in suite.attacks()}


@pytest.fixture(scope="module")
def place_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str, Policy], Arena]]:
    """The place of a setting, where all its attacks are played; the one before it is closed."""
    opened: dict[tuple[str, Policy], Arena] = {}
    with ExitStack() as stack:

        def place(kind: str, policy: Policy) -> Arena:
            if (kind, policy) not in opened:
                if kind == "docker":
                    require_engine()
                stack.close()
                opened.clear()
                folder = tmp_path_factory.mktemp("attacked")
                made = stack.enter_context(arena(suite.MAKERS[kind], policy, folder))
                opened[kind, policy] = made
            return opened[kind, policy]

        yield place


def _played(kind: str, policy: str, name: str) -> bool:
    """Whether an attack is tried here and not in `make_report` alone, which plays all of them.

    Without a policy there is none to leave; what the policy refuses is refused before it is run,
    by the same compiler in Docker as in a process.
    """
    if policy == "none":
        return ATTACKS[name].family != "policy"
    return kind != "process" or not is_refused(name)


@pytest.mark.parametrize(
    ("kind", "policy", "name"),
    [
        pytest.param(
            kind,
            policy,
            name,
            id=f"{kind}-{policy}-{name}",
            marks=[pytest.mark.docker] * (kind == "docker"),
        )
        for kind, policy in suite.SETTINGS
        for name in ATTACKS
        if _played(kind, policy, name)
    ],
)
def test_attack_is_contained(
    kind: str, policy: Policy, name: str, place_of: Callable[[str, Policy], Arena]
) -> None:
    verdict = place_of(kind, policy).play(ATTACKS[name])
    assert not verdict.problems, "\n".join(verdict.problems)


def test_every_attack_says_what_it_tries_and_what_containment_is() -> None:
    assert len(ATTACKS) >= 70
    assert not [name for name, one in ATTACKS.items() if not (one.tries and one.contained)]


def test_the_results_list_every_attack() -> None:
    page = Path(__file__).with_name("results.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+/\w+)` \|", page.partition(MARKER)[2], flags=re.MULTILINE)
    assert listed == list(ATTACKS), "run `python -m tests.attacks.make_report`"


def test_a_standby_has_given_up_its_powers(tmp_path: Path) -> None:
    with arena(suite.MAKERS["process"], "none", tmp_path) as place:
        place.settle()
        worker = place.pool._started[0]
        assert isinstance(worker, ProcessWorker)
        for pid in process_tree.children(worker.process.pid):
            # It gives them up one after another once it was forked.
            until(partial(has_no_powers, pid), "a standby without powers")


def has_no_powers(pid: int) -> bool:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    told = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    # CAP_DAC_READ_SEARCH may stay, to read a library in a closed home.
    capabilities = (int(told["CapEff"], 16) | int(told["CapPrm"], 16)) & ~4
    return (told["NoNewPrivs"], told["Seccomp"], capabilities) == ("1", "2", 0)


@pytest.mark.docker
def test_no_container_is_left(tmp_path: Path) -> None:
    require_engine()
    with arena(suite.MAKERS["docker"], "none", tmp_path) as place:
        worker = place.pool._started[0]
        container_id: str = worker.container_id  # type: ignore[attr-defined]
        assert place.play(ATTACKS["processes/exits"]).problems == ()
    from toolhop_sandbox.docker import containers

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
            link._spent.append(link._spawn_now())

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
        answer = wire.OUTCOME + json.dumps(fields).encode()
        return anyio.run(read_answer, answer, Limits())

    raised = read(kind="raised", error="E", message="m", line=number)
    assert raised == Raised("E", "m", None)
    large = read(kind="too_large", size_bytes=number, limit_bytes=number)
    assert isinstance(large, TooLarge)
    assert large.limit_bytes < large.size_bytes <= MOST_BYTES


# -- would the suite notice? -----------------------------------------------------------------

WALLS = ("standby: landlock", "standby: seccomp")
NEVER_SETTLES_S = 2.0
"""Longer waiting changes nothing: the process that forks these workers counts as escaped."""


def without_walls(policy: Policy) -> PooledSandbox:
    """A sandbox whose standbys lock nothing down."""
    known = steps()
    return PooledSandbox(Without(out=tuple(known[key] for key in WALLS)), policy=policy)


@pytest.fixture(scope="module")
def open_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    folder = tmp_path_factory.mktemp("open")
    with arena(without_walls, "none", folder, walls=False, settle_s=NEVER_SETTLES_S) as found:
        yield found


@pytest.mark.parametrize(
    ("name", "noticed"),
    {
        "secrets/files_of_the_host": "it told of file",
        "processes/daemon": "escaped from the worker",
    }.items(),
)
def test_a_wall_that_is_down_is_noticed(open_place: Arena, name: str, noticed: str) -> None:
    (Path(open_place.paths[0])).write_text(open_place.canaries["file"])
    verdict = open_place.play(ATTACKS[name])
    assert noticed in "\n".join(verdict.problems)


def test_what_leaves_the_policy_gets_through_where_no_wall_is_behind_it(tmp_path: Path) -> None:
    settle_s = NEVER_SETTLES_S
    with arena(without_walls, "restricted", tmp_path, walls=False, settle_s=settle_s) as place:
        verdict = place.play(ATTACKS["policy/leaves_and_goes_on"])
    assert "a file was read" in "\n".join(verdict.problems)


def test_attacks_are_not_played_where_a_wall_is_missing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="has no"), arena(without_walls, "none", tmp_path):
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
    assert "the probe ran in no process of the worker" in problems


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"worker": 2}, "worker is 2"),
        ({"kept_ready": True}, "kept_ready is True"),
        ({"policy": "restricted"}, "policy is 'restricted'"),
        ({"memory_mib": 16}, "memory_mib is 16"),
        ({"standby": 5}, "attack's own process"),
        ({"standby": 6}, "none that was made after"),
    ],
)
def test_a_probe_in_an_unlike_process_is_noticed(change: dict[str, Any], problem: str) -> None:
    attack = Ran(worker=1, standby=5, kept_ready=False, policy="none", memory_mib=256)
    probe = replace(attack, standby=8)
    assert unlike(probe, attack, made_by=7, forked_after=True) == []
    assert unlike(replace(probe, standby=7), attack, made_by=7, forked_after=False) == []
    problems = unlike(replace(probe, **change), attack, made_by=7, forked_after=True)
    assert problem in "\n".join(problems)


def test_a_descriptor_that_stays_open_is_noticed(open_place: Arena) -> None:
    kept = os.open(os.devnull, os.O_RDONLY)
    try:
        assert "the host has 1 more descriptors open" in open_place.check()
    finally:
        os.close(kept)


def test_an_outcome_that_no_table_names_is_noticed() -> None:
    attack: Attack = replace(ATTACKS["limits/infinite_loop"])
    (problem,) = suite.judge(attack, "docker", "none", Returned("1"), {})
    assert problem.startswith("it ended as 'value 1'")


# -- programs that stand ready ahead of their calls ------------------------------------------


def test_nothing_of_a_program_runs_before_its_call() -> None:
    spinning = Program("while True: pass", "f")
    honest = Program("import time\nMADE_S = time.time()\ndef f(): return MADE_S", "f")

    async def play() -> tuple[bool, Outcome]:
        async with (
            suite.MAKERS["process"]("restricted") as pool,
            pool.session([spinning, honest]) as session,
        ):
            link, worker = pool._started[0].link, pool._started[0]
            assert isinstance(worker, ProcessWorker)
            pid = worker.process.pid
            await until_async(lambda: len(link._primed) == 2)
            await until_async(lambda: all(map(is_asleep, process_tree.children(pid))))
            called_s = time.time()
            outcome = await session.call(honest, {})
            assert isinstance(outcome, Returned)
            return json.loads(outcome.json_text) >= called_s, outcome

    later, _ = anyio.run(play)
    assert later


def is_asleep(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"
