"""Whole runs through the command, in the process sandbox, with real processes and servers."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.agents.command import toolhop
from tests.agents.items import small_item
from tests.launcher import SERVED, Launched
from tests.waiting import CEILING_S, until
from toolhop_agents.models.loopback import FaultPlan, LoopbackServer, Request, RequestFault
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.runs.signals import until_signal
from toolhop_agents.scripted.choose import choose
from toolhop_agents.scripted.responder import metered, responder
from toolhop_env.attempt import attempt_of
from toolhop_env.benchmarks import score
from toolhop_env.messages import Reply, Usage
from toolhop_env.runs.store import RunStore
from toolhop_env.score import Score
from toolhop_tools.benchmarks.toolhop.reader import to_rows
from toolhop_tools.load import load
from toolhop_tools.model import DataSet

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("inline_module")]

COUNT = 6


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> DataSet:
    """Six small items, also as a file in the official format."""
    items = tuple(small_item(f"small-{number}") for number in range(1, COUNT + 1))
    path = tmp_path_factory.mktemp("data") / "items.json"
    dataset = DataSet("small", str(path), items)
    path.write_text(json.dumps(to_rows(dataset)), encoding="utf-8")
    return dataset


def flags_for(data: DataSet, log_dir: Path, *flags: str) -> tuple[str, ...]:
    where = ("--data", data.origin, "--log-dir", str(log_dir), "--sandbox", "process")
    return ("run", *where, *flags)


def started(data: DataSet, log_dir: Path, *flags: str) -> Launched:
    """A run of a served model as a process of its own."""
    given = flags_for(data, log_dir, "--json", *flags)
    return Launched(*given, env=environment(), imports=SERVED)


def environment(**more: str) -> dict[str, str]:
    keep = {key: value for key, value in os.environ.items() if not key.startswith("TOOLHOP")}
    return {**keep, "OPENAI_API_KEY": "none", **more}


def run(data: DataSet, log_dir: Path, *flags: str, **env: str) -> tuple[int, dict[str, Any]]:
    done = toolhop(*flags_for(data, log_dir, "--json", *flags), env=environment(**env))
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout) if done.stdout else {"said": done.stderr}


def figures(answer: dict[str, Any]) -> dict[str, Any]:
    """What must be equal however the agent was reached."""
    (summary,) = answer["summaries"]
    names = ("strict", "official", "query_error", "instance_error", "hops_solved", "errors")
    return {name: summary[name] for name in (*names, "turns", "calls", "endings", "errored")}


def test_oracle_run_leaves_a_folder_that_stands_alone(data: DataSet, tmp_path: Path) -> None:
    code, answer = run(data, tmp_path, "--mode", "all", "--epochs", "2")
    assert (code, answer["status"]) == (0, "success")
    assert {one["mode"]: one["strict"]["value"] for one in answer["summaries"]} == {
        "mandatory": 1.0,
        "free": 1.0,
        "direct": 1.0,
    }
    store = RunStore.open(Path(answer["run"]))
    manifest = store.manifest
    assert manifest["status"] == "success"
    assert manifest["data"]["digest"]
    assert manifest["sandbox"]["kind"] == "process"
    assert manifest["settings"]["epochs"] == 2
    assert manifest["versions"]["toolhop-env"]
    assert len(list(store.traces())) == COUNT * 3 * 2
    assert len((store.folder / "items.jsonl").read_text().splitlines()) == COUNT


@pytest.mark.parametrize("call_format", ["native", "text"])
@pytest.mark.parametrize("client", ["openai/scripted", "litellm/openai/scripted"])
def test_a_served_agent_scores_as_in_process(
    client: str, call_format: str, data: DataSet, tmp_path: Path
) -> None:
    agent = "repairing:0.5"
    flags = ("--call-format", call_format, "--seed", "5", "--turn-limit", "20")
    code, inside = run(data, tmp_path, "--agent", agent, *flags)
    assert code == 0
    assert inside["summaries"][0]["instance_error"]["value"] > 0.1
    faults = FaultPlan(
        rate=0.3,
        kinds=(
            RequestFault.RATE_LIMITED,
            RequestFault.SERVER_ERROR,
            RequestFault.CUT,
            RequestFault.NOT_JSON,
        ),
        seed=3,
        consecutive_max=1,
    )
    with LoopbackServer(responder(data, choose(agent), 5), faults=faults) as server:
        endpoint = ("--model", client, "--base-url", server.base_url)
        code, served = run(data, tmp_path, *flags, *endpoint)
        assert not server.errors
        assert sum(count for kind, count in server.counts.items() if kind != RequestFault.NONE) > 3
    assert code == 0
    assert figures(served) == figures(inside)
    assert served["summaries"][0]["retries"] > 3


def test_an_endpoint_that_hangs_erroreds_episodes_and_scores_none(
    data: DataSet, tmp_path: Path
) -> None:
    faults = FaultPlan(rate=1.0, kinds=(RequestFault.HANG,), consecutive_max=10**6)
    with LoopbackServer(responder(data, choose("oracle"), 0), faults=faults) as server:
        flags = ["--model", "openai/x", "--base-url", server.base_url, "--limit", "2"]
        flags += ["--timeout", "0.2", "--max-retries", "1", "--retry-on-error", "1"]
        code, answer = run(data, tmp_path, *flags)
    assert code == 1
    (summary,) = answer["summaries"]
    assert (summary["episodes"], summary["errored"], summary["strict"]) == (2, 2, None)
    traces = list(RunStore.open(Path(answer["run"])).traces())
    assert sorted(trace.started.attempt for trace in traces) == [1, 1, 2, 2]


@pytest.mark.parametrize(("most", "ending"), [(4, "out_of_context"), (0, "errored")])
def test_a_conversation_that_outgrows_the_model_is_scored_and_a_prompt_is_not(
    most: int, ending: str, data: DataSet, tmp_path: Path
) -> None:
    plays = responder(data, choose("oracle"), 0)

    def respond(request: Request) -> Reply:
        if len(request.messages) > most:
            raise ValueError("this model's maximum context length is 100 tokens")
        return plays(request)

    with LoopbackServer(respond) as server:
        flags = ("--model", "openai/x", "--base-url", server.base_url, "--limit", "1")
        code, answer = run(data, tmp_path, *flags, "--retry-on-error", "0")
    (trace,) = RunStore.open(Path(answer["run"])).traces()
    assert trace.ended is not None
    assert trace.ended.ending == ending
    (summary,) = answer["summaries"]
    assert (code, summary["errored"]) == ((1, 1) if ending == "errored" else (0, 0))


def test_a_run_with_errored_episodes_says_why_and_how_to_go_on(
    data: DataSet, tmp_path: Path
) -> None:
    faults = FaultPlan(rate=1.0, kinds=(RequestFault.SERVER_ERROR,), consecutive_max=10**6)
    with LoopbackServer(responder(data, choose("oracle"), 0), faults=faults) as server:
        flags = ("--model", "openai/x", "--base-url", server.base_url, "--max-retries", "0")
        done = toolhop(*flags_for(data, tmp_path, *flags, "--retry-on-error", "0"))
    assert done.returncode == 1
    assert f"{COUNT} errored: the model could not be asked" in done.stderr
    assert "fix: check the network" in done.stderr
    assert RunStore.open(next(tmp_path.iterdir())).manifest["status"] == "error"
    assert "toolhop run --resume " in done.stderr


@pytest.mark.parametrize(("given", "kept"), [("none", None), ("0.5", 0.5)])
def test_the_temperature_may_be_left_to_the_provider(
    given: str, kept: float | None, data: DataSet, tmp_path: Path
) -> None:
    with LoopbackServer(responder(data, choose("oracle"), 0)) as server:
        flags = ("--model", "openai/x", "--base-url", server.base_url, "--limit", "1")
        _, answer = run(data, tmp_path, *flags, "--temperature", given)
    manifest = RunStore.open(Path(answer["run"])).manifest
    assert manifest["settings"]["temperature"] == kept
    done = toolhop(*flags_for(data, tmp_path, "--temperature", "nan"))
    assert done.returncode == 2
    assert "from 0 on, or none" in done.stderr


def test_a_wrong_key_stops_the_run_at_once_and_says_why(data: DataSet, tmp_path: Path) -> None:
    faults = FaultPlan(rate=1.0, kinds=(RequestFault.UNAUTHORIZED,), consecutive_max=10**6)
    with LoopbackServer(responder(data, choose("oracle"), 0), faults=faults) as server:
        flags = ["--model", "openai/x", "--base-url", server.base_url, "--max-samples", "1"]
        code, answer = run(data, tmp_path, *flags)
        assert sum(server.counts.values()) == 1
    assert (code, answer["status"]) == (1, "error")
    assert "401" in answer["fault"]


def test_model_mistakes_are_scored_as_such(data: DataSet, tmp_path: Path) -> None:
    spoilt = choose("repairing:0.8:not_json,unknown_tool")
    with LoopbackServer(responder(data, spoilt, 0)) as server:
        flags = ("--model", "openai/x", "--base-url", server.base_url)
        code, answer = run(data, tmp_path, *flags)
    assert code == 0
    (summary,) = answer["summaries"]
    assert set(summary["errors"]) == {"not_json", "unknown_tool"}
    assert summary["calls"]["value"] > 3


def test_empty_content_is_an_answer_that_is_wrong(data: DataSet, tmp_path: Path) -> None:
    def silent(request: Request) -> Reply:
        return Reply("")

    with LoopbackServer(silent) as server:
        flags = ("--model", "openai/x", "--base-url", server.base_url)
        code, answer = run(data, tmp_path, *flags)
    assert code == 0
    (summary,) = answer["summaries"]
    assert (summary["errored"], summary["strict"]["value"], summary["official"]["value"]) == (
        0,
        0,
        0,
    )


WRONG_FORM = 'I look it up.\n```json\n{"name": "%s", "arguments": {}}\n```'


@pytest.mark.parametrize("call_format", ["native", "text"])
def test_calls_in_a_wrong_form_are_seen_as_such(
    call_format: str, data: DataSet, tmp_path: Path
) -> None:
    def wrong(request: Request) -> Reply:
        return Reply(WRONG_FORM % data.items[0].hops[0].tool.name)

    with LoopbackServer(wrong) as server:
        at = ("--model", "openai/x", "--base-url", server.base_url)
        flags = (*at, "--limit", "1", "--call-format", call_format)
        code, ended = run(data, tmp_path, *flags)
        _, answered = run(data, tmp_path, *flags, "--answer-malformed", "--turn-limit", "3")
    (summary,) = ended["summaries"]
    assert (code, summary["endings"], summary["calls"]["value"]) == (0, {"malformed_call": 1}, 0)
    assert summary["malformed_call"]["value"] == 1
    assert summary["first_malformed_call"]["value"] == 1
    shown = toolhop("show", ended["run"], data.items[0].id).stdout
    assert "ended: malformed_call" in shown
    assert "malformed call" in toolhop("score", ended["run"]).stdout
    (summary,) = answered["summaries"]
    assert (summary["endings"], summary["errors"]) == ({"out_of_turns": 1}, {"malformed_call": 3})
    assert toolhop("replay", answered["run"], "--verify").returncode == 0


def test_a_run_ends_with_what_changes_how_its_figures_are_read(
    data: DataSet, tmp_path: Path
) -> None:
    answering = responder(data, choose("oracle"), 0)

    def boxed(request: Request) -> Reply:
        reply = answering(request)
        found = re.sub(r"<answer>(.*?)</answer>", r"The answer is \\boxed{\1}.", reply.content)
        return replace(reply, content=found)

    flags = ("--data", data.origin, "--limit", "3", "--sandbox", "process", "--turn-limit", "20")
    with LoopbackServer(boxed) as server:
        model = ("--model", "openai/x", "--base-url", server.base_url)
        env = {**os.environ, "OPENAI_API_KEY": "none"}
        done = toolhop("run", *flags, *model, "--log-dir", str(tmp_path / "logs"), env=env)
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "logs").iterdir()
    assert "official_only: 3 of 3 answers are right by official and wrong by strict" in " ".join(
        done.stdout.split()
    )
    for line in toolhop("diagnose", str(folder), "--json").stdout.splitlines():
        assert f": {json.loads(line)['kind']}: " in done.stdout
    told = done.stderr.splitlines()
    for command in ("show", "diagnose", "report"):
        (line,) = (one for one in told if one.startswith(f"toolhop {command} "))
        assert toolhop(*line.split()[1:]).returncode == 0


def test_a_server_that_drops_the_tools_is_told_of(tmp_path: Path) -> None:
    def deaf(request: Request) -> Reply:
        chars = sum(len(message.content) for message in request.messages)
        return Reply("<answer>5</answer>", usage=Usage(input_tokens=chars // 4 + 20))

    data = replace(load("builtin"), origin="builtin")
    with LoopbackServer(deaf) as server:
        flags = ("--model", "openai/x", "--base-url", server.base_url, "--limit", "3")
        _, native = run(data, tmp_path, *flags)
        _, text = run(data, tmp_path, *flags, "--call-format", "text")
    with LoopbackServer(metered(responder(data, choose("oracle"), 0))) as server:
        _, heard = run(data, tmp_path, *flags[:3], server.base_url, *flags[4:])
    assert [one["kind"] for one in native["findings"]] == ["tools_unseen"]
    assert not text["findings"]
    assert text["summaries"][0]["first_answered_without_calls"]["value"] == 1
    assert not heard["findings"]
    assert toolhop("diagnose", native["run"]).returncode == 1


def test_a_reply_that_loops_until_its_limit_is_scored(data: DataSet, tmp_path: Path) -> None:
    asked: list[Request] = []

    def loops(request: Request) -> Reply:
        asked.append(request)
        return Reply("so I think " * 50, finish_reason="length")

    with LoopbackServer(loops) as server:
        flags = ("--model", "openai/x", "--base-url", server.base_url, "--limit", "1")
        code, answer = run(data, tmp_path, *flags)
    (summary,) = answer["summaries"]
    assert (code, summary["errored"], summary["strict"]["value"], len(asked)) == (0, 0, 0, 1)
    assert asked[0].body["max_tokens"] == RunSettings().max_tokens
    assert "cut_replies" in {one["kind"] for one in answer["findings"]}


@pytest.mark.parametrize(
    ("said", "ending"),
    [
        ("Could not finish the message because max_tokens or model output limit was reached.",
         "answered"),
        ("tool_use_failed: Failed to call a function.", "malformed_call"),
        ("error parsing tool call: raw='{', err=unexpected end", "malformed_call"),
        ("Failed to parse input at pos 12: <tool_call>{", "malformed_call"),
    ],
)  # fmt: skip
def test_what_the_model_wrote_is_no_fault_of_its_server(
    said: str, ending: str, data: DataSet, tmp_path: Path
) -> None:
    def refused(request: Request) -> Reply:
        raise ValueError(said)

    with LoopbackServer(refused) as server:
        flags = ("--model", "openai/x", "--base-url", server.base_url, "--limit", "1")
        code, answer = run(data, tmp_path, *flags)
        assert server.requests == 1
    (summary,) = answer["summaries"]
    assert (code, summary["errored"], summary["endings"]) == (0, 0, {ending: 1})


@pytest.mark.parametrize(
    ("shown", "order"), [("as-is", "published"), ("order=shuffled", "shuffled")]
)
def test_figures_and_manifest_say_in_what_order_tools_were_listed(
    shown: str, order: str, data: DataSet, tmp_path: Path
) -> None:
    _, answer = run(data, tmp_path, "--limit", "1", "--tools", shown)
    (summary,) = answer["summaries"]
    assert (summary["perturbation"], summary["tool_order"]) == (shown, order)
    assert RunStore.open(Path(answer["run"])).manifest["data"]["tool_order"] == order
    table = toolhop("score", answer["run"]).stdout
    assert table.count(f"tools in {order} order") == 1
    table = " ".join(toolhop("score", answer["run"], "--by", "hops").stdout.split())
    assert table.count(f"tools in {order} order") == 1


def test_runs_of_two_orders_are_rows_of_their_own(data: DataSet, tmp_path: Path) -> None:
    runs = [run(data, tmp_path / s, "--limit", "1", "--tools", s)[1]["run"]
            for s in ("as-is", "order=shuffled")]  # fmt: skip
    table = toolhop("score", *runs).stdout
    assert "oracle (order=shuffled)" in table
    assert "tools in published and shuffled order" in table


@pytest.mark.parametrize(("given", "kept"), [((), 2048), (("--max-tokens", "none"), None)])
def test_the_limit_of_a_reply_is_in_the_manifest(
    given: tuple[str, ...], kept: int | None, data: DataSet, tmp_path: Path
) -> None:
    with LoopbackServer(responder(data, choose("oracle"), 0)) as server:
        flags = ("--model", "openai/x", "--base-url", server.base_url, "--limit", "1")
        _, answer = run(data, tmp_path, *flags, *given)
    assert RunStore.open(Path(answer["run"])).manifest["settings"]["max_tokens"] == kept


def test_a_run_of_before_there_was_a_limit_of_a_reply_is_resumed_without(
    data: DataSet, tmp_path: Path
) -> None:
    with LoopbackServer(responder(data, choose("oracle"), 0)) as server:
        flags = ("--model", "openai/x", "--base-url", server.base_url)
        _, begun = run(data, tmp_path, *flags, "--estimate", "2")
    folder = Path(begun["run"])
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["settings"]["max_tokens"]
    manifest["settings"]["base_url"] = None
    (folder / "manifest.json").write_text(json.dumps(manifest))
    asked: list[Request] = []
    answers = responder(data, choose("oracle"), 0)

    def heard(request: Request) -> Reply:
        asked.append(request)
        return answers(request)

    with LoopbackServer(heard) as server:
        done = toolhop(
            *("run", "--resume", str(folder), "--json"),
            env=environment(OPENAI_BASE_URL=server.base_url),
        )
    assert done.returncode == 0, done.stderr
    assert asked
    assert not any("max_tokens" in request.body for request in asked)


def started_run(data: DataSet, log_dir: Path, url: str) -> tuple[Launched, Path]:
    flags = ("--model", "openai/x", "--base-url", url, "--max-samples", "2", "--timeout", "600")
    process = started(data, log_dir, *flags)
    assert process.stderr is not None
    line = process.stderr.readline()
    assert line.startswith("run: "), line + process.stderr.read()
    return process, Path(line.removeprefix("run: ").strip())


def test_a_signal_at_the_first_step_of_work_ends_it() -> None:
    async def work() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        await anyio.sleep_forever()

    async def twice() -> list[bool]:  # the first one leaves Python's own handler behind
        return [await until_signal(work) for _ in range(2)]

    assert anyio.run(twice) == [True, True]


def test_stops_and_other_options_are_in_each_request_and_in_the_manifest(
    data: DataSet, tmp_path: Path
) -> None:
    asked: list[Request] = []

    def say(request: Request) -> Reply:
        asked.append(request)
        return Reply("<answer>1</answer>")

    given = ("top_p=0.5", 'thinking={"on": false}', "effort=low")
    options = [part for one in given for part in ("--request-option", one)]
    options += ["--stop", "END", "--stop", "\n\n"]
    with LoopbackServer(say) as server:
        where = ("--model", "openai/x", "--base-url", server.base_url, "--limit", "1", "--json")
        done = toolhop(*flags_for(data, tmp_path, *where, *options))
    assert done.returncode == 0, done.stderr
    wanted = {"stop": ["END", "\n\n"], "top_p": 0.5, "thinking": {"on": False}, "effort": "low"}
    assert {name: asked[0].body.get(name) for name in wanted} == wanted
    settings = RunStore.open(Path(json.loads(done.stdout)["run"])).manifest["settings"]
    assert settings["stop"] == ["END", "\n\n"]
    assert settings["request_options"][2] == "effort=low"


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_run_keeps_every_finished_episode(
    how: signal.Signals, data: DataSet, tmp_path: Path
) -> None:
    answers, ended = responder(data, choose("oracle"), 0), threading.Event()

    def slow_at_last(request: Request) -> Reply:
        if any(f"(small-{n})" in m.content for m in request.messages for n in (5, 6)):
            ended.wait(CEILING_S)
        return answers(request)

    with LoopbackServer(slow_at_last) as server:
        process, folder = started_run(data, tmp_path, server.base_url)
        until(lambda: finished(folder) == 4, "four episodes")
        process.send_signal(how)
        out, err = process.communicate(timeout=CEILING_S)
        ended.set()
    assert "Traceback" not in err
    store = RunStore.open(folder)
    verdicts = [score(trace) for trace in store.traces() if trace.ended]
    assert len(verdicts) == 4
    assert all(isinstance(verdict, Score) and verdict.value("strict") for verdict in verdicts)
    if how is signal.SIGKILL:
        assert store.manifest["status"] == "started"
    else:
        assert process.returncode == 130
        assert f"interrupted: 4 of {len(data.items)} episodes are finished" in err
        assert json.loads(out)["summaries"][0]["strict"]["value"] == 1.0
        assert store.manifest["status"] == "cancelled"


def finished(folder: Path) -> int:
    return sum(trace.ended is not None for trace in RunStore.open(folder).traces())


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--agent", "orcale"], "there is no agent 'orcale'"),
        (["--agent", ""], "'--agent': it is empty"),
        (["--mode", "mandatroy"], "give mandatory, free, direct"),
        (["--data", "nowhere.json"], "nowhere.json"),
        (["--sample-id", "small-9"], "small-9"),
        (["--limit", "ten"], "ten"),
        (["--epochs", "0"], "--epochs"),
        (["--agent", "oracle", "--model", "openai/x"], "give one of them"),
        (["--turn-limit", "0"], "not in the range"),
        (["--tool-timeout", "-1"], "not in the range"),
        (["--timeout", "0"], "not in the range"),
        (["--model", "openai/x", "--timeout", "inf"], "not in the range x>0"),
        (["--model", "openai/x", "--timeout", "nan"], "not in the range x>0"),
        (["--max-retries", "-1"], "not in the range"),
        (["--max-tokens", "0"], "not in the range"),
        (["--run-cost-limit", "nan"], "not in the range x>0"),
        (
            ["--model", "openai/x", "--base-url", "localhost"],
            "is not an address; give one such as http://",
        ),
        (["--template", "/dev/null"], "no {question}"),
        (["--config", "/dev/null/x"], "cannot be read"),
        (["--log-dir", "/dev/null/x"], "pass another --log-dir"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_message_and_exit_code_2(
    flags: list[str], told: str, data: DataSet, tmp_path: Path
) -> None:
    code, answer = run(data, tmp_path, *flags)
    assert code == 2
    assert told in answer["said"]


def test_flags_come_from_a_file_and_the_environment_in_order(data: DataSet, tmp_path: Path) -> None:
    config = tmp_path / "run.toml"
    lines = 'agent = "do-nothing"\nepochs = 3\nlimit = "2"\n'
    config.write_text(lines, encoding="utf-8-sig")  # as some editors on Windows write it
    flags = ("--config", str(config), "--epochs", "1")
    _, answer = run(data, tmp_path, *flags, TOOLHOP_RUN_LIMIT="1")
    (summary,) = answer["summaries"]
    assert (summary["agent"], summary["episodes"]) == ("do-nothing", 1)
    config.write_text('agnet = "oracle"\n')
    code, said = run(data, tmp_path, "--config", str(config))
    assert code == 2
    assert "agnet" in said["said"]


@pytest.mark.parametrize(
    ("line", "setting", "value"),
    [
        ("time-limit = 60", "time_limit_s", 60.0),
        ("tool-timeout = 3", "tool_timeout_s", 3.0),
        ('sample-id = ["small-1", "small-2"]', "sample_ids", ["small-1", "small-2"]),
        ('sample_id = "small-1"', "sample_ids", ["small-1"]),
        ('mode = "free"', "modes", ["free"]),
        ('tools = "order=shuffled"', "perturbation", "order=shuffled"),
        ("cost-limit = 0.5", "cost_limit", 0.5),
    ],
)
def test_the_keys_of_a_file_are_the_flags_names(
    line: str, setting: str, value: object, data: DataSet, tmp_path: Path
) -> None:
    config = tmp_path / "run.toml"
    config.write_text(f'{line}\nlimit = "2"\n')
    code, answer = run(data, tmp_path, "--config", str(config))
    assert code == 0, answer
    assert RunStore.open(Path(answer["run"])).manifest["settings"][setting] == value


@pytest.mark.parametrize("mode", [",", " "])
def test_no_mode_at_all_is_refused(mode: str) -> None:
    done = toolhop("run", "--dry-run", "--mode", mode)
    assert done.returncode == 2
    assert "names no mode" in done.stderr


def test_a_variable_has_its_flags_name(data: DataSet, tmp_path: Path) -> None:
    _, answer = run(
        data, tmp_path, TOOLHOP_RUN_TIME_LIMIT="60", TOOLHOP_RUN_SAMPLE_ID="small-1 small-2",
        TOOLHOP_RUN_TOOL_MEMORY="64",
    )  # fmt: skip
    settings = RunStore.open(Path(answer["run"])).manifest["settings"]
    assert settings["time_limit_s"] == 60
    assert settings["sample_ids"] == ["small-1", "small-2"]
    assert settings["tool_memory_mib"] == 64
    code, answer = run(data, tmp_path, TOOLHOP_RUN_TIMEOUT="soon")
    assert code == 2
    assert "--timeout" in answer["said"]
    listed = toolhop("data", "list", env=environment(TOOLHOP_DATA_LIST_DATA=data.origin))
    assert "small-1" in listed.stdout


@pytest.mark.parametrize("line", ["epochs = [1]", "[epochs]", "limit = 2020-01-01", 'config = "x"'])
def test_what_no_flag_can_be_is_told(line: str, data: DataSet, tmp_path: Path) -> None:
    config = tmp_path / "run.toml"
    config.write_text(f"{line}\n")
    code, answer = run(data, tmp_path, "--config", str(config))
    assert code == 2
    said = answer["said"].replace("--", "")
    assert re.search(rf"run.toml (sets|has keys .*:) {line.split()[0].strip('[]')}", said)


def test_a_run_that_is_given_twice_counts_once(data: DataSet, tmp_path: Path) -> None:
    _, answer = run(data, tmp_path, "--limit", "2")
    (tmp_path / "link").symlink_to(answer["run"])
    again = toolhop("score", "--json", answer["run"], str(tmp_path / "link"))
    assert json.loads(again.stdout) == answer["summaries"]


def test_score_and_show_read_what_run_wrote(data: DataSet, tmp_path: Path) -> None:
    _, answer = run(data, tmp_path, "--agent", "faulty:0.5")
    again = toolhop("score", "--json", answer["run"])
    assert json.loads(again.stdout) == answer["summaries"]
    lines = toolhop("score", "--episodes", answer["run"]).stdout.splitlines()
    assert [json.loads(line)["item"] for line in lines] == [
        f"small-{number}" for number in range(1, COUNT + 1)
    ]
    shown = toolhop("show", answer["run"], "small-1")
    assert shown.returncode == 0
    assert "What is the squared length" in shown.stdout
    assert "gold answer: 16" in shown.stdout
    missing = toolhop("show", answer["run"], "small-99")
    assert missing.returncode == 2
    assert "no episode of small-99" in missing.stderr


def test_a_run_is_the_same_for_the_same_seed_and_differs_by_epoch(
    data: DataSet, tmp_path: Path
) -> None:
    def errors(seed: str) -> list[tuple[str, int, int]]:
        flags = ("--agent", "faulty:0.4", "--seed", seed, "--epochs", "2")
        _, answer = run(data, tmp_path, *flags)
        judged = [attempt_of(trace) for trace in RunStore.open(Path(answer["run"])).traces()]
        return [(j.item, j.epoch, j.score.conduct.failed_calls if j.score else -1) for j in judged]

    first, again, other = errors("1"), errors("1"), errors("9")
    assert first == again
    assert first != other
    by_epoch = [[n for _, epoch, n in first if epoch == wanted] for wanted in (1, 2)]
    assert by_epoch[0] != by_epoch[1]
