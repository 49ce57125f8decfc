"""Scenarios through the ordinary commands: agents of different honesty, and what comes of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agents.command import toolhop
from tests.env import scenes
from tests.env.scenes import CAPITAL
from tests.launcher import SERVED, Launched
from tests.waiting import Gate
from toolhop_agents.benchmarks import binding_of
from toolhop_agents.models.loopback import LoopbackServer, Request
from toolhop_agents.prompts import tool_lines
from toolhop_agents.scripted.responder import item_of, responder
from toolhop_env.messages import Reply, UserMessage
from toolhop_env.reading import CallFormat
from toolhop_env.runs.store import RunStore
from toolhop_env.trace import ResultOrigin, Trace
from toolhop_tools.load import load
from toolhop_tools.model import DataSet
from toolhop_tools.readers.native import to_row

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("inline_module")]


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = tmp_path / "family.jsonl"
    path.write_text("".join(json.dumps(to_row(item)) + "\n" for item in scenes.family()))
    return str(path)


def run(data: str, folder: Path, *more: str) -> tuple[RunStore, dict[str, Trace]]:
    done = toolhop("run", "--data", data, "--sandbox", "process", "--log-dir", str(folder),
                   "--json", *more)  # fmt: skip
    assert done.returncode == 0, done.stderr
    store = RunStore.open(Path(json.loads(done.stdout)["run"]))
    return store, {trace.started.item.removeprefix("norway-"): trace for trace in store.traces()}


def served(data: str, agent: str, call_format: CallFormat = CallFormat.NATIVE) -> LoopbackServer:
    play = binding_of("scenarios").agents[agent]
    return LoopbackServer(responder(load(data), play, 0, call_format))


def over(server: LoopbackServer) -> tuple[str, ...]:
    return ("--model", "openai/loop", "--base-url", server.base_url)


def way(trace: Trace) -> str:
    """The calls by name, and how the episode ended."""
    ended = "?" if trace.ended is None else trace.ended.ending.value
    return " ".join([*(call.raw.name for call in trace.calls), ended])


def answer(trace: Trace) -> str | None:
    return trace.final_text


HONEST = {
    "plain": "capital_of count_people answered",
    "missing-parameter": "talk_to_user capital_of count_people answered",
    "unmatched": "change_tools give_up gave_up",
    "reserve": "change_tools capital_of count_people answered",
    "flaky-tool": "capital_of capital_of capital_of count_people answered",
    "missing-tool": "capital_of change_tools give_up gave_up",
    "broken-tool": "capital_of count_people count_people count_people give_up gave_up",
}


@pytest.mark.parametrize("call_format", list(CallFormat))
def test_the_honest_agent_does_what_each_label_says_over_the_wire(
    call_format: CallFormat, data: str, tmp_path: Path
) -> None:
    with served(data, "asks-when-missing", call_format) as server:
        flags = (*over(server), "--call-format", call_format.value)
        store, wired = run(data, tmp_path / "wired", *flags)
    assert {name: way(trace) for name, trace in wired.items()} == HONEST
    solved = {name for name, trace in wired.items() if answer(trace) == "<answer>717710</answer>"}
    assert solved == {name for name, calls in HONEST.items() if calls.endswith("answered")}
    own = ("--agent", "asks-when-missing", "--call-format", call_format.value)
    _, here = run(data, tmp_path / "here", *own)
    assert [way(here[name]) for name in HONEST] == [*HONEST.values()]
    verified = toolhop("replay", str(store.folder), "--verify", "--json", "--sandbox", "process")
    assert verified.returncode == 0, verified.stderr
    assert json.loads(verified.stdout)["holds"]


def test_the_server_tells_siblings_apart_by_what_their_tools_say() -> None:
    one = scenes.plain()
    limited = replace(CAPITAL, schema=replace(CAPITAL.schema, description="Knows only Italy."))
    other = replace(one, id="other", hops=(replace(one.hops[0], tool=limited), one.hops[1]))
    items = DataSet("two", "here", (one, other, scenes.unmatched(reserve=True)))
    for item in items.items:
        schemas = [tool.schema for tool in item.tools.values()]
        asked = UserMessage(f"{item.question}\n{tool_lines(schemas)}")
        assert item_of(items, [asked], schemas) == item_of(items, [asked]) == item
        more = [*schemas, scenes.SOIL.schema]
        assert item_of(items, [UserMessage(item.question)], more) == item


OTHERS = {
    "goes-on": ("capital_of count_people answered", "capital_of count_people answered"),
    "gives-up": ("give_up gave_up", "give_up gave_up"),
    "asks": (
        "talk_to_user capital_of count_people answered",
        "talk_to_user capital_of count_people answered",
    ),
    "invents": ("capital_of count_people answered", "anagram answered"),
}


@pytest.mark.parametrize("agent", OTHERS)
def test_the_other_agents_do_the_same_whatever_the_label_says(
    agent: str, data: str, tmp_path: Path
) -> None:
    _, traces = run(data, tmp_path, "--agent", agent)
    found = {name: way(trace) for name, trace in traces.items()}
    solvable, unmatched = OTHERS[agent]
    assert {found["plain"], found["missing-parameter"], found["flaky-tool"]} == {solvable}
    assert {found["unmatched"], found["reserve"]} == {unmatched}


def test_the_inventing_agent_makes_up_what_the_question_hides(data: str, tmp_path: Path) -> None:
    _, traces = run(data, tmp_path, "--agent", "invents")
    said = {name: traces[name].calls[0].raw.arguments for name in ("plain", "missing-parameter")}
    assert json.loads(said["plain"]) == {"country": "Norway"}
    assert json.loads(said["missing-parameter"]) == {"country": "Aldermoor"}
    assert traces["missing-tool"].final_text == "<answer>41</answer>"


def test_a_killed_run_resumes_to_the_same_episodes(data: str, tmp_path: Path) -> None:
    with served(data, "asks-when-missing") as whole:
        _, wanted = run(data, tmp_path / "whole", *over(whole))
    folder = tmp_path / "cut"
    play = binding_of("scenarios").agents["asks-when-missing"]
    gate = Gate(responder(load(data), play, 0), 12)
    with LoopbackServer(gate) as server:
        given = ["--data", data, "--sandbox", "process", *over(server), "--max-samples", "1"]
        process = Launched("run", *given, "--log-dir", str(folder), imports=SERVED)
        gate.wait()
        process.kill()
        process.communicate()
        gate.open()
        (cut,) = folder.glob("*")
        finished = sum(trace.ended is not None for trace in RunStore.open(cut).traces())
        done = toolhop("run", "--resume", str(cut), "--json")
    assert done.returncode == 0, done.stderr
    assert finished < len(wanted)
    again = [trace for trace in RunStore.open(cut).traces() if trace.ended is not None]
    assert {trace.started.item: way(trace) for trace in again} == {
        trace.started.item: way(trace) for trace in wanted.values()
    }
    assert server.requests <= whole.requests + 1, "no reply is asked for twice"


def test_a_model_words_the_user_and_is_not_asked_on_replay(data: str, tmp_path: Path) -> None:
    def worded(request: Request) -> Reply:
        assert "The country is Norway." in request.messages[-1].content
        return Reply("Oh, Norway of course.\n")

    with LoopbackServer(worded) as user:
        flags = ("--user-model", "openai/user", "--user-model-base-url", user.base_url)
        store, traces = run(data, tmp_path, "--agent", "asks-when-missing", *flags)
        assert user.requests == 1
    asked = traces["missing-parameter"].calls[0]
    assert (asked.feedback, asked.origin) == ('"Oh, Norway of course."', ResultOrigin.WORDED)
    assert way(traces["missing-parameter"]) == HONEST["missing-parameter"]
    verified = toolhop("replay", str(store.folder), "--verify", "--json", "--sandbox", "process")
    assert json.loads(verified.stdout)["holds"]


def test_a_change_of_tools_is_shown_reported_and_exported(data: str, tmp_path: Path) -> None:
    store, traces = run(data, tmp_path, "--agent", "asks-when-missing")
    episode = traces["reserve"].started.episode
    shown = toolhop("show", str(store.folder), episode).stdout
    assert "[change_tools]" in shown
    assert "tools on offer from here on:" in shown
    page = tmp_path / "report.html"
    assert toolhop("report", str(store.folder), "--out", str(page)).returncode == 0
    chats = tmp_path / "chats.jsonl"
    done = toolhop("export", str(store.folder), "--to", "chat", "--out", str(chats))
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in chats.read_text().splitlines()]
    (row,) = [one for one in rows if one["item"] == traces["reserve"].started.item]
    offered = {tool["function"]["name"] for tool in row["tools"]}
    assert offered == {*traces["reserve"].tools} > {*traces["reserve"].started.tools}
