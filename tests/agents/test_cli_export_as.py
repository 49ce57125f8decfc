"""`toolhop data export --to`: written, read, played and scored by the benchmarks' own commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agents.command import toolhop
from tests.toolhop_tools.test_scenarios import LENGTH, RIVER, families, two_hops
from tests.toolhop_tools.test_writers import DATA, WHOLE
from toolhop_tools.readers.native import to_row
from toolhop_tools.scenarios.label import MADE, TOOLBEHONEST
from toolhop_tools.scenarios.make import Recipe

TWO = two_hops("two", RIVER, LENGTH)
"""Nobody makes a choice in it."""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scenarios") / "made.jsonl"
    every = (*MADE, *(kind for kind in TOOLBEHONEST if kind not in MADE))
    made = families([*DATA, TWO], Recipe(every), chosen=[WHOLE, TWO])
    items = [item for family in made.values() if family for item in family.items]
    path.write_text("".join(json.dumps(to_row(item)) + "\n" for item in items))
    return path


def export(source: Path, form: str, folder: Path, *more: str, code: int = 0) -> str:
    done = toolhop(
        "data", "export", "--data", str(source), "--to", form, "--out", str(folder), "--sandbox",
        "process", *more,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def written(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    for form in ("toolbehonest", "relytoolbench"):
        assert "wrote" in export(source, form, folder / form)
    return folder


def data(written: Path, form: str) -> str:
    folder = written / form
    if form == "toolbehonest":
        return f"toolbehonest:{folder / 'made_en.json'}"
    replies, gold = folder / "tool_response_cache", folder / "gold.jsonl"
    return f"relytoolbench:{folder}?replies={replies}&gold={gold}"


def played(written: Path, form: str, agent: str, logs: Path, *more: str) -> list[dict[str, Any]]:
    done = toolhop(
        "run", "--data", data(written, form), "--agent", agent, "--log-dir", str(logs), "--json",
        *more,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["summaries"]
    return found


LEVELS = ("--mode", "level-1,level-2,level-3,level-3-fixed", "--judge", "overlap")


def test_the_readers_have_no_finding(written: Path) -> None:
    for form in ("toolbehonest", "relytoolbench"):
        done = toolhop("data", "validate", "--strict", "--data", data(written, form))
        assert done.returncode == 0, done.stdout


def test_the_oracle_gets_all_of_toolbehonest_and_others_do_not(
    written: Path, tmp_path: Path
) -> None:
    shares = ("strict", "official", "score", "score_strict", "score_solvable", "matching")
    for one in played(written, "toolbehonest", "gold", tmp_path, *LEVELS):
        assert {one[name]["value"] for name in shares if one.get(name)} == {1.0}, one["mode"]
    for agent, most in (("empty", 0.0), ("always-unsolvable", 0.5)):
        for one in played(written, "toolbehonest", agent, tmp_path / agent, *LEVELS):
            assert one["strict"]["value"] <= most, (agent, one["mode"])


def test_the_oracle_gets_all_of_relytoolbench_and_others_do_not(
    written: Path, tmp_path: Path
) -> None:
    (gold,) = played(written, "relytoolbench", "gold", tmp_path)
    assert gold["errored"] == 0
    for name in ("reliable_pass", "strict", "pass"):
        assert gold[name]["value"] == 1.0
    for name in ("hallucination", "hallucination_most", "strict_hallucination", "open", "made_up"):
        assert gold[name]["value"] == 0.0
    for agent in ("empty", "all-tools", "always-ask", "always-give-up"):
        (other,) = played(written, "relytoolbench", agent, tmp_path / agent)
        assert other["strict"]["value"] < 0.5, agent


def test_the_same_file_gives_the_same_bytes(source: Path, written: Path, tmp_path: Path) -> None:
    for form in ("toolbehonest", "relytoolbench"):
        export(source, form, tmp_path / form)
        found = [
            {str(path.relative_to(home)): path.read_bytes()
             for path in sorted((home / form).rglob("*.json*"))}
            for home in (written, tmp_path)
        ]  # fmt: skip
        assert found[0] == found[1]
        assert found[0]


def test_a_folder_is_replaced_only_if_it_is_ours_and_forced(source: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.txt").write_text("mine")
    assert "is there already" in export(source, "toolbehonest", other, "--overwrite", code=2)
    assert (other / "mine.txt").read_text() == "mine"
    made = tmp_path / "made"
    export(source, "toolbehonest", made)
    assert "--overwrite" in export(source, "relytoolbench", made, code=2)
    assert (made / "made_en.json").exists()
    export(source, "relytoolbench", made, "--overwrite")
    assert not (made / "made_en.json").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made", "other"]


def test_a_label_that_was_changed_is_refused_and_nothing_written(
    source: Path, tmp_path: Path
) -> None:
    wrong, rows = tmp_path / "wrong.jsonl", source.read_text().splitlines()
    changed = [
        row.replace('"lost": [1, 2, 3]', '"lost": [1, 3]') if "~unmatched" in row else row
        for row in rows
    ]
    assert changed != rows
    wrong.write_text("\n".join(changed))
    said = export(wrong, "relytoolbench", tmp_path / "out", code=2)
    assert "labels do not hold" in said
    assert "id whole~unmatched: hops[1]" in said
    assert not (tmp_path / "out").exists()


def test_of_each_subtask_the_most_varied_rows_are_kept(
    source: Path, written: Path, tmp_path: Path
) -> None:
    export(source, "toolbehonest", tmp_path / "out", "--most-varied", "1")
    kept, rows = (
        [row["subtask"] for row in json.loads((home / "made_en.json").read_text())]
        for home in (tmp_path / "out", written / "toolbehonest")
    )
    assert kept == [*dict.fromkeys(rows)]
    assert len(rows) > len(kept)
    said = export(source, "relytoolbench", tmp_path / "x", "--most-varied", "1", code=2)
    assert "goes with --to toolbehonest" in said


def test_items_that_give_no_row_are_refused(source: Path, tmp_path: Path) -> None:
    few = tmp_path / "few.jsonl"
    few.write_text(next(row for row in source.read_text().splitlines() if "~reserve" in row))
    assert "no row of toolbehonest" in export(few, "toolbehonest", tmp_path / "out", code=2)
    assert "no row of relytoolbench" in export(few, "relytoolbench", tmp_path / "out", code=2)
