"""Exports, read back by the libraries that they are made for."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agents.items import small_item
from tests.agents.recorded import edited, invoked, recorded
from tests.env.graded import answered, graded, marked
from tests.env.made import called, finished, started
from tests.inline import inline_sandbox
from toolhop_agents.export.chat import right, split
from toolhop_agents.export.columns import CALLS, Column, ColumnKind, episode_columns
from toolhop_agents.export.episodes import Exported, exported, labels
from toolhop_agents.export.files import ExportError, atomic
from toolhop_agents.export.formats import GROUP
from toolhop_agents.export.inspect_log import logs
from toolhop_agents.export.tables import GROUP_ROWS, schema, write_dataset, write_tables
from toolhop_env.attempt import attempt_of
from toolhop_env.benchmark import Benchmark
from toolhop_env.benchmarks import score
from toolhop_env.benchmarks.toolhop.scorer import BENCHMARK as TOOLHOP
from toolhop_env.episode import Episode
from toolhop_env.extras import MissingExtra, install_command, require
from toolhop_env.messages import RawCall, Reply, Usage
from toolhop_env.reading import CallFormat
from toolhop_env.runs.index import INDEX
from toolhop_env.runs.store import RunStore
from toolhop_env.score import Errored
from toolhop_env.trace import Ended, Ending, Event, Replied, ToolsChanged, Trace
from toolhop_tools.load import licence_of
from toolhop_tools.scenarios.label import Label, Scenario, family_of, labelled

__all__ = ["graded"]  # a fixture, found by its name
ROOT = Path(__file__).parents[2]
ITEMS = [small_item(f"small-{number}") for number in range(1, 5)]
RIGHT, WRONG, ERRORED, LIMIT = (item.id for item in ITEMS)


def needs(package: str) -> None:
    """Skip without the package; under CI everything that the project declares has to be there."""
    try:
        require(package, extra="dev", what="this test")
    except MissingExtra as missing:
        if os.environ.get("CI"):
            pytest.fail(str(missing))
        pytest.skip(str(missing))


@pytest.fixture
def pyarrow() -> None:
    needs("pyarrow")


@pytest.fixture
def inspect_ai() -> None:
    needs("inspect_ai")


async def act(episode: Episode) -> None:
    """One episode that is right, one wrong, one errored, one that a limit ended."""
    calls = (
        RawCall("a", "capital", '{"country": "Norway"}'),
        RawCall("b", "length", "{not json"),
        RawCall("c", "nothing", "{}"),
        RawCall("d", "capital", '{"country": "Atlantis"}'),
    )
    usage = Usage(100, 20, 0.25, prompt_cached_tokens=40)
    await episode.step(Reply("First.", calls, usage=usage, model="m-1", finish_reason="length"))
    if episode.item.id == ERRORED:
        episode.end(Ending.ERRORED, "the endpoint was gone")
    elif episode.item.id == LIMIT:
        episode.end(Ending.OUT_OF_TURNS)
    else:
        text = "<answer>16</answer>" if episode.item.id == RIGHT else "It is <answer>4</answer>"
        await episode.step(Reply(text, usage=Usage(200, 10, 0.5), finish_reason="stop"))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    folder = tmp_path_factory.mktemp("runs")
    return recorded(folder, ITEMS, agent="someone", act=act, sandbox=inline_sandbox())


@pytest.fixture(scope="module")
def eval_log(store: RunStore, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run as a log, written by the command."""
    needs("inspect_ai")
    folder = tmp_path_factory.mktemp("inspect")
    code, out, err = command(store.folder, "--to", "inspect", "--out", folder)
    assert code == 0, err
    return Path(out.strip())


def entry(trace: Trace, *, counts: bool = True) -> Exported:
    return Exported("run", trace, attempt_of(trace), counts=counts)


def documents(run: str, facts: dict[str, Any], taken: Iterable[Exported]) -> list[Any]:
    """The logs of a run as Inspect reads them."""
    these = list(taken)
    attempts, counting = (
        [one.attempt for one in these],
        {one.attempt.episode for one in these if one.counts},
    )
    begun = {"started_at": these[0].trace.started.at, **facts}
    made = []
    for log in logs(run, begun, attempts, counting):
        samples, total = [], None
        for sample in filter(None, map(log.sample, these)):
            samples.append(sample)
            total = log.usage(sample, total)
        made.append({**log.document(total), "samples": samples, "name": log.name})
    return made


