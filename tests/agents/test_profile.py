"""`toolhop profile`, and runs of the items that its pass rates select."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.agents.command import toolhop
from toolhop_agents.adapters.options import settings_of
from toolhop_agents.adapters.shared import pool_of
from toolhop_agents.runs.job import prepare
from toolhop_agents.runs.settings import RunSettings
from toolhop_env.runs.store import RunStore
from toolhop_tools.errors import BadChoice
from toolhop_tools.load import load


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of six items, four times each, and its profile."""
    folder = tmp_path_factory.mktemp("profiled")
    done = toolhop(
        "run", "--agent", "faulty:0.08", "--limit", "6", "--epochs", "4", "--sandbox", "process",
        "--log-dir", "logs", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    done = toolhop("profile", *runs_in(folder), cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def runs_in(folder: Path) -> list[str]:
    return [str(one) for one in (folder / "logs").glob("2*")]


def rates(folder: Path) -> dict[str, float]:
    found = json.loads((folder / "profile.json").read_text(encoding="utf-8"))
    return {row["name"]: row["pass_rate"] for row in found["items"]}


def rewrite(folder: Path, **changes: str) -> Path:
    """The profile with fields of its items changed."""
    found = json.loads((folder / "profile.json").read_text(encoding="utf-8"))
    path = folder / "changed.json"
    found["items"] = [row | changes for row in found["items"]]
    path.write_text(json.dumps(found), encoding="utf-8")
    return path


def test_the_rates_are_those_of_the_run(logs: Path) -> None:
    (run,) = runs_in(logs)
    right: dict[str, list[bool]] = {}
    for one in RunStore.open(run).results():
        assert one.score is not None
        right.setdefault(one.item, []).append(one.score.value("strict") == 1)
    assert rates(logs) == {item: sum(tries) / 4 for item, tries in right.items()}
    assert len(right) == 6
    assert {0 < rate < 1 for rate in rates(logs).values()} == {True, False}


def test_the_table_shows_the_hardest_and_says_what_is_left(logs: Path) -> None:
    done = toolhop("profile", *runs_in(logs), "--rows", "2", "--out", "again.json", cwd=logs)
    assert (logs / "again.json").read_bytes() == (logs / "profile.json").read_bytes()
    hardest, _, third, *_ = sorted(rates(logs), key=lambda name: (rates(logs)[name], name))
    lines = done.stdout.splitlines()
    assert lines[2].split()[:3] == [hardest, "1", "4"]
    assert "4 easier items not shown; see --rows" in lines
    assert third not in done.stdout
    values = list(rates(logs).values())
    assert lines[-1] == (
        f"6 items: {values.count(0)} never passed, {sum(0 < one < 1 for one in values)} sometimes, "
        f"{values.count(1)} always"
    )
    found = json.loads(toolhop("profile", *runs_in(logs), "--json", "--overwrite", cwd=logs).stdout)
    assert {one["name"]: one["pass_rate"] for one in found["items"]} == rates(logs)


def test_a_file_that_is_there_stays(logs: Path) -> None:
    before = (logs / "profile.json").read_bytes()
    done = toolhop("profile", *runs_in(logs), cwd=logs)
    assert (done.returncode, (logs / "profile.json").read_bytes()) == (2, before)
    assert "profile.json is there already" in done.stderr


@pytest.mark.parametrize(("low", "high"), [(0.25, 0.75), (0.0, 0.5), (1.0, 1.0)])
def test_a_run_plays_the_items_in_the_range(logs: Path, low: float, high: float) -> None:
    wanted = [name for name, rate in rates(logs).items() if low <= rate <= high]
    assert wanted
    settings = {"pass_rate": f"{low}-{high}", "profile": str(logs / "profile.json")}
    found = {item.id for item in prepare(settings_of(settings, "a harness")).items}
    assert found == set(wanted)
    assert set(pool_of(settings_of(settings, "a harness")).environments.items) == set(wanted)


def test_the_command_says_how_many_and_keeps_the_range(logs: Path, tmp_path: Path) -> None:
    path, within = logs / "profile.json", [one for one in rates(logs).values() if one > 0.2]
    done = toolhop(
        "run", "--pass-rate", "0.25-1", "--profile", str(path), "--sandbox", "process",
        "--log-dir", str(tmp_path), "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f"pass rate 0.25-1 in {path}: {len(within)} of 43 items" in done.stderr
    run = json.loads(done.stdout)
    assert run["summaries"][0]["episodes"] == len(within)
    settings = RunStore.open(run["run"]).manifest["settings"]
    assert (settings["pass_rate"], settings["profile"]) == ([0.25, 1.0], str(path))
    again = toolhop("run", "--resume", run["run"])
    assert again.returncode == 0, again.stderr


def test_limits_and_ids_apply_to_the_selection(logs: Path) -> None:
    """Ids before, a limit after: the first of those in the range, in the data's order."""
    everything = RunSettings(pass_rate=(0, 1), profile=logs / "profile.json")
    ids = [item.id for item in load("builtin").items[:6]]
    chosen = {"sample_ids": (ids[4], ids[2], "music-1"), "limit": "1"}
    some = everything.model_copy(update=chosen)
    assert [item.id for item in prepare(some).items] == [ids[2]]
    assert [item.id for item in prepare(everything).items] == ids


def test_generated_items_are_chosen_by_their_ids(logs: Path) -> None:
    data = load("worlds:seed=7,items=50")
    name = data.items[7].id
    path = rewrite(logs, name=name, item_digest=data.by_id[name].digest)
    settings = RunSettings(data="worlds:seed=7,items=50", pass_rate=(0, 1), profile=path)
    assert [item.id for item in prepare(settings).items] == [name]


def test_what_is_refused(logs: Path) -> None:
    path = logs / "profile.json"
    with pytest.raises(BadChoice, match="leaves nothing of 43 items, 6 of which"):
        prepare(RunSettings(pass_rate=(0.01, 0.02), profile=path))
    with pytest.raises(BadChoice, match="--pass-rate was given without --profile"):
        prepare(RunSettings(pass_rate=(0, 1)))
    with pytest.raises(BadChoice, match=r"^profile was given without pass_rate"):
        pool_of(settings_of({"profile": str(path)}, "a harness"))
    with pytest.raises(BadChoice, match=r"the setting pass_rate cannot be '0.8-0.2'"):
        settings_of({"pass_rate": "0.8-0.2", "profile": str(path)}, "a harness")


def test_a_rate_is_of_the_item_as_it_was_played(logs: Path) -> None:
    changed = rewrite(logs, item_digest="other")
    with pytest.raises(BadChoice, match="another version of 6 items"):
        prepare(RunSettings(pass_rate=(0, 1), profile=changed))
    text = changed.read_text(encoding="utf-8").replace('"as-is"', '"names=scrambled"')
    changed.write_text(text, encoding="utf-8")  # then every digest differs
    assert len(prepare(RunSettings(pass_rate=(0, 1), profile=changed)).items) == 6
