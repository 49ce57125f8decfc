"""ToolBeHonest through the ordinary commands: the loopback server plays, and the tables say so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agents.command import toolhop
from toolhop_agents.benchmarks import binding_of
from toolhop_agents.models.loopback import LoopbackServer
from toolhop_agents.scripted.responder import responder
from toolhop_tools.load import load

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("inline_module")]

OWN = Path(__file__).parents[1] / "golden" / "toolbehonest_own.json"


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = tmp_path / "test_en.json"
    path.write_text(json.dumps(json.loads(OWN.read_text())["rows"]))
    return f"toolbehonest:{path}"


def served(data: str, agent: str) -> LoopbackServer:
    return LoopbackServer(responder(load(data), binding_of("toolbehonest").agents[agent], 0))


def run_flags(server: LoopbackServer, folder: Path) -> tuple[str, ...]:
    return ("--model", "openai/loop", "--base-url", server.base_url, "--mode", "all",
            "--judge", "overlap", "--log-dir", str(folder), "--json")  # fmt: skip


def figures(answer: dict[str, Any]) -> dict[tuple[str, str], float]:
    """Values by mode and measure, but for times."""
    return {
        (one["mode"], name): figure["value"]
        for one in answer["summaries"]
        for name, figure in one.items()
        if isinstance(figure, dict) and "value" in figure and name != "wall_s"
    }


def played(data: str, agent: str, folder: Path) -> dict[tuple[str, str], float]:
    with served(data, agent) as server:
        done = toolhop("run", "--data", data, *run_flags(server, folder))
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert [(one["episodes"], one["errored"]) for one in answer["summaries"]] == [(8, 0)] * 4
    again = toolhop("score", "--json", answer["run"])
    assert json.loads(again.stdout) == answer["summaries"]
    return figures(answer)


SCORES = ("score", "score_strict", "score_solvable", "score_solvable_strict")
LEVELS = ("level-1", "level-2", "level-3", "level-3-fixed")


def test_gold_gets_everything_over_the_wire(data: str, tmp_path: Path) -> None:
    found = played(data, "gold", tmp_path)
    for level in LEVELS:
        for measure in (*SCORES, "official", "strict"):
            assert found[level, measure] == 1.0, (level, measure)
    assert found["level-3", "matching"] == found["level-3-fixed", "strict_matching"] == 1.0


def test_an_empty_reply_gets_nothing(data: str, tmp_path: Path) -> None:
    found = played(data, "empty", tmp_path)
    for level in LEVELS:
        for measure in (*SCORES, "official", "strict"):
            assert found[level, measure] == 0.0, (level, measure)


def test_always_unsolvable_gets_all_of_level_1_and_half_of_what_is_balanced(
    data: str, tmp_path: Path
) -> None:
    found = played(data, "always-unsolvable", tmp_path)
    assert found["level-1", "score"] == 1.0
    assert found["level-1", "strict"] == found["level-1", "official"] == 0.5
    assert found["level-1", "score_solvable"] == 0.0
    # One gold of four begins with it and has one step, one of two steps begins with it twice.
    assert found["level-2", "score"] == pytest.approx((1 + 1 / 2) / 4)


def test_a_template_of_ones_own_replaces_the_prompt(data: str, tmp_path: Path) -> None:
    template = tmp_path / "mine.txt"
    template.write_text("Mine, <answer>unsolvable</answer> or not?\n{question}")
    done = toolhop("run", "--data", data, "--agent", "gold", "--template", str(template),
                   "--log-dir", str(tmp_path), "--json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    folder = json.loads(done.stdout)["run"]
    assert "Mine, " in next((Path(folder) / "episodes").iterdir()).read_text()


@pytest.mark.parametrize("mode", LEVELS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_prompt_shows_the_task_and_asks_for_its_form(
    mode: str, language: str, data: str
) -> None:
    from toolhop_agents.benchmarks.binding import Ask
    from toolhop_env.reading import CallFormat

    (item,) = [i for i in load(data).items if i.extra["language"] == language][-1:]
    (message,) = binding_of("toolbehonest").prompt(Ask(item, mode, CallFormat.NATIVE, ()))
    assert message.content.endswith(item.question)
    asked = message.content.removesuffix(item.question)
    wanted = {"level-1": "<answer>unsolvable</answer>", "level-2": "UnsolvableQuery"}
    assert wanted.get(mode, "Planned tool") in asked
    assert ("UnsovlableQuery" in asked) == (mode == "level-3")
    assert "{" not in asked


def test_what_is_done_to_tools_is_refused_where_there_are_none(data: str, tmp_path: Path) -> None:
    done = toolhop("run", "--data", data, "--agent", "gold", "--tools", "names=scrambled",
                   "--log-dir", str(tmp_path / "logs"))  # fmt: skip
    assert (done.returncode, "tools are in its question alone" in done.stderr) == (2, True)
    assert not (tmp_path / "logs").exists()


def test_totals_and_groups_stand_in_every_table(data: str, tmp_path: Path) -> None:
    runs = []
    for agent in ("gold", "always-unsolvable"):
        done = toolhop("run", "--data", data, "--agent", agent, "--judge", "overlap", "--json",
                       "--mode", "level-1,level-2,level-3", "--log-dir", str(tmp_path))  # fmt: skip
        runs.append(json.loads(done.stdout)["run"])
    (first, *_) = json.loads(toolhop("score", runs[1], "--json").stdout)
    half = first["totals"]["overall"]["score"]["value"]
    assert first["totals"]["overall, solvable"]["score_solvable"]["value"] == 0.0
    compared = json.loads(toolhop("compare", *runs, "--json").stdout)["comparisons"][0]
    line = compared["totals"][0]
    assert (line["total"], line["measure"], line["before"]) == ("overall", "score", 1.0)
    assert line["after"] == pytest.approx(half)
    assert line["low"] < line["difference"] < line["high"]
    assert "Totals" in toolhop("compare", *runs).stdout
    text = toolhop("score", runs[1], "--by", "scenario").stdout
    assert f"{100 * half:.1f}" in text
    _, groups = text.split("ToolBeHonest by scenario")
    assert all(name in groups for name in ("strict", "official", "score,", "PR", "MS", "LFT"))
    assert "level-1" in toolhop("score", runs[1], "--by", "mode").stdout
