"""Traces in formats of other tools' viewers: ATIF and session traces."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.agents.atif import faults
from tests.agents.recorded import continued, edited, invoked, recorded
from tests.agents.test_export import ERRORED, ITEMS, LIMIT, RIGHT, act
from tests.env.made import called, finished, started
from tests.inline import inline_sandbox
from toolhop_agents.export.episodes import Exported, copied_turns, exported, places
from toolhop_agents.export.traces import session, trajectory
from toolhop_env.attempt import attempt_of
from toolhop_env.feedback import Level
from toolhop_env.fork import fork
from toolhop_env.messages import RawCall, Reply
from toolhop_env.reading import CallFormat
from toolhop_env.runs.store import RunStore
from toolhop_env.trace import Ended, Ending, Event, FeedbackSet, Replied, ToolsChanged, Trace
from toolhop_env.verdicts import ErrorCode, Problem, Rejected
from toolhop_tools.model import Item

Plain = dict[str, Any]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    folder = tmp_path_factory.mktemp("runs")
    return recorded(folder, ITEMS, agent="someone", act=act, sandbox=inline_sandbox())


def command(*arguments: object) -> tuple[int, str, str]:
    return invoked("export", *arguments)


def entry(trace: Trace, copied: int = 0) -> Exported:
    return Exported("run", trace, attempt_of(trace), counts=True, copied_turns=copied)


def made(trace: Trace, item: Item | None = None, copied: int = 0) -> Plain:
    """A valid trajectory, as it is read back."""
    found: Plain = json.loads(json.dumps(trajectory(entry(trace, copied), item, "run/e1", "1.0")))
    assert faults(found) == []
    return found


def test_a_run_is_a_folder_of_valid_trajectories(store: RunStore, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code, said, err = command(store.folder, "--to", "atif", "--out", out)
    assert (code, said, err) == (0, f"{out / 'run'}\n", "4 episodes\n")
    read = {path.stem: json.loads(path.read_text()) for path in (out / "run").iterdir()}
    assert sorted(read) == [f"{item.id}_mandatory_e1_a1" for item in ITEMS]
    assert [faults(one) for one in read.values()] == [[]] * 4
    assert {one["session_id"] for one in read.values()} == {f"run/{name}" for name in read}
    right = read[f"{RIGHT}_mandatory_e1_a1"]
    assert right["agent"] | {"tool_definitions": []} == {
        "name": "toolhop-env",
        "version": "0",
        "model_name": "someone",
        "tool_definitions": [],
    }
    names = [one["function"]["name"] for one in right["agent"]["tool_definitions"]]
    assert names == list(next(store.traces()).tools)
    assert [step["source"] for step in right["steps"]] == ["user", "agent", "agent"]
    assert right["extra"]["score"]["strict"] is True
    assert right["extra"]["expected"] == "16"
    totals = right["final_metrics"]
    assert (totals["total_prompt_tokens"], totals["total_cached_tokens"]) == (300, 40)
    assert (totals["total_completion_tokens"], totals["total_cost_usd"]) == (30, 0.75)
    errored = read[f"{ERRORED}_mandatory_e1_a1"]["extra"]
    assert (errored["errored"], "score" in errored) == ("the endpoint was gone", False)
    assert read[f"{LIMIT}_mandatory_e1_a1"]["extra"]["ending"] == "out_of_turns"


def test_calls_and_feedback_stand_in_the_step_of_their_reply(store: RunStore) -> None:
    one = next(exported([store]))
    step = made(one.trace)["steps"][1]
    good, bad, unknown, _ = step["tool_calls"]
    assert good == {
        "tool_call_id": "a",
        "function_name": "capital",
        "arguments": {"country": "Norway"},
    }
    assert (bad["arguments"], bad["extra"]) == ({}, {"unparsed_arguments": "{not json"})
    assert (unknown["arguments"], "extra" in unknown) == ({}, False)
    results = step["observation"]["results"]
    assert [result["source_call_id"] for result in results] == ["a", "b", "c", "d"]
    assert [result["content"] for result in results] == [call.feedback for call in one.trace.calls]
    codes = [result["extra"].get("error") for result in results]
    assert codes == [None, "not_json", "unknown_tool", "returned_error"]
    assert step["metrics"] == {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "cached_tokens": 40,
        "cost_usd": 0.25,
    }
    assert (step["model_name"], step["extra"]["finish_reason"]) == ("m-1", "length")


def test_calls_without_an_id_of_their_own_get_one_and_those_left_by_a_limit_are_marked() -> None:
    calls = tuple(RawCall(name, "born", "{}") for name in ("", "x", "x", "y"))
    events: tuple[Event, ...] = (
        started(),
        Replied(1, Reply("Now.", calls)),
        *(replace(called("born", "1815"), raw=raw) for raw in calls[:3]),
        ToolsChanged(("minus",)),
        FeedbackSet(Level.MINIMAL),
        Ended(Ending.OUT_OF_CALLS, 1.0),
    )
    step = made(Trace(events))["steps"][-1]
    assert [one["tool_call_id"] for one in step["tool_calls"]] == [
        "turn1_call1",
        "x",
        "turn1_call3",
        "y",
    ]
    assert step["tool_calls"][2]["extra"] == {"given_id": "x"}
    assert "not_run" in step["tool_calls"][3]["extra"]
    assert len(step["observation"]["results"]) == 3
    assert step["extra"]["from_the_next_turn"] == {"tools": ["minus"], "feedback": "minimal"}


def malformed() -> Trace:
    """A call in a wrong form, its feedback, and the answer."""
    problem = Rejected((Problem(ErrorCode.MALFORMED_CALL, "", "in the text", "call it"),))
    said = replace(called("", rejected=problem), raw=RawCall("turn1_malformed", "", ""))
    answer = Replied(2, Reply("<answer>36</answer>"))
    ended = Ended(Ending.ANSWERED, 1.0)
    return Trace((started(), Replied(1, Reply("born()")), said, answer, ended))


def test_feedback_to_a_malformed_call_answers_no_call() -> None:
    _, step, _ = made(malformed())["steps"]
    assert "tool_calls" not in step
    (result,) = step["observation"]["results"]
    assert "source_call_id" not in result
    assert result["extra"]["error"] == "malformed_call"


def test_the_turns_of_a_fork_are_copied_context_and_those_of_a_replaced_attempt_are_not(
    tmp_path: Path,
) -> None:
    item, answer = ITEMS[0], Reply("<answer>16</answer>")
    store = recorded(tmp_path / "a", [item], act=act, sandbox=inline_sandbox())
    (trunk,) = store.traces()
    forked = fork(trunk, Level.MINIMAL, origin="trunk/e1")
    assert forked is not None
    name = trunk.started.episode
    other = RunStore.create(tmp_path / "b", "run", store.manifest, [item])
    box = inline_sandbox()
    branch = anyio.run(continued, other, box, item, forked.kept, name, answer)
    (one,) = exported([other])
    assert (one.copied_turns, branch.started.prefix_turns) == (1, 1)
    found = made(branch, copied=one.copied_turns)
    marks = [step.get("is_copied_context") for step in found["steps"]]
    assert marks == [True, True, None]
    assert not any("is_copied_context" in step for step in made(trunk)["steps"])


def test_what_an_attempt_keeps_of_the_one_it_replaces_is_its_own() -> None:
    def attempt(number: int, parent: str, turns: int, item: str = "i1") -> Any:
        change = {"episode": f"{item}_a{number}", "attempt": number, "item": item}
        return attempt_of(Trace((started(**change, parent=parent, prefix_turns=turns),)))

    killed = {one.episode: one for one in (attempt(1, "", 0), attempt(2, "i1_a1", 2))}
    assert copied_turns(attempt(3, "i1_a2", 4), killed) == 0
    branch = {"i1_a1": attempt(1, "trunk/i1_a1", 2)}
    assert copied_turns(attempt(2, "i1_a1", 5), branch) == 2
    # A branch may have the name of the episode that it resumes.
    assert copied_turns(attempt(1, "i1_a1", 2), branch) == 2
    assert copied_turns(attempt(1, "trunk", 2), {}) == 2


def _without(*path: str | int) -> Callable[[Any], None]:
    def change(plain: Any) -> None:
        *parents, last = path
        for part in parents:
            plain = plain[part]
        del plain[last]

    return change


def _with(value: object, *path: str | int) -> Callable[[Any], None]:
    def change(plain: Any) -> None:
        *parents, last = path
        for part in parents:
            plain = plain[part]
        plain[last] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        _without("agent"),
        _without("agent", "version"),
        _without("steps", 1),
        _with("ATIF-v1.9", "schema_version"),
        _with("{}", "steps", 1, "tool_calls", 0, "arguments"),
        _with("z", "steps", 1, "observation", "results", 0, "source_call_id"),
        _with([], "steps", 0, "tool_calls"),
        _with("x", "steps", 0, "other"),
        _with("yesterday", "steps", 0, "timestamp"),
        _with(1.5, "final_metrics", "total_prompt_tokens"),
        _with(7, "final_metrics", "total_steps"),
    ],
)
def test_the_check_of_trajectories_sees_what_is_wrong(change: Callable[[Any], None]) -> None:
    found = made(finished(called("born", "1815")))
    change(found)
    assert faults(found)


def test_runs_of_one_name_get_folders_of_their_own(tmp_path: Path) -> None:
    stores = [recorded(tmp_path / name, ITEMS[:1], sandbox=inline_sandbox()) for name in "ab"]
    assert places(stores) == ["a/run", "b/run"]
    runs = [store.folder for store in stores]
    out = tmp_path / "out"
    assert command(*runs, "--to", "atif", "--out", out)[0] == 0
    written = sorted(path.relative_to(out).as_posix() for path in out.rglob("*.*"))
    assert written == [f"{name}/run/{ITEMS[0].id}_mandatory_e1_a1.json" for name in "ab"]


def test_only_attempts_that_count_are_written_and_nothing_is_replaced_unasked(
    tmp_path: Path,
) -> None:
    run = recorded(tmp_path, ITEMS[:1], sandbox=inline_sandbox())
    first = "small-1_mandatory_e1_a1"
    path = run.path(first)
    second = {"episode": first.replace("a1", "a2"), "attempt": 2}
    run.path(second["episode"]).write_bytes(path.read_bytes())  # type: ignore[arg-type]
    edited(run, second["episode"], lambda events: events[0].update(second))  # type: ignore[arg-type]
    edited(run, first, lambda events: events[-1].update(ending="errored", reason="gone"))
    out = tmp_path / "out"
    assert command(run.folder, "--to", "atif", "--out", out)[0] == 0
    assert [one.name for one in (out / "run").iterdir()] == [f"{second['episode']}.json"]
    code, _, err = command(run.folder, "--to", "atif", "--out", out)
    assert (code, "pass --overwrite" in err) == (2, True)
    assert command(run.folder, "--to", "atif", "--out", out, "--overwrite")[0] == 0


def lines(path: Path) -> list[Plain]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def message_faults(message: Plain) -> list[str]:
    """What is wrong with a message, by the fields of the hub's documentation."""
    known = {"role", "content", "reasoningContent", "toolCalls", "toolCallId", "timestamp", "model"}
    found = [f"{key} is not known" for key in message.keys() - known]
    if message.get("role") not in {"user", "assistant", "system", "tool"}:
        found.append("no role")
    if not isinstance(message.get("content"), str):
        found.append("no content")
    if ("toolCallId" in message) != (message.get("role") == "tool"):
        found.append("tool messages, and they alone, answer a call")
    if "toolCalls" in message and message["role"] != "assistant":
        found.append("assistants call")
    if not isinstance(message.get("timestamp", 0), int):
        found.append("the time is not in milliseconds")
    for call in message.get("toolCalls", ()):
        shape = {"id": str, "function": {"name": str, "arguments": str}}
        kinds = {key: type(value) for key, value in call.items()}
        parts = {key: type(value) for key, value in call["function"].items()}
        if kinds | {"function": parts} != shape:
            found.append(f"{call} is not a call")
    return found


