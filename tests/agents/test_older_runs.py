"""Runs and caches that older versions made go on as if this one had made them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.agents.command import toolhop
from toolhop_agents.models.cache import RequestContext, ResponseCache
from toolhop_env.fork import first_failure, fork
from toolhop_env.levels import Level
from toolhop_env.runs.store import RunStore
from toolhop_env.setting import Setting, check_resumable
from toolhop_env.trace import Trace, from_lines

SAMPLES = Path(__file__).with_name("samples")
CACHE = SAMPLES / "cache_before_thoughts"


def told(*arguments: str) -> dict[str, Any]:
    done = toolhop(*arguments, "--json")
    assert done.returncode in {0, 1}, done.stderr  # 1 for a run that is not finished
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.fixture(params=[1, 2, 3, 4])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A run in an older format; those of formats 3 and 4 were stopped by a limit."""
    return shutil.copytree(SAMPLES / f"run_format_{request.param}", tmp_path / "run")


def finished(folder: Path) -> list[Trace]:
    return [trace for trace in RunStore.open(folder).traces() if trace.ended]


def indexed(folder: Path) -> list[dict[str, Any]]:
    """Attempts as the index of the run's folder tells them."""
    lines = map(json.loads, (folder / "results.jsonl").read_text().splitlines())
    return [line["attempt"] for line in lines if line.get("attempt", {}).get("ended")]


def test_it_is_scored_as_it_was(folder: Path) -> None:
    then = indexed(folder)
    told("score", str(folder))
    now = {one["episode"]: one for one in indexed(folder)}
    assert now.keys() == {trace.started.episode for trace in finished(folder)}
    for one in then:
        found = now[one["episode"]]["verdict"]
        before = one.get("verdict") or {}
        for part in ("conduct", "values"):
            was = before.get(part, {})
            assert {name: found[part][name] for name in was} == was


def test_its_calls_are_as_recorded_when_they_run_again(folder: Path) -> None:
    assert told("replay", str(folder), "--verify", "--sandbox", "process")["holds"]
    for trace in finished(folder):
        shown = toolhop("show", str(folder), trace.started.episode)
        assert shown.returncode == 0, shown.stderr


def test_it_goes_on(folder: Path) -> None:
    before = finished(folder)
    stopped = RunStore.open(folder).manifest["status"] == "limited"
    answer = told("run", "--resume", str(folder), "--run-call-limit", "100")
    assert answer["status"] == "success"
    after = {trace.started.episode: trace for trace in finished(folder)}
    assert [after[one.started.episode] for one in before] == before
    assert len(after) == len(before) + 2 * stopped
    for cut in (trace for trace in RunStore.open(folder).traces() if not trace.ended):
        (whole,) = [one for one in after.values() if one.started.attempt == 2]
        assert whole.replies[: len(cut.replies)] == cut.replies
        assert [(one.raw, one.feedback) for one in whole.calls[: len(cut.calls)]] == [
            (one.raw, one.feedback) for one in cut.calls
        ]


def test_it_is_forked(folder: Path) -> None:
    items = RunStore.open(folder).items().by_id
    failed = [trace for trace in finished(folder) if first_failure(trace)]
    assert failed
    for trace in failed:
        found = fork(trace, Level.MINIMAL)
        assert found is not None
        check_resumable(found.kept, items[trace.started.item], Setting(feedback=Level.MINIMAL))


def test_a_cache_made_before_thoughts_were_kept_answers() -> None:
    with (CACHE / "episode.jsonl").open("rb") as file:
        trace = from_lines(file)
    cache = ResponseCache(CACHE)
    asked = RequestContext("openai/served", "http://127.0.0.1:42873/v1", "native", 1, 0.0, 2048, 5)
    item = RunStore.open(SAMPLES / "run_format_4").items().by_id[trace.started.item]
    tools = [item.all_tools[name].schema for name in trace.started.tools]
    for replied in trace.replies:
        half = trace.before_turn(replied.turn)
        found = cache.get(asked.key(half.conversation(), tools))
        assert found is not None
        assert (found.content, found.calls) == (replied.reply.content, replied.reply.calls)
        assert found.thoughts is None
