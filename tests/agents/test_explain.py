"""What a run differs in from the official set-up, of every benchmark, and the rows beside it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agents.command import toolhop
from toolhop_agents.compare import published
from toolhop_agents.models.loopback import LoopbackServer, Request
from toolhop_env import benchmarks
from toolhop_env.benchmarks import named
from toolhop_env.messages import Reply
from toolhop_env.official import State, reported
from toolhop_env.runs.store import RunStore
from toolhop_tools.benchmarks import OWN
from toolhop_tools.benchmarks.toolhop.reader import to_rows
from toolhop_tools.load import load
from toolhop_tools.model import DataSet
from toolhop_tools.perturb.order import tool_order

pytestmark = pytest.mark.usefixtures("inline_module")

PUBLISHED = {name: one for name in OWN if (one := benchmarks.named(name)).official}
"""Benchmarks of a published set-up."""
GOLDEN = Path(__file__).parents[1] / "golden"
MODEL = {"model": "openai/gpt-4o", "agent": None}
OFFICIAL: dict[str, dict[str, Any]] = {
    "toolhop": {
        "items": 995,
        "settings": {
            "temperature": 0.0, "reasoning_effort": None,
            "max_tokens": 256, "turn_limit": 9, "call_format": "native",
            "perturbation": "as-is", "last_wins": True, "answer_malformed": False,
            "policy": "none", "tool_timeout_s": 10.0, "epochs": 1, "feedback": "detailed",
        },
        "differs": {"error messages"},
    },
    "nestools": {
        "items": 1000,
        "settings": {
            "temperature": 0.0, "reasoning_effort": None,
            "max_tokens": 768, "epochs": 1, "modes": ["base"],
            "perturbation": "as-is",
        },
        "differs": set(),
    },
    "toolbehonest": {
        "items": 700,
        "settings": {
            "temperature": 0.0, "reasoning_effort": None,
            "max_tokens": 1024, "epochs": 1, "judge": "minilm",
            "modes": ["level-1", "level-3"], "perturbation": "as-is",
        },
        "differs": set(),
    },
    "relytoolbench": {
        "items": 958,
        "settings": {
            "temperature": 0.0, "reasoning_effort": None,
            "max_tokens": 1024, "epochs": 1, "turn_limit": 50,
            "call_format": "text", "judge": "openai/gpt-4o", "judge_votes": 1,
            "perturbation": "as-is", "data": "relytoolbench:sets", "simulator": None,
        },
        "differs": {
            "replies of services", "calls that do not fit their schema", "the judge's prompts",
        },
    },
}  # fmt: skip
"""Manifests as near to the official set-up as can be, and what still differs."""


def manifest(
    name: str, *, prompt: str = "the user's template", **changed: object
) -> dict[str, Any]:
    one = OFFICIAL[name]
    settings = {**MODEL, **one["settings"], **changed}
    order = tool_order(settings["perturbation"])
    return {
        "prompt": prompt,
        "settings": settings,
        "data": {"played": ["x"] * one["items"], "tool_order": order, "fewest_tools": 12},
        "sessions": [{"changed": {}}],
    }


def states(name: str, facts: dict[str, Any]) -> dict[str, State]:
    return {one.condition.name: one.state for one in reported(named(name).official, facts)}


def differing(name: str, facts: dict[str, Any]) -> set[str]:
    return {one for one, state in states(name, facts).items() if state is State.DIFFERS}


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_every_benchmark_tells_its_official_set_up(name: str) -> None:
    found = states(name, manifest(name))
    assert differing(name, manifest(name)) == OFFICIAL[name]["differs"]
    assert found["prompt"] is State.UNKNOWN, "whether a user's text is the official one"


@pytest.mark.parametrize(
    ("name", "changed", "told_of"),
    [
        ("toolhop", {"max_tokens": 2048}, "max tokens"),
        ("toolhop", {"temperature": None}, "temperature"),
        ("toolhop", {"call_format": "text"}, "call format"),
        ("toolhop", {"policy": "restricted"}, "policy"),
        ("toolhop", {"perturbation": "names=scrambled"}, "tools"),
        ("toolhop", {"last_wins": False}, "the last of two tools of one name wins"),
        ("nestools", {"perturbation": "distractors=5:each+order=shuffled"}, "distractors"),
        ("nestools", {"modes": ["base", "no-types"]}, "mode"),
        ("toolbehonest", {"judge": "overlap"}, "judge"),
        ("toolbehonest", {"judge": None}, "judge"),
        ("toolbehonest", {"modes": ["level-1", "level-3-fixed"]}, "mode"),
        ("relytoolbench", {"judge": "mechanical"}, "judge"),
        ("relytoolbench", {"judge_votes": 3}, "judge votes"),
        ("relytoolbench", {"turn_limit": 9}, "turn limit"),
        ("relytoolbench", {"data": "relytoolbench:x?schemas=fixed&set=a"}, "schemas"),
        ("relytoolbench", {"call_format": "native"}, "call format"),
    ],
)
def test_one_change_is_told_and_no_other(name: str, changed: dict[str, Any], told_of: str) -> None:
    before = differing(name, manifest(name))
    assert differing(name, manifest(name, **changed)) - before == {told_of}


def test_what_is_ours_and_what_another_session_changed() -> None:
    assert "prompt" in differing("nestools", manifest("nestools", prompt="ours"))
    facts = manifest("relytoolbench")
    facts["sessions"] += [{"changed": {"judge": "mechanical"}}, {"changed": {}}]
    assert "judge" in differing("relytoolbench", facts)
    less = manifest("toolhop")
    less["data"]["played"] = ["x"] * 994
    assert "items" in differing("toolhop", less)
    bare = manifest("nestools")
    bare["data"]["fewest_tools"] = 3
    assert {"distractors", "tool order"} <= differing("nestools", bare)
    shuffled = manifest("toolhop")
    shuffled["data"]["tool_order"] = "shuffled"
    assert "tool order" in differing("toolhop", shuffled)


def test_what_a_script_or_a_file_plays_has_no_sampling() -> None:
    script = manifest("toolhop", model=None, agent="oracle", temperature=1.0, prompt="ours")
    assert not {"temperature", "max tokens", "prompt"} & states("toolhop", script).keys()
    file = manifest("nestools", model=None, agent="predictions:old.jsonl", prompt="ours")
    found = states("nestools", file)
    assert {found[one] for one in ("temperature", "max tokens", "prompt")} == {State.UNKNOWN}


def test_level_one_needs_no_judge() -> None:
    facts = manifest("toolbehonest", modes=["level-1"], judge=None)
    assert "judge" not in states("toolbehonest", facts)


def test_an_old_manifest_without_a_part_tells_so() -> None:
    for name in PUBLISHED:
        found = states(name, {})
        assert set(found.values()) <= set(State)
        assert found["items"] is State.UNKNOWN


def datas(folder: Path) -> dict[str, str]:
    """Our own rows of each benchmark, as data of runs."""
    nested = json.loads((GOLDEN / "nestools_own.json").read_text())
    for name, rows in (("test_data", nested["rows"]), ("test_api_ids", nested["ids"])):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    honest = folder / "test_en.json"
    honest.write_text(
        json.dumps(json.loads((GOLDEN / "toolbehonest_own.json").read_text())["rows"])
    )
    sets = folder / "sets"
    sets.mkdir()
    rely = json.loads((GOLDEN / "relytoolbench_own.json").read_text())["sets"]
    for name, rows in rely.items():
        (sets / f"{name}.json").write_text(json.dumps(rows))
    first = load("builtin").items[:2]
    hops = folder / "hops.json"
    hops.write_text(json.dumps(to_rows(DataSet("small", "", tuple(replace(i) for i in first)))))
    return {
        "toolhop": str(hops),
        "nestools": str(folder / "test_data.jsonl"),
        "toolbehonest": f"toolbehonest:{honest}",
        "relytoolbench": f"relytoolbench:{sets}",
    }


def at_a_loss(request: Request) -> Reply:
    return Reply("I do not know.")


@pytest.mark.heavy
@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_a_run_is_explained_from_its_manifest_alone(name: str, tmp_path: Path) -> None:
    with LoopbackServer(at_a_loss) as server:
        done = toolhop("run", "--data", datas(tmp_path)[name], "--model", "openai/loop", "--json",
                       "--base-url", server.base_url, "--log-dir", str(tmp_path / "logs"),
                       "--sandbox", "process", "--temperature", "0.7")  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = Path(json.loads(done.stdout)["run"])
    for path in run.iterdir():
        if path.name != "manifest.json" and path.is_file():
            path.unlink()
    (found,) = json.loads(toolhop("explain", str(run), "--json").stdout)
    assert found["benchmark"] == name
    told_of = {one["condition"]: one for one in found["conditions"]}
    assert told_of["temperature"]["state"] == "differs"
    assert (told_of["temperature"]["run"], told_of["temperature"]["officially"]) == ("0.7", ["0"])
    assert told_of["prompt"]["run"] == "in our words"
    assert told_of["max tokens"]["run"] == "2048"
    text = toolhop("explain", str(run)).stdout
    assert f"{named(name).title}, played by openai/loop" in " ".join(text.split())
    assert "As in the official set-up: " in text


@pytest.mark.heavy
@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_published_rows_stand_beside_runs_of_every_benchmark(name: str, tmp_path: Path) -> None:
    agent = "oracle" if name == "toolhop" else "gold"
    modes = ("--mode", "all") if name == "toolbehonest" else ()
    done = toolhop("run", "--data", datas(tmp_path)[name], "--agent", agent, "--json", *modes,
                   "--log-dir", str(tmp_path / "logs"), "--sandbox", "process")  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout)["run"]
    table = published.published(name)
    shown = " ".join(toolhop("compare", run, "--published").stdout.split())
    assert f"Published rows are from {table.source}" in shown
    assert table.judge in shown
    count = len(RunStore.open(Path(run)).items().items)
    assert f"These runs were over other numbers of items: A {count}" in shown
    assert "A is not comparable with them: it differs in" in shown
    assert shown.count("published ") >= len(table.rows)
    whole = json.loads(toolhop("compare", run, "--published", "--json").stdout)["published"]
    assert len(whole["table"]["rows"]) == len(table.rows)
    own = whole["runs"]["A"][agent]
    assert own.keys() == table.columns.keys()
    if name == "nestools":
        assert {one["value"] for one in own.values()} == {1.0}
    if name == "toolbehonest":  # our rows are not of all subtasks
        assert own["MNT L1-EM"]["value"] == own["MNT L2-PR"]["value"] == 1.0
    if name == "relytoolbench":  # no set of the third group is played
        assert own["G3 RePR"] is own["All RePR"] is None


def test_every_published_column_is_a_measure_and_every_row_fits() -> None:
    for name, benchmark in PUBLISHED.items():
        table = published.published(name)
        for column in table.columns.values():
            assert column.of_one(benchmark)
            assert set(column.modes) <= set(benchmark.modes)
        known = {"family", "version", *table.columns}
        assert all(row.keys() <= known for row in table.rows)


def test_published_nestools_rows_agree_with_themselves() -> None:
    """The average is that of the four F1, and each F1 that of its P and R."""
    kinds = ("Selection", "Order", "Param", "Nested")
    rows = [dict(row) for row in published.published("nestools").rows]
    assert len(rows) == 24
    for row in rows:
        found = [float(row[f"{kind} F1"]) for kind in kinds]
        assert sum(found) / 4 == pytest.approx(float(row["Average"]), abs=0.11), row
        for kind, f1 in zip(kinds, found, strict=True):
            # Printed to one digit, from P and R before they were rounded.
            p, r = (float(row[f"{kind} {one}"]) for one in "PR")
            low, high = (
                2 * (p + by) * (r + by) / (p + r + 2 * by) if p + by > 0 < r + by else 0
                for by in (-0.05, 0.05)
            )
            assert low - 0.05 <= f1 <= high + 0.05, row


def test_published_toolbehonest_rows_have_the_weighted_overall() -> None:
    """150, 100 and 100 tasks; one row of the paper is misprinted by 0.2."""
    off = []
    for row in published.published("toolbehonest").rows:
        sums = [
            tasks * sum(float(value) for name, value in row.items() if name.startswith(f"{group} "))
            for group, tasks in (("MNT", 150), ("PT", 100), ("LFT", 100))
        ]
        if sum(sums) / 1400 != pytest.approx(float(row["Overall"]), abs=0.06):
            off.append(row["version"])
    assert off == ["Gemini-1.0-Pro"]


def test_published_relytoolbench_rows_have_the_mean_of_groups() -> None:
    rows = published.published("relytoolbench").rows
    whole = [dict(row) for row in rows if "G1 RePR" in row]
    off = [
        (row["version"], name)
        for row in whole
        for name in ("RePR", "H", "calls", "util.")
        if sum(float(row[f"{group} {name}"]) for group in ("G1", "G2", "G3")) / 3
        != pytest.approx(float(row[f"All {name}"]), abs=0.11)
    ]
    assert (len(whole), off) == (22, [])
