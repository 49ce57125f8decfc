"""`toolhop perturb`, and the other commands on what it makes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.agents import command
from toolhop_tools.load import load
from toolhop_tools.scenarios.label import Scenario, label_of

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("inline_module")]

INTO = "missing-tool,broken-tool,flaky-tool"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("certificates") / "c.jsonl"
    done = command.toolhop(
        "certify", "--data", "builtin", "--sandbox", "process", "--sample-id", "film-1",
        "--sample-id", "zoology-1", "--out", str(path),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return str(path)


def perturb(certificates: str, out: Path, *more: str, into: str = INTO) -> Any:
    return command.toolhop(
        "perturb", "--data", "builtin", "--sandbox", "process", "--sample-id", "film-1",
        "--certificates", certificates, "--into", into, "--out", str(out), *more,
    )  # fmt: skip


@pytest.fixture(scope="module")
def made(certificates: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made") / "made.jsonl"
    done = perturb(certificates, out, "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["items_executed"] == 1
    assert figures["scenarios"]["missing-tool"]["unsolvable"] == 1
    assert figures["scenarios"]["flaky-tool"] == {"unsolvable": 0, "solvable": 1, "refused": {}}
    assert figures["written"] == len(load(out).items)
    return out


def test_the_file_holds_items_with_labels(made: Path) -> None:
    kinds = Counter(label_of(item.gold).scenario for item in load(made).items)
    assert kinds == {
        Scenario.PLAIN: 2,
        Scenario.MISSING_TOOL: 1,
        Scenario.BROKEN_TOOL: 1,
        Scenario.FLAKY_TOOL: 1,
    }


def test_the_same_command_writes_the_same_bytes(
    made: Path, certificates: str, tmp_path: Path
) -> None:
    again, other = tmp_path / "again.jsonl", tmp_path / "other.jsonl"
    assert perturb(certificates, again, "--max-samples", "1").returncode == 0
    assert again.read_bytes() == made.read_bytes()
    assert perturb(certificates, other, "--seed", "5").returncode == 0
    assert other.read_bytes() != made.read_bytes()


def test_families_of_another_recipe_are_made_anew(tmp_path: Path, certificates: str) -> None:
    out = tmp_path / "made.jsonl"
    (tmp_path / "made.jsonl.families").write_text('{"of": "another"}\n{"item": "x"}\n')
    assert perturb(certificates, out).returncode == 0
    assert len(load(out).items) == 5


def test_balanced_files_have_as_many_of_each(certificates: str, tmp_path: Path) -> None:
    out = tmp_path / "made.jsonl"
    done = perturb(certificates, out, "--balanced", "--actions", "finish")
    assert done.returncode == 0, done.stderr
    items = load(out).items
    solvable = sum(label_of(item.gold).solvable for item in items)
    assert solvable * 2 == len(items)
    assert all("Finish" in item.tools for item in items)


def test_the_data_commands_read_the_file(made: Path) -> None:
    listed = command.toolhop("data", "list", "--data", str(made), "--json")
    assert len(json.loads(listed.stdout)) == 5
    shown = command.toolhop("data", "show", "film-1~missing-tool", "--data", str(made))
    assert shown.returncode == 0
    assert "missing-tool" in shown.stdout
    checked = command.toolhop("data", "validate", "--data", str(made), "--strict")
    assert (checked.returncode, checked.stdout) == (0, "")


def test_a_file_that_is_there_is_not_replaced_unasked(made: Path, certificates: str) -> None:
    before = made.read_bytes()
    done = perturb(certificates, made)
    assert done.returncode == 2
    assert "--overwrite" in done.stderr
    assert made.read_bytes() == before


def test_without_certificates_it_says_how_to_make_them(tmp_path: Path) -> None:
    done = perturb(str(tmp_path / "none.jsonl"), tmp_path / "made.jsonl")
    assert done.returncode == 2
    assert "toolhop certify" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_item_without_a_certificate_is_named_as_the_reason(
    certificates: str, tmp_path: Path
) -> None:
    done = command.toolhop(
        "perturb", "--data", "builtin", "--sample-id", "music-1", "--certificates", certificates,
        "--into", INTO, "--out", str(tmp_path / "made.jsonl"),
    )  # fmt: skip
    assert done.returncode == 2
    assert "has nothing on 1 of them" in done.stderr


def test_a_scenario_that_is_none_is_told_with_the_nearest(
    certificates: str, tmp_path: Path
) -> None:
    done = perturb(certificates, tmp_path / "made.jsonl", into="missing-tol")
    assert done.returncode == 2
    assert "did you mean missing-tool?" in done.stderr


def test_items_of_worlds_need_no_certificates(tmp_path: Path) -> None:
    out = tmp_path / "made.jsonl"
    done = command.toolhop(
        "perturb", "--data", "worlds:seed=9,items=20", "--limit", "2", "--sandbox", "process",
        "--into", "missing-tool,missing-parameter,call-limit", "--out", str(out), "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["items_executed"] == 2
    assert figures["scenarios"]["missing-tool"]["unsolvable"] == 2
    assert figures["scenarios"]["call-limit"]["refused"] == {"it is not made of items of worlds": 2}
    assert figures["written"] == len(load(out).items)
