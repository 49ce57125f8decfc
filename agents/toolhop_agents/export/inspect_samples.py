"""An attempt as a sample of an Inspect log, in plain values, with its events.

See `toolhop_agents.export.inspect_log`. Apart from its start, a trace has durations but no clock
times. An event's time is the start plus the seconds of all replies and calls before it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from toolhop_agents.export.episodes import Exported, Plain, facts, value_of
from toolhop_agents.export.traces import arguments_of
from toolhop_env.attempt import Attempt
from toolhop_env.messages import Origin, Reply
from toolhop_env.score import Score
from toolhop_env.trace import Called, Ending, FeedbackSet, Replied, ToolsChanged, Trace, to_line
from toolhop_env.verdicts import BEFORE_RUNNING, ErrorCode

SCORER = "toolhop_env/measures"
"""The scorer's name in logs, including its package, by which `inspect score` finds it."""
TRACE = "toolhop_trace"
"""Key in a sample's store for the events of its episode, as JSON objects."""
SOURCE = "toolhop-env"
_LIMITS: Mapping[str, tuple[str, str]] = {
    Ending.OUT_OF_TURNS: ("turn", "turn_limit"),
    Ending.OUT_OF_CALLS: ("custom", "call_limit"),
    Ending.OUT_OF_TOKENS: ("token", "token_limit"),
    Ending.OUT_OF_TIME: ("time", "time_limit_s"),
    Ending.OUT_OF_COST: ("cost", "cost_limit"),
    Ending.OUT_OF_CONTEXT: ("context", ""),
    Ending.CUT_IN_THOUGHT: ("custom", "max_tokens"),
    Ending.STOPPED: ("operator", ""),
}
"""Inspect's name for each limit, and the name of our setting."""
_STOPS = {"length": "max_tokens", "max_tokens": "max_tokens", "content_filter": "content_filter"}
_TOOL_ERRORS = {
    ErrorCode.TIMED_OUT: "timeout",
    ErrorCode.OUT_OF_MEMORY: "limit",
    ErrorCode.TOO_LARGE: "limit",
    ErrorCode.REFUSED: "permission",
    ErrorCode.NOT_APPROVED: "approval",
}


def sample(one: Exported, before: Sequence[Attempt], settings: Mapping[str, Any]) -> Plain:
    """Convert an attempt to a sample; `before` are the errored attempts that it replaced."""
    trace, start = one.trace, one.trace.started
    messages = list(_messages(trace))
    outputs = _outputs(trace, messages)
    plain: Plain = {
        "id": start.item,
        "epoch": start.epoch,
        "input": messages[: len(start.messages)],
        "target": one.benchmark.presentation.expected(start.gold),
        "messages": messages,
        "output": outputs[-1] if outputs else {"model": start.agent},
        "metadata": facts(one),
        "store": {TRACE: [json.loads(to_line(event)) for event in trace.events]},
        "model_usage": {start.agent: usage(event.reply for event in trace.replies)},
        "started_at": start.at,
        "turn_count": len(trace.replies),
    }
    if trace.ended is not None:
        plain["total_time"] = plain["working_time"] = trace.ended.wall_s
    score = one.attempt.score
    if score is None:
        plain["error"] = error(one.attempt.errored)
    else:
        plain["scores"] = _scores(one, score)
        plain["limit"] = _limit(score.conduct.ending, settings)
    if before:
        plain["error_retries"] = [error(other.errored) for other in before]
    clock = _Clock(trace)
    played = _played(trace, messages, outputs, clock)
    plain["events"] = [*played, *(clock.event(end) for end in _ends(plain))]
    return plain


def _ends(sample: Plain) -> Iterator[Plain]:
    """Yield the events at the end of a sample, without times."""
    limit = sample.get("limit")
    if limit is not None:
        # The event has no type for a full context.
        kind = "custom" if limit["type"] == "context" else limit["type"]
        message = f"the episode ended: {limit['reason']}"
        yield {"event": "sample_limit", "type": kind, "message": message, "limit": limit["limit"]}
    if "error" in sample:
        yield {"event": "error", "error": sample["error"]}
    for name, score in sample.get("scores", {}).items():
        yield {"event": "score", "scorer": name, "score": score, "target": sample["target"]}


def error(message: str) -> Plain:
    """Return an Inspect error with an empty traceback."""
    return {"message": message, "traceback": "", "traceback_ansi": ""}


def usage(replies: Iterable[Reply]) -> Plain:
    """Return tokens and cost of replies; Inspect counts cached tokens separately."""
    used = [reply.usage for reply in replies]
    at_hand = sum(one.prompt_cached_tokens for one in used)
    sent, got = sum(one.input_tokens for one in used), sum(one.output_tokens for one in used)
    costs = [one.cost_usd for one in used if one.cost_usd is not None]
    return {
        "input_tokens": max(0, sent - at_hand),
        "output_tokens": got,
        "total_tokens": sent + got,
        "input_tokens_cache_read": at_hand or None,
        "reasoning_tokens": sum(one.reasoning_tokens for one in used) or None,
        "total_cost": sum(costs) if costs and len(costs) == len(used) else None,
    }


def _messages(trace: Trace) -> Iterator[Plain]:
    start = trace.started
    for number, message in enumerate(start.messages):
        identity = f"{start.episode}-prompt{number}"
        yield _message(identity, message.role, message.content, source="input")
    for turn in trace.replies:
        identity, reply = f"{start.episode}-turn{turn.turn}", turn.reply
        called = [call for call in trace.calls if call.turn == turn.turn]
        more: Plain = {"tool_calls": [call_of(call) for call in called]} if called else {}
        more |= {"source": "generate", "model": reply.model or start.agent}
        yield _message(identity, "assistant", _content(reply), **more)
        for number, call in enumerate(called):
            yield feedback_of(call, f"{identity}-call{number}")


