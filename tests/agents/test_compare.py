"""Comparisons of real runs: scripted agents, the process sandbox, the product's own command."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import anyio
import pytest
from click.testing import CliRunner
from rich.console import Console

from tests.agents.command import toolhop
from tests.agents.items import small_item
from toolhop_agents.compare import published
from toolhop_agents.compare.command import compare
from toolhop_agents.compare.report import ComparisonReport, ComparisonRequest, read_and_compare
from toolhop_agents.compare.view import print_report
from toolhop_agents.models.loopback import LoopbackServer
from toolhop_agents.runs.execute import execute
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.scripted.choose import choose
from toolhop_agents.scripted.responder import responder
from toolhop_env.attempt import Attempt
from toolhop_env.benchmarks.toolhop.scorer import BENCHMARK as TOOLHOP
from toolhop_env.chain import Kind
from toolhop_env.measures import DIVERGENCES
from toolhop_env.pairs.line import Line, Method
from toolhop_env.runs.files import StoreError
from toolhop_env.runs.sides import NotComparable, read_side
from toolhop_env.runs.store import RunStore
from toolhop_tools.benchmarks.toolhop.reader import to_rows
from toolhop_tools.load import load
from toolhop_tools.model import DataSet, Item

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("inline_module")]

COUNT = 12
Play = Callable[..., Path]


def items(count: int = COUNT) -> list[Item]:
    """Items of two domains, and of two or three hops."""
    made = []
    for number in range(1, count + 1):
        item = small_item(f"small-{number}")
        domain = "History" if number % 3 == 0 else "Geography"
        made.append(replace(item, domain=domain, hops=item.hops[number % 2 :]))
    return made


def written(path: Path, data: list[Item]) -> str:
    path.write_text(json.dumps(to_rows(DataSet("small", str(path), tuple(data)))), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory) -> Play:
    """Play a run with the settings given, once for all tests that want the same."""
    folder = tmp_path_factory.mktemp("runs")
    data = written(folder / "items.json", items())
    done: dict[str, Path] = {}

    def played(again: int = 0, **settings: Any) -> Path:
        asked = {"data": data, "turn_limit": 20, "sandbox": "process", **settings}
        key = f"{again} {sorted(asked.items())}"
        if key not in done:
            run = anyio.run(execute, RunSettings(log_dir=folder / "logs", **asked))
            assert run.status == "success"
            done[key] = run.store.folder
        return done[key]

    return played


def measured(report: ComparisonReport, measure: str, *, group: str = "", index: int = 0) -> Line:
    (found,) = (
        line
        for one in report.comparisons[index].strata
        if one.value == group
        for line in one.lines
        if line.measure.name == measure
    )
    return found


def right(one: Attempt) -> bool:
    assert one.score is not None
    return TOOLHOP.lead.holds(one.score)


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("TOOLHOP")}
    done = toolhop("compare", *map(str, arguments), env={**clean, "COLUMNS": "200"})
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_an_agent_that_errs_is_told_from_the_oracle(play: Play) -> None:
    oracle, faulty = play(agent="oracle"), play(agent="faulty:0.6")
    report = read_and_compare([oracle, faulty], ComparisonRequest())
    (comparison,) = report.comparisons
    wrong = [one.item for one in RunStore.open(faulty).results() if not right(one)]
    assert 6 < len(wrong) <= COUNT
    strict = measured(report, "strict")
    assert (strict.before, strict.pairs, strict.items) == (1.0, COUNT, COUNT)
    assert strict.after == pytest.approx(1 - len(wrong) / COUNT)
    assert (strict.gained, strict.lost) == (0, len(wrong))
    assert strict.p_value == pytest.approx(2 * 0.5 ** len(wrong))
    assert strict.high is not None
    assert strict.high < 0
    assert (strict.test, strict.interval) == (Method.MCNEMAR, Method.TANGO)
    assert strict.detectable is not None
    share = measured(report, "instance_error")
    assert share.difference > 0.2
    assert (share.p_value, share.low, share.adjusted, share.test) == (None, None, None, Method.NONE)
    errors, by_hop = measured(report, "failed_calls"), measured(report, "failed_calls_by_hop")
    assert errors.counts == ((0, COUNT), (share.counts[1][0], COUNT))
    assert errors.test is Method.PERMUTATION
    assert errors.p_value is not None
    assert errors.p_value < 0.01
    assert by_hop.p_value == errors.p_value
    assert by_hop.counts[1] == (errors.counts[1][0], 6 * 2 + 6 * 3)
    assert {pair.key.item for pair in comparison.discordant} == set(wrong)
    for pair in comparison.discordant:
        one, other = comparison.pairing.sides
        assert one.answer(pair.before) == "16"
        assert other.answer(pair.after) != "16"
        assert Path(one.stored_at(pair.before)).is_file()
        assert Path(other.stored_at(pair.after)).is_file()


def test_two_runs_of_the_oracle_do_not_differ(play: Play) -> None:
    report = read_and_compare(
        [play(agent="oracle"), play(agent="oracle", again=1)], ComparisonRequest()
    )
    (comparison,) = report.comparisons
    assert not comparison.pairing.differs
    assert not comparison.discordant
    for line in comparison.strata[0].lines:
        assert (line.difference, line.p_value) == (0, 1 if line.measure.tested else None)
    strict = measured(report, "strict")
    assert strict.low is not None
    assert strict.low < -0.2
    calls = measured(report, "calls")
    assert (calls.low, calls.high, calls.interval) == (None, None, Method.NONE)


def test_feedback_is_compared_as_the_one_factor(play: Play) -> None:
    runs = [play(agent="repairing:0.6", feedback=level) for level in ("minimal", "detailed")]
    report = read_and_compare(runs, ComparisonRequest())
    (factor,) = report.comparisons[0].pairing.differs
    assert (factor.name, factor.before, factor.after) == ("feedback", "minimal", "detailed")
    strict = measured(report, "strict")
    assert strict.difference > 0.2
    assert strict.p_value is not None
    assert strict.p_value < 0.05
    alone = [one for one in report.comparisons[0].strata[0].lines if not one.measure.family]
    assert all(one.adjusted is None for one in alone)


def test_modes_are_compared_between_runs_of_one_mode(play: Play) -> None:
    runs = [play(agent="oracle", modes=(mode,)) for mode in ("mandatory", "direct")]
    report = read_and_compare(runs, ComparisonRequest())
    pairing = report.comparisons[0].pairing
    assert [one.name for one in pairing.differs] == ["mode"]
    assert {pair.key.mode for pair in pairing.pairs} == {"mandatory / direct"}
    assert len(pairing.pairs) == COUNT


def test_epochs_are_clustered_and_tries_counted(play: Play) -> None:
    runs = [play(agent=agent, epochs=3) for agent in ("faulty:0.3", "oracle")]
    report = read_and_compare(runs, ComparisonRequest(ks=(1, 3)))
    strict = measured(report, "strict")
    assert (strict.pairs, strict.items, strict.test) == (3 * COUNT, COUNT, Method.PERMUTATION)
    assert (strict.interval, strict.mid_p) == (Method.BOOTSTRAP, None)
    found = {(one.measure.name, one.kind, one.k): one for one in report.comparisons[0].passes}
    assert set(found) == {
        (name, kind, k)
        for name in ("strict", "official")
        for kind in ("pass@k", "pass^k")
        for k in (1, 3)
    }
    tries: dict[str, list[bool]] = {}
    for one in RunStore.open(runs[0]).results():
        tries.setdefault(one.item, []).append(right(one))
    some, every = found["strict", "pass@k", 3], found["strict", "pass^k", 3]
    assert some.before.value == pytest.approx(sum(map(any, tries.values())) / COUNT)
    assert every.before.value == pytest.approx(sum(map(all, tries.values())) / COUNT)
    assert some.before.value > every.before.value
    assert (every.after.value, every.after.stderr) == (1.0, 0.0)
    assert found["strict", "pass@k", 1].difference == pytest.approx(strict.difference)


def test_several_modes_are_split_and_several_tests_corrected(play: Play) -> None:
    modes = ("mandatory", "direct")
    runs = [play(agent=agent, modes=modes) for agent in ("oracle", "faulty:0.6", "do-nothing")]
    report = read_and_compare(runs, ComparisonRequest())
    values = [group.value for group in report.comparisons[0].strata]
    assert values == ["", "direct", "mandatory"]
    assert [one.pairing.after.letter for one in report.comparisons] == ["B", "C"]
    assert report.corrected
    shown = [
        measured(report, "strict", group=group, index=index) for index in (0, 1) for group in values
    ]
    adjusted = [line.adjusted for line in shown if line.adjusted is not None]
    found = [line.p_value for line in shown if line.p_value is not None]
    assert len(found) == len(shown)
    assert all(p <= more for p, more in zip(found, adjusted, strict=True))
    assert min(adjusted) == pytest.approx(min(1, len(found) * min(found)))


def test_pairs_are_split_by_domain_and_hops(play: Play) -> None:
    runs = [play(agent="oracle"), play(agent="faulty:0.6")]
    by_domain = read_and_compare(runs, ComparisonRequest(by="domain")).comparisons[0].strata
    assert [group.value for group in by_domain] == ["", "Geography", "History"]
    assert [group.lines[0].pairs for group in by_domain] == [COUNT, 8, 4]
    by_hops = read_and_compare(runs, ComparisonRequest(by="hops")).comparisons[0].strata
    assert [(group.value, group.lines[0].pairs) for group in by_hops[1:]] == [("2", 6), ("3", 6)]


def test_first_divergences_are_compared_pair_by_pair(play: Play) -> None:
    runs = [play(agent="oracle"), play(agent="faulty:0.6")]
    report = read_and_compare(runs, ComparisonRequest(by="divergence"))
    (stratum,) = report.comparisons[0].strata
    having = [one for one in RunStore.open(runs[1]).results() if one.score]
    first = [one.score.conduct.divergences[:1] for one in having if one.score]
    malformed = measured(report, "first_malformed_call")
    assert malformed.counts == ((0, COUNT), (first.count((Kind.MALFORMED_CALL,)), COUNT))
    assert malformed.gained == malformed.counts[1][0] > 0
    assert (malformed.test, malformed.adjusted is not None) == (Method.MCNEMAR, True)
    shown = command(*runs, "--by", "divergence").stdout
    assert "first divergence: malformed call" in shown
    assert {one.measure.name for one in stratum.lines} <= {
        "strict",
        *(one.name for one in DIVERGENCES),
    }
    lost = next(one for one in having if one.score and one.score.conduct.divergences)
    head = toolhop("show", str(runs[1]), lost.item).stdout
    assert head.startswith("first divergence: ")


def test_few_items_get_no_bootstrap_interval(play: Play) -> None:
    runs = [play(agent="oracle"), play(agent="faulty:0.6")]
    report = read_and_compare(runs, ComparisonRequest(by="hops"))
    few, enough = (measured(report, "failed_calls", group=group) for group in ("2", ""))
    assert (few.items, few.low, few.interval) == (6, None, Method.NONE)
    assert (enough.items, enough.interval) == (COUNT, Method.BOOTSTRAP)
    assert measured(report, "strict", group="2").interval is Method.TANGO


def test_errored_episodes_are_left_out_and_counted(play: Play, tmp_path: Path) -> None:
    oracle = play(agent="oracle")
    cut = tmp_path / "cut"
    shutil.copytree(play(agent="faulty:0.6"), cut)
    traces = sorted((cut / "episodes").iterdir())
    for trace in traces[:2]:
        whole = trace.read_bytes().splitlines(keepends=True)
        trace.write_bytes(b"".join(whole[:-1]))
    traces[2].unlink()
    (cut / "results.jsonl").unlink()
    report = read_and_compare([oracle, cut], ComparisonRequest())
    pairing = report.comparisons[0].pairing
    assert len(pairing.pairs) == COUNT - 3
    assert pairing.left_out.errored_after == 2
    assert pairing.left_out.not_played_after == 1
    assert pairing.left_out.total == 3
    gone = {json.loads(trace.read_bytes().splitlines()[0])["item"] for trace in traces[:2]}
    assert not gone & {pair.key.item for pair in pairing.pairs}
    assert (
        "Left out: 2 pairs errored in B, 1 episodes not played by B." in command(oracle, cut).stdout
    )
    said = command(oracle, cut).stdout
    assert f"{COUNT - 3} of {COUNT} pairs, of" in said
    assert f"over {COUNT - 3} of {COUNT} pairs" in said
    assert ("No verdict: 3 of" in said) is (COUNT - 3 < 0.8 * COUNT)
    turned = read_and_compare([cut, oracle], ComparisonRequest()).comparisons[0].pairing.left_out
    assert (turned.errored_before, turned.not_played_before) == (2, 1)
    for trace in traces[3:8]:
        trace.unlink()
    (cut / "results.jsonl").unlink(missing_ok=True)
    assert f"No verdict: 8 of {COUNT} pairs are lost" in command(oracle, cut).stdout


@pytest.fixture
def other(play: Play, tmp_path: Path) -> Path:
    """A run over some of the items, one of them changed."""
    made = items()[2:]
    made[0] = replace(made[0], question=made[0].question + " In letters?")
    return play(agent="oracle", data=written(tmp_path / "other.json", made))


def test_other_data_is_refused_or_compared_in_common(play: Play, other: Path) -> None:
    oracle = play(agent="oracle")
    with pytest.raises(NotComparable) as refusal:
        read_and_compare([oracle, other], ComparisonRequest())
    told = str(refusal.value)
    assert "items only in A: 2 (small-1, small-2)" in told
    assert "different content: 1 (small-3)" in told
    assert "--common" in told
    report = read_and_compare([oracle, other], ComparisonRequest(common=True))
    pairing = report.comparisons[0].pairing
    assert [pair.key.item for pair in pairing.pairs] == [f"small-{n}" for n in range(4, COUNT + 1)]
    assert (pairing.left_out.items_before, pairing.left_out.changed) == (2, 1)


def test_other_modes_and_epochs_are_refused_or_compared_in_common(play: Play) -> None:
    one = play(agent="oracle", modes=("mandatory", "direct"), epochs=1)
    more = play(agent="oracle", modes=("mandatory",), epochs=3)
    with pytest.raises(NotComparable, match=r"modes differ.*\n.*epochs differ: 1 / 3"):
        read_and_compare([one, more], ComparisonRequest())
    pairs = (
        read_and_compare([one, more], ComparisonRequest(common=True)).comparisons[0].pairing.pairs
    )
    assert {(pair.key.mode, pair.key.epoch) for pair in pairs} == {("mandatory", 1)}
    with pytest.raises(NotComparable, match="no mode is in both"):
        read_and_compare(
            [one, play(agent="oracle", modes=("free",))], ComparisonRequest(common=True)
        )


def test_more_than_one_setting_is_refused_or_allowed(play: Play) -> None:
    one = play(agent="repairing:0.6", feedback="minimal")
    two = play(agent="oracle", seed=3)
    with pytest.raises(NotComparable) as refusal:
        read_and_compare([one, two], ComparisonRequest())
    for told in (
        "3 settings differ",
        "agent: repairing:0.6 / oracle",
        "feedback: minimal / detailed",
        "seed: 0 / 3",
        "--allow-differences",
    ):
        assert told in str(refusal.value)
    report = read_and_compare([one, two], ComparisonRequest(allow_differences=True))
    assert len(report.comparisons[0].pairing.differs) == 3


def test_a_setting_that_an_older_run_does_not_name_had_its_default(
    play: Play, tmp_path: Path
) -> None:
    old = tmp_path / "old"
    shutil.copytree(play(agent="oracle"), old)
    manifest = json.loads((old / "manifest.json").read_text())
    for name in ("policy", "last_wins", "epochs", "max_samples"):
        del manifest["settings"][name]
    (old / "manifest.json").write_text(json.dumps(manifest))
    report = read_and_compare([play(agent="oracle", max_samples=1), old], ComparisonRequest())
    assert not report.comparisons[0].pairing.differs


@pytest.mark.parametrize("manifest", ["[]", "{}", '{"settings": 3}', "{"])
def test_a_folder_that_no_run_wrote_is_told(manifest: str, tmp_path: Path) -> None:
    (tmp_path / "episodes").mkdir()
    (tmp_path / "manifest.json").write_text(manifest)
    with pytest.raises(StoreError, match="manifest"):
        read_side("A", tmp_path)


def test_the_same_seed_gives_the_same_bytes(play: Play) -> None:
    runs = [play(agent=agent, epochs=3) for agent in ("faulty:0.3", "oracle")]
    one, again, other = (command(*runs, "--json", "--seed", seed) for seed in ("1", "1", "2"))
    assert one.returncode == 0
    assert one.stdout == again.stdout
    assert one.stdout != other.stdout
    found = json.loads(one.stdout)
    assert found["format"] == 3
    (comparison,) = found["comparisons"]
    assert (comparison["before"], comparison["after"]) == ("A", "B")
    assert {"strict", "official"} <= {one["measure"] for one in comparison["groups"][0]["measures"]}
    first = comparison["groups"][0]["measures"][0]
    assert {"counts", "disagreement", "p_value"} <= first.keys()
    assert first["counts"][1][0] / first["counts"][1][1] == first["after"]
    flip = comparison["flips"][0]
    assert Path(flip["before"]["trace"]).is_file()
    assert flip["after"]["answer"] == "16"


def test_the_table_says_what_differs_and_lists_flips(play: Play) -> None:
    done = command(
        play(agent="oracle"), play(agent="faulty:0.6"), "--discordant", "1", "--published"
    )
    assert done.returncode == 0
    for told in (
        "Runs; tools in published order",
        "B against A; tools in published order",
        "malformed calls",
        "agent: oracle / faulty:0.6",
        "invocation error rate by call",
        "Exact McNemar test",
        "Discordant pairs (1 of",
        "strict right → wrong",
        "_mandatory_e1_a1.jsonl",
        "Claude3.5 Haiku",
        "These runs were over other numbers of items: A 12, B 12.",
    ):
        assert told in done.stdout, done.stdout


def test_no_figure_and_no_measure_is_cut_in_a_narrow_terminal(play: Play) -> None:
    report = read_and_compare([play(agent="oracle"), play(agent="faulty:0.6")], ComparisonRequest())
    console = Console(width=80, file=StringIO(), color_system=None)
    print_report(console, report, most=0, reference=None)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert not [line for line in lines if "…" in line]
    names = " ".join(line[:40].strip() for line in lines)
    assert "invocation error rate by call" in names
    assert "malformed calls" not in names.partition("0 in both")[0]
    assert all(len(line) <= 80 for line in lines if not line.startswith("       "))


def test_a_refusal_is_one_message_and_exit_code_2(play: Play, other: Path, tmp_path: Path) -> None:
    oracle = play(agent="oracle")
    cases: list[tuple[list[Path | str], str]] = [
        ([oracle, tmp_path], "is not a run"),
        ([oracle, other], "cannot be compared"),
        ([oracle, play(agent="do-nothing"), "--by", "weather"], "mode, domain, hops"),
    ]
    for runs, told in cases:
        done = command(*runs)
        assert done.returncode == 2, runs
        assert told in done.stderr
        assert not done.stdout


def test_bad_flags_are_told_with_what_is_allowed(play: Play) -> None:
    oracle, nothing = str(play(agent="oracle")), str(play(agent="do-nothing"))
    cases = [
        ([oracle], "give two or more"),
        ([oracle, nothing, "--k", "0"], "from 1 up"),
        ([oracle, nothing, "--k", "two"], "from 1 up"),
        ([oracle, nothing, "--confidence", "95"], "0.5<=x<=0.9999"),
    ]
    for arguments, told in cases:
        done = CliRunner().invoke(compare, arguments)
        assert done.exit_code == 2, arguments
        assert told in " ".join(done.stderr.split())


def test_what_cannot_be_asked_of_runs_is_refused(play: Play) -> None:
    oracle, nothing = play(agent="oracle"), play(agent="do-nothing")
    with pytest.raises(NotComparable, match="--k 2 needs as many epochs"):
        read_and_compare([oracle, nothing], ComparisonRequest(ks=(1, 2)))
    with pytest.raises(NotComparable, match="given twice"):
        read_and_compare([oracle, oracle.parent / "." / oracle.name], ComparisonRequest())


def test_one_run_stands_beside_the_published_table(play: Play) -> None:
    done = command(play(agent="oracle"), "--published", "--json")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert found["comparisons"] == []
    assert len(found["published"]["table"]["rows"]) == 14


def test_published_rows_average_to_the_published_averages() -> None:
    table = published.published("toolhop")
    for column in table.columns:
        mean = sum(float(row[column]) for row in table.rows) / len(table.rows)
        # Printed to two digits, from two digits.
        assert mean == pytest.approx(table.average[column], abs=0.0051)


def test_the_way_of_showing_tools_is_compared_on_the_same_items(play: Play) -> None:
    shown = ["as-is", "names=scrambled"]
    runs = [play(agent="oracle", perturbation=perturbation) for perturbation in shown]
    one, other = (read_side("A", run).digests for run in runs)
    assert one.keys() == other.keys()
    assert all(one[item] != other[item] for item in one)
    pairing = read_and_compare(runs, ComparisonRequest()).comparisons[0].pairing
    assert [factor.name for factor in pairing.differs] == ["perturbation"]
    assert (len(pairing.pairs), pairing.left_out.total) == (COUNT, 0)


def test_one_model_at_two_addresses_differs_in_what_was_set_alone(tmp_path: Path) -> None:
    runs, urls = [], []
    for level in ("detailed", "minimal"):
        with LoopbackServer(responder(load("builtin"), choose("repairing:0.3"), 0)) as server:
            urls.append(server.base_url)
            done = toolhop(
                "run", "--model", "openai/x", "--base-url", server.base_url, "--feedback", level,
                "--limit", "2", "--sandbox", "process", "--json", "--log-dir", str(tmp_path),
                "--turn-limit", "20", env={**os.environ, "OPENAI_API_KEY": "none"},
            )  # fmt: skip
        runs.append(Path(json.loads(done.stdout)["run"]))
    assert len(set(urls)) == 2
    pairing = read_and_compare(runs, ComparisonRequest()).comparisons[0].pairing
    assert [one.name for one in pairing.differs] == ["feedback"]
    assert [str(one) for one in pairing.remarks] == [f"base_url: {urls[0]} / {urls[1]}"]