def test_a_session_is_a_header_and_the_messages(store: RunStore, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code, said, _ = command(store.folder, "--to", "hf-session", "--out", out)
    assert (code, said) == (0, f"{out / 'run'}\n")
    files = sorted((out / "run").iterdir())
    assert [path.name for path in files] == [f"{one.id}_mandatory_e1_a1.jsonl" for one in ITEMS]
    for path, item in zip(files, ITEMS, strict=True):
        header, *messages = lines(path)
        assert header["type"] == "session"
        assert (header["harness"], header["id"]) == ("toolhop-env", f"run/{path.stem}")
        assert header["name"] == item.question
        assert {one["type"] for one in messages} == {"message"}
        assert [message_faults(one["message"]) for one in messages] == [[]] * len(messages)
    header, user, asked, *told, answer = lines(files[0])
    assert (header["score"]["strict"], header["agent"]) == (True, "someone")
    began = next(store.traces()).started.at
    assert user["message"]["timestamp"] == datetime.fromisoformat(began).timestamp() * 1000
    assert asked["message"]["toolCalls"][1] == {
        "id": "b",
        "function": {"name": "length", "arguments": "{not json"},
    }
    assert [one["message"]["toolCallId"] for one in told] == ["a", "b", "c", "d"]
    assert answer["message"] == {
        "role": "assistant",
        "content": "<answer>16</answer>",
        "model": "someone",
    }


def test_a_session_of_the_text_format_links_calls_and_has_other_feedback_as_a_user(
    tmp_path: Path,
) -> None:
    store = recorded(tmp_path, ITEMS[:1], call_format=CallFormat.TEXT, sandbox=inline_sandbox())
    (one,) = exported([store])
    _, _, asked, told, *_ = (line.get("message") for line in session(one, "n", ""))
    assert asked is not None
    assert told is not None
    assert "Action:" in asked["content"]
    assert told["toolCallId"] == asked["toolCalls"][0]["id"]
    roles = [line["message"]["role"] for line in [*session(entry(malformed()), "n", "")][1:]]
    assert roles == ["user", "assistant", "user", "assistant"]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "tool", "content": ""},
        {"role": "user"},
        {"role": "agent", "content": ""},
        {"role": "user", "content": "", "tool_calls": []},
        {"role": "user", "content": "", "timestamp": 1.5},
        {"role": "assistant", "content": "", "toolCalls": [{"id": "a", "function": {"name": "f"}}]},
    ],
)
def test_the_check_of_messages_sees_what_is_wrong(message: Plain) -> None:
    assert message_faults(message)
