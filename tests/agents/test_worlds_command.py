"""`toolhop worlds`, and runs over worlds whose generator has changed since."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.agents.command import toolhop
from toolhop_env.runs.store import RunStore
from toolhop_tools.load import load
from toolhop_tools.readers import worlds
from toolhop_tools.worlds import items, wording

pytestmark = pytest.mark.heavy
DATA = "worlds:seed=5,items=20"


def test_flags_and_a_text_say_the_same(tmp_path: Path) -> None:
    flags = ("--seed", "5", "--items", "3", "--hops", "3-5", "--domains", "library+film")
    made = toolhop("worlds", "make", *flags, "--out", "a.jsonl", cwd=tmp_path)
    assert (made.returncode, made.stderr.splitlines()[-1]) == (0, "wrote 3 items to a.jsonl")
    text = "seed=5,items=3,hops=3-5,domains=library+film"
    assert toolhop("worlds", "make", text, "--out", "b.jsonl", cwd=tmp_path).returncode == 0
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    again = toolhop("worlds", "make", text, "--out", "b.jsonl", cwd=tmp_path)
    assert (again.returncode, again.stderr) == (
        2, "toolhop: b.jsonl is there already; give another --out, or pass --overwrite\n"
    )  # fmt: skip
    listed = toolhop("data", "list", "--data", "a.jsonl", "--json", cwd=tmp_path)
    assert [row["id"] for row in json.loads(listed.stdout)] == ["w5-0", "w5-1", "w5-2"]


def test_settings_tiers_and_benchmarks_are_shown() -> None:
    shown = json.loads(toolhop("worlds", "show", "--json").stdout)
    assert shown["settings"]["hops"]["default"] == "3-5"
    assert shown["tiers"]["1"].startswith("hops=2-3,joins=none,")
    assert "tier=1" in toolhop("worlds", "show").stdout
    series = json.loads(toolhop("worlds", "show", "seed=5,items=50,tier=1-2", "--json").stdout)
    parts = [(part["first"], part["items"], part["worlds"]) for part in series["parts"]]
    assert parts == [("w5t1-0", 25, 2), ("w5t2-0", 25, 2)]


def test_an_item_is_shown_with_its_calls_and_its_world() -> None:
    shown = toolhop("worlds", "show", "seed=5,items=20", "--item", "w5-3", "--with-world", "--json")
    found, item = json.loads(shown.stdout), load(DATA).by_id["w5-3"]
    assert found["item"]["digest"] == item.digest
    assert [call["tool"] for call in found["calls"]] == [hop.tool.name for hop in item.hops]
    assert item.answer in json.dumps(found["calls"][-1]["result"])
    assert found["world"]["tools"].keys() >= item.tools.keys()
    assert all(of["count"] > 1 for of in found["world"]["types"].values())
    page = toolhop("worlds", "show", "seed=5,items=20", "--item", "w5-3", "--with-world").stdout
    assert "fewer calls give" in page


def test_a_run_works_on_after_the_generator_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played = ("--agent", "oracle", "--sandbox", "process", "--log-dir", "logs")
    begun = toolhop("run", "--data", DATA, "--limit", "4", *played, "--estimate", "2", cwd=tmp_path)
    assert begun.returncode == 0, begun.stderr
    [folder] = (tmp_path / "logs").iterdir()
    before = load(DATA).items[0].digest
    asks = wording.hop_questions
    monkeypatch.setattr(items, "VERSION", items.VERSION + 1)
    monkeypatch.setattr(items, "hop_questions", lambda *given: [f"Now: {q}" for q in asks(*given)])
    assert load(DATA).items[0].digest != before
    resumed = toolhop("run", "--resume", str(folder), "--json", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    store = RunStore.open(folder)
    assert store.manifest["data"]["generator"] == items.VERSION - 1
    assert [one.item for one in store.results()] == store.manifest["data"]["played"]
    assert next(store.results()).item_digest == before
    replayed = toolhop("replay", str(folder), "--verify", "--json", cwd=tmp_path)
    assert replayed.returncode == 0, replayed.stderr
    assert json.loads(replayed.stdout)["episodes"] == 4
    scored = toolhop("score", str(folder), "--json", cwd=tmp_path)
    assert scored.returncode == 0, scored.stderr
    methods = toolhop("explain", "--methods", str(folder), cwd=tmp_path).stdout
    assert f"made by generator {items.VERSION - 1};" in methods
    worlds._block.cache_clear()


def test_certificates_say_that_chains_are_by_construction(tmp_path: Path) -> None:
    kept = ("--data", DATA, "--limit", "2", "--sandbox", "process")
    quick = ("--executions", "5", "--audit", "2", "--out", "c.jsonl")
    made = toolhop("certify", *kept, *quick, "--json", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    figures = json.loads(made.stdout)
    assert figures["verdicts"]["chain by construction"] == figures["items"] == 2
    assert sum(figures["searched"].values()) == figures["hops"]["chain by construction"]
    page = toolhop("certify", *kept[:2], *quick[-2:], "--item", "w5-0", cwd=tmp_path).stdout
    assert "\n  search:  " in page
    methods = toolhop("explain", "--methods", "c.jsonl", cwd=tmp_path).stdout
    assert "2 items come from generator 1 of worlds" in methods
    chosen = ("--certificates", "c.jsonl", "--certified-only", "determined")
    played = toolhop("run", *kept, *chosen, "--agent", "oracle", "--log-dir", "logs", cwd=tmp_path)
    assert (played.returncode, "All items are proven." in played.stdout) == (0, True)


def test_a_card_says_what_the_filter_leaves_out() -> None:
    card = toolhop("data", "card", "--data", "worlds:seed=5,items=1000000,hops=3-4").stdout
    assert "| items | 1,000,000 |" in card
    assert "| types alone give it away |" in card
    assert "| version of the generator | 1 |" in card
    assert "Kept of all draws: 200 of " in card
    assert "`own`" in card