def _content(reply: Reply) -> str | list[Plain]:
    """Return the reply's text; with thoughts, a list of parts that begins with them."""
    if reply.thoughts is None or not reply.thoughts.text:
        return reply.content
    thought = {"type": "reasoning", "reasoning": reply.thoughts.text}
    return [thought, {"type": "text", "text": reply.content}]


def _message(identity: str, role: str, content: str | list[Plain], **more: object) -> Plain:
    return {"id": identity, "role": role, "content": content, **more}


def call_of(called: Called) -> Plain:
    """Convert a call to the form of Inspect's messages."""
    arguments, fault = arguments_of(called.raw, called), None
    if arguments is None:
        arguments, fault = {}, f"the arguments are not a JSON object: {called.raw.arguments}"
    plain = {"id": called.raw.id, "function": called.raw.name, "arguments": arguments}
    return {**plain, "type": "function", "parse_error": fault}


def feedback_of(called: Called, identity: str) -> Plain:
    """Return the message with a call's feedback; `error` has an Inspect error type."""
    failed = None
    if called.error is not None:
        kind = _TOOL_ERRORS.get(called.error, "parsing" if called.error in BEFORE_RUNNING else None)
        failed = {"type": kind or "unknown", "message": f"{called.error.value}: {called.feedback}"}
    more = {"tool_call_id": called.raw.id, "function": called.raw.name, "error": failed}
    return _message(identity, "tool", called.feedback, **more)


def _outputs(trace: Trace, messages: Sequence[Plain]) -> list[Plain]:
    """Return the model's output for each reply."""
    said = (one for one in messages if one["role"] == "assistant")
    return [
        {
            "model": message["model"],
            "choices": [{"message": message, "stop_reason": _stop(message, replied.reply)}],
            "usage": usage([replied.reply]),
            "time": replied.reply.wall_s,
        }
        for message, replied in zip(said, trace.replies, strict=True)
    ]


def _stop(message: Plain, reply: Reply) -> str:
    return "tool_calls" if message.get("tool_calls") else _STOPS.get(reply.finish_reason, "stop")


def _scores(one: Exported, score: Score) -> Plain:
    """Score each of the benchmark's answer measures, the leading one first."""
    benchmark = one.benchmark
    given, gap = (
        benchmark.presentation.given(one.trace),
        benchmark.presentation.explain_gap(one.trace),
    )
    why = None if gap is None else f"the scorers differ: {gap}"
    found: Plain = {}
    for measure in benchmark.answer_measures:
        value = value_of(measure, score)
        if value is not None:
            shown = ("C" if value else "I") if measure.binary else value
            found[measure.name] = {"value": shown, "answer": given, "explanation": why}
    return found


def _limit(ending: Ending, settings: Mapping[str, Any]) -> Plain | None:
    if ending not in _LIMITS:
        return None
    kind, setting = _LIMITS[ending]
    return {"type": kind, "limit": settings.get(setting) or 0, "reason": ending.value}


# -- events ----------------------------------------------------------------------------------------


@dataclass
class _Clock:
    """Assigns times and ids to events."""

    trace: Trace
    elapsed_s: float = 0.0
    count: int = 0

    def __post_init__(self) -> None:
        self._began = datetime.fromisoformat(self.trace.started.at)

    @property
    def now(self) -> str:
        return (self._began + timedelta(seconds=self.elapsed_s)).isoformat()

    def event(self, plain: Mapping[str, object], took_s: float | None = None) -> Plain:
        """Start an event now; if `took_s` is given, end it and advance the clock."""
        self.count += 1
        whole: Plain = {
            "uuid": f"{self.trace.started.episode}-event{self.count}",
            "timestamp": self.now,
            "working_start": self.elapsed_s,
            **plain,
        }
        if took_s is not None:
            self.elapsed_s += took_s
            whole |= {"working_time": took_s, "completed": self.now}
        return whole


def _played(
    trace: Trace, messages: Sequence[Plain], outputs: Sequence[Plain], clock: _Clock
) -> Iterator[Plain]:
    """Yield the events in order.

    `messages` are the prompt, then each reply and the feedback on its calls; `outputs` are the
    model's outputs, one per reply.
    """
    start = trace.started
    at = len(start.messages)
    prompt, tools = list(messages[:at]), start.tools
    yield clock.event(
        {"event": "sample_init", "sample": {"input": prompt, "id": start.item}, "state": {}}
    )
    answers = iter(outputs)
    for event in trace.events:
        match event:
            case Replied(reply=reply):
                model = {
                    "event": "model",
                    "model": start.agent,
                    "input": list(messages[:at]),
                    "tools": [{"name": name, "description": ""} for name in tools],
                    "tool_choice": "auto",
                    "config": {},
                    "output": next(answers),
                    "retries": reply.retries or None,
                    "cache": "read" if reply.origin is Origin.CACHED else None,
                }
                yield clock.event(model, reply.wall_s)
                at += 1
            case Called():
                yield clock.event(_tool(event, messages[at]), event.wall_s)
                at += 1
            case FeedbackSet(level=level):
                yield clock.event(_info({"feedback": level.value}))
            case ToolsChanged():
                tools = event.tools
                yield clock.event(_info({"tools": list(tools)}))
            case _:
                pass


def _tool(called: Called, feedback: Plain) -> Plain:
    call = call_of(called)
    return {
        "event": "tool",
        "id": call["id"],
        "function": call["function"],
        "arguments": call["arguments"],
        "result": called.feedback,
        "error": feedback["error"],
        "message_id": feedback["id"],
    }


def _info(data: Plain) -> Plain:
    return {"event": "info", "source": SOURCE, "data": data}
