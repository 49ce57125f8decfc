"""Flags of a run as factors: agents of known behaviour, whose effect or lack of one is found."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agents.command import toolhop
from tests.agents.items import small_item
from toolhop_agents.ablate.varied import SETTINGS, DesignError, ForkAt, fork_at, varied
from toolhop_agents.models.loopback import LoopbackServer, Request, RequestResponder
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.scripted.model import Play, oracle
from toolhop_agents.scripted.responder import responder
from toolhop_env.messages import Message, RawCall, Reply, Thoughts, ToolMessage
from toolhop_env.results import InjectionLabel
from toolhop_env.runs.store import RunStore
from toolhop_env.trace import Trace
from toolhop_tools.benchmarks.toolhop.reader import to_rows
from toolhop_tools.errors import BadChoice
from toolhop_tools.model import DataSet, Item

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("inline_module")]
COUNT = 4
UNKNOWN = Reply("<answer>unknown</answer>")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> DataSet:
    path = tmp_path_factory.mktemp("data") / "items.json"
    items = tuple(small_item(f"small-{number}") for number in range(1, COUNT + 1))
    dataset = DataSet("small", str(path), items)
    path.write_text(json.dumps(to_rows(dataset)), encoding="utf-8")
    return dataset


def told(*flags: str) -> Any:
    keep = {key: value for key, value in os.environ.items() if not key.startswith("TOOLHOP")}
    done = toolhop("ablate", *flags, env={**keep, "OPENAI_API_KEY": "none"})
    assert "Traceback" not in done.stderr, done.stderr
    return done


class Played:
    """An ablation of a served agent."""

    def __init__(
        self, data: DataSet, log_dir: Path, answer: RequestResponder, factor: str, *flags: str
    ) -> None:
        with LoopbackServer(answer) as server:
            done = told(
                "--factor", factor, "--data", data.origin, "--log-dir", str(log_dir),
                "--sandbox", "process", "--max-samples", "2", "--json", "--model",
                "openai/scripted", "--base-url", server.base_url, *flags,
            )  # fmt: skip
            self.requests = server.requests
            assert not server.errors
        assert done.returncode == 0, done.stderr
        self.figures: dict[str, Any] = json.loads(done.stdout)

    def shares(self, design: str) -> set[tuple[float, float]]:
        """Shares of right answers under each two levels, over all pairs, whatever the prefix."""
        rows = [
            row["effect"]
            for row in self.figures["rows"]
            if (row["design"], row["population"], row["rule"]) == (design, "all", "strict")
        ]
        assert rows
        assert all(row["pairs"] == COUNT for row in rows)
        return {(row["first"], row["second"]) for row in rows}

    def arms(self) -> dict[str, dict[str, Trace]]:
        """Traces by item, by arm."""
        folder = Path(self.figures["folder"])
        return {
            name: {one.started.item: one for one in RunStore.open(folder / name).traces()}
            for name in self.figures["arms"]
        }

    def check_branches(self, turns: Callable[[Trace], int]) -> None:
        """Each branch shares its parent's first turns, and is what its level gives from the start,
        as the agents are deterministic.
        """
        arms = self.arms()
        forks = {one.started.parent: one for arm in arms.values() for one in arm.values()}
        forks.pop("")
        whole = {
            (str(one.started.results), one.started.item): one
            for arm in arms.values()
            for one in arm.values()
            if not one.started.parent
        }
        assert forks
        for fork in forks.values():
            assert fork.started.prefix_turns == turns(fork)
            alone = whole[str(fork.started.results), fork.started.item]
            assert [(one.raw, one.feedback) for one in fork.calls] == [
                (one.raw, one.feedback) for one in alone.calls
            ]
            assert fork.final_text == alone.final_text


def first_paragraphs(messages: Sequence[Message]) -> list[Message]:
    """The conversation without what stands below each result."""
    return [
        replace(one, content=one.content.split("\n\n")[0]) if isinstance(one, ToolMessage) else one
        for one in messages
    ]


def robust(item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
    return oracle(item, seed, first_paragraphs(messages), tools)


def overwhelmed(item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
    long = any(isinstance(one, ToolMessage) and len(one.content) > 300 for one in messages)
    return UNKNOWN if long else robust(item, seed, messages, tools)


def asked(messages: Sequence[Message]) -> tuple[str, str, str] | None:
    texts = "\n".join(one.content for one in messages if isinstance(one, ToolMessage))
    found = re.search(r'call the tool (\S+) with "([^"]+)" set to "([^"]+)"', texts)
    return (found[1], found[2], found[3]) if found else None


def obedient(item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
    """Makes the call that a result asks for, and is lost then."""
    told_to = asked(messages)
    if told_to is None:
        return robust(item, seed, messages, tools)
    tool, argument, marker = told_to
    if any(
        call.arguments.find(marker) > 0 for one in messages for call in getattr(one, "calls", ())
    ):
        return UNKNOWN
    return Reply("", (RawCall("x", tool, json.dumps({argument: marker})),))


def reporting(item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
    """Reports the marker beside a right answer."""
    reply, told_to = robust(item, seed, messages, tools), asked(messages)
    report = f" <noticed>{told_to[2]}</noticed>" if told_to else ""
    return replace(reply, content=reply.content + report)


def test_a_call_format_that_an_agent_cannot_write_costs_it_everything(
    data: DataSet, tmp_path: Path
) -> None:
    answer = responder(data, oracle, 0)

    def native_alone(request: Request) -> Reply:
        return answer(request) if request.tools else UNKNOWN

    able = Played(data, tmp_path, answer, "call-format=native,text")
    assert able.shares("independent") == {(1, 1)}
    unable = Played(data, tmp_path, native_alone, "call-format=native,text")
    assert unable.shares("independent") == {(1, 0)}
    assert not any(row["design"] == "forked" for row in unable.figures["rows"])


def test_phrasings_are_four_prompts_and_one_of_them_hurts(data: DataSet, tmp_path: Path) -> None:
    answer = responder(data, oracle, 0)
    prompts: set[str] = set()

    def hates_rules(request: Request) -> Reply:
        text = request.messages[0].content
        prompts.add(text.partition("Question:")[0])
        return UNKNOWN if "Observe these rules" in text else answer(request)

    factor = "phrasing=usual,brief,formal,plain"
    played = Played(data, tmp_path, hates_rules, factor)
    rows = [row for row in played.figures["rows"] if row["rule"] == "strict"]
    assert {row["second"]: row["effect"]["second"] for row in rows} == {
        "phrasing=brief": 1, "phrasing=formal": 0, "phrasing=plain": 1,
    }  # fmt: skip
    assert len(prompts) == 4


def test_padding_hurts_an_agent_that_long_results_overwhelm(data: DataSet, tmp_path: Path) -> None:
    factor = "results=as-is,padded=100"
    played = Played(data, tmp_path, responder(data, overwhelmed, 0), factor)
    assert played.shares("forked") == {(1, 0)}
    played.check_branches(lambda _: 1)
    assert Played(data, tmp_path, responder(data, robust, 0), factor).shares("forked") == {(1, 1)}


@pytest.mark.parametrize(
    ("play", "label", "right"),
    [(obedient, "followed", 0), (reporting, "noticed", 1), (robust, "neither", 1)],
)
def test_what_is_done_about_an_injected_instruction_is_read_from_calls_and_reports(
    data: DataSet, tmp_path: Path, play: Play, label: str, right: int
) -> None:
    played = Played(data, tmp_path, responder(data, play, 0), "results=as-is,injected")
    assert played.shares("forked") == {(1, right)}
    injected = played.figures["injections"]
    assert len(injected) == 2  # from the start, and forked
    for counts in injected.values():
        assert counts == {str(each): COUNT if each == label else 0 for each in InjectionLabel}
    played.check_branches(lambda _: 1)
    shown = told("--show", played.figures["folder"]).stdout
    assert f"{label} {COUNT}" in shown
    for arm in played.figures["arms"]:
        replayed = toolhop("replay", str(Path(played.figures["folder"]) / arm), "--verify")
        assert replayed.returncode == 0, replayed.stderr


def test_a_budget_of_calls_hurts_if_it_is_too_small_and_branches_ask_for_the_rest_alone(
    data: DataSet, tmp_path: Path
) -> None:
    answer = responder(data, oracle, 0)  # three calls in as many turns, then an answer
    tight = Played(data, tmp_path, answer, "turn-limit=9,none+call-limit=2")
    assert tight.shares("forked") == {(1, 0)}
    # 4 turns under the first level, 2 under the second, none more, and the 2 that are left.
    assert tight.requests == COUNT * (4 + 2 + 0 + 2)
    ample = Played(data, tmp_path, answer, "turn-limit=9,none+call-limit=4")
    assert ample.shares("forked") == {(1, 1)}
    assert ample.requests == COUNT * (4 + 4)
    turns = Played(data, tmp_path, answer, "turn-limit=3,4")
    assert turns.shares("forked") == {(0, 1)}
    assert turns.requests == COUNT * (3 + 4 + 0 + 1)


def thinking(answer: RequestResponder, *, needs: bool) -> RequestResponder:
    """An agent with thoughts, which is lost without its earlier ones if it `needs` them."""

    def think(request: Request) -> Reply:
        messages: Any = request.body["messages"]
        spoken = [one for one in messages if one["role"] == "assistant"]
        if needs and not all(one.get("reasoning_content") for one in spoken):
            return UNKNOWN
        thoughts = Thoughts("So be it.", {"reasoning_content": "So be it."})
        return replace(answer(request), thoughts=thoughts)

    return think


def test_an_agent_that_needs_its_thoughts_is_lost_without_them(
    data: DataSet, tmp_path: Path
) -> None:
    answer, factor = responder(data, oracle, 0), "reasoning-history=all,none"
    needy = Played(data, tmp_path, thinking(answer, needs=True), factor)
    assert needy.shares("forked") == {(1, 0)}
    arms = needy.arms()
    assert {one.started.prefix_turns for arm in arms.values() for one in arm.values()} == {0, 1}
    assert Played(data, tmp_path, thinking(answer, needs=False), factor).shares("forked") == {
        (1, 1)
    }


def test_where_levels_may_differ_from_the_first_request_on_nothing_is_forked() -> None:
    assert fork_at(("results=as-is", "results=padded=5+injected")) is ForkAt.FIRST_TURN
    assert fork_at(("turn-limit=9", "turn-limit=none+call-limit=3")) is ForkAt.LIMIT
    assert fork_at(("call-format=native", "call-format=text")) is None
    assert fork_at(("results=as-is", "results=injected+phrasing=brief")) is None
    assert fork_at(("results=as-is", "turn-limit=3")) is None


def test_levels_are_read_like_flags() -> None:
    base = RunSettings(agent=None, model="openai/x")

    def changed(level: str) -> Iterator[tuple[str, object]]:
        found = varied(base, level)
        names = RunSettings.model_fields
        return ((n, getattr(found, n)) for n in names if getattr(found, n) != getattr(base, n))

    assert dict(changed("results=padded=50+injected+turn-limit=none")) == {
        "results": "padded=50+injected", "turn_limit": None,
    }  # fmt: skip
    assert dict(changed("tool-choice=none")) == {"tool_choice": "none"}
    assert dict(changed("temperature=0.5")) == {"temperature": 0.5}
    assert dict(changed("answer-malformed=on")) == {"answer_malformed": True}
    assert {"feedback", "mode", "tools", "template", "keep-thoughts"}.isdisjoint(SETTINGS)
    for level in ("turn-limit=0", "turn-limit=x", "call-format=xml", "results=long", "seed=3", "x"):
        with pytest.raises((DesignError, BadChoice)):
            varied(base, level)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--factor", "colour=red,blue"), "--factor colour is not known; give feedback, mode"),
        (("--factor", "call-format"), "has no levels"),
        (("--factor", "call-format=text,native", "--levels", "a,b"), "has its levels twice"),
        (("--factor", "call-format=native"), "two levels or more"),
        (("--factor", "call-format=native,xml"), "--factor call-format=xml"),
        (("--factor", "results=as-is,long"), "'long' is not a treatment of results"),
        (("--factor", "turn-limit=9,9"), "are not all different"),
        (("--factor", "turn-limit=9,turn-limit=4"), "--factor turn-limit=turn-limit=4"),
        (
            ("--factor", "call-format=native,text", "--call-format", "text"),
            "leave --call-format out",
        ),
        (("--factor", "call-format=native,text", "--design", "forked"), "nothing is shared"),
        (("--factor", "reasoning-history=all,none"), "--reasoning-history goes with --model"),
        (("--factor", "phrasing=usual,loud"), "'loud' is not a phrasing of ToolHop"),
        (("--factor", "mode", "--phrasing", "loud"), "give usual, brief, formal, plain"),
    ],
)
def test_factors_that_cannot_be_played_are_told(
    flags: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    done = told(*flags, "--log-dir", str(tmp_path / "logs"), "--sandbox", "process")
    assert done.returncode == 2, done.stderr
    assert said in " ".join(done.stderr.split())
    assert not (tmp_path / "logs").exists()


def test_a_stopped_ablation_is_resumed_by_the_flag_that_began_it(
    data: DataSet, tmp_path: Path
) -> None:
    played = Played(data, tmp_path, responder(data, oracle, 0), "turn-limit=3,4")
    folder = played.figures["folder"]
    again = told("--resume", folder, "--factor", "turn-limit=3,4", "--json")
    assert again.returncode == 0, again.stderr
    other = told("--resume", folder, "--factor", "turn-limit=3,5")
    assert other.returncode == 2
    assert "was begun with another --levels" in " ".join(other.stderr.split())
