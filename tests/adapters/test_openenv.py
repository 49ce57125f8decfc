"""OpenEnv's own client against `toolhop openenv`: scores, sessions at once, what goes over the
wire, and what is refused.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import tomllib
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.played import AGENT, containers_of, run_scores, said
from toolhop_agents.cli import main
from toolhop_agents.environment.core import EpisodeLost
from toolhop_agents.environment.plain import PlainEnvironments
from toolhop_agents.environment.reward import Unscored
from toolhop_agents.models.wire_reading import messages_from_wire, tools_from_wire
from toolhop_agents.runs.settings import RunSettings
from toolhop_env.messages import AssistantMessage, Message, RawCall, Reply
from toolhop_env.reading import CallFormat
from toolhop_sandbox.errors import SandboxUnavailable
from toolhop_tools.load import load

openenv = pytest.importorskip("openenv", reason="needs openenv: make test-adapters")
pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("default")]
BUILTIN = load("builtin")


@contextmanager
def served(*flags: str) -> Iterator[str]:
    """The address of the command's server, as long as it runs."""
    with started(*flags) as (address, _):
        yield address


@contextmanager
def started(*flags: str) -> Iterator[tuple[str, int]]:
    """The same, and the process's id."""
    toolhop = str(Path(sys.executable).with_name("toolhop"))
    command = [toolhop, "openenv", "--sandbox", "process", "--port", "0", *flags]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        try:
            address = process.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:"), address
            yield address, process.pid
        finally:
            process.terminate()
            process.wait(30)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with served("--sessions", "3") as address:
        yield address


class Heard:
    """A client of OpenEnv's that keeps all that came over the wire."""

    def __init__(self, address: str) -> None:
        from openenv.core.generic_client import GenericEnvClient

        self.client = GenericEnvClient(base_url=address).sync()
        self.texts: list[str] = []

    def __enter__(self) -> Heard:
        self.client.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self.client.__exit__(*exc)

    def reset(self, **given: object) -> Any:
        return self._kept(self.client.reset(**given))

    def step(self, reply: Reply) -> Any:
        calls = [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in reply.calls]
        return self._kept(self.client.step({"text": reply.content, "calls": calls}))

    def _kept(self, result: Any) -> Any:
        self.texts.append(json.dumps(result.observation))
        return result

    def play(
        self, item: str, agent: str = AGENT, call_format: CallFormat = CallFormat.NATIVE
    ) -> float:
        """An episode of a scripted agent that sees what came over the wire; its rewards' sum."""
        result, total = self.reset(item=item, call_format=call_format.value), 0.0
        conversation: list[Message] = []
        while not result.done:
            conversation += heard(conversation, result.observation["messages"])
            tools = tools_from_wire(result.observation["tools"])
            reply = said(BUILTIN.by_id[item], conversation, tools, call_format, agent)
            conversation.append(AssistantMessage(reply.content, reply.calls))
            result = self.step(reply)
            total += result.reward
        return total


def heard(before: list[Message], new: list[dict[str, Any]]) -> tuple[Message, ...]:
    """New messages; names of tools stand in the calls before them."""
    calls = [call for one in before if isinstance(one, AssistantMessage) for call in one.calls]
    asked = {
        "role": "assistant", "content": "",
        "tool_calls": [{"id": c.id, "type": "function",
                        "function": {"name": c.name, "arguments": c.arguments}} for c in calls],
    }  # fmt: skip
    return messages_from_wire([asked, *new])[1:] if calls else messages_from_wire(new)


def test_rewards_are_the_scores_of_a_run_item_by_item(server: str, tmp_path: Path) -> None:
    expected = run_scores(tmp_path)
    with Heard(server) as one:
        found = {item: one.play(item) for item in expected}
    assert found == {item: score.value("strict") for item, score in expected.items()}
    assert sum(one.conduct.failed_calls for one in expected.values())


@pytest.mark.docker
@pytest.mark.usefixtures("docker_engine")
def test_items_in_containers_that_go_when_the_server_is_ended(tmp_path: Path) -> None:
    expected = run_scores(tmp_path, limit="4")
    with started("--sandbox", "docker", "--sessions", "1") as (address, pid), Heard(address) as one:
        found = {item: one.play(item) for item in expected}
        one.reset(item="geography-1")
        seen = containers_of(pid)
    assert found == {item: score.value("strict") for item, score in expected.items()}
    assert seen
    assert not containers_of(pid)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server(number: signal.Signals) -> None:
    with started() as (address, pid):
        assert ask(address, "/reset", {"item": "geography-1"})
        os.kill(pid, number)
        _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 130


