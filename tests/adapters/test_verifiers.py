"""`vf-eval toolhop`, the peer's own command with its harness `null`: scores, feedback, schemas,
what a model is sent, and rollouts that fail. The harness needs uv and a package index.
"""

from __future__ import annotations

import asyncio
import copy
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.played import AGENT, run_scores
from toolhop_agents.models.loopback import LoopbackServer, Request
from toolhop_agents.scripted.choose import choose
from toolhop_agents.scripted.responder import metered, responder
from toolhop_env.benchmarks import named
from toolhop_env.estimates import figures
from toolhop_env.messages import Reply
from toolhop_env.trace import Called, from_lines
from toolhop_tools.benchmarks.toolhop.reader import to_rows
from toolhop_tools.load import load
from toolhop_tools.model import ToolSchema

pytest.importorskip("verifiers", reason="needs verifiers: make test-adapters")
pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("default")]
BUILTIN = load("builtin")
BIN = Path(sys.executable).parent


def evaluated(folder: Path, base_url: str, *flags: str, **settings: object) -> dict[str, Any]:
    """Traces by item, of an evaluation in `folder`."""
    path = os.pathsep.join((str(BIN), os.environ["PATH"]))  # uv is there
    done = subprocess.run(
        [str(BIN / "vf-eval"), "toolhop", "--no-push", "--no-rich", "--model", "scripted",
         "--client.base-url", base_url, "--client.api-key-var", "NO_KEY",
         "--env.agent.harness.id", "null", "--env.agent.runtime.type", "subprocess",
         "--env.taskset.task.settings", json.dumps({"sandbox": "process"} | settings),
         "--max-concurrent", "4", *flags],
        cwd=folder, capture_output=True, text=True, timeout=500, env=os.environ | {"PATH": path},
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout + done.stderr
    (found,) = folder.glob("outputs/*/traces.jsonl")
    episodes = [json.loads(line) for line in found.read_text(encoding="utf-8").splitlines()]
    traces = [trace for one in episodes for trace in one["traces"]]
    return {one["task"]["data"]["id"]: one for one in traces}


@contextmanager
def serving(agent: str = AGENT) -> Iterator[str]:
    """The address of `toolhop serve`."""
    command = [str(BIN / "toolhop"), "serve", "--agent", agent]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
            process.wait(30)


def feedback(trace: Any) -> list[str]:
    """Of our trace."""
    ours = from_lines(json.dumps(one).encode() for one in trace["info"]["toolhop_trace"])
    return [one.feedback for one in ours.events if isinstance(one, Called)]


def results(trace: Any) -> list[str]:
    """What the harness's conversation has as results of calls."""
    messages = [node["message"] for node in trace["nodes"]]
    return [one["content"] for one in messages if one["role"] == "tool"]


def test_the_scores_of_a_run_item_by_item(tmp_path: Path) -> None:
    expected = run_scores(tmp_path / "run")
    with serving() as base_url:
        found = evaluated(tmp_path, base_url)
    assert found.keys() == expected.keys()
    for item, before in expected.items():
        trace = found[item]
        assert trace["errors"] == []
        assert trace["rewards"]["toolhop"]["score"] == before.value("strict"), item
        wanted: dict[str, float] = {
            "milestones": before.value("hops_solved") or 0,
            "failed_call": before.conduct.failed_calls,
        }
        for one in named("toolhop").measures:
            if (parts := one.of(before)) is not None:
                wanted |= {one.name: parts[0]} | (
                    {} if one.binary else {f"{one.name}_of": parts[1]}
                )
        assert trace["metrics"] == pytest.approx(wanted), item
        # The last results of an episode that a limit ends are not asked about any more.
        assert results(trace) == feedback(trace)[: len(results(trace))]
    assert sum(one.conduct.failed_calls for one in expected.values()) > len(expected) / 2
    # The means that verifiers shows give our figure, a ratio of sums.
    figure = figures(named("toolhop").measures, list(expected.items()))["failed_calls_by_hop"]
    metrics = [trace["metrics"] for trace in found.values()]
    failed, hops = (
        sum(one[name] for one in metrics)
        for name in ("failed_calls_by_hop", "failed_calls_by_hop_of")
    )
    assert figure is not None
    assert failed / hops == pytest.approx(figure.value)


def test_settings_schemas_and_what_the_model_may_not_see(tmp_path: Path) -> None:
    offered, heard = list[ToolSchema](), list[str]()
    answer = metered(responder(BUILTIN, choose(AGENT), 0))

    def said(request: Request) -> Reply:
        offered.extend(request.tools)
        heard.append(json.dumps(request.body))
        return answer(request)

    expected = run_scores(tmp_path / "run", limit="6", feedback="minimal", turn_limit=20)
    weights = json.dumps({"strict": 1, "failed_calls": -0.25, "failed_call": -0.25})
    with LoopbackServer(said) as server:
        found = evaluated(
            tmp_path, server.base_url, "-n", "6", "--env.taskset.task.feedback", "minimal",
            "--env.taskset.task.weights", weights, turn_limit=20,
        )  # fmt: skip
    assert not server.errors
    for item, before in expected.items():
        worth = (before.value("strict") or 0) - 0.5 * before.conduct.failed_calls
        assert found[item]["rewards"]["toolhop"]["score"] == worth
        for weighed in ("failed_calls", "failed_call"):
            assert found[item]["metrics"][weighed] == before.conduct.failed_calls
    items = [BUILTIN.by_id[name] for name in expected]
    schemas = [tool.schema for item in items for tool in item.tools.values()]
    assert offered
    assert [one for one in offered if one not in schemas] == []
    sources = [tool.program.source for item in items for tool in item.tools.values()]
    assert not any(json.dumps(source)[1:-1] in text for source in sources for text in heard)


@pytest.mark.parametrize(
    ("flag", "value", "says"),
    [
        ("mode", "loud", "mode: 'loud' is not a mode of ToolHop"),
        ("data", "nowhere", "no data set 'nowhere'"),
        ("feedback", "loud", "the setting feedback cannot be 'loud'"),
        ("settings", '{"turn_limit": 0}', "the setting turn_limit cannot be '0'"),
        ("settings", '{"feedback": "minimal"}', "give it as --env.taskset.task.feedback"),
        ("settings", '{"perturbation": "names=loud"}', "'names=loud' is not a tool perturbation"),
        ("settings", '{"call_format": "text"}', "harnesses of verifiers call tools natively"),
        ("settings", '{"judge": "overlap"}', "a taskset asks no judge"),
        ("weights", '{"nothing": 1}', "the reward has a weight of 'nothing'"),
        ("weights", '{"strict": NaN}', "weight of 'strict' cannot be nan"),
    ],
)
def test_a_wrong_option_is_an_error_of_the_peers_own(
    flag: str, value: str, says: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], tmp_path: Path,
) -> None:  # fmt: skip
    from verifiers.v1.cli.eval.main import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["vf-eval"])
    with pytest.raises(SystemExit) as ended:
        main(["toolhop", "--no-push", f"--env.taskset.task.{flag}", value])
    shown = capsys.readouterr()
    text = " ".join(re.sub(r"[│\n]", " ", f"{shown.out} {shown.err} {ended.value}").split())
    assert ended.value.code not in (None, 0)
    assert "--env.taskset.task" in text
    assert says in text
    assert "Traceback" not in text


