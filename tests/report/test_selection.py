"""Pages of runs that are too large for them: figures of all, and a stated selection to read."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome

from tests.agents.command import toolhop
from tests.report.conftest import fresh
from tests.report.made import SLIP, SOLVED, Script, write_run
from tests.report.test_collect import rows
from tests.report.test_command import data_of, report
from toolhop_agents.report.collect import Report, collect
from toolhop_agents.report.runs import open_sources
from toolhop_agents.report.selection import Drawn, Ref
from toolhop_env.feedback import Level
from toolhop_env.runs.packing import Packing, pack
from toolhop_env.runs.store import RunStore
from toolhop_env.trace import Ending

BOTH = "<answer>about 16, I think</answer>"
"""Right for the official scorer alone."""
FIGURES = ("runs", "groups", "benchmarks", "conduct", "headlines")


def scripts() -> list[Script]:
    """Ninety episodes of three items: a few errored, a few that scorers differ on, one item with
    right and wrong answers, one episode played again.
    """
    made = [
        Script(item, epoch=epoch, turns=SOLVED if epoch % 3 else SLIP)
        for epoch in range(1, 31)
        for item in ("a", "b", "c")
    ]
    made[7] = Script("b", epoch=3, answer="<answer>5</answer>")
    made[12] = Script("a", epoch=5, ending=Ending.ERRORED, reason="no reply")
    made[13] = Script("b", epoch=5, ending=None)
    made[14] = Script("c", epoch=5, answer=BOTH)
    made[15] = Script("a", epoch=6, ending=Ending.ERRORED, reason="no reply")
    return [*made, Script("a", epoch=6, attempt=2, turns=SOLVED)]


def of(folder: Path, most: int) -> Report:
    return collect(open_sources([folder]), most)


def test_figures_are_of_all_whatever_is_selected(tmp_path: Path) -> None:
    folder = write_run(tmp_path, scripts())
    whole, part, none = (of(folder, most) for most in (1_000, 20, 0))
    assert "selection" not in whole.data
    for made in (part, none):
        assert {name: made.data[name] for name in FIGURES} == {
            name: whole.data[name] for name in FIGURES
        }
        assert (made.episodes, made.unfinished) == (whole.episodes, whole.unfinished) == (91, 1)
    assert (whole.shown, part.shown, none.shown) == (91, 20, 0)
    found: list[Any] = [made.data["findings"] for made in (whole, part)]
    assert [one["text"] for one in found[0]] == [one["text"] for one in found[1]]
    assert [one["count"] for one in found[1]] == [len(one["episodes"]) for one in found[0]]


def test_the_telling_ones_are_in_it_and_it_says_why(tmp_path: Path) -> None:
    made = of(write_run(tmp_path, scripts()), 24)
    here = rows(made)
    assert {"a_mandatory_e5_a1", "a_mandatory_e6_a1", "b_mandatory_e5_a1"} <= here.keys()
    assert "c_mandatory_e5_a1" in here, "scorers differ on it"
    assert "b_mandatory_e3_a1" in here, "the one wrong answer of an item with right ones"
    assert here["a_mandatory_e6_a1"]["counts"] is False
    said: Any = made.data["selection"]
    assert said["reasons"] == [
        ["errored or unfinished", 3, 3],
        ["scorers differ", 1, 1],
        ["items with right and wrong answers, one of each", 2, 2],
    ]
    assert (said["episodes"], said["items"], said["runs"]) == (91, 3, [91])
    assert said["verdicts"]["errored"] == 2
    assert said["calls"] == sum(row["calls"] for row in rows(of(tmp_path / "made", 99)).values())
    assert said["sample"] == 24 - 7, "the wrong one of c is also the one that scorers differ on"
    assert {*here} < {*rows(of(tmp_path / "made", 99))}


def test_the_same_run_gives_the_same_selection_however_it_is_stored(tmp_path: Path) -> None:
    made = scripts()
    before = {*rows(of(write_run(tmp_path / "x", made), 20))}
    random.Random(1).shuffle(made)
    folder = write_run(tmp_path / "y", made, name="other")
    assert {*rows(of(folder, 20))} == before
    store = RunStore.open(folder)
    with store.held():
        store.repair_index()
        assert pack(store, Packing(begin=4, traces=10)) > 50
    after = of(folder, 20)
    assert {*rows(after)} == before
    assert len(after.chunks) == 1


@pytest.mark.parametrize("most", [0, 3, 50])
def test_no_more_is_drawn_than_asked_for_in_whatever_order(most: int) -> None:
    names, kept = [str(number) for number in range(30)], []
    for seed in (1, 2):
        random.Random(seed).shuffle(names)
        drawn = Drawn(most)
        for rank, name in enumerate(names):
            drawn.add(Ref(0, rank, name, "", None))
        assert (len(drawn), drawn.offered) == (min(most, 30), 30)
        kept.append([one.name for (one,) in drawn.refs])
    assert kept[0] == kept[1]


def test_pairs_of_levels_are_counted_in_all_and_linked_where_they_can_be_read(
    tmp_path: Path,
) -> None:
    def level(name: str, of_level: Level, answer: str) -> Path:
        made = [
            Script("abc"[n % 3], epoch=1 + n // 3, turns=SLIP, level=of_level, answer=answer)
            for n in range(30)
        ]
        return write_run(tmp_path, made, name=name)

    folders = [
        level("one", Level.DETAILED, "<answer>16</answer>"),
        level("two", Level.MINIMAL, "<answer>5</answer>"),
    ]
    whole, part = (collect(open_sources(folders), most) for most in (100, 16))
    listed: list[Any] = [whole.data["pairs"], part.data["pairs"]]
    ((all_pairs,), (pairs,)) = listed
    assert pairs["all"] == all_pairs["all"]
    assert pairs["all"]["to_incorrect"] == 30
    linked = pairs["discordant"]
    assert 1 <= len(linked) < 30
    assert {key for both in linked for key in both} <= rows(part).keys()
    assert [both for both in all_pairs["discordant"] if both in linked]


def test_the_command_says_how_many_can_be_read(tmp_path: Path) -> None:
    folder = write_run(tmp_path, scripts())
    done = report(folder, "--max-episodes", "10")
    assert "91 episodes, 1 unfinished, 10 of them to read" in done.stdout
    assert len(data_of(folder / "report.html")["rows"]) == 10
    assert "to read" not in report(folder).stdout
    assert toolhop("report", str(folder), "--max-episodes", "-1").returncode == 2


def test_a_page_says_what_it_holds_and_how_the_rest_is_read(driver: Chrome, tmp_path: Path) -> None:
    folder = write_run(tmp_path, scripts())
    out = tmp_path / "page.html"
    assert report(folder, "--max-episodes", "12", "--out", out).returncode == 0
    page = fresh(driver, out)
    page.open()
    said = page.texts("#selected")[0]
    assert "Figures are of all 91 episodes. To read, this page holds 12 of them" in said
    assert "errored or unfinished: all 3" in said
    assert "toolhop show RUN ITEM" in said
    assert [text.split()[0] for text in page.texts(".facts li")[:2]] == ["91", "3"]
    page.open("#view=episodes")
    page.until_text("#total", "12 episodes here (91 in all)")
    page.open("#episode=nowhere")
    assert "toolhop show RUN ITEM reads any other" in page.texts("#detail")[0]
