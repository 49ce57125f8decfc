"""The suite is shown to see: each step that is left out is noticed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.attacks import host_probes, sabotage, sabotage_policy, steps_table
from tests.attacks.steps import CONTAINER, Step, steps
from tests.sandbox.conftest import require_engine
from toolhop_sandbox.docker.hardening import hardening
from toolhop_sandbox.worker import landlock, lockdown, seccomp

STEPS = steps()


def found(kind: str) -> sabotage.Seen:
    """What was seen in a process of its own: what it patches and leaves is its own too."""
    command = [sys.executable, "-m", sabotage.__name__, kind]
    command += [f"{CONTAINER}:"] if kind == "docker" else []
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    return sabotage.Seen(**json.loads(ran.stdout))


@pytest.fixture(scope="module")
def process() -> sabotage.Seen:
    return found("process")


@pytest.fixture(scope="module")
def docker() -> sabotage.Seen:
    require_engine()
    return found("docker")


def _parameters(in_container: bool) -> list[object]:
    chosen = [one for one in STEPS.values() if (one.room == CONTAINER) == in_container]
    return [pytest.param(step, id=step.key) for step in chosen]


def see(seen: sabotage.Seen, kind: str, step: Step) -> None:
    noticing = [name for name in step.noticed_by if sabotage.applies(kind, step, name)]
    if not noticing:
        pytest.skip("this machine has nothing that the step takes away")
    in_place = seen.in_place[sabotage.label(step.behind)]
    assert not [in_place[name] for name in noticing if in_place[name]]
    assert all(seen.without[step.key][name] for name in noticing), seen.without[step.key]


@pytest.mark.parametrize("step", _parameters(in_container=False))
def test_a_step_that_is_left_out_is_noticed(process: sabotage.Seen, step: Step) -> None:
    see(process, "process", step)


@pytest.mark.docker
@pytest.mark.parametrize("step", _parameters(in_container=True))
def test_an_option_of_the_container_that_is_left_out_is_noticed(
    docker: sabotage.Seen, step: Step
) -> None:
    see(docker, "docker", step)


def test_every_step_of_the_code_stands_in_the_table() -> None:
    named: dict[str, set[str]] = {
        "zygote": {name for name, _ in lockdown.WORKER_STEPS},
        "standby": {name for name, _ in (*lockdown.STEPS, *lockdown.USE_STEPS)},
        "landlock": {name for name, *_ in landlock.GROUPS},
        "seccomp": {name for name, _ in seccomp.BEFORE} | {name for name, *_ in seccomp.PARTS},
        CONTAINER: set(hardening(0)),
    }
    assert {f"{room}: {name}" for room, names in named.items() for name in names} <= STEPS.keys()
    assert all(step.noticed_by for step in STEPS.values())
    assert {one for step in STEPS.values() for one in step.behind} <= STEPS.keys()


def test_what_must_notice_a_step_exists() -> None:
    known = {*sabotage.attacks(), *host_probes.PROBES}
    assert {name for step in STEPS.values() for name in step.noticed_by} <= known


def test_the_results_list_every_step() -> None:
    page = Path(__file__).with_name("results.md").read_text(encoding="utf-8")
    table = page.partition(steps_table.HEADING)[2]
    listed = re.findall(r"^\| (.+?) \| ", table, flags=re.MULTILINE)
    guards = sabotage_policy.sabotages()
    assert [one for one in listed if one in STEPS] == list(STEPS), "run tests.attacks.make_report"
    assert [one for one in listed if one in guards] == list(guards)
