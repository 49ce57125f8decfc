"""An attempt as a session trace that the Hugging Face hub shows: a header line, then messages.

The format is the Session Trace Simple Format of the hub's documentation
(https://huggingface.co/docs/hub/session-traces-format): names in camel case, a call's arguments as
text, times in milliseconds since 1970.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from toolhop_agents.export.episodes import Exported
from toolhop_agents.export.facts import Plain, facts
from toolhop_agents.export.turns import TurnCall, turns

HARNESS = "toolhop-env"
"""By which the hub chooses icon and label; one that it does not know is shown as plain text."""


def session(one: Exported, name: str, version: str) -> Iterator[Plain]:
    """The lines of an attempt.

    Args:
        one: the attempt.
        name: unique among the sessions that are written together.
        version: of the package that played it; empty where it is not known.
    """
    trace, start = one.trace, one.trace.started
    yield {
        "type": "session",
        "harness": HARNESS,
        "id": name,
        "name": start.question,
        "version": version or None,
        "agent": start.agent,
        "item": start.item,
        "benchmark": start.benchmark,
        "expected": one.benchmark.presentation.expected(start.gold),
        "perturbation": start.perturbation,
        "errored": one.attempt.errored or None,
        **facts(one),
    }
    began = round(datetime.fromisoformat(start.at).timestamp() * 1000)
    for message in start.messages:
        yield _message(message.role, message.content, timestamp=began)
    for turn in turns(trace):
        reply = turn.replied.reply
        more: Plain = {"toolCalls": [_call(call) for call in turn.calls]} if turn.calls else {}
        if reply.thoughts is not None and reply.thoughts.text:
            more["reasoningContent"] = reply.thoughts.text
        yield _message("assistant", reply.content, model=reply.model or start.agent, **more)
        for call in turn.calls:
            if call.called is not None:
                yield _message("tool", call.called.feedback, toolCallId=call.id)
        for called in turn.malformed:
            yield _message("user", called.feedback)


def _message(role: str, content: str, **more: object) -> Plain:
    return {"type": "message", "message": {"role": role, "content": content, **more}}


def _call(call: TurnCall) -> Plain:
    return {"id": call.id, "function": {"name": call.raw.name, "arguments": call.raw.arguments}}
