"""What a report holds, read from folders and read back from the page."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.report.made import SLIP, SOLVED, Script, trace, write_run
from toolhop_agents.report.collect import Report, collect
from toolhop_agents.report.pack import Chunks, packed
from toolhop_agents.report.page import render
from toolhop_agents.report.runs import open_sources
from toolhop_env.attempt import attempt_of, counting
from toolhop_env.feedback import Level
from toolhop_env.runs.files import EPISODES, StoreError
from toolhop_env.summary import summarize
from toolhop_env.trace import Ending


def unpacked(text: str) -> Any:
    return json.loads(zlib.decompress(base64.b64decode(text)))


def report_on(*folders: Path) -> Report:
    return collect(open_sources(folders))


def only(values: Any) -> Any:
    """The one value of a list."""
    (value,) = values
    return value


def rows(report: Report) -> dict[str, dict[str, Any]]:
    listed: Any = report.data["rows"]
    return {row["key"]: row for row in listed}


@settings(max_examples=40)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(st.characters(codec=None)),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_packing_loses_nothing_and_holds_no_markup(value: Any) -> None:
    text = packed(value)
    assert unpacked(text) == value
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", text)


@settings(max_examples=40)
@given(st.lists(st.text(min_size=1, max_size=200), max_size=30))
def test_every_episode_is_where_its_place_says(texts: list[str]) -> None:
    chunks = Chunks()
    places = [chunks.add(text) for text in texts]
    chunks.close()
    read = [unpacked(chunk) for chunk in chunks.done]
    assert [read[chunk][place] for chunk, place in places] == texts


def test_figures_are_those_of_score(tmp_path: Path) -> None:
    scripts = [
        Script("a", turns=SOLVED),
        Script("b", turns=SLIP, answer="<answer>5</answer>"),
        Script("c", turns=SOLVED, mode="free"),
        Script("d", ending=Ending.ERRORED, reason="the endpoint did not answer"),
    ]
    report = report_on(write_run(tmp_path, scripts))
    wanted = summarize(counting(attempt_of(trace(script)) for script in scripts))
    groups: Any = report.data["groups"]
    by_mode = {group["mode"]: group for group in groups}
    assert len(groups) == len(wanted) == 2
    for one in wanted:
        group = by_mode[one.group.mode]
        assert set(group["figures"]) == set(one.figures) >= {"strict", "hops_solved", "turns"}
        for name, found in one.figures.items():
            assert group["figures"][name] == (
                None
                if found is None
                else [found.value, found.stderr, found.count, found.low, found.high]
            )
        assert (group["episodes"], group["errored"]) == (one.episodes, one.errored)
        assert group["errors"] == {str(code): n for code, n in one.errors.items()}
    # Hop 3: three episodes count (an errored one does not), three calls, one failed, one solved it.
    assert by_mode["mandatory"]["milestones"][2] == [3, 2, 1, 1]


def test_unfinished_and_repeated_episodes_are_in_no_figure(tmp_path: Path) -> None:
    scripts = [
        Script("a", turns=SOLVED),
        Script("b", turns=SLIP, ending=None),
        Script("c", ending=Ending.ERRORED, reason="no worker"),
        Script("c", turns=SOLVED, attempt=2),
    ]
    folder = write_run(tmp_path, scripts, status="started")
    with (folder / EPISODES / "b_mandatory_e1_a1.jsonl").open("ab") as file:
        file.write(b'{"turn": 4, "rep')
    report = report_on(folder)
    group = only(report.data["groups"])
    assert (group["episodes"], group["errored"], group["unfinished"]) == (2, 0, 1)
    verdicts = {key: (row["verdict"], row["counts"]) for key, row in rows(report).items()}
    assert verdicts == {
        "a_mandatory_e1_a1": ("right", True),
        "b_mandatory_e1_a1": ("unfinished", False),
        "c_mandatory_e1_a1": ("errored", False),
        "c_mandatory_e1_a2": ("right", True),
    }
    assert report.unfinished == 1


def test_same_episodes_of_two_runs_have_keys_of_their_own(tmp_path: Path) -> None:
    one = write_run(tmp_path / "x", [Script("a", turns=SOLVED)])
    two = write_run(tmp_path / "y", [Script("a", turns=SLIP), Script("b", turns=SOLVED)])
    report = report_on(one, two, one)
    assert set(rows(report)) == {
        "made/a_mandatory_e1_a1",
        "made (2)/a_mandatory_e1_a1",
        "b_mandatory_e1_a1",
    }


def test_branches_are_paired_with_the_episode_they_share_a_prefix_with(tmp_path: Path) -> None:
    scripts = [
        Script("a", turns=SLIP, answer="<answer>16</answer>"),
        Script(
            "a",
            name="a-branch",
            turns=SLIP,
            answer="<answer>5</answer>",
            level=Level.MINIMAL,
            parent="a_mandatory_e1_a1",
            kept=2,
            epoch=2,
        ),
    ]
    report = report_on(write_run(tmp_path, scripts))
    assert rows(report)["a-branch"]["shared_prefix"] == "a_mandatory_e1_a1"
    pair = only(report.data["pairs"])
    assert (pair["how"], pair["before"], pair["after"]) == ("forked", "detailed", "minimal")
    assert pair["discordant"] == [["a_mandatory_e1_a1", "a-branch"]]
    figures = pair["all"]
    assert (figures["pairs"], figures["to_incorrect"], figures["to_correct"]) == (1, 1, 0)


def test_separate_runs_under_two_levels_are_paired_by_item(tmp_path: Path) -> None:
    items = ("a", "b", "c")
    detailed = [Script(item, turns=SLIP) for item in items]
    minimal = [
        Script(item, turns=SLIP, level=Level.MINIMAL, answer=f"<answer>{answer}</answer>")
        for item, answer in zip(items, ("16", "5", "6"), strict=True)
    ]
    report = report_on(
        write_run(tmp_path, detailed, name="one"), write_run(tmp_path, minimal, name="two")
    )
    pair = only(report.data["pairs"])
    figures = pair["failed"]
    assert (pair["how"], figures["pairs"], figures["to_incorrect"]) == ("separate", 3, 2)
    assert figures["difference"] == pytest.approx(-2 / 3)


def test_a_trace_that_cannot_be_read_is_named_and_hides_no_other(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [Script("a", turns=SOLVED)])
    (folder / EPISODES / "broken.jsonl").write_text("not a trace\nat all\n", encoding="utf-8")
    report = report_on(folder)
    run = only(report.data["runs"])
    assert list(rows(report)) == ["a_mandatory_e1_a1"]
    assert "broken.jsonl" in only(run["unreadable"])


def test_no_run_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is not a run"):
        open_sources([tmp_path])


def test_findings_lead_to_episodes_of_the_report(tmp_path: Path) -> None:
    errored = Script("a", ending=Ending.ERRORED, reason="the endpoint did not answer")
    one = write_run(tmp_path / "x", [errored, Script("b", turns=SOLVED)])
    two = write_run(tmp_path / "y", [errored])
    for folders in ([one], [one, two]):
        report = report_on(*folders)
        findings: Any = report.data["findings"]
        found_one = only(found for found in findings if "errored" in found["kind"])
        assert "the endpoint did not answer" in found_one["text"]
        verdicts = [rows(report)[key]["verdict"] for key in found_one["episodes"]]
        assert verdicts == ["errored"] * len(folders)


HOSTILE = '</script><img src=x onerror="window.hurt=1"><!--style--><script>window.hurt=1</script>'


def test_page_holds_foreign_text_only_packed(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [Script(item=HOSTILE, turns=[(HOSTILE, [])], answer=HOSTILE)])
    page = "".join(render(report_on(folder), title=HOSTILE))
    assert HOSTILE not in page
    assert "window.hurt" not in page.partition("</title>")[2]
    assert page.count("<script") == page.count("</script>")
    blocks = re.findall(r'<script type="text/plain" id="chunk-\d+">(.*?)</script>', page)
    assert unpacked(blocks[0])[0]["events"][0]["text"] == HOSTILE


def test_policy_names_the_scripts_of_the_page_and_lets_nothing_be_loaded(tmp_path: Path) -> None:
    page = "".join(render(report_on(write_run(tmp_path, [Script()])), title="t"))
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert found is not None
    policy = unescape(found[1])
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe-eval" not in policy
    assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    library = re.search(r'id="charts">(.*?)</script>', page)
    assert len(scripts) == 2
    assert library is not None
    scripts.append(zlib.decompress(base64.b64decode(library[1])).decode())
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert not re.findall(r'(?:src|href)="(?!#|data:,)', page.partition("<script type=")[0])