def test_what_openenv_reads_of_it(server: str) -> None:
    from openenv.validation.parsers.openenv_yaml import OpenEnvYamlParser

    root = Path(__file__).parents[2]
    with urllib.request.urlopen(f"{server}/metadata") as answer:  # noqa: S310 -- of this machine
        told = json.load(answer)
    manifest = OpenEnvYamlParser().parse(root)
    assert (told["name"], told["version"]) == (manifest.name, manifest.version)
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert manifest.version == project["version"]


def test_calls_as_text(server: str, tmp_path: Path) -> None:
    expected = run_scores(tmp_path, limit="4", call_format="text")
    with Heard(server) as one:
        found = {item: one.play(item, call_format=CallFormat.TEXT) for item in expected}
    assert found == {item: score.value("strict") for item, score in expected.items()}


def test_the_components_of_a_reward_go_over_the_wire() -> None:
    flags = ("--reward", "official=1", "--reward", "failed_call=-0.5")
    with served(*flags) as address, Heard(address) as one:
        one.reset(item="geography-1")
        result = one.step(Reply(calls=(RawCall("1", "no_such_tool", "{}"),)))
        assert (result.reward, result.observation["only_failed"]) == (-0.5, True)
        assert result.observation["components"] == {"milestones": 0, "failed_call": 1}
        result = one.step(Reply("<answer>none</answer>"))
        assert (result.reward, result.observation["only_failed"]) == (0, False)
        found = result.observation["components"]
        assert found.items() >= {"official": 0, "strict": 0, "hops_solved": 0}.items()


def test_a_range_of_pass_rates_selects_the_items(tmp_path: Path) -> None:
    run_scores(tmp_path, limit="6")
    (run,) = map(str, tmp_path.glob("2*"))
    path = tmp_path / "profile.json"
    toolhop = str(Path(sys.executable).with_name("toolhop"))
    subprocess.run([toolhop, "profile", run, "--out", str(path)], check=True, capture_output=True)
    items = json.loads(path.read_text(encoding="utf-8"))["items"]
    passed = {one["name"] for one in items if one["pass_rate"] == 1}
    with served("--profile", str(path), "--pass-rate", "0.5-1") as address:
        tasks = ask(address, "/toolhop/tasks", {"split": "builtin"})["tasks"]
    assert {one["id"] for one in tasks} == passed
    assert 0 < len(passed) <= 6


def test_nothing_of_the_gold_goes_over_the_wire(server: str) -> None:
    hidden = 0
    for item in BUILTIN.items[:12]:
        with Heard(server) as one:
            one.reset(item=item.id)
            one.step(Reply("I do not know."))
            state = json.dumps(one.client.state())
        public = f"{item.question} {[tool.schema for tool in item.tools.values()]}"
        sent = "\n".join([*one.texts, state])
        for answer in {str(item.answer), *(str(hop.answer) for hop in item.hops)}:
            if answer not in public and len(answer) > 2:
                hidden += 1
                assert answer not in sent
        assert not any(tool.program.source in sent for tool in item.tools.values())
    tasks = ask(server, "/toolhop/tasks", {"split": "builtin"})
    assert {frozenset(one) for one in tasks["tasks"]} == {frozenset({"id", "index", "question"})}
    assert hidden > 20


def ask(server: str, path: str, body: object, **headers: str) -> Any:
    request = urllib.request.Request(  # noqa: S310 -- the test's own server
        server + path, json.dumps(body).encode(), {"Content-Type": "application/json", **headers}
    )
    with urllib.request.urlopen(request) as answer:  # noqa: S310 -- the same
        return json.load(answer)


def test_thoughts_are_kept_and_are_no_answer() -> None:
    from toolhop_agents.adapters.openenv_server import ToolHopEnvironment, TurnAction

    item = BUILTIN.items[0]
    right, wrong = f"<answer>{item.answer}</answer>", "<answer>wrong</answer>"
    with PlainEnvironments(RunSettings(sandbox="process"), most=1) as pool:
        seat = pool.environment()
        one = ToolHopEnvironment(pool, seat)
        one.reset(item=item.id)
        seen = one.step(TurnAction(text=right, reasoning_content=wrong))
        assert (seen.reward, seen.done) == (1, True)
        (replied,) = seat.trace.replies
        assert replied.reply.thoughts is not None
        assert replied.reply.thoughts.text == wrong
        one.close()