@pytest.mark.parametrize(("data", "says"), [("builtin", "valid"), ("wrong", "invalid")])
def test_the_gold_is_validated_by_the_oracle(data: str, says: str, tmp_path: Path) -> None:
    if data == "wrong":
        rows = to_rows(BUILTIN)[:2]
        data = str(tmp_path / "wrong.json")
        wrong = json.dumps([row | {"answer": "not this"} for row in rows])
        Path(data).write_text(wrong, encoding="utf-8")
    done = subprocess.run(
        [str(BIN / "vf-validate"), "toolhop", "--rich", "False", "-n", "2", "--only-gold", "True",
         "--taskset.task.data", data, "--runtime.type", "subprocess",
         "--taskset.task.settings", json.dumps({"sandbox": "process", "max_samples": 1})],
        cwd=tmp_path, capture_output=True, text=True, timeout=500,
    )  # fmt: skip
    (path,) = tmp_path.glob("**/results.jsonl")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [row["reason"] for row in rows] == [says] * 2, done.stdout + done.stderr


def test_rollouts_that_fail_are_errors_and_give_their_worker_back(tmp_path: Path) -> None:
    def said(request: Request) -> Reply:
        raise RuntimeError("of the test")

    with LoopbackServer(said) as server:
        found = evaluated(tmp_path, server.base_url, "-n", "3", max_samples=1)
    assert len(found) == 3  # each in its turn, on the one worker
    for trace in found.values():
        assert "of the test" in str(trace["errors"])
        assert not any(trace["rewards"].values())


