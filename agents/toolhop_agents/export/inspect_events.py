"""What happened in an attempt as events of an Inspect sample, which its viewer's transcript shows.

A trace has durations and no clock times but that of its start. An event's time is the start and
the seconds of the replies and calls before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from toolhop_agents.export.episodes import Plain
from toolhop_env.messages import Origin
from toolhop_env.trace import Called, FeedbackSet, Replied, ToolsChanged, Trace

SOURCE = "toolhop-env"


def events(
    trace: Trace, messages: Sequence[Plain], outputs: Sequence[Plain], ends: Sequence[Plain]
) -> list[Plain]:
    """The events in order.

    Args:
        trace: the attempt's.
        messages: the sample's: the prompt's, then each reply's and the feedback to its calls.
        outputs: what the model gave, by reply.
        ends: how the sample ended and its scores, without times.
    """
    clock = _Clock(trace)
    found = list(_played(trace, messages, outputs, clock))
    return [*found, *(clock.event(one) for one in ends)]


@dataclass
class _Clock:
    """Gives events their times and names."""

    trace: Trace
    elapsed_s: float = 0.0
    count: int = field(default=0)

    def __post_init__(self) -> None:
        self._began = datetime.fromisoformat(self.trace.started.at)

    @property
    def now(self) -> str:
        return (self._began + timedelta(seconds=self.elapsed_s)).isoformat()

    def event(self, plain: Mapping[str, object], took_s: float | None = None) -> Plain:
        """An event that begins now; with `took_s` it has an end, and the time goes on."""
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
                yield clock.event(_tool(event, messages, at), event.wall_s)
                at += 1
            case FeedbackSet(level=level):
                yield clock.event(_info({"feedback": level.value}))
            case ToolsChanged():
                tools = event.tools
                yield clock.event(_info({"tools": list(tools)}))
            case _:
                pass


def _tool(called: Called, messages: Sequence[Plain], at: int) -> Plain:
    """The call whose feedback is the message at place `at`."""
    feedback = messages[at]
    asked = next(one for one in reversed(messages[:at]) if one["role"] == "assistant")
    # Ids may repeat: a turn's calls and the feedback to them are in the same order.
    number = at - messages.index(asked) - 1
    call = asked["tool_calls"][number]
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
