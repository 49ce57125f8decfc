"""Recorded runs are run again and compared: what differs is found."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.agents.items import hop, small_item, tool
from tests.agents.recorded import Act, continued, edited, invoked, recorded
from tests.canned import CannedSandbox
from tests.env.graded import graded, marked
from tests.inline import inline_sandbox
from toolhop_agents.prompts import Mode
from toolhop_agents.runs import replay
from toolhop_agents.runs.replay import PARTS, NotReplayable, Verification, compare, rerun, verify
from toolhop_agents.runs.replay_command import changes
from toolhop_agents.trace_view import verdict_text
from toolhop_env.episode import Episode
from toolhop_env.feedback import Level
from toolhop_env.messages import RawCall, Reply
from toolhop_env.reading import CallFormat
from toolhop_env.responders import StandIns
from toolhop_env.runs.store import ITEMS, RunStore
from toolhop_env.setting import Setting
from toolhop_env.trace import Ending, Trace
from toolhop_env.verdicts import Call
from toolhop_sandbox.base import Limits, Sandbox
from toolhop_sandbox.choose import open_sandbox
from toolhop_sandbox.errors import SandboxFault, SandboxUnavailable
from toolhop_sandbox.outcome import JSON, Outcome, OutOfMemory, Raised, Returned, TimedOut
from toolhop_tools.load import load
from toolhop_tools.model import (
    Body,
    EpisodeAction,
    Item,
    RecordedTable,
    Simulated,
    Tool,
    ToolSchema,
    canonical,
)

Change = Callable[[list[dict[str, Any]]], None]
__all__ = ["graded"]  # a fixture, found by its name
SAMPLES = Path(__file__).parent / "samples"
ITEM = small_item()
FIRST = "small-1_mandatory_e1_a1"


def verified(
    store: RunStore, sandbox: Sandbox | None = None, *, at_a_time: int = 2
) -> Verification:
    async def go() -> Verification:
        async with sandbox or inline_sandbox() as box:
            items = store.items().by_id
            return await verify(store.traces(), items, box, at_a_time=at_a_time)

    return anyio.run(go)


def inline(folder: Path, *items: Item, agent: str = "oracle", act: Act | None = None) -> RunStore:
    """A run that was played in this process."""
    return recorded(folder, items or [ITEM], agent=agent, act=act, sandbox=inline_sandbox())


def really(store: RunStore) -> Verification:
    """Verified in the process sandbox."""

    async def go() -> Verification:
        async with await open_sandbox("process", max_workers=1) as box:
            return await verify(store.traces(), store.items().by_id, box)

    return anyio.run(go)


def command(*arguments: object) -> tuple[int, str, str]:
    return invoked("replay", *arguments)


def told(*arguments: object) -> tuple[int, dict[str, Any]]:
    code, out, err = command(*arguments, "--json")
    assert out, err
    found: dict[str, Any] = json.loads(out)
    return code, found


def asking(item_tool: str, **arguments: object) -> Reply:
    return Reply(calls=(RawCall("c1", item_tool, json.dumps(arguments)),))


def item_of(source: str, name: str = "f") -> Item:
    """An item of one tool without arguments."""
    made = tool(name, source, {}, [])
    return replace(ITEM, id="own-1", hops=(hop("What?", "1", made),))


def calling(times: int) -> Callable[[Episode], Any]:
    async def act(episode: Episode) -> None:
        for _ in range(times):
            await episode.step(asking("f"))
        await episode.step(Reply("<answer>1</answer>"))

    return act


@pytest.mark.parametrize(
    ("agent", "call_format", "feedback"),
    [
        ("repairing:0.6", CallFormat.NATIVE, Level.DETAILED),
        ("faulty:0.9", CallFormat.TEXT, Level.MINIMAL),
    ],
)
def test_an_unmodified_run_verifies(
    agent: str, call_format: CallFormat, feedback: Level, tmp_path: Path
) -> None:
    items = [small_item("small-1"), small_item("small-2")]
    store = recorded(tmp_path, items, agent=agent, call_format=call_format, feedback=feedback)
    found = really(store)
    assert found.holds
    assert (found.episodes, found.unfinished) == (2, ())
    assert 0 < found.calls == sum(len(trace.calls) for trace in store.traces())


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.usefixtures("inline")
def test_a_run_of_an_older_format_verifies_with_the_calls_it_had(
    number: int, tmp_path: Path
) -> None:
    store = RunStore(shutil.copytree(SAMPLES / f"run_format_{number}", tmp_path / "run"))
    code, found = told(store.folder, "--verify")
    assert (code, found["differences"], found["unfinished"]) == (0, [], [])
    assert (found["episodes"], found["calls"]) == {1: (2, 8), 2: (4, 6)}[number]


def test_without_calls_there_is_nothing_to_run(tmp_path: Path) -> None:
    for mode, agent in ((Mode.DIRECT, "oracle"), (Mode.MANDATORY, "do-nothing")):
        run = recorded(tmp_path, [ITEM], mode=mode, agent=agent, sandbox=inline_sandbox())
        found = verified(run)
        assert (found.holds, found.episodes, found.calls) == (True, 1, 0)


@pytest.mark.docker
@pytest.mark.usefixtures("docker_engine")
def test_built_in_items_verify_in_containers_and_across_sandboxes(tmp_path: Path) -> None:
    items = load("builtin").items[::4]
    store = recorded(tmp_path, items, agent="faulty:0.3", sandbox="docker")
    code, found = told(store.folder, "--verify")
    assert (code, found["holds"], found["episodes"]) == (0, True, len(items))
    assert found["calls"] > 2 * len(items)
    code, found = told(store.folder, "--verify", "--sandbox", "process")
    assert (code, found["holds"]) == (0, True)
    assert {"name": "kind", "recorded": "docker", "now": "process"} in found["changed"]


def bodied(name: str, body: Body) -> Tool:
    text: dict[str, JSON] = {"type": "object", "properties": {"answer": {"type": "string"}}}
    return Tool(ToolSchema(name, f"The {name} tool.", text), body)


class Oracle:
    """Stands in for a model and a user; counts how often."""

    def __init__(self) -> None:
        self.asked = 0

    async def respond(self, tool: Tool, arguments: Mapping[str, JSON]) -> Outcome:
        self.asked += 1
        return Returned(json.dumps(f"{tool.name} {self.asked}"))


TABLE = RecordedTable({canonical({"answer": "a"}): Returned('"found"')}, Raised("KeyError", "x"))
BODIES = (
    bodied("table", TABLE),
    bodied("model", Simulated("Be a tool.")),
    bodied("user", EpisodeAction.ASK_USER),
    bodied("done", EpisodeAction.FINISH),
)
OTHER = Item(
    "o-1", "What?", "", (), "", "", others=BODIES, benchmark="graded", gold={"wanted": "b"}
)


async def of_other_bodies(folder: Path) -> tuple[Trace, Oracle]:
    """An episode whose calls are looked up, simulated, put to a user, and end it."""
    oracle = Oracle()
    async with CannedSandbox([]) as box:
        stand_ins = StandIns(simulator=oracle, user=oracle)
        async with Episode(OTHER, box, name="o", stand_ins=stand_ins) as episode:
            for name in ("table", "model", "table", "user", "model"):
                await episode.step(asking(name, answer="a" if name != "user" else "who?"))
            await episode.step(asking("done", answer="b"))
    return episode.trace, oracle


@pytest.mark.usefixtures("graded")
def test_tables_are_looked_up_and_whoever_stood_in_is_not_asked_again(tmp_path: Path) -> None:
    async def go() -> None:
        trace, oracle = await of_other_bodies(tmp_path)
        assert (trace.final_text, oracle.asked, len(trace.calls)) == ("b", 3, 6)
        again = await rerun(trace, OTHER, CannedSandbox([]))
        assert compare(trace, again) == ()
        assert [call.outcome for call in again.calls] == [call.outcome for call in trace.calls]
        assert oracle.asked == 3
        other = bodied("table", replace(TABLE, default=Returned("1")))
        wrong = replace(OTHER, others=(other, *BODIES[1:]))
        with pytest.raises(NotReplayable, match="was changed"):
            await rerun(trace, wrong, CannedSandbox([]))

    anyio.run(go)


@pytest.mark.usefixtures("graded")
def test_an_answer_that_is_not_in_the_trace_is_not_made_up(tmp_path: Path) -> None:
    async def go() -> None:
        trace, _ = await of_other_bodies(tmp_path)
        second, asked = trace.calls[1], trace.calls[3]
        lost = Trace(tuple(event for event in trace.events if event is not asked))
        found = await verify([lost], {OTHER.id: OTHER}, CannedSandbox([]))
        assert not found.holds
        assert "a call of user with {'answer': 'who?'} has no answer" in found.not_replayed["o"]
        said = replace(second, feedback="another")
        edited = Trace(tuple(said if event is second else event for event in trace.events))
        found = await verify([edited], {OTHER.id: OTHER}, CannedSandbox([]))
        assert [one.parts for one in found.differences] == [("feedback",)]
        assert found.differences[0].number == 2

    anyio.run(go)


@pytest.mark.usefixtures("graded")
def test_a_plan_has_no_call_to_run_and_a_judge_is_not_asked_for_its_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = Reply("Oslo", (RawCall("a", "table", "{}"),))
    monkeypatch.setattr(replay, "_is_planning", lambda started: started.benchmark == "graded")
    store = RunStore.create(tmp_path, "run", {})

    async def go() -> None:
        async with CannedSandbox([]) as box:
            with store.sink("o") as sink:
                setting = Setting(offer_tools=False, single_reply=True)
                async with Episode(OTHER, box, setting, sink=sink, name="o") as episode:
                    await episode.step(plan)
            found = await verify(store.traces(), {OTHER.id: OTHER}, box)
            assert (found.holds, found.episodes, found.calls) == (True, 1, 0)

    anyio.run(go)
    (trace,) = store.traces()
    store.add_judgements(list(marked((trace, 7.5)).of("o").values()))
    (attempt,) = store.attempts()
    assert attempt.score is not None
    assert attempt.score.values["mark"] == (7.5, 1.0)
    answers = store.judgements().answers(trace)
    assert "mark 7.50" in verdict_text(trace, answers).plain
    assert "mark -" in verdict_text(trace).plain


def feedback(event: dict[str, Any]) -> None:
    event["feedback"] += " "


def outcome(event: dict[str, Any]) -> None:
    event["outcome"]["json_text"] = '"Bergen"'


def verdict(event: dict[str, Any]) -> None:
    event["verdict"]["arguments"]["country"] = "norway"


def error(event: dict[str, Any]) -> None:
    event["error"] = "raised"


def level(event: dict[str, Any]) -> None:
    event["level"] = "minimal"


def raw(event: dict[str, Any]) -> None:
    event["raw"]["arguments"] += " "


@pytest.mark.parametrize("change", [feedback, outcome, verdict, error, level, raw])
def test_a_change_by_hand_is_found_with_its_call(
    change: Callable[[dict[str, Any]], None], tmp_path: Path
) -> None:
    store = inline(tmp_path, small_item("small-1"), small_item("small-2"))
    edited(store, FIRST, lambda events: change(events[2]))
    (found,) = verified(store).differences
    assert (found.item, found.episode, found.number) == ("small-1", FIRST, 1)
    assert found.parts == (change.__name__,)
    assert change.__name__ in PARTS
    assert found.recorded != found.replayed


def test_a_changed_reply_a_lost_call_and_one_too_many_are_found(tmp_path: Path) -> None:
    store = inline(tmp_path)
    whole = (store.folder / "episodes" / f"{FIRST}.jsonl").read_bytes()

    def country(events: list[dict[str, Any]]) -> None:
        events[1]["reply"]["calls"][0]["arguments"] = '{"country": "Peru"}'

    edited(store, FIRST, country)
    (found,) = verified(store).differences
    assert {"raw", "verdict", "outcome", "feedback"} <= set(found.parts)
    changes: list[Change] = [lambda e: e.__delitem__(2), lambda e: e.insert(2, e[2])]
    for change in changes:
        (store.folder / "episodes" / f"{FIRST}.jsonl").write_bytes(whole)
        edited(store, FIRST, change)
        assert verified(store).differences[-1].parts == ("call",)


def test_a_turn_after_the_answer_is_no_episode(tmp_path: Path) -> None:
    store = inline(tmp_path)
    edited(store, FIRST, lambda events: events.insert(-1, events[1] | {"turn": 9}))
    found = verified(store)
    assert not found.holds
    assert "comes after the episode's end" in found.not_replayed[FIRST]


UNSTEADY = {
    "random": "import random\ndef random_():\n    return random.random()\n",
    "clock": "import datetime\ndef clock():\n    return datetime.datetime.now().isoformat()\n",
    "time": "import time\ndef time_():\n    return time.time()\n",
    "address": "def address():\n    raise ValueError(repr([object() for _ in range(9)]))\n",
}
STEADY = "def letters():\n    return list({'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'})\n"


def test_tools_that_give_something_else_each_time_are_found_and_sets_have_one_order(
    tmp_path: Path,
) -> None:
    sources = [*UNSTEADY.values(), STEADY]
    functions = [re.findall(r"def (\w+)", source)[0] for source in sources]
    tools = [tool(name, source, {}, []) for name, source in zip(functions, sources, strict=True)]
    item = replace(ITEM, hops=tuple(hop(f"What is {one.name}?", "1", one) for one in tools))

    async def act(episode: Episode) -> None:
        for name in functions:
            await episode.step(asking(name))
        await episode.step(Reply("<answer>1</answer>"))

    store = recorded(tmp_path, [item], act=act)
    kinds = [call.outcome.kind for trace in store.traces() for call in trace.calls if call.outcome]
    assert kinds == ["returned"] * 3 + ["raised", "returned"]
    found = really(store)
    assert [one.number for one in found.differences] == [1, 2, 3, 4]
    assert all({"outcome", "feedback"} <= set(one.parts) for one in found.differences)


def test_limits_are_compared_by_their_kind(tmp_path: Path) -> None:
    item = item_of("def f():\n    while True:\n        pass\n")
    store = recorded(tmp_path, [item], act=calling(1), sandbox=CannedSandbox([TimedOut(0.2)]))
    found = verified(store, CannedSandbox([TimedOut(10.0)]))
    assert (found.holds, found.by_kind) == (True, 1)
    found = verified(store, CannedSandbox([OutOfMemory(256)]))
    assert not found.holds
    found = verified(store, CannedSandbox([Returned("1")]))
    assert {"outcome", "feedback", "error"} == set(found.differences[0].parts)
    edited(store, "own-1_mandatory_e1_a1", lambda events: feedback(events[2]))
    found = verified(store, CannedSandbox([TimedOut(0.2)]))
    assert found.differences[0].parts == ("feedback",)


def test_the_limits_of_the_run_are_taken_from_its_manifest(tmp_path: Path) -> None:
    item = item_of("def f():\n    while True:\n        pass\n")
    store = recorded(tmp_path, [item], act=calling(1), limits=Limits(wall_s=0.2))
    code, found = told(store.folder, "--verify")
    assert (code, found["by_kind"], found["differences"]) == (0, 1, [])
    changed = {one["name"] for one in found["changed"]}
    assert "wall_s" not in changed
    assert "toolhop-env" in changed


def test_errored_episodes_are_run_again_and_cut_off_ones_left_out(tmp_path: Path) -> None:
    items = [small_item(f"small-{number}") for number in (1, 2, 3, 4)]

    async def act(episode: Episode) -> None:
        two = (RawCall("a", "capital", '{"country": "Norway"}'), RawCall("b", "length", "{"))
        await episode.step(Reply(calls=two))
        if episode.item.id in {"small-1", "small-2", "small-4"}:
            episode.end(Ending.ERRORED, "the sandbox broke")

    store = inline(tmp_path, *items, act=act)
    # Errored before the second call of its turn was made; errored before the first.
    edited(store, FIRST, lambda events: events.__delitem__(3))
    edited(store, "small-4_mandatory_e1_a1", lambda events: events.__delitem__(slice(2, 4)))
    found = verified(store)
    assert found.holds
    assert (found.episodes, found.calls) == (3, 3)
    assert found.unfinished == ("small-3_mandatory_e1_a1",)
    path = store.folder / "episodes" / "small-2_mandatory_e1_a1.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    assert verified(store).unfinished == ("small-2_mandatory_e1_a1", "small-3_mandatory_e1_a1")


def test_an_episode_that_goes_on_from_another_one_verifies(tmp_path: Path) -> None:
    store = inline(tmp_path, agent="faulty:0.9")
    (trace,) = store.traces()

    async def go() -> None:
        async with inline_sandbox() as box:
            kept = trace.before_turn(3)
            replies = (asking("capital", nation="Peru"), Reply("<answer>16</answer>"))
            again = await continued(store, box, ITEM, kept, f"{FIRST}-fork", *replies)
            assert {call.level for call in again.calls} == {Level.DETAILED, Level.MINIMAL}

    anyio.run(go)
    found = verified(store)
    assert (found.holds, found.episodes) == (True, 2)


def test_a_lost_sandbox_is_tried_again_and_then_told(tmp_path: Path) -> None:
    store = inline(tmp_path)
    (trace,) = store.traces()
    given = [call.outcome for call in trace.calls if call.outcome]
    lost = iter([True, False, False, False, True, False, True])
    left = iter(given)

    def answer(*_: object) -> Any:
        if next(lost):
            raise SandboxFault("gone")
        return next(left)

    assert verified(store, CannedSandbox(answer), at_a_time=1).holds
    left = iter(given)
    found = verified(store, CannedSandbox(answer), at_a_time=1)
    assert "lost 2 times" in found.not_replayed[FIRST]
    assert not found.holds


def test_a_sandbox_that_cannot_be_had_ends_the_whole(tmp_path: Path) -> None:
    store = inline(tmp_path)

    def broken(*_: object) -> Any:
        raise SandboxUnavailable("no more", fix="none")

    with pytest.raises(SandboxUnavailable):
        verified(store, CannedSandbox(broken))


@pytest.mark.usefixtures("inline")
def test_an_item_that_was_changed_or_is_gone_is_told(tmp_path: Path) -> None:
    store = inline(tmp_path, ITEM, small_item("small-2"))
    path = store.folder / ITEMS
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows[0]["functions"][1] = rows[0]["functions"][1].replace("len(text)", "len(text) + 1")
    path.write_text(json.dumps(rows[0]) + "\n", encoding="utf-8")
    code, found = told(store.folder, "--verify")
    assert code == 1
    assert "was changed" in found["not_replayed"][FIRST]
    assert "not among" in found["not_replayed"]["small-2_mandatory_e1_a1"]
    with pytest.raises(NotReplayable):
        anyio.run(rerun, next(store.traces()), store.items().by_id["small-1"], CannedSandbox([]))


@pytest.mark.usefixtures("inline")
def test_items_can_be_chosen_and_an_episode_watched(tmp_path: Path) -> None:
    store = inline(tmp_path, *(small_item(f"small-{n}") for n in (1, 2, 3)))
    assert told(store.folder, "--verify", "--limit", "2")[1]["episodes"] == 2
    assert told(store.folder, "--verify", "--sample-id", "small-3")[1]["episodes"] == 1
    assert told(store.folder, "--verify", "--episode", FIRST)[1]["episodes"] == 1
    edited(store, FIRST, lambda events: feedback(events[2]))
    code, out, _ = command(store.folder, "--episode", "small-1")
    assert code == 0
    assert "gold answer: 16" in out
    assert "call 1: not the same feedback" in out
    code, out, _ = command(store.folder, "--episode", "small-2")
    assert "3 calls, all as recorded" in out
    code, out, _ = command(store.folder, "--verify")
    assert code == 1
    assert f"{FIRST}, call 1: not the same feedback" in out
    assert 'capital({"country": "Norway"' in out


def test_bad_input_is_one_message(tmp_path: Path) -> None:
    store = inline(tmp_path)
    for flags, said in (
        ((store.folder,), "give --verify"),
        ((store.folder, "--verify", "--sample-id", "small-9"), "small-9"),
        ((store.folder, "--verify", "--episode", "small-9"), "no finished episode"),
        ((store.folder / "episodes", "--verify"), "is not a run"),
    ):
        code, _, err = command(*flags)
        assert code == 2
        assert said in err
    manifest = store.manifest
    store.write_manifest({**manifest, "sandbox": {"kind": "moon"}})
    assert "does not tell how tools were run" in command(store.folder, "--verify")[2]
    store.write_manifest(manifest)
    (store.folder / ITEMS).unlink()
    code, _, err = command(store.folder, "--verify")
    assert (code, ITEMS in err) == (2, True)


def test_compare_is_exact_about_values(tmp_path: Path) -> None:
    (trace,) = inline(tmp_path).traces()
    assert compare(trace, trace) == ()
    one, *rest = trace.calls
    other = replace(one, verdict=Call("capital", {"country": 1}))
    more = replace(one, verdict=Call("capital", {"country": True}))
    first = replace(trace, events=(trace.started, other, *rest))
    second = replace(trace, events=(trace.started, more, *rest))
    assert compare(first, second)[0].parts == ("verdict",)


def test_what_is_not_as_it_was_is_told_as_far_as_it_was_recorded() -> None:
    then: dict[str, Any] = {
        "sandbox": {"python": "3.11.0", "kind": "docker", "transport": "socket"},
        "versions": {"python": "3.9", "toolhop-env": "0.0.0"},
    }
    now: dict[str, Any] = {
        "python": "3.12.1",
        "kind": "docker",
        "transport": "attach",
        "seccomp": True,
    }
    told = {(one.name, one.recorded) for one in changes(then, now)}
    assert told == {("python", "3.11.0"), ("toolhop-env", "0.0.0")}
    assert changes({}, now) == []
