"""Small values that the tests of this room share."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from toolhop_env.attempt import Attempt
from toolhop_env.benchmarks import named, score
from toolhop_env.episode import Episode, Step
from toolhop_env.feedback import Level
from toolhop_env.messages import RawCall, Reply, Usage, UserMessage
from toolhop_env.reading import CallFormat
from toolhop_env.score import Errored, Score, Values, Verdict
from toolhop_env.setting import Setting
from toolhop_env.trace import Called, Ended, Ending, Event, Replied, Started, Trace
from toolhop_env.validation import Validator
from toolhop_env.verdicts import Call, ErrorCode, Rejected
from toolhop_sandbox.base import Sandbox
from toolhop_sandbox.outcome import JSON, Outcome, Returned
from toolhop_tools.model import Item, ToolSchema


def validator(schema: Mapping[str, Any], *names: str) -> Validator:
    """Tools of one schema under the names given."""
    return Validator([ToolSchema(name, "A tool.", schema) for name in names or ("f",)])


def object_schema(*required: str, **properties: JSON) -> dict[str, JSON]:
    return {"type": "object", "properties": properties, "required": list(required)}


def raw(tool: str, arguments: Mapping[str, JSON] | str, name: str = "c1") -> RawCall:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return RawCall(name, tool, text)


def calling(*calls: RawCall, usage: Usage | None = None) -> Reply:
    return Reply(calls=calls, usage=usage or Usage())


HOPS = (("born", "1815"), ("minus", "36"))


def chain(answer: str = "36", hops: Sequence[tuple[str, str]] = HOPS) -> JSON:
    """ToolHop's gold, of the tool and the sub-answer by hop."""
    return {"answer": answer, "hops": [{"tool": tool, "answer": said} for tool, said in hops]}


def started(**changes: Any) -> Started:
    gold = {name: changes.pop(name) for name in ("answer", "hops") if name in changes}
    fields: dict[str, Any] = {
        "episode": "e1",
        "item": "i1",
        "item_digest": "d",
        "question": "How old?",
        "gold": chain(**gold),
        "agent": "p",
        "mode": "mandatory",
        "call_format": CallFormat.NATIVE,
        "feedback": Level.DETAILED,
        "epoch": 1,
        "seed": 0,
        "messages": (UserMessage("How old?"),),
        "tools": ("born", "minus"),
        "at": "2026-01-31T12:00:00.000+00:00",
    }
    return Started(**fields | changes)


def called(
    tool: str,
    result: JSON = None,
    *,
    outcome: Outcome | None = None,
    rejected: Rejected | None = None,
    error: ErrorCode | None = None,
    turn: int = 1,
) -> Called:
    text = json.dumps(result)
    return Called(
        turn=turn,
        raw=raw(tool, "{}"),
        verdict=rejected or Call(tool, {}),
        outcome=None if rejected else outcome or Returned(text),
        level=Level.DETAILED,
        feedback=text,
        error=rejected.code if rejected else error,
        hop=None,
        wall_s=0.25,
    )


def finished(*calls: Called, text: str = "<answer>36</answer>", **changes: object) -> Trace:
    """A trace of one turn with `calls` and one with the answer."""
    events: list[Event] = [started(**changes)]
    if calls:
        events += [Replied(1, Reply(calls=tuple(call.raw for call in calls))), *calls]
    answer = Replied(2 if calls else 1, Reply(content=text))
    return Trace((*events, answer, Ended(Ending.ANSWERED, 1.5)))


async def stepped(
    item: Item, sandbox: Sandbox, *replies: Reply, setting: Setting | None = None
) -> tuple[list[Step], Trace]:
    """The steps that `replies` led to, and the trace."""
    async with sandbox, Episode(item, sandbox, setting) as episode:
        return [await episode.step(reply) for reply in replies], episode.trace


def count(score: Score, measure: str) -> float:
    """The numerator of one measure."""
    parts = score.values[measure]
    assert parts is not None
    return parts[0]


def attempt(item: str = "i1", verdict: Verdict | None = None, **changes: Any) -> Attempt:
    """An attempt at an episode of ToolHop's, by default errored."""
    fields: dict[str, Any] = {
        "episode": item,
        "benchmark": "toolhop",
        "item": item,
        "item_digest": "d",
        "agent": "p",
        "mode": "mandatory",
        "epoch": 1,
        "attempt": 1,
        "feedback": Level.DETAILED,
        "call_format": CallFormat.NATIVE,
        "verdict": verdict or Errored("broken"),
    }
    return Attempt(**fields | changes)


def scored(benchmark: str, item: str, mode: str, values: Values, **changes: Any) -> Attempt:
    """An attempt of a benchmark with these values; those of its other measures are None."""
    one = score(finished(called("born", 1815), called("minus", 36)))
    assert isinstance(one, Score)
    unknown = dict.fromkeys(measure.name for measure in named(benchmark).measures)
    verdict = Score(one.conduct, {**unknown, **values})
    return attempt(item, verdict, benchmark=benchmark, mode=mode, **changes)
