"""The list of runs in a folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.agents.command import toolhop

SAMPLES = Path(__file__).with_name("samples")


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Two runs, one of them an arm of an ablation, and a folder that is none."""
    made = tmp_path / "logs"
    shutil.copytree(SAMPLES / "run_format_1", made / "one")
    shutil.copytree(SAMPLES / "run_format_2", made / "ablation" / "arm")
    (made / "notes").mkdir()
    return made


def test_runs_are_listed_newest_first_with_their_figures(logs: Path) -> None:
    found = json.loads(toolhop("runs", str(logs), "--json").stdout)
    assert [one["folder"] for one in found] == [str(logs / "ablation/arm"), str(logs / "one")]
    assert [one["status"] for one in found] == ["success", "success"]
    assert found[1]["settings"]["agent"] == "repairing:0.7"
    assert found[1]["summaries"][0]["strict"]["value"] == 0.5
    lines = toolhop("runs", str(logs), env={"COLUMNS": "100"}).stdout.splitlines()
    assert lines[1].split()[:3] == ["ablation/arm", "success", "4"]
    assert any("one" in line and "50.00" in line for line in lines)


def test_the_limit_says_how_many_are_left(logs: Path) -> None:
    said = toolhop("runs", str(logs), "--last", "1").stdout
    assert "repairing:0.7" not in said
    assert "1 older run is not listed" in said


def test_a_run_that_cannot_be_read_hides_no_other(logs: Path) -> None:
    (logs / "one" / "manifest.json").write_text("{")
    done = toolhop("runs", str(logs))
    assert done.returncode == 0
    assert "unreadable" in done.stdout
    assert "repairing:0.3" in done.stdout
    assert "one/manifest.json cannot be read" in done.stderr


@pytest.mark.parametrize("text", ["", '{"settings": {"agent', "[]", '{"data": 3}'])
def test_showing_a_run_whose_manifest_is_broken_says_what_to_do(logs: Path, text: str) -> None:
    (logs / "one" / "manifest.json").write_text(text)
    done = toolhop("show", str(logs / "one"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "one/manifest.json cannot be read" in done.stderr
    assert "fix: put back a copy" in done.stderr
