"""`toolhop report` as it is called."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import zlib
from pathlib import Path
from typing import Any

import pytest

from tests.agents.command import toolhop
from tests.report.made import SOLVED, Script, write_run
from toolhop_agents.ablate.folder import AblationFolder
from toolhop_agents.ablate.plain import to_json
from toolhop_agents.ablate.result import result
from toolhop_env.runs.files import EPISODES


def report(*arguments: object) -> subprocess.CompletedProcess[str]:
    done = toolhop("report", *map(str, arguments))
    assert "Traceback" not in done.stderr, done.stderr
    return done


def data_of(page: Path) -> Any:
    block = re.search(r'id="report">([^<]*)<', page.read_text(encoding="utf-8"))
    assert block is not None
    return json.loads(zlib.decompress(base64.b64decode(block[1])))


def test_writes_beside_the_run_where_no_place_is_given(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [Script("a", turns=SOLVED)])
    done = report(folder)
    page = folder / "report.html"
    assert done.returncode == 0
    assert done.stdout.startswith(f"{page}  {page.stat().st_size:,} bytes, 1 episodes")
    assert {path.name for path in folder.iterdir()} >= {"report.html", "manifest.json"}
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_a_run_under_way_is_shown_as_far_as_it_is_and_again_later(tmp_path: Path) -> None:
    first = [Script("a", turns=SOLVED), Script("b", turns=SOLVED[:1], ending=None)]
    folder = write_run(tmp_path, first, status="started")
    out = tmp_path / "page.html"
    assert "1 unfinished" in report(folder, "--out", out).stdout
    assert data_of(out)["runs"][0]["status"] == "started"
    with (folder / EPISODES / "b_mandatory_e1_a1.jsonl").open("ab") as file:
        file.write(b'{"ending": "stopped", "wall_s": 1.0, "reason": "", "kind": "ended"}\n')
    assert "unfinished" not in report(folder, "--out", out, "--overwrite").stdout
    assert [row["verdict"] for row in data_of(out)["rows"]] == ["right", "wrong"]


@pytest.mark.parametrize(("place", "said"), [("nothing-here", "no folder"), (".", "is not a run")])
def test_no_run_is_a_usage_error(tmp_path: Path, place: str, said: str) -> None:
    done = report(tmp_path / place)
    assert done.returncode == 2
    assert said in done.stderr
    assert report().returncode == 2


def test_a_page_that_cannot_be_written_is_a_usage_error(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [Script("a")])
    (tmp_path / "file").write_text("")
    done = report(folder, "--out", tmp_path / "file" / "page.html")
    assert done.returncode == 2
    assert "--out" in done.stderr


def test_a_file_that_is_there_is_replaced_only_where_asked(tmp_path: Path) -> None:
    folder, own = write_run(tmp_path, [Script("a")]), tmp_path / "mine.json"
    own.write_text("mine")
    done = report(folder, "--out", own)
    assert (done.returncode, own.read_text()) == (2, "mine")
    assert "--overwrite" in done.stderr


def test_a_trace_that_cannot_be_read_is_left_out_and_named(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [Script("a", turns=SOLVED)])
    (folder / EPISODES / "broken.jsonl").write_bytes(b"\xff\xfe\nno\n")
    done = report(folder)
    assert done.returncode == 0
    assert "left out" in done.stderr
    assert "broken.jsonl" in done.stderr
    assert len(data_of(folder / "report.html")["rows"]) == 1


def test_an_ablation_is_a_report_on_its_arms(ablation: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    assert report(ablation, "--out", out).returncode == 0
    data_there = data_of(out)
    folder = AblationFolder.open(ablation)
    found = result(folder.ablation, folder.episodes(), folder.planned())
    rows = {row["key"]: row for row in data_there["rows"]}
    (part,) = data_there["ablations"]
    assert part["rows"] == to_json(folder.ablation, found)["rows"]
    assert part["benchmark"] == "toolhop"
    assert part["discordant"]
    for one in part["discordant"]:
        assert {rows[key]["verdict"] for key in one["pair"]} == {"right", "wrong"}
    branches = [row for row in rows.values() if row["parent"]]
    assert branches
    for branch in branches:
        assert rows[branch["shared_prefix"]]["item"] == branch["item"]
    # Figures of the ablation itself; its runs are not paired a second time.
    assert data_there["pairs"] == []


@pytest.mark.usefixtures("inline")
def test_several_runs_begin_with_what_each_changes_where_it_can_be_compared(tmp_path: Path) -> None:
    runs = []
    for flags in (
        ("--agent", "faulty:0.5"),
        ("--agent", "faulty:0.5", "--feedback", "minimal"),
        ("--agent", "oracle", "--feedback", "minimal"),
    ):
        done = toolhop("run", *flags, "--limit", "4", "--sandbox", "process", "--json",
                       "--log-dir", str(tmp_path))  # fmt: skip
        assert done.returncode == 0, done.stderr
        runs.append(json.loads(done.stdout)["run"])
    out = tmp_path / "page.html"
    assert report(*runs, "--out", out).returncode == 0
    # The third differs from the first in two settings: what a difference comes from is not known.
    (text,) = data_of(out)["headlines"]
    assert text.startswith("Feedback detailed → minimal: strict ")
    assert "over 4 of 4 pairs of all episodes. Chance alone can explain it (p = 1.0000" in text
    said = json.loads(toolhop("compare", *runs[:2], "--json").stdout)
    (lead, *_) = said["comparisons"][0]["groups"][0]["measures"]
    assert f"{100 * lead['difference']:+.1f} points" in text
    assert f"{100 * lead['low']:+.1f} .. {100 * lead['high']:+.1f})" in text


def test_addresses_and_paths_of_settings_stay_out_of_the_page(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [Script("a", turns=SOLVED)])
    manifest = json.loads((folder / "manifest.json").read_text())
    hidden = ("base_url", "judge_base_url", "user_model_base_url", "certificates", "cache", "data")
    manifest["settings"] |= dict.fromkeys(hidden, "/somewhere/private")
    (folder / "manifest.json").write_text(json.dumps(manifest))
    out = tmp_path / "page.html"
    assert report(folder, "--out", out).returncode == 0
    assert "/somewhere/private" not in json.dumps(data_of(out))