def test_a_task_is_made_of_its_data_and_its_configuration_alone() -> None:
    """As servers of verifiers make it in a process that does not load the data set's tasks."""
    import verifiers.v1 as vf

    from toolhop import ToolHopTaskset
    from toolhop_agents.adapters import verifiers_taskset as made
    from toolhop_agents.adapters.verifiers_tools import ToolsState

    config = made.ToolHopTaskConfig(settings={"sandbox": "process"})
    (first, *_) = ToolHopTaskset(made.ToolHopConfig(task=config)).load()
    sent = json.loads(first.data.model_dump_json())
    assert set(sent) == set(vf.TaskData.model_fields) | {"mode"}
    data = made.ToolHopTask.data_type().model_validate(sent)
    task = copy.deepcopy(made.ToolHopTask(data, config.model_copy(deep=True)))

    async def rollout() -> float:
        told = vf.TraceTask(type="ToolHopTask", data=data)
        agent = vf.AgentInfo(config=vf.AgentConfig())
        trace = vf.Trace[Any, Any](task=told, state=ToolsState(), agent=agent)
        await task.setup(trace)
        assert [one["name"] for one in trace.state.tools] == [*BUILTIN.by_id[data.id].tools]
        said = vf.AssistantMessage(content=f"<answer>{BUILTIN.by_id[data.id].answer}</answer>")
        reply = vf.Response(id="1", created=0, model="m", message=said, finish_reason="stop")
        await task.reply_taken(reply, trace)
        assert await task.episode_over(trace)
        await task.finalize(trace)
        assert not task.shared.played
        return float(await task.toolhop(trace))

    assert asyncio.run(rollout()) == 1


def test_thoughts_are_kept_counted_and_no_answer() -> None:
    import verifiers.v1 as vf

    from toolhop_agents.adapters.verifiers_taskset import as_reply
    from toolhop_env.reading import cut_in_thought

    message = vf.AssistantMessage(content="", reasoning_content="<answer>4</answer>?")
    usage = vf.Usage(prompt_tokens=3, completion_tokens=9, reasoning_tokens=7)
    response = vf.Response(
        id="1", created=0, model="m", message=message, finish_reason="length", usage=usage
    )
    reply = as_reply(response)
    assert reply.thoughts is not None
    assert (reply.thoughts.text, reply.content) == ("<answer>4</answer>?", "")
    assert reply.usage.reasoning_tokens == 7
    assert cut_in_thought(reply)


def test_a_rollouts_worker_is_its_tasks_and_goes_back_with_it() -> None:
    """`setup` holds the worker for the task that runs it. verifiers' own call of it must not put
    it in a task of its own, which would end right after it, with or without a time limit.
    """
    import verifiers.v1 as vf
    from verifiers.v1.utils.decorators import invoke

    from toolhop import ToolHopTaskset
    from toolhop_agents.adapters import verifiers_taskset as made
    from toolhop_agents.adapters.verifiers_tools import ToolsState

    config = made.ToolHopTaskConfig(settings={"sandbox": "process", "max_samples": 1})
    (task, *_) = ToolHopTaskset(made.ToolHopConfig(task=config)).load()

    async def rollout() -> None:
        told = vf.TraceTask(type="ToolHopTask", data=task.data)
        agent = vf.AgentInfo(config=vf.AgentConfig())
        trace = vf.Trace[Any, Any](task=told, state=ToolsState(), agent=agent)
        async with asyncio.timeout(60):
            await invoke(task.setup, {"trace": trace, "runtime": None})
        for _ in range(20):
            await asyncio.sleep(0)
        assert trace.id in task.shared.played  # the rollout goes on, and so does its episode

    async def both() -> None:
        for _ in range(2):  # the second waits for the only worker, which the first gives back
            await asyncio.create_task(rollout())

    asyncio.run(both())


def test_a_rollout_with_time_limits(tmp_path: Path) -> None:
    """By the peer's command: a limit on `setup` does not move it out of the rollout's task."""
    expected = run_scores(tmp_path / "run", limit="2")
    with serving() as base_url:
        found = evaluated(
            tmp_path, base_url, "-n", "2", "--env.agent.timeout.setup", "60",
            "--env.agent.timeout.rollout", "120",
        )  # fmt: skip
    assert {item: trace["rewards"]["toolhop"]["score"] for item, trace in found.items()} == {
        item: one.value("strict") for item, one in expected.items()
    }
    assert not any(trace["errors"] for trace in found.values())