def test_sessions_at_once_do_not_mix(server: str) -> None:
    found: dict[str, float] = {}

    def work(item: str, agent: str) -> None:
        with Heard(server) as one:
            found[item] = one.play(item, agent)

    plays = [("geography-1", "oracle"), ("geography-2", "do-nothing")]
    threads = [threading.Thread(target=work, args=play) for play in plays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {"geography-1": 1.0, "geography-2": 0.0}


def test_settings_of_an_episode_and_what_is_refused(server: str) -> None:
    with Heard(server) as one:
        one.reset(index=0, split="builtin", feedback="minimal", turn_limit=1, episode_id="mine")
        assert one.client.state() == {
            "episode_id": "mine",
            "step_count": 0,
            "item": BUILTIN.items[0].id,
        }
        result = one.step(Reply("", calls=said(BUILTIN.items[0], [], []).calls))
        assert result.done
        cases: list[tuple[dict[str, Any], str]] = [
            ({"item": "nowhere"}, "there is no item 'nowhere'"),
            ({"item": "geography-1", "data": "x"}, "'data' is no setting of an episode"),
            ({"index": 9000}, "there is no item 9000\\s+fix: give 0 to"),
            ({"index": "one"}, "index cannot be 'one'"),
            ({"seed": [1]}, r"seed cannot be \[1\]"),
            ({"template": "prompt.txt"}, "it has no {question}"),
        ]
        for given, says in cases:
            with pytest.raises(RuntimeError, match=says):
                one.reset(**given)
        one.reset(item="geography-1")


@pytest.mark.parametrize(
    ("path", "body", "status", "says"),
    [
        ("/reset", {"item": "nowhere"}, 400, "there is no item 'nowhere'"),
        ("/reset", {"index": 9000}, 400, "there is no item 9000"),
        ("/reset", {"item": "geography-1", "turn_limit": 0}, 400, "turn_limit cannot be 0"),
        ("/reset", {"split": "train", "index": 0}, 400, "there is no split 'train'"),
        ("/reset", {"split": "train", "item": "geography-1"}, 400, "there is no split 'train'"),
        ("/reset", {"index": 0, "item": "geography-1"}, 400, "give one of them"),
        ("/toolhop/task", {"split": "builtin", "index": 9000}, 400, "give 0 to 42"),
        ("/step", {"action": {"text": "42"}}, 409, "no episode is in play: reset first; each"),
    ],
)
def test_a_wrong_request_by_http(
    server: str, path: str, body: object, status: int, says: str
) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        ask(server, path, body)
    assert refused.value.code == status
    assert says in json.load(refused.value)["detail"]
    assert ask(server, "/reset", {"item": "geography-1"})["observation"]["messages"]


def test_what_an_episode_can_lose_is_a_conflict() -> None:
    """By the application alone: sandboxes break seldom."""
    from fastapi.testclient import TestClient

    from toolhop_agents.adapters.openenv_server import ToolHopEnvironment, application

    faults = {
        EpisodeLost("lost"): 409, Unscored("needs a judge"): 409,
        SandboxUnavailable("no engine", fix="start one"): 503,
    }  # fmt: skip
    with PlainEnvironments(RunSettings(data="builtin", sandbox="process")) as pool:
        client = TestClient(application(pool, sessions=1), base_url="http://localhost")
        for fault, status in faults.items():
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(ToolHopEnvironment, "reset", raising(fault))
                answer = client.post("/reset", json={})
            assert answer.status_code == status
            assert str(fault) in answer.json()["detail"]


def raising(fault: Exception) -> Callable[..., Any]:
    def reset(*_: object, **__: object) -> None:
        raise fault

    return reset


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--reward", "strict=nan"], "weight of 'strict' cannot be nan"),
        (["--reward", "failed_call=-inf"], "weight of 'failed_call' cannot be -inf"),
        (["--reward", "strict=1", "--reward", "strict=2"], "strict was given twice"),
        (["--judge", "overlap"], "No such option '--judge'"),
    ],
)
def test_what_the_command_refuses_before_it_starts(
    flags: list[str], says: str, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    command = ["toolhop", "openenv", "--sandbox", "process", "--port", "0", *flags]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit, match="2"):
        main()
    assert says in capsys.readouterr().err


def test_a_session_that_closes_gives_its_place_back(server: str) -> None:
    for _ in range(8):  # more than there are places
        with Heard(server) as one:
            one.reset(item="geography-1")


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}])
def test_other_names_and_pages_are_refused(server: str, headers: dict[str, str]) -> None:
    with pytest.raises(urllib.error.HTTPError, match="403"):
        ask(server, "/reset", {}, **headers)


def test_rewards_as_asked() -> None:
    flags = ("--reward", "strict=1", "--reward", "failed_call=-0.5", "--limit", "1")
    with served(*flags) as address, Heard(address) as one:
        one.reset()
        wrong = Reply("", calls=said(BUILTIN.items[0], [], [], agent="do-nothing").calls)
        assert not wrong.calls
        result = one.client.step({"calls": [{"name": "nothing", "arguments": {}}]})
        assert result.reward == -0.5
