"""Run folders written event by event, as a run writes them, with any texts in them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.agents.items import small_item
from toolhop_env.benchmarks.toolhop.scorer import chain_of
from toolhop_env.feedback import Level, render
from toolhop_env.messages import RawCall, Reply, Usage, UserMessage
from toolhop_env.reading import CallFormat
from toolhop_env.runs.store import RunStore
from toolhop_env.trace import (
    Called,
    Ended,
    Ending,
    Event,
    FeedbackSet,
    Replied,
    Started,
    Trace,
)
from toolhop_env.verdicts import Call, ErrorCode, Problem, Rejected, Repair
from toolhop_sandbox.outcome import JSON, Returned
from toolhop_tools.model import TOOLHOP

AT = "2026-01-31T12:00:00.000+00:00"
MISTYPED = Rejected(
    (Problem(ErrorCode.WRONG_TYPE, "base", '"4"', "integer"),),
    Repair("power", {"base": 4}, ("type_converted",)),
)


@dataclass(frozen=True)
class Script:
    """An episode: turns of a text and calls, each call with its name, arguments and result."""

    item: str = "small-1"
    mode: str = "mandatory"
    level: Level = Level.DETAILED
    turns: Sequence[tuple[str, Sequence[tuple[str, str, str]]]] = ()
    """The result of a call is JSON; an empty one makes the call a mistyped one."""
    answer: str = "<answer>16</answer>"
    question: str = "What is the squared length of the capital of Norway?"
    ending: Ending | None = Ending.ANSWERED
    """None for an episode that has not ended."""
    reason: str = ""
    agent: str = "script"
    epoch: int = 1
    attempt: int = 1
    name: str = ""
    parent: str = ""
    kept: int = 0
    usage: Usage = field(default_factory=Usage)
    gold: str = "16"
    benchmark: str = TOOLHOP

    @property
    def episode(self) -> str:
        return self.name or f"{self.item}_{self.mode}_e{self.epoch}_a{self.attempt}"


SOLVED: Sequence[tuple[str, Sequence[tuple[str, str, str]]]] = (
    ("The capital first.", [("capital", '{"country": "Norway"}', '"Oslo"')]),
    ("Now its length.", [("length", '{"text": "Oslo"}', "4")]),
    ("Squared.", [("power", '{"base": 4}', "16")]),
)
SLIP: Sequence[tuple[str, Sequence[tuple[str, str, str]]]] = (
    *SOLVED[:2],
    ("Squared.", [("power", '{"base": "4"}', "")]),
)


def events(script: Script) -> Iterable[Event]:
    """The episode's events in order."""
    yield Started(
        episode=script.episode,
        item=script.item,
        item_digest="0",
        question=script.question,
        gold=chain_of(replace(small_item(), answer=script.gold))
        if script.benchmark == TOOLHOP
        else script.gold,
        agent=script.agent,
        mode=script.mode,
        call_format=CallFormat.NATIVE,
        feedback=Level.DETAILED if script.parent else script.level,
        epoch=script.epoch,
        seed=0,
        messages=(UserMessage(f"Answer. {script.question}"),),
        tools=("capital", "length", "power"),
        at=AT,
        attempt=script.attempt,
        parent=script.parent,
        prefix_turns=script.kept,
        benchmark=script.benchmark,
    )
    for number, (text, calls) in enumerate(script.turns, start=1):
        if script.parent and number == script.kept + 1:
            yield FeedbackSet(script.level)
        raws = tuple(RawCall(f"{number}-{i}", call[0], call[1]) for i, call in enumerate(calls))
        yield Replied(number, Reply(text, raws, usage=script.usage, wall_s=0.5))
        for raw, (_, _, result) in zip(raws, calls, strict=True):
            yield _called(number, raw, result, script)
    if script.ending is Ending.ANSWERED:
        yield Replied(len(script.turns) + 1, Reply(script.answer, usage=script.usage, wall_s=0.25))
    if script.ending is not None:
        yield Ended(script.ending, 2.5, script.reason)


def _called(turn: int, raw: RawCall, result: str, script: Script) -> Called:
    level = script.level if turn > script.kept else Level.DETAILED
    verdict = Call(raw.name, {}) if result else MISTYPED
    outcome = Returned(result) if result else None
    feedback = render(level, raw.name, verdict, outcome)
    names = ("capital", "length", "power")
    hop = names.index(raw.name) if raw.name in names else None
    return Called(
        turn, raw, verdict, outcome, level, feedback.text, feedback.error, hop, 0.01 * turn
    )


def trace(script: Script) -> Trace:
    """The episode as a value."""
    return Trace(tuple(events(script)))


def write_run(
    log_dir: Path, scripts: Iterable[Script], *, name: str = "made", status: str = "success"
) -> Path:
    """A run's folder with these episodes."""
    settings: dict[str, JSON] = {"agent": "script", "modes": ["mandatory"], "turn_limit": 9}
    store = RunStore.create(
        log_dir,
        name,
        {
            "format": 1,
            "status": status,
            "started_at": AT,
            "settings": settings,
            "data": {"name": "small", "digest": "0"},
            "sandbox": {"kind": "process"},
            "versions": {"python": "3.11"},
        },
    )
    items = {}
    for script in scripts:
        items[script.item] = replace(small_item("x"), id=script.item)
        with store.sink(script.episode) as write:
            for event in events(script):
                write(event)
    domains = ("Geography", "Arithmetic")
    lines = [
        json.dumps({"id": item, "domain": domains[place % 2]}) for place, item in enumerate(items)
    ]
    (store.folder / "items.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return store.folder
