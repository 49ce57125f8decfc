"""Recorded runs are run again and compared: what is the same is told so, what is not is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from agents.cli.replay import changes
from agents.prompts import Mode
from agents.runs.replay import PARTS, NotReplayable, Verification, compare, rerun, verify
from agents.runs.store import ITEMS, RunStore
from env.episode import Episode
from env.feedback import Level
from env.messages import RawCall, Reply
from env.reading import Dialect
from env.trace import Ending
from env.verdicts import Call
from sandbox.base import Limits, Sandbox
from sandbox.canned import CannedSandbox
from sandbox.choose import open_sandbox
from sandbox.errors import SandboxFault, SandboxUnavailable
from sandbox.outcome import OutOfMemory, Returned, TimedOut
from tests.agents.items import hop, small_item, tool
from tests.agents.recorded import continued, edited, invoked, recorded
from toolhop_tools.load import load
from toolhop_tools.model import Item

Change = Callable[[list[dict[str, Any]]], None]
ITEM = small_item()
FIRST = "small-1_mandatory_e1_a1"


def verified(
    store: RunStore, sandbox: Sandbox | None = None, *, at_a_time: int = 2
) -> Verification:
    async def go() -> Verification:
        async with sandbox or await open_sandbox("process") as box:
            items = store.items().by_id
            return await verify(store.traces(), items, box, at_a_time=at_a_time)

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
    ("agent", "dialect", "feedback"),
    [
        ("oracle", Dialect.TEXT, Level.DETAILED),
        ("repairing:0.6", Dialect.NATIVE, Level.DETAILED),
        ("faulty:0.9", Dialect.TEXT, Level.MINIMAL),
        ("do-nothing", Dialect.NATIVE, Level.MINIMAL),
    ],
)
def test_an_unmodified_run_verifies(
    agent: str, dialect: Dialect, feedback: Level, tmp_path: Path
) -> None:
    items = [small_item("small-1"), small_item("small-2")]
    store = recorded(tmp_path, items, agent=agent, dialect=dialect, feedback=feedback)
    found = verified(store)
    assert found.holds
    assert (found.episodes, found.unfinished) == (2, ())
    assert found.calls == sum(len(trace.calls) for trace in store.traces())
    assert (found.calls == 0) == (agent == "do-nothing")


def test_direct_mode_has_no_call_to_run(tmp_path: Path) -> None:
    found = verified(recorded(tmp_path, [ITEM], mode=Mode.DIRECT))
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
    store = recorded(tmp_path, [small_item("small-1"), small_item("small-2")])
    edited(store, FIRST, lambda events: change(events[2]))
    (found,) = verified(store).differences
    assert (found.item, found.episode, found.number) == ("small-1", FIRST, 1)
    assert found.parts == (change.__name__,)
    assert change.__name__ in PARTS
    assert found.recorded != found.replayed


def test_a_changed_reply_a_lost_call_and_one_too_many_are_found(tmp_path: Path) -> None:
    store = recorded(tmp_path, [ITEM])
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
    store = recorded(tmp_path, [ITEM])
    edited(store, FIRST, lambda events: events.insert(-1, events[1] | {"turn": 9}))
    found = verified(store)
    assert not found.holds
    assert "comes after the episode's end" in found.not_replayed[FIRST]


@pytest.mark.parametrize(
    "body",
    [
        "import random\ndef f():\n    return random.random()\n",
        "import datetime\ndef f():\n    return datetime.datetime.now().isoformat()\n",
        "import time\ndef f():\n    return time.time()\n",
        "def f():\n    raise ValueError(repr([object() for _ in range(9)]))\n",
    ],
    ids=["random", "clock", "time", "address"],
)
def test_a_tool_that_gives_something_else_each_time_is_found(body: str, tmp_path: Path) -> None:
    store = recorded(tmp_path, [item_of(body)], act=calling(3))
    kinds = {call.outcome.kind for trace in store.traces() for call in trace.calls if call.outcome}
    assert kinds <= {"returned", "raised"}
    found = verified(store)
    assert found.differences
    assert {"outcome", "feedback"} <= set(found.differences[0].parts)


def test_sets_of_texts_have_one_order_in_every_call(tmp_path: Path) -> None:
    body = "def f():\n    return list({'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'})\n"
    assert verified(recorded(tmp_path, [item_of(body)], act=calling(3))).holds


def test_limits_are_compared_by_their_kind(tmp_path: Path) -> None:
    item = item_of("def f():\n    while True:\n        pass\n")
    store = recorded(tmp_path, [item], act=calling(1), limits=Limits(wall_s=0.2))
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


def test_void_episodes_are_run_again_and_cut_off_ones_left_out(tmp_path: Path) -> None:
    items = [small_item(f"small-{number}") for number in (1, 2, 3, 4)]

    async def act(episode: Episode) -> None:
        two = (RawCall("a", "capital", '{"country": "Norway"}'), RawCall("b", "length", "{"))
        await episode.step(Reply(calls=two))
        if episode.item.id in {"small-1", "small-2", "small-4"}:
            episode.end(Ending.VOID, "the sandbox broke")

    store = recorded(tmp_path, items, act=act)
    # Void before the second call of its turn was made; void before the first.
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
    store = recorded(tmp_path, [ITEM], agent="faulty:0.9")
    (trace,) = store.traces()

    async def go() -> None:
        async with await open_sandbox("process") as box:
            kept = trace.before_turn(3)
            replies = (asking("capital", nation="Peru"), Reply("<answer>16</answer>"))
            again = await continued(store, box, ITEM, kept, f"{FIRST}-fork", *replies)
            assert {call.level for call in again.calls} == {Level.DETAILED, Level.MINIMAL}

    anyio.run(go)
    found = verified(store)
    assert (found.holds, found.episodes) == (True, 2)


def test_a_lost_sandbox_is_tried_again_and_then_told(tmp_path: Path) -> None:
    store = recorded(tmp_path, [ITEM])
    (trace,) = store.traces()
    given = [call.outcome for call in trace.calls if call.outcome]
    lost = iter([True, False, False, False, True, False, True])
    left = iter(given)

    def answer(*_: object) -> Any:  # noqa: ANN401 -- an outcome
        if next(lost):
            raise SandboxFault("gone")
        return next(left)

    assert verified(store, CannedSandbox(answer), at_a_time=1).holds
    left = iter(given)
    found = verified(store, CannedSandbox(answer), at_a_time=1)
    assert "lost 2 times" in found.not_replayed[FIRST]
    assert not found.holds


def test_a_sandbox_that_cannot_be_had_ends_the_whole(tmp_path: Path) -> None:
    store = recorded(tmp_path, [ITEM])

    def broken(*_: object) -> Any:  # noqa: ANN401 -- never an outcome
        raise SandboxUnavailable("no more", fix="none")

    with pytest.raises(SandboxUnavailable):
        verified(store, CannedSandbox(broken))


def test_an_item_that_was_changed_or_is_gone_is_told(tmp_path: Path) -> None:
    store = recorded(tmp_path, [ITEM, small_item("small-2")])
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


def test_items_can_be_chosen_and_an_episode_watched(tmp_path: Path) -> None:
    store = recorded(tmp_path, [small_item(f"small-{n}") for n in (1, 2, 3)])
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
    store = recorded(tmp_path, [ITEM])
    for flags, said in (
        ((store.folder,), "give --verify"),
        ((store.folder, "--verify", "--sample-id", "small-9"), "small-9"),
        ((store.folder, "--verify", "--episode", "small-9"), "no finished episode"),
        ((store.folder / "episodes", "--verify"), "is no run"),
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
    (trace,) = recorded(tmp_path, [ITEM]).traces()
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
