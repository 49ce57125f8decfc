"""Runs that are stopped and resumed: by limits, by signals, in samples; what is refused."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agents.command import toolhop
from tests.agents.items import small_item
from tests.agents.test_runs import environment, flags_for, run, started
from toolhop_agents.models.loopback import FaultPlan, LoopbackServer, Request, RequestFault
from toolhop_agents.scripted.choose import choose
from toolhop_agents.scripted.responder import item_of, responder
from toolhop_env.messages import AssistantMessage, Reply, Usage
from toolhop_env.runs.store import RunStore
from toolhop_env.score import Score
from toolhop_env.trace import Ending
from toolhop_tools.benchmarks.toolhop.reader import to_rows
from toolhop_tools.model import DataSet

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("inline_module")]

SAMPLES = Path(__file__).parent / "samples"
USAGE = Usage(100, 10)
PRICED = ("--price", "10,100")  # 0.002 USD a reply


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> DataSet:
    """Eight small items: four replies and three calls each."""
    items = tuple(small_item(f"small-{number}") for number in range(1, 9))
    path = tmp_path_factory.mktemp("data") / "items.json"
    dataset = DataSet("small", str(path), items)
    path.write_text(json.dumps(to_rows(dataset)), encoding="utf-8")
    return dataset


class Talker:
    """The oracle, with a usage, and a record of what it was asked."""

    def __init__(self, data: DataSet) -> None:
        self._data, self._answer = data, responder(data, choose("oracle"), 0)
        self.asked: list[tuple[str, int]] = []

    def __call__(self, request: Request) -> Reply:
        spoken = sum(isinstance(message, AssistantMessage) for message in request.messages)
        self.asked.append((item_of(self._data, request.messages).id, spoken))
        reply = self._answer(request)
        return Reply(reply.content, reply.calls, USAGE)


def resume(folder: str | Path, *flags: str, **env: str) -> tuple[int, dict[str, Any]]:
    done = toolhop("run", "--resume", str(folder), "--json", *flags, env=environment(**env))
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout) if done.stdout else {"said": done.stderr}


def asked(server: LoopbackServer) -> tuple[str, ...]:
    return ("--model", "openai/x", "--base-url", server.base_url)


def right(answer: dict[str, Any]) -> float:
    (summary,) = answer["summaries"]
    value: float = summary["strict"]["value"]
    return value


@pytest.mark.parametrize(
    ("flags", "limit", "least", "most"),
    [
        (("--run-token-limit", "900"), "run_token_limit", 9, 10),
        (("--run-call-limit", "7"), "run_call_limit", 8, 12),
        ((*PRICED, "--run-cost-limit", "0.019"), "run_cost_limit", 10, 11),
    ],
)
def test_a_limit_stops_the_run_cleanly_and_it_can_be_gone_on_with(
    flags: Sequence[str], limit: str, least: int, most: int, data: DataSet, tmp_path: Path
) -> None:
    talker = Talker(data)
    with LoopbackServer(talker) as server:
        code, answer = run(data, tmp_path, *asked(server), "--max-samples", "2", *flags)
        assert (code, answer["status"], answer["stopped_by"]) == (1, "limited", limit)
        assert f"--{limit.replace('_', '-')} is reached" in answer["fault"]
        assert least <= len(talker.asked) <= most
        store = RunStore.open(Path(answer["run"]))
        assert store.manifest["status"] == "limited"
        assert store.manifest["spent"]["replies"] == len(talker.asked)
        again, told = resume(store.folder)
        assert (again, told["status"], told["stopped_by"]) == (1, "limited", limit)
        assert len(talker.asked) <= most
        code, answer = resume(store.folder, flags[-2], "1000000")
    assert (code, answer["status"], right(answer)) == (0, "success", 1.0)
    assert set(Counter(talker.asked).values()) == {1}
    assert len(talker.asked) == 32
    assert answer["spent"]["replies"] == 32
    assert answer["spent"]["input_tokens"] == 3200
    sessions = store.manifest["sessions"]
    assert [one["status"] for one in sessions] == ["limited", "limited", "success"]
    assert list(sessions[2]["changed"]) == [limit]


def test_the_time_of_a_session_can_be_limited(data: DataSet, tmp_path: Path) -> None:
    answers = responder(data, choose("oracle"), 0)

    def slow(request: Request) -> Reply:
        time.sleep(0.1)
        return answers(request)

    with LoopbackServer(slow) as server:
        flags = (*asked(server), "--max-samples", "1", "--run-time-limit", "0.5")
        code, answer = run(data, tmp_path, *flags)
        assert (code, answer["stopped_by"]) == (1, "run_time_limit")
        code, answer = resume(answer["run"], "--run-time-limit", "60")
    assert (code, right(answer)) == (0, 1.0)


def test_an_episode_ends_at_its_limit_of_costs(data: DataSet, tmp_path: Path) -> None:
    with LoopbackServer(Talker(data)) as server:
        flags = (*asked(server), *PRICED, "--cost-limit", "0.004", "--limit", "2")
        code, answer = run(data, tmp_path, *flags)
    assert code == 0
    (summary,) = answer["summaries"]
    assert summary["endings"] == {Ending.OUT_OF_COST.value: 2}
    assert summary["turns"]["value"] == 2
    assert summary["cost_usd"] == pytest.approx(0.008)


def test_a_limit_of_costs_without_a_price_is_refused_before_anything_is_asked(
    data: DataSet, tmp_path: Path
) -> None:
    talker = Talker(data)
    with LoopbackServer(talker) as server:
        for flag in ("--cost-limit", "--run-cost-limit"):
            code, answer = run(data, tmp_path, *asked(server), flag, "1")
            assert code == 2
            assert "no price is known for openai/x" in answer["said"]
            assert "pass --price" in answer["said"]
        code, answer = run(data, tmp_path, *asked(server), "--price", "cheap")
        assert code == 2
        assert "the price is 'cheap'" in answer["said"]
    assert not talker.asked
    assert not list(tmp_path.iterdir())


def test_replies_without_usage_stop_a_run_whose_costs_are_limited(
    data: DataSet, tmp_path: Path
) -> None:
    with LoopbackServer(lambda request: replace(Talker(data)(request), usage=Usage())) as server:
        flags = (*asked(server), *PRICED, "--run-cost-limit", "1", "--max-samples", "1")
        code, answer = run(data, tmp_path, *flags)
        assert server.requests == 1
    assert (code, answer["status"]) == (1, "limited")
    assert "is not known" in answer["fault"]


def test_errored_episodes_are_played_again_and_mistakes_stay(data: DataSet, tmp_path: Path) -> None:
    """The server breaks after the second reply of each episode; the first call was a mistake."""
    oracle = Talker(data)
    broken = True

    def answer(request: Request) -> Reply:
        spoken = sum(isinstance(message, AssistantMessage) for message in request.messages)
        if broken and spoken >= 2:
            raise RuntimeError("out of order")
        reply = oracle(request)
        if spoken == 0:
            bad = [call.__class__(call.id, call.name, "{") for call in reply.calls]
            return Reply(reply.content, tuple(bad), USAGE)
        return reply

    with LoopbackServer(answer) as server:
        flags = (*asked(server), "--limit", "3", "--retry-on-error", "1", "--max-retries", "0")
        code, told = run(data, tmp_path, *flags)
        assert (code, told["summaries"][0]["errored"]) == (1, 3)
        # The second attempt went on from the first: it asked for no reply again.
        assert Counter(oracle.asked) == {(f"small-{n}", k): 1 for n in (1, 2, 3) for k in (0, 1)}
        broken = False
        code, told = resume(told["run"])
    assert code == 0
    (summary,) = told["summaries"]
    assert (summary["errored"], summary["query_error"]["value"]) == (0, 1.0)
    assert summary["errors"] == {"not_json": 3}
    assert set(Counter(oracle.asked).values()) == {1}
    store = RunStore.open(Path(told["run"]))
    attempts = [one for one in store.attempts() if one.item == "small-1"]
    assert [one.attempt for one in attempts] == [1, 2, 3]
    assert [isinstance(one.verdict, Score) for one in attempts] == [False, False, True]
    assert [one.prefix_turns for one in attempts] == [0, 2, 2]
    assert sum(one.spent.replies for one in store.attempts()) == len(oracle.asked)
    shown = toolhop("show", told["run"]).stdout
    assert all(f"small-1_mandatory_e1_a{number}" in shown for number in (1, 2, 3))


def test_an_interrupted_run_goes_on_where_it_was(data: DataSet, tmp_path: Path) -> None:
    talker = Talker(data)

    def slow(request: Request) -> Reply:
        time.sleep(0.05)
        return talker(request)

    with LoopbackServer(slow) as server:
        process = started(data, tmp_path, *asked(server), "--max-samples", "2")
        deadline = time.monotonic() + 30
        while len(talker.asked) < 9 and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        assert process.returncode == 130
        folder = json.loads(out)["run"]
        assert f"toolhop run --resume {folder}" in err
        code, answer = resume(folder, "--max-samples", "4", "--log-dir", "elsewhere")
    assert (code, right(answer), answer["run"]) == (0, 1.0, folder)
    twice = [turn for turn, count in Counter(talker.asked).items() if count > 1]
    assert len(twice) <= 2  # those that were under way


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--seed", "3"), "--seed: it has 0, given is 3"),
        (("--agent", "do-nothing"), "--agent: it has oracle, given is do-nothing"),
        (("--model", "openai/x"), "--model: it has none, given is openai/x"),
        (("--mode", "all"), "--mode: it has mandatory"),
        (("--turn-limit", "3"), "--turn-limit: it has 9, given is 3"),
        (("--max-connections", "0"), "--max-connections"),
    ],
)
def test_other_settings_are_refused_with_what_differs(
    flags: Sequence[str], told: str, data: DataSet, tmp_path: Path
) -> None:
    _, answer = run(data, tmp_path, "--limit", "1")
    before = (Path(answer["run"]) / "manifest.json").read_bytes()
    code, said = resume(answer["run"], *flags)
    assert code == 2
    assert told in said["said"]
    assert (Path(answer["run"]) / "manifest.json").read_bytes() == before


def test_settings_from_the_environment_count_as_given(data: DataSet, tmp_path: Path) -> None:
    _, answer = run(data, tmp_path, "--limit", "1")
    code, said = resume(answer["run"], TOOLHOP_RUN_SEED="9")
    assert code == 2
    assert "--seed: it has 0, given is 9" in said["said"]
    code, _ = resume(answer["run"], "--seed", "0", TOOLHOP_RUN_MAX_SAMPLES="3")
    assert code == 0


def test_a_run_stands_alone_and_its_items_may_not_change(data: DataSet, tmp_path: Path) -> None:
    own = tmp_path / "items.json"
    shutil.copy(data.origin, own)
    copy = DataSet("own", str(own), data.items)
    _, answer = run(copy, tmp_path / "logs", "--estimate", "2")
    own.unlink()
    folder = Path(answer["run"])
    code, answer = resume(folder)
    assert (code, right(answer), answer["summaries"][0]["episodes"]) == (0, 1.0, 8)
    lines = (folder / "items.jsonl").read_text().splitlines(keepends=True)
    (folder / "items.jsonl").write_text("".join(lines[1:]))
    code, said = resume(folder)
    assert code == 2
    assert "are not those that the run began with" in said["said"]
    (folder / "items.jsonl").unlink()
    code, said = resume(folder)
    assert code == 2
    assert "has no items.jsonl" in said["said"]


def test_a_run_of_format_1_is_read_and_gone_on_with(tmp_path: Path) -> None:
    folder = tmp_path / "old"
    shutil.copytree(SAMPLES / "run_format_1", folder)
    victim = folder / "episodes" / "small-2_mandatory_e1_a1.jsonl"
    lines = victim.read_bytes().splitlines(keepends=True)
    victim.write_bytes(b"".join(lines[:4]) + lines[4][:30])
    (folder / "results.jsonl").unlink(missing_ok=True)
    code, answer = resume(folder)
    assert (code, answer["status"]) == (0, "success")
    scores = {
        line["item"]: line["score"]
        for line in map(
            json.loads, (SAMPLES / "run_format_1.scores.jsonl").read_text().splitlines()
        )
    }
    for one in RunStore.open(folder).results():
        assert isinstance(one.verdict, Score)
        then = scores[one.item]
        for name in ("official", "strict"):
            assert one.verdict.value(name) == float(bool(then[name])), (one.item, name)
        for name in ("turns", "calls", "errors"):
            assert getattr(one.verdict.conduct, name) == then[name], (one.item, name)
        assert one.verdict.values["hops_solved"] == (then["hops_solved"], then["hops"])
    manifest = RunStore.open(folder).manifest
    assert manifest["format"] == 3
    assert [one["status"] for one in manifest["sessions"]] == ["success", "success"]


def test_a_newer_manifest_is_refused_by_its_number(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    shutil.copytree(SAMPLES / "run_format_1", folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "format": 9}))
    code, said = resume(folder)
    assert code == 2
    assert "the manifest has format 9, this version reads up to 3; upgrade" in said["said"]


def test_what_is_played_already_is_not_played_again(data: DataSet, tmp_path: Path) -> None:
    talker = Talker(data)
    with LoopbackServer(talker) as server:
        _, answer = run(data, tmp_path, *asked(server))
        count = len(talker.asked)
        code, again = resume(answer["run"])
    assert (code, again["summaries"]) == (0, answer["summaries"])
    assert len(talker.asked) == count


def test_a_dry_run_says_what_would_be_played_and_leaves_nothing(
    data: DataSet, tmp_path: Path
) -> None:
    flags = ("--dry-run", "--mode", "mandatory,direct", "--epochs", "3")
    code, answer = run(data, tmp_path / "logs", *flags, "--model", "openai/none")
    assert code == 0
    assert answer["episodes"] == 48
    assert answer["left"] == {"mandatory": 24, "direct": 24}
    assert answer["items"] == [f"small-{number}" for number in range(1, 9)]
    assert not (tmp_path / "logs").exists()
    told = toolhop(*flags_for(data, tmp_path / "logs", "--dry-run")).stdout
    assert "episodes: 8;" in told
    assert "Nothing was asked" in told


def test_an_estimate_is_part_of_the_run_and_paid_for_once(data: DataSet, tmp_path: Path) -> None:
    talker = Talker(data)
    with LoopbackServer(talker) as server:
        flags = (*asked(server), *PRICED, "--epochs", "2", "--estimate", "3")
        code, answer = run(data, tmp_path, *flags)
        assert (code, answer["status"]) == (0, "sampled")
        assert len(talker.asked) == 12
        left = answer["left"]
        assert (left["items"], left["episodes"]) == (3, 13)
        for name, each in (("requests", 4), ("input_tokens", 400), ("output_tokens", 40)):
            assert left[name] == {"expected": 13 * each, "low": 13 * each, "high": 13 * each}
        assert left["cost_usd"]["expected"] == pytest.approx(13 * 0.008)
        assert left["seconds"]["low"] <= left["seconds"]["expected"] <= left["seconds"]["high"]
        code, answer = resume(answer["run"])
    assert (code, answer["status"], answer["summaries"][0]["episodes"]) == (0, "success", 16)
    assert len(talker.asked) == 16 * 4
    assert answer["spent"]["cost_usd"] == pytest.approx(16 * 0.008)


def test_an_estimate_of_nothing_says_so(data: DataSet, tmp_path: Path) -> None:
    flags = ("--data", data.origin, "--log-dir", str(tmp_path), "--sandbox", "process")
    done = toolhop("run", "--agent", "do-nothing", *flags, "--limit", "2", "--estimate")
    assert done.returncode == 0
    assert "No episode is left to play" in done.stdout
    assert "estimated from" not in done.stdout


def test_a_sample_that_only_met_faults_says_so(data: DataSet, tmp_path: Path) -> None:
    faults = FaultPlan(1.0, (RequestFault.BAD_REQUEST,), consecutive_max=10**6)
    with LoopbackServer(Talker(data), faults=faults) as server:
        code, answer = run(data, tmp_path, *asked(server), "--estimate", "2")
    assert code == 1
    assert "none of the items played has a score" in answer["said"]


def test_broken_items_are_left_out_when_told_to(data: DataSet, tmp_path: Path) -> None:
    rows = json.loads(Path(data.origin).read_text())
    rows[2]["functions"] = []
    path = tmp_path / "broken.json"
    path.write_text(json.dumps(rows))
    broken = DataSet("broken", str(path), data.items)
    code, said = run(broken, tmp_path / "logs")
    assert code == 2
    assert "functions" in said["said"]
    done = toolhop(*flags_for(broken, tmp_path / "logs", "--json", "--skip-broken"))
    assert done.returncode == 0
    assert "left out, as they cannot be used: 1 item" in done.stderr
    answer = json.loads(done.stdout)
    assert answer["summaries"][0]["episodes"] == 7
    (left_out,) = RunStore.open(Path(answer["run"])).manifest["data"]["left_out"]
    assert "functions" in left_out["why"]


def test_a_cached_reply_costs_nothing_and_is_told_everywhere(data: DataSet, tmp_path: Path) -> None:
    talker = Talker(data)
    flags = (*PRICED, "--cache", str(tmp_path / "cache"), "--limit", "3")
    with LoopbackServer(talker) as server:
        code, first = run(data, tmp_path / "logs", *asked(server), *flags)
        assert (code, len(talker.asked)) == (0, 12)
        assert first["spent"]["cost_usd"] == pytest.approx(12 * 0.002)
        _, second = run(data, tmp_path / "logs", *asked(server), *flags)
        assert len(talker.asked) == 12
        _, other = run(data, tmp_path / "logs", *asked(server), *flags, "--seed", "1")
        assert len(talker.asked) == 24
    assert other["spent"]["cached_replies"] == 0
    one, two = first["summaries"][0], second["summaries"][0]
    assert two["strict"] == one["strict"]
    assert two["turns"] == one["turns"]
    assert (two["input_tokens"], two["output_tokens"], two["cost_usd"]) == (0, 0, 0)
    assert (two["cached_replies"], two["saved_tokens"]) == (12, 12 * 110)
    assert two["saved_usd"] == pytest.approx(12 * 0.002)
    store = RunStore.open(Path(second["run"]))
    assert store.manifest["spent"]["cached_replies"] == 12
    assert store.manifest["spent"]["requests"] == 0
    assert {r.reply.origin.value for t in store.traces() for r in t.replies} == {"cached"}
    table = toolhop("score", second["run"]).stdout
    assert "12 replies came from the response cache: 1,320 tokens and $0.0240" in table


def test_a_cache_that_cannot_be_written_is_told_at_once(data: DataSet, tmp_path: Path) -> None:
    with LoopbackServer(Talker(data)) as server:
        code, said = run(data, tmp_path, *asked(server), "--cache", "/dev/null/x")
    assert code == 2
    assert "pass another --cache" in said["said"]


def test_refusals_are_told_in_the_manifest_and_errored_nothing(
    data: DataSet, tmp_path: Path
) -> None:
    faults = FaultPlan(0.3, (RequestFault.RATE_LIMITED,), seed=4)
    with LoopbackServer(Talker(data), faults=faults) as server:
        code, answer = run(data, tmp_path, *asked(server), "--max-connections", "4")
        refused = server.counts[RequestFault.RATE_LIMITED]
    assert (code, right(answer)) == (0, 1.0)
    (session,) = RunStore.open(Path(answer["run"])).manifest["sessions"]
    assert session["connections"]["most"] == 4
    assert session["connections"]["lowest"] < 4
    assert session["connections"]["refused"] == refused > 0
    assert answer["spent"]["requests"] == 32 + refused


def test_every_epoch_is_asked_with_a_seed_of_its_own(data: DataSet, tmp_path: Path) -> None:
    talker = Talker(data)
    seeds: list[object] = []

    def answer(request: Request) -> Reply:
        seeds.append(request.body["seed"])
        return talker(request)

    with LoopbackServer(answer) as server:
        flags = ("--seed", "7", "--epochs", "3", "--limit", "1")
        code, _ = run(data, tmp_path, *asked(server), *flags)
    assert code == 0
    assert Counter(seeds) == {7: 4, 8: 4, 9: 4}


def test_two_processes_do_not_play_one_run(data: DataSet, tmp_path: Path) -> None:
    _, answer = run(data, tmp_path, "--estimate", "2")
    with RunStore.open(Path(answer["run"])).held():
        code, said = resume(answer["run"])
    assert code == 2
    assert "is being played by another process" in said["said"]
