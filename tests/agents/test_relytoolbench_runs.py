"""RelyToolBench through the ordinary commands: agent, judge and simulator are loopback servers."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.agents.command import toolhop
from tests.conftest import SHARED
from toolhop_agents.benchmarks import binding_of
from toolhop_agents.models.fault_plan import FaultPlan, RequestFault
from toolhop_agents.models.loopback import LoopbackServer, Request
from toolhop_agents.scripted.responder import responder
from toolhop_env.messages import Reply, SystemMessage
from toolhop_env.runs.store import RunStore
from toolhop_tools.load import load

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("inline_module")]

OWN = Path(__file__).parents[1] / "golden" / "relytoolbench_own.json"
AGENTS = ("gold", "empty", "always-ask", "always-give-up", "all-tools")


@pytest.fixture
def data(tmp_path: Path) -> str:
    for name, rows in json.loads(OWN.read_text())["sets"].items():
        (tmp_path / f"{name}.json").write_text(json.dumps(rows))
    return f"relytoolbench:{tmp_path}"


def judge(request: Request) -> Reply:
    """Values are true where the history has them; what is answered is solved; no tool matches."""
    asked = request.messages[-1].content.split("\n\nInput:\n", 1)[1]
    inputs, _ = json.JSONDecoder().raw_decode(asked)
    verdict = "Irrelevant"
    if "history" in inputs:
        true = all(str(one) in inputs["history"] for one in inputs["arguments"].values())
        verdict = "Truthful" if true else "Untruthful"
    elif "query" in inputs and "final_answer" in inputs:
        verdict = "Solved" if "give_answer" in inputs["final_answer"] else "Unsolved"
    return Reply(json.dumps({"reason": "a rule", "verdict": verdict}))


def served(data: str, agent: str, *faults: RequestFault) -> LoopbackServer:
    play = binding_of("relytoolbench").agents[agent]
    return LoopbackServer(responder(load(data), play, 0), faults=FaultPlan(sequence=faults))


def flags(agent: LoopbackServer, judge: LoopbackServer, folder: Path) -> tuple[str, ...]:
    return ("--model", "openai/loop", "--base-url", agent.base_url, "--judge", "openai/judge",
            "--judge-base-url", judge.base_url, "--log-dir", str(folder), "--json")  # fmt: skip


def figures(summary: dict[str, Any]) -> dict[str, float]:
    """Values by measure, but for times."""
    return {
        name: figure["value"]
        for name, figure in summary.items()
        if isinstance(figure, dict) and "value" in figure and name != "wall_s"
    }


def played(data: str, agent: str, folder: Path, *more: str) -> dict[str, float]:
    with served(data, agent) as server, LoopbackServer(judge) as judges:
        return found(toolhop("run", "--data", data, *flags(server, judges, folder), *more))


def found(done: subprocess.CompletedProcess[str]) -> dict[str, float]:
    """The figures of a run in which all went well."""
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    (summary,) = answer["summaries"]
    assert summary["errored"] == 0
    assert summary["open"]["value"] == 0
    again = toolhop("score", "--json", answer["run"])
    assert json.loads(again.stdout) == answer["summaries"], "scoring again asks nobody"
    return figures(summary)


WANTED: dict[str, dict[str, float]] = {
    # The second unmatched row has a tool that matches, so it has no strict figure.
    "gold": {"reliable_pass": 1, "strict": 1, "pass": 1, "hallucination": 0, "utility": 20},
    "empty": {"reliable_pass": 0, "strict": 0, "pass": 0, "hallucination": 0, "utility": 0},
    "always-ask": {"reliable_pass": 0.75, "strict": 1 / 3, "pass": 0.75, "hallucination": 0},
    "always-give-up": {"reliable_pass": 0.75, "strict": 0, "pass": 0.75, "hallucination": 0},
    # Officially everything that ends in Finish passes; reliably so where one call is clean.
    "all-tools": {"pass": 1, "reliable_pass": 0.5, "strict": 1 / 3, "no_finish": 0},
}


@pytest.mark.parametrize("agent", AGENTS)
def test_scripted_agents_get_what_they_earn_over_the_wire(
    agent: str, data: str, tmp_path: Path
) -> None:
    values = played(data, agent, tmp_path / "logs")
    assert {name: values[name] for name in WANTED[agent]} == pytest.approx(WANTED[agent])


@pytest.mark.data
def test_gold_solves_a_whole_published_set(tmp_path: Path) -> None:
    data = f"relytoolbench:{SHARED / 'relytoolbench' / 'G1_instruction.json'}"
    with LoopbackServer(judge) as judges:
        asked = ("--judge", "openai/judge", "--judge-base-url", judges.base_url)
        gold = ("run", "--data", data, "--agent", "gold", "--log-dir", str(tmp_path), "--json")
        values = found(toolhop(*gold, *asked))
    assert (values["pass"], values["strict"], values["hallucination"]) == (1.0, 1.0, 0.0)
    # In 6 rows no relevant tool can be called with what the query says; an answer without a
    # call is officially a hallucinated one.
    assert values["reliable_pass"] == pytest.approx(157 / 163)
    assert values["reply_template"] + values["reply_default"] == 1.0


def test_only_what_is_meant_to_fail_is_errored(data: str, tmp_path: Path) -> None:
    """Where a server is overloaded it is asked again; where it answers no JSON an episode is not
    scored, and is played again when the run is resumed."""
    overloaded = (RequestFault.RATE_LIMITED, RequestFault.SERVER_ERROR)
    for faults, errored in ((overloaded, 0), ((RequestFault.SERVER_ERROR,) * 2, 1)):
        with served(data, "gold", *faults) as server, LoopbackServer(judge) as judges:
            given = flags(server, judges, tmp_path / str(errored))
            retries = ("--max-retries", str(5 - 4 * errored), "--retry-on-error", "0")
            done = toolhop("run", "--data", data, *given, *retries, "--max-samples", "1")
            (summary,) = json.loads(done.stdout)["summaries"]
            assert (done.returncode, summary["errored"]) == (errored, errored)
            again = toolhop("run", "--resume", json.loads(done.stdout)["run"], "--json")
        (summary,) = json.loads(again.stdout)["summaries"]
        assert (summary["episodes"], summary["errored"], summary["strict"]["value"]) == (4, 0, 1.0)


def test_scripted_agents_finish_whatever_the_tools_are_called(data: str, tmp_path: Path) -> None:
    done = toolhop("run", "--data", data, "--agent", "always-ask", "--tools", "names=scrambled",
                   "--log-dir", str(tmp_path / "logs"), "--json")  # fmt: skip
    (summary,) = json.loads(done.stdout)["summaries"]
    assert summary["give_up_and_talk_to_user"]["value"] == 1.0
    assert summary["tool_calls"]["value"] == 0.0


def test_a_simulator_answers_before_templates_and_each_call_once(data: str, tmp_path: Path) -> None:
    asked: list[str] = []

    def service(request: Request) -> Reply:
        assert isinstance(request.messages[0], SystemMessage)
        asked.append(request.messages[0].content + request.messages[1].content)
        return Reply('{"error": "", "response": "rain"}')

    with LoopbackServer(service) as server:
        model = ("--simulator", "openai/service", "--simulator-base-url", server.base_url)
        found = played(data, "all-tools", tmp_path / "logs", *model, "--max-samples", "1")
        assert len(set(asked)) == len(asked), "a call is answered alike whenever it is made"
        assert found["reply_simulated"] + found["reply_earlier"] == found["made_up"] == 1.0
        assert found["reply_earlier"] > 0
        (run,) = (tmp_path / "logs").iterdir()
        replay = toolhop("replay", str(run), "--verify")
        assert replay.returncode == 0, replay.stdout


def test_what_a_simulator_answered_holds_in_a_resumed_run(data: str, tmp_path: Path) -> None:
    asked: list[str] = []

    def service(request: Request) -> Reply:
        asked.append(request.messages[0].content + request.messages[1].content)
        return Reply('{"error": "", "response": "rain"}')

    with LoopbackServer(service) as server:
        given = ("--agent", "all-tools", "--simulator", "openai/service",
                 "--simulator-base-url", server.base_url, "--log-dir", str(tmp_path / "logs"),
                 "--max-samples", "1")  # fmt: skip
        cut = toolhop("run", "--data", data, *given, "--run-call-limit", "5", "--json")
        assert json.loads(cut.stdout)["status"] == "limited"
        before = len(asked)
        run = json.loads(cut.stdout)["run"]
        whole = toolhop("run", "--resume", run, "--run-call-limit", "1000", "--json")
        assert whole.returncode == 0, whole.stderr
    assert before < len(asked) == len(set(asked))


def test_episodes_have_fifty_replies_unless_a_run_says_otherwise(data: str, tmp_path: Path) -> None:
    for given, limit in ((), 50), (("--turn-limit", "9"), 9), (("--turn-limit", "3"), 3):
        done = toolhop("run", "--data", data, "--agent", "gold", *given, "--log-dir", str(tmp_path),
                       "--json")  # fmt: skip
        assert done.returncode == 0, done.stderr
        store = RunStore.open(Path(json.loads(done.stdout)["run"]))
        assert store.manifest["settings"]["turn_limit"] == limit
    builtin = toolhop("run", "--limit", "1", "--sandbox", "process", "--log-dir", str(tmp_path),
                      "--json")  # fmt: skip
    store = RunStore.open(Path(json.loads(builtin.stdout)["run"]))
    assert store.manifest["settings"]["turn_limit"] == 9


@pytest.mark.parametrize("call_format", ["native", "text"])
def test_both_call_formats_are_played(call_format: str, data: str, tmp_path: Path) -> None:
    one = f"{data}/G1_instruction.json"  # in text a request lists no tools to tell sets by
    found = played(one, "gold", tmp_path / "logs", "--call-format", call_format)
    assert (found["strict"], found["no_finish"]) == (1.0, 0.0)
