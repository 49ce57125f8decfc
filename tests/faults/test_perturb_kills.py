"""`toolhop perturb` that is killed: no half file, no container, and the next one is whole."""

from __future__ import annotations

import json
import os
import signal
from functools import partial
from pathlib import Path

import pytest

from tests.agents.command import toolhop
from tests.faults.test_hosts import none_runs
from tests.launcher import Launched
from tests.waiting import until
from toolhop_sandbox.docker import containers
from toolhop_tools.load import load

KILL = """
import os, pathlib, signal
from toolhop_tools.scenarios import make

real = make.Yields.add

def add(self, family):
    real(self, family)
    if self.executed == {families}:
        {after}

make.Yields.add = add
"""
"""Ends the process, or has it wait, once so many families are made."""
NOW = "os.kill(os.getpid(), signal.SIGKILL)"
WAITS = "pathlib.Path({path!r}).touch(); signal.pause()"
ITEMS = ("music-1", "zoology-1")
IMPORTED = ("toolhop_agents.runs.scenarios",)


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The items and their certificates, as flags."""
    chosen = [part for name in ITEMS for part in ("--sample-id", name)]
    path = str(tmp_path_factory.mktemp("certificates") / "c.jsonl")
    done = toolhop(
        "certify",
        "--data",
        "builtin",
        "--sandbox",
        "process",
        *chosen,
        "--out",
        path,
        "--exit-zero",
    )
    assert done.returncode == 0, done.stderr
    return [*chosen, "--certificates", path, "--into", "missing-tool,flaky-tool"]


def perturb(given: list[str], out: Path, *more: str, patch: str = "") -> Launched:
    flags = (
        "perturb",
        "--data",
        "builtin",
        *given,
        "--max-samples",
        "1",
        "--out",
        str(out),
        "--json",
    )
    return Launched(*flags, *more, env={**os.environ}, patch=patch, imports=IMPORTED)


def test_a_killed_perturbation_leaves_no_half_file(given: list[str], tmp_path: Path) -> None:
    out, whole = tmp_path / "made.jsonl", tmp_path / "whole" / "made.jsonl"
    whole.parent.mkdir()
    for families in (1, 2):
        patch = KILL.format(families=families, after=NOW)
        killed = perturb(given, out, "--sandbox", "process", patch=patch)
        _, told = killed.communicate()
        assert killed.returncode == -signal.SIGKILL, told
        assert not out.exists()
    kept = tmp_path / "made.jsonl.families"
    kept.write_bytes(kept.read_bytes() + b'{"item": "cut sh')
    figures = []
    for path in (out, whole):
        done = perturb(given, path, "--sandbox", "process")
        said, told = done.communicate()
        assert done.returncode == 0, told
        figures.append({**json.loads(said), "file": ""})
    assert figures[0] == figures[1]
    assert out.read_bytes() == whole.read_bytes()
    assert len(load(out).items) > len(ITEMS)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["made.jsonl"]


@pytest.mark.docker
def test_a_killed_perturbation_leaves_no_container(
    docker_engine: None, given: list[str], tmp_path: Path
) -> None:
    out, there = tmp_path / "made.jsonl", tmp_path / "there"
    assert toolhop("sandbox", "build").returncode == 0
    patch = KILL.format(families=1, after=WAITS.format(path=str(there)))
    under_way = perturb(given, out, "--sandbox", "docker", patch=patch)
    until(there.exists, "a family is made")
    under_way.kill()
    under_way.communicate()
    assert under_way.returncode == -signal.SIGKILL
    client = containers.connect()
    try:
        until(partial(none_runs, client, [under_way.pid]), "containers end")
    finally:
        client.close()
    assert not out.exists()
    done = perturb(given, out, "--sandbox", "docker")
    said, told = done.communicate()
    assert done.returncode == 0, told
    assert json.loads(said)["written"] == len(load(out).items)