def test_logs_of_different_judges_or_tools_have_different_files(store: RunStore) -> None:
    attempt = next(iter(store.attempts()))
    apart = [attempt, replace(attempt, judge="another"), replace(attempt, perturbation="")]
    made = logs("run", {"started_at": "2026-01-01T00:00:00+00:00"}, apart, {attempt.episode})
    assert len({log.name for log in made}) == len(made) == 3


def command(*arguments: object) -> tuple[int, str, str]:
    return invoked("export", *arguments)


def without_extras(site: Path, *runs: tuple[object, ...]) -> list[tuple[int, str]]:
    """Exit code and texts of the command where the extras are not installed, and `site` is.

    In a process of its own: what this one has imported is no longer looked for.
    """
    code = (
        "import json, sys\n"
        "from importlib.machinery import PathFinder\n"
        "class Without(PathFinder):\n"
        "    @classmethod\n"
        "    def find_spec(cls, name, path=None, target=None):\n"
        "        if name in {'pyarrow', 'inspect_ai'}: return None\n"
        "        return PathFinder.find_spec(name, path, target)\n"
        "sys.meta_path = [f for f in sys.meta_path if f is not PathFinder] + [Without]\n"
        "from tests.agents.recorded import invoked\n"
        "for run in json.loads(sys.argv[1]):\n"
        "    code, out, err = invoked('export', *run)\n"
        "    print(json.dumps([code, out + err]))"
    )
    wanted = json.dumps([list(map(str, one)) for one in runs])
    path = os.pathsep.join([str(site), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", code, wanted],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return [(code, text) for code, text in found]


def rows(path: Path) -> list[dict[str, Any]]:
    from pyarrow import parquet

    found: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
    return found


@pytest.mark.usefixtures("pyarrow")
@pytest.mark.heavy  # importing the library is
def test_parquet_holds_every_attempt_and_call_typed(store: RunStore, tmp_path: Path) -> None:
    code, out, _ = command(store.folder, "--to", "parquet", "--out", tmp_path / "out", "--json")
    told = json.loads(out)
    assert (code, told["episodes"], told["calls"]) == (0, 4, 16)
    right, wrong, errored, limit = rows(tmp_path / "out" / "episodes.parquet")
    assert (right["strict"], wrong["strict"], limit["strict"], errored["strict"]) == (
        True,
        False,
        False,
        None,
    )
    assert (errored["errored"], errored["ending"]) == ("the endpoint was gone", "errored")
    assert (limit["official"], limit["official_unset"], errored["official"]) == (False, True, None)
    assert (limit["final_text"], limit["ending"]) == (None, "out_of_turns")
    assert right["cost_usd"] == 0.75
    assert (right["input_tokens"], right["output_tokens"]) == (300, 30)
    assert right["started_at"].utcoffset().total_seconds() == 0
    roles = [message["role"] for message in right["messages"]]
    assert roles == ["user", "assistant", *["tool"] * 4, "assistant"]
    assert right["messages"][1]["calls"][1]["arguments"] == "{not json"
    good, bad, unknown, failed = rows(tmp_path / "out" / "calls.parquet")[:4]
    assert (good["ok"], good["result"], good["hop"], good["call"]) == (True, '"Oslo"', 1, 1)
    assert json.loads(good["read"]) == {"country": "Norway"}
    assert (bad["error"], bad["outcome"], bad["read"]) == ("not_json", None, None)
    assert (unknown["error"], unknown["hop"]) == ("unknown_tool", None)
    assert (failed["error"], failed["outcome"]) == ("returned_error", "returned")


@pytest.mark.usefixtures("pyarrow")
def test_values_are_those_of_the_score(store: RunStore, tmp_path: Path) -> None:
    write_tables(exported([store]), tmp_path, [TOOLHOP])
    for trace, values in zip(store.traces(), rows(tmp_path / "episodes.parquet"), strict=True):
        verdict = score(trace)
        if isinstance(verdict, Errored):
            assert {values[measure.name] for measure in TOOLHOP.measures} == {None}
            continue
        for measure in TOOLHOP.measures:
            parts = verdict.values[measure.name]
            if parts is None:
                assert values[measure.name] is values[f"{measure.name}_of"] is None
                continue
            wanted = bool(parts[0]) if measure.binary else parts[0]
            assert (values[measure.name], type(values[measure.name])) == (wanted, type(wanted))
            assert values.get(f"{measure.name}_of", 1) == parts[1]
        for name in ("calls", "turns", "wall_s", "tool_s", "cost_usd", "failed_calls"):
            assert values[name] == getattr(verdict.conduct, name)


@pytest.mark.usefixtures("pyarrow")
def test_runs_of_two_benchmarks_have_the_measures_of_both(
    graded: Benchmark, tmp_path: Path
) -> None:
    trace = answered("Oslo", called("find", "Oslo"), episode="e2")
    judged = Exported("run", trace, marked((trace, 7.5)).attempt(trace), counts=True)
    these = [entry(finished()), judged, entry(answered("Bergen", episode="e3"))]
    write_tables(these, tmp_path, [TOOLHOP, graded])
    chain, marks, open_ = rows(tmp_path / "episodes.parquet")
    assert [one["benchmark"] for one in (chain, marks, open_)] == ["toolhop", "graded", "graded"]
    assert [one["mark"] for one in (chain, marks, open_)] == [None, 7.5, None]
    assert [one["strict"] for one in (chain, marks, open_)] == [True, True, False]
    assert (marks["hops_solved"], marks["answer"]) == (None, "Oslo")
    # A measure with the name of another column does not take its place.
    assert (marks["calls"], marks["measure_attempt"], marks["measure_attempt_of"]) == (1, 1.0, 4.0)
    columns = {column.name: column for column in episode_columns([TOOLHOP, graded])}
    assert columns["mark"].unit == "points"
    assert columns["strict"].about == (
        "ToolHop: The tagged answer equals the gold; Graded: The text is the gold"
    )
    assert [right(one) for one in these] == [True, True, False]


@pytest.mark.usefixtures("pyarrow")
def test_only_the_attempt_that_counts_is_marked(tmp_path: Path) -> None:
    store = recorded(tmp_path, ITEMS[:1], sandbox=inline_sandbox())
    first = "small-1_mandatory_e1_a1"
    path = store.folder / "episodes" / f"{first}.jsonl"
    other = path.with_name("small-1_mandatory_e1_a2.jsonl")
    other.write_bytes(path.read_bytes())
    renamed = {"episode": "small-1_mandatory_e1_a2", "attempt": 2}
    edited(store, renamed["episode"], lambda events: events[0].update(renamed))  # type: ignore[arg-type]
    edited(store, first, lambda events: events[-1].update(ending="errored", reason="gone"))
    write_tables(exported([store]), tmp_path / "out", [TOOLHOP])
    marks = [(row["attempt"], row["counts"]) for row in rows(tmp_path / "out" / "episodes.parquet")]
    assert marks == [(1, False), (2, True)]
    assert {row["counts"] for row in rows(tmp_path / "out" / "calls.parquet")} == {False, True}


@pytest.mark.usefixtures("pyarrow")
def test_runs_of_one_name_are_told_apart(tmp_path: Path) -> None:
    stores = [
        recorded(tmp_path / name, ITEMS[:1], name="same", sandbox=inline_sandbox()) for name in "ab"
    ]
    runs = [store.folder for store in stores]
    write_tables(exported(stores), tmp_path / "out", [TOOLHOP])
    named = [row["run"] for row in rows(tmp_path / "out" / "episodes.parquet")]
    assert named == [str(folder) for folder in runs]
    assert labels(stores) == named
    begun = {"started_at": "2026-01-31T12:00:00+00:00"}
    made = [
        documents(name, begun, exported([one])) for name, one in zip(named, stores, strict=True)
    ]
    assert made[0][0]["name"] != made[1][0]["name"]


@pytest.mark.usefixtures("pyarrow")
def test_rows_are_written_in_groups_as_they_come(tmp_path: Path) -> None:
    from pyarrow import parquet

    alive: list[int] = []
    most = 3 * GROUP_ROWS + 7

    def source() -> Iterator[Exported]:
        for number in range(most):
            trace = finished(called("born", "1815"), episode=f"e{number}")
            alive.append(number)
            yield entry(trace)

    written = write_tables(source(), tmp_path, [TOOLHOP])
    assert written.rows == {"episodes": most, "calls": most}
    file = parquet.ParquetFile(tmp_path / "episodes.parquet")
    sizes = [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)]
    assert sizes == [GROUP_ROWS] * 3 + [7]


@pytest.mark.usefixtures("pyarrow")
def test_a_run_without_a_call_still_has_both_tables(tmp_path: Path) -> None:
    write_tables([entry(Trace((started(),)), counts=False)], tmp_path, [TOOLHOP])
    (row,) = rows(tmp_path / "episodes.parquet")
    assert (row["ending"], row["errored"]) == (None, "the episode was cut off before its end")
    assert rows(tmp_path / "calls.parquet") == []


@pytest.mark.usefixtures("pyarrow")
@pytest.mark.parametrize("table", [episode_columns([TOOLHOP]), CALLS], ids=["episodes", "calls"])
def test_every_column_is_described_in_the_file_and_in_the_manual(
    table: tuple[Column[Any], ...],
) -> None:
    page = runpy.run_path(str(ROOT / "docs" / "generated.py"))["columns"]()
    made = schema(table)
    for column in table:
        metadata = made.field(column.name).metadata
        assert metadata[b"description"].decode() == column.about
        assert metadata.get(b"unit", b"").decode() == column.unit
        unit = f"; {column.unit}" if column.unit else ""
        assert f"| `{column.name}` | {column.kind} | {column.about}{unit} |" in page
    seconds = [column for column in table if column.name.endswith("_s")]
    assert seconds
    assert {column.unit for column in seconds} == {"seconds"}


@pytest.mark.usefixtures("pyarrow")
@pytest.mark.parametrize(
    ("data", "licence"),
    [("builtin", "apache-2.0"), ("toolhop", "cc-by-4.0"), ("my_items", "unknown")],
)
def test_the_card_has_the_licence_of_the_data(data: str, licence: str, tmp_path: Path) -> None:
    write_dataset([], tmp_path, [TOOLHOP], ["run"], [licence_of(data)])
    head = (tmp_path / "README.md").read_text(encoding="utf-8").split("---")[1]
    assert f'license: "{licence}"' in head.splitlines()


@pytest.mark.usefixtures("pyarrow")
def test_datasets_loads_both_tables_with_the_features_of_the_card(
    store: RunStore, tmp_path: Path
) -> None:
    needs("datasets")
    command(store.folder, "--to", "hf", "--out", tmp_path / "set")
    less = shutil.copytree(store.folder, tmp_path / "less")
    next((less / "episodes").glob(f"*{RIGHT}*")).unlink()
    (less / INDEX).unlink()  # which says that the episode had ended
    command(less, "--to", "hf", "--out", tmp_path / "of the same name" / "set")
    code = (
        "import datasets, json, sys\n"
        "from datasets import load_dataset, Features\n"
        f"path = {str(tmp_path / 'set')!r}\n"
        f"where = dict(cache_dir={str(tmp_path / 'cache')!r}, split='train')\n"
        "one, two = load_dataset(path, **where), load_dataset(path, 'calls', **where)\n"
        "card = datasets.load_dataset_builder(path, cache_dir=where['cache_dir']).info.features\n"
        "from pyarrow import parquet\n"
        "file = Features.from_arrow_schema(parquet.read_schema(path + '/data/episodes.parquet'))\n"
        f"other = load_dataset({str(tmp_path / 'of the same name' / 'set')!r}, 'calls', **where)\n"
        "print(json.dumps([one[0]['strict'], one[0]['messages'][2]['content'], len(two),\n"
        "    len(other),\n"
        "    one.features == card == file, one.features['started_at'].dtype]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "home")},
    )
    assert done.returncode == 0, done.stderr
    assert "malformed" not in done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found == [True, '"Oslo"', 16, 12, True, "timestamp[ms, tz=UTC]"]


@pytest.mark.heavy
def test_inspect_reads_the_log_as_it_was_meant(eval_log: Path) -> None:
    from inspect_ai.log import list_eval_logs, read_eval_log

    (info,) = list_eval_logs(str(eval_log.parent))
    assert info.task == "toolhop-mandatory"
    log = read_eval_log(eval_log)
    assert (log.status, log.eval.model, log.error) == ("success", "none/someone", None)
    assert log.eval.dataset.sample_ids == [RIGHT, WRONG, ERRORED, LIMIT]
    assert log.results is not None
    assert (log.results.total_samples, log.results.completed_samples) == (4, 3)
    values = {one.name: one.metrics["accuracy"].value for one in log.results.scores}
    assert values == {"strict": pytest.approx(1 / 3), "official": pytest.approx(1 / 3)}
    assert log.samples is not None
    right, wrong, errored, limit = log.samples
    assert right.scores is not None
    assert wrong.scores is not None
    assert (right.scores["strict"].value, right.scores["strict"].answer) == ("C", "16")
    assert (wrong.scores["strict"].value, wrong.scores["strict"].answer) == ("I", "4")
    assert right.target == "16"
    assert errored.scores is None
    assert errored.error is not None
    assert errored.error.message == "the endpoint was gone"
    assert limit.limit is not None
    assert limit.limit.type == "turn"
    usage = right.model_usage["someone"]
    assert (usage.input_tokens, usage.input_tokens_cache_read, usage.output_tokens) == (260, 40, 30)
    assert (usage.total_tokens, usage.total_cost) == (330, 0.75)
    assert log.stats.model_usage["someone"].output_tokens == 20 * 4 + 10 * 2


@pytest.mark.heavy
def test_inspect_has_the_calls_in_their_messages(eval_log: Path) -> None:
    from inspect_ai.log import read_eval_log
    from inspect_ai.model import ChatMessageAssistant, ChatMessageTool

    samples = read_eval_log(eval_log).samples
    assert samples is not None
    roles = [message.role for message in samples[0].messages]
    assert roles == ["user", "assistant", *["tool"] * 4, "assistant"]
    asked = samples[0].messages[1]
    assert isinstance(asked, ChatMessageAssistant)
    assert asked.tool_calls is not None
    good, bad, unknown, _ = asked.tool_calls
    assert (good.function, good.arguments, good.parse_error) == (
        "capital",
        {"country": "Norway"},
        None,
    )
    assert (bad.arguments, "{not json" in str(bad.parse_error)) == ({}, True)
    assert unknown.function == "nothing"
    told = [one for one in samples[0].messages if isinstance(one, ChatMessageTool)]
    assert [one.tool_call_id for one in told] == ["a", "b", "c", "d"]
    assert [one.error.type if one.error else None for one in told] == [
        None,
        "parsing",
        "parsing",
        "unknown",
    ]
    assert samples[3].output.stop_reason == "tool_calls"


@pytest.mark.heavy
def test_inspect_has_the_transcript(eval_log: Path) -> None:
    from inspect_ai.event import ModelEvent, ScoreEvent, ToolEvent
    from inspect_ai.log import read_eval_log, resolve_sample_attachments

    samples = read_eval_log(eval_log).samples
    assert samples is not None
    right, _, errored, limit = (resolve_sample_attachments(one, "full") for one in samples)
    kinds = [event.event for event in right.events]
    assert kinds == ["sample_init", "model", *["tool"] * 4, "model", "score", "score"]
    models = [event for event in right.events if isinstance(event, ModelEvent)]
    assert [[one.role for one in model.input] for model in models] == [
        ["user"],
        ["user", "assistant", *["tool"] * 4],
    ]
    assert [model.output.completion for model in models] == ["First.", "<answer>16</answer>"]
    assert models[0].output.usage is not None
    assert models[0].output.usage.input_tokens_cache_read == 40
    assert [tool.name for tool in models[0].tools] == ["capital", "length", "power"]
    tools = [event for event in right.events if isinstance(event, ToolEvent)]
    assert [(tool.id, tool.function) for tool in tools] == [
        ("a", "capital"),
        ("b", "length"),
        ("c", "nothing"),
        ("d", "capital"),
    ]
    told = [message for message in right.messages if message.role == "tool"]
    assert [(tool.result, tool.message_id) for tool in tools] == [(m.text, m.id) for m in told]
    assert [tool.error.type if tool.error else None for tool in tools] == [
        None,
        "parsing",
        "parsing",
        "unknown",
    ]
    scores = [event for event in right.events if isinstance(event, ScoreEvent)]
    assert right.scores is not None
    assert {one.scorer: one.score for one in scores} == right.scores
    times = [event.timestamp for event in right.events]
    assert times == sorted(times)
    assert times[0].isoformat() == right.started_at
    assert [event.event for event in errored.events][-1] == "error"
    assert [event.event for event in limit.events][-3:] == ["sample_limit", "score", "score"]


@pytest.mark.heavy
def test_a_log_is_as_inspect_itself_would_write_it(eval_log: Path, tmp_path: Path) -> None:
    from inspect_ai.log import (
        read_eval_log,
        read_eval_log_sample,
        read_eval_log_sample_summaries,
        write_eval_log,
    )

    ours, theirs = read_eval_log(eval_log), tmp_path / "theirs.eval"
    write_eval_log(ours.model_copy(deep=True), str(theirs))
    again = read_eval_log(theirs)
    for log in (ours, again):
        log.location = ""
        log.etag = None
    assert ours.model_dump() == again.model_dump()
    with zipfile.ZipFile(eval_log) as one, zipfile.ZipFile(theirs) as other:
        journal = "_journal/summaries/1.json"  # of a log that is being played
        assert {*one.namelist()} == {*other.namelist()} - {journal}
        for name in one.namelist():
            assert json.loads(one.read(name)) == json.loads(other.read(name)), name
    found = read_eval_log_sample_summaries(eval_log)
    assert [one.id for one in found] == [RIGHT, WRONG, ERRORED, LIMIT]
    header = read_eval_log(eval_log, header_only=True)
    assert (header.samples, header.results) == (None, ours.results)
    assert read_eval_log_sample(eval_log, WRONG, 1).target == "16"


def test_events_follow_changes_and_repeated_ids() -> None:
    calls = [replace(called("born", "1815"), raw=RawCall("x", "born", text)) for text in "{}"]
    events: tuple[Event, ...] = (
        started(),
        Replied(1, Reply(calls=tuple(call.raw for call in calls), wall_s=2.0)),
        *calls,
        ToolsChanged(("minus",)),
        Replied(2, Reply("<answer>36</answer>", wall_s=1.0)),
        Ended(Ending.ANSWERED, 4.0),
    )
    (log,) = documents("run", {}, [entry(Trace(events))])
    (made,) = log["samples"]
    _, asked, one, other, info, last, *_ = made["events"]
    assert [tool["name"] for tool in asked["tools"]] == ["born", "minus"]
    assert one["message_id"] != other["message_id"]
    assert info["data"] == {"tools": ["minus"]}
    assert [tool["name"] for tool in last["tools"]] == ["minus"]
    begun = [event["working_start"] for event in (asked, one, other, last)]
    assert begun == [0.0, 2.0, 2.25, 2.5]


@pytest.mark.parametrize("status", ["started", "success", "error", "cancelled"])
@pytest.mark.usefixtures("inspect_ai")
def test_statuses_are_inspects(status: str, store: RunStore) -> None:
    from inspect_ai.log import EvalLog

    facts = {**store.manifest, "status": status, "fault": "full disk" if status == "error" else ""}
    (log,) = documents("run", facts, exported([store]))
    del log["name"]
    read = EvalLog.model_validate(log)
    assert read.status == status
    assert (read.error.message if read.error else None) == (facts["fault"] or None)


def test_a_log_a_mode_and_errored_attempts_as_retries() -> None:
    whole = finished(attempt=1, episode="e0").events[:-1]
    taken = [
        entry(Trace((*whole, Ended(Ending.ERRORED, 1.0, "gone"))), counts=False),
        entry(finished(attempt=2)),
        entry(finished(mode="direct", episode="e2")),
        entry(Trace((started(item="i2", episode="e3"),)), counts=False),
    ]
    mandatory, direct = documents("run", {"status": "cancelled"}, taken)
    assert (mandatory["name"] == direct["name"], direct["eval"]["task"]) == (
        False,
        "toolhop-direct",
    )
    one, cut = mandatory["samples"]
    assert [error["message"] for error in one["error_retries"]] == ["gone"]
    assert one["scores"]["strict"]["value"] == "C"
    assert "cut off" in cut["error"]["message"]
    assert mandatory["results"]["completed_samples"] == 1


def test_a_judge_marks_a_log_of_another_benchmark(graded: Benchmark) -> None:
    traces = [answered("Oslo", episode="e1"), answered("Is Oslo", episode="e2", item="i2")]
    said = marked((traces[0], 7.5))
    (log,) = documents(
        "run", {}, [Exported("run", t, said.attempt(t), counts=True) for t in traces]
    )
    names = [one["name"] for one in log["results"]["scores"]]
    assert names == [measure.name for measure in graded.answer_measures]
    assert log["eval"]["task"] == "graded-plain"
    one, other = log["samples"]
    assert {name: score["value"] for name, score in one["scores"].items()} == {
        "mark": 7.5,
        "strict": "C",
        "official": "C",
    }
    assert {name: score["value"] for name, score in other["scores"].items()} == {
        "strict": "I",
        "official": "C",
    }
    mark, strict, _ = log["results"]["scores"]
    assert mark["metrics"]["mean"]["value"] == 7.5
    assert strict["metrics"]["accuracy"]["value"] == 0.5


def chats(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_chats_are_the_right_episodes_with_their_tools(store: RunStore, tmp_path: Path) -> None:
    out = tmp_path / "chats.jsonl"
    assert command(store.folder, "--to", "chat", "--out", out)[0] == 0
    (chat,) = chats(out)
    assert set(chat) == {"item", "perturbation", "tool_order", "split", "messages", "tools"}
    names = [tool["function"]["name"] for tool in chat["tools"]]
    assert sorted(names) == ["capital", "length", "power"]
    assert (chat["item"], chat["perturbation"]) == (store.items().items[0].id, "as-is")
    user, asked, *told, answer = chat["messages"]
    assert user["role"] == "user"
    assert asked["tool_calls"][0] == {
        "id": "a",
        "type": "function",
        "function": {"name": "capital", "arguments": {"country": "Norway"}},
    }
    assert [one["tool_call_id"] for one in told] == ["a", "b", "c", "d"]
    assert answer == {"role": "assistant", "content": "<answer>16</answer>"}
    command(store.folder, "--to", "chat", "--out", out, "--include-wrong", "--overwrite")
    assert len(chats(out)) == 3


def test_chats_of_the_text_call_format_are_what_the_model_saw(tmp_path: Path) -> None:
    store = recorded(tmp_path, ITEMS[:1], call_format=CallFormat.TEXT, sandbox=inline_sandbox())
    command(store.folder, "--to", "chat", "--out", tmp_path / "c.jsonl")
    (chat,) = chats(tmp_path / "c.jsonl")
    assert set(chat) == {"item", "perturbation", "tool_order", "split", "messages"}
    assert {message["role"] for message in chat["messages"]} == {"user", "assistant"}
    assert chat["messages"][2]["content"] == 'Observation: "Oslo"'


def test_chats_list_tools_in_another_order_unless_told_otherwise(tmp_path: Path) -> None:
    for call_format in CallFormat:
        folder = tmp_path / call_format.value
        items = [small_item(f"i{number}") for number in range(8)]
        run = recorded(folder, items, call_format=call_format)
        listed = {}
        for order in ("shuffled", "played"):
            out = folder / f"{order}.jsonl"
            assert command(run.folder, "--to", "chat", "--out", out, "--tool-order", order)[0] == 0
            listed[order] = [_listed(chat) for chat in chats(out)]
            assert {chat["tool_order"] for chat in chats(out)} <= {order, "published"}
        hop_order = ["capital", "length", "power"]
        assert listed["played"] == [hop_order] * 8
        assert len({tuple(names) for names in listed["shuffled"]}) > 2
        assert all(sorted(names) == hop_order for names in listed["shuffled"])


def _listed(chat: dict[str, Any]) -> list[str]:
    """The names of a chat's tools, beside its messages or in its prompt."""
    if "tools" in chat:
        return [tool["function"]["name"] for tool in chat["tools"]]
    lines = chat["messages"][0]["content"].splitlines()
    return [json.loads(line)["name"] for line in lines if line.startswith('{"name"')]


def test_chats_write_arguments_as_objects_or_as_texts(store: RunStore, tmp_path: Path) -> None:
    def written(*flags: str) -> list[Any]:
        command(store.folder, "--to", "chat", "--out", tmp_path / "c", "--overwrite", *flags)
        return [
            call["function"]["arguments"]
            for chat in chats(tmp_path / "c")
            for message in chat["messages"]
            for call in message.get("tool_calls", ())
        ]

    objects, texts = written(), written("--arguments", "string")
    assert objects
    assert all(isinstance(one, dict) for one in objects)
    assert "unparsed" in {key for one in objects for key in one}
    for one, text in zip(objects, texts, strict=True):
        assert text == one["unparsed"] if "unparsed" in one else json.loads(text) == one


def test_an_item_is_in_one_split_whatever_is_done_to_it() -> None:
    found = [split(f"item-{number}", None) for number in range(500)]
    assert 25 < found.count("validation") < 80
    assert found == [split(f"item-{number}", None) for number in range(500)]
    marked = replace(small_item(), extra={"split": "test"})
    assert split(marked.id, marked) == "test"


def test_siblings_and_twins_are_in_one_split() -> None:
    made = [
        replace(small_item(f"{name}-{kind}"), extra={"family": name})
        for name in map(str, range(40))
        for kind in ("item", "sibling", "twin")
    ]
    twins = [
        labelled(small_item(), Label(Scenario.MISSING_TOOL, solvable=False, family=name), name=twin)
        for name in map(str, range(40))
        for twin in (f"{name}-missing-tool", f"{name}-plain")
    ]
    sets = [f"{part}-{number}" for number in range(40) for part in ("solvable", "unsolvable")]
    told = [replace(small_item(n), gold={"family": n.rpartition("-")[2]}) for n in sets]
    for items in (made, twins, told):
        sides = defaultdict(set)
        for item in items:
            sides[family_of(item)].add(split(item.id, item))
        assert {len(side) for side in sides.values()} == {1}
        assert {one for side in sides.values() for one in side} == {"train", "validation"}
    # Without the items, as the trace has it.
    assert split("7", None) == split(twins[14].id, twins[14]) == split(twins[15].id, twins[15])


def test_missing_extras_are_exit_code_3_with_the_command_and_a_package_adds_a_format(
    store: RunStore, tmp_path: Path
) -> None:
    page = (ROOT / "docs" / "export.md").read_text(encoding="utf-8")
    documented = page.split("```python\n")[1].split("```")[0]
    own = tmp_path / "site" / "my_package.py"
    info = own.with_name("my_package-1.dist-info")
    info.mkdir(parents=True)
    own.write_text(documented)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my_package\nVersion: 1\n")
    names = page.split("```toml\n")[1].split("```")[0]
    name, target = re.findall(r'^(\w+) = "(.+)"', names, re.MULTILINE)[0]
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {target}\n")
    tables, inspect, mine, again = without_extras(
        own.parent,
        *((store.folder, "--to", kind, "--out", tmp_path / kind) for kind in ("hf", "inspect")),
        (store.folder, "--to", name, "--out", tmp_path / "mine"),
        (store.folder, "--to", name, "--out", tmp_path / "mine"),
    )
    assert (again[0], "pass --overwrite" in again[1]) == (2, True)
    assert (tables[0], install_command("export") in tables[1]) == (3, True)
    assert (inspect[0], install_command("inspect") in inspect[1]) == (3, True)
    assert not (tmp_path / "hf").exists()
    assert mine == (0, f"{tmp_path / 'mine' / 'answers.tsv'}\n1 files\n")
    lines = (tmp_path / "mine" / "answers.tsv").read_text().splitlines()
    assert lines == [f"{item.id}\tmandatory\t{item.id == RIGHT}" for item in ITEMS]


def test_what_is_there_is_not_replaced_unasked(store: RunStore, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    code, _, err = command(store.folder, "--to", "hf", "--out", tmp_path)
    assert (code, "--overwrite" in err) == (2, True)
    assert (tmp_path / "README.md").read_text() == "mine"


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--to", "parquet", "--out", "/dev/null/x"), "/dev/null/x"),
        (("--to", "chat", "--out", "/dev/null/x"), "give another --out"),
        (("--to", "parquet", "--out", "x", "--include-wrong"), "--to chat"),
        (("--to", "csv", "--out", "x"), "csv"),
    ],
)
def test_bad_input_is_one_message(flags: tuple[str, ...], told: str, store: RunStore) -> None:
    code, _, err = command(store.folder, *flags)
    assert code == 2
    assert told in err


@pytest.mark.usefixtures("pyarrow")
def test_an_export_that_breaks_leaves_nothing_and_keeps_the_old(tmp_path: Path) -> None:
    one = entry(finished())
    write_dataset([one], tmp_path, [TOOLHOP], ["run"], [])
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    def broken() -> Iterator[Exported]:
        yield one
        raise RuntimeError("a trace cannot be read")

    with pytest.raises(RuntimeError):
        write_dataset(broken(), tmp_path, [TOOLHOP], ["run"], [])
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert before == after
    with pytest.raises(ExportError), atomic(tmp_path / "README.md" / "x") as path:
        path.write_text("")


def test_kinds_of_columns_are_those_that_are_used() -> None:
    used = [column.kind for column in episode_columns([TOOLHOP])]
    used += [column.kind for column in CALLS]
    assert set(used) == set(ColumnKind)
