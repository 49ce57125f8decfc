"""Leak audit: what the feedback to failed calls gives away.

A value leaks if a message holds it and neither the prompt, the tools' documents, an earlier message
nor the call itself does. Words are compared without case and accents, and numbers by value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from enum import StrEnum

from toolhop_env.feedback import result_value
from toolhop_env.messages import AssistantMessage
from toolhop_env.trace import Called, Event, Started, ToolsChanged, Trace, messages_of
from toolhop_sandbox.outcome import JSON, Raised, Returned
from toolhop_tools.answers import plain_number
from toolhop_tools.failures import CODES, SENTENCES
from toolhop_tools.model import Item
from toolhop_tools.words import as_text, scalars, words


class Leak(StrEnum):
    """What leaks."""

    ARGUMENT = "gold argument"
    RESULT = "gold result"
    VALUE = "new value"
    """A number, a quoted text or a field in the tool's report of its own failure."""


_ESCAPED = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|.)")
_QUOTED = re.compile(r"(?<!\w)([\"'`])(.+?)\1(?!\w)")


def leaks(trace: Trace, item: Item) -> Iterator[tuple[Called, frozenset[Leak]]]:
    """Yield each failed call of an episode with what its feedback leaks.

    `item` is the one that was played: its gold calls are not in the trace.
    """
    before = ""
    for event in trace.events:
        if isinstance(event, Called) and event.error is not None:
            text = _plain(event.feedback)
            values = [*_gold(item), *((Leak.VALUE, value) for value in _reported(event))]
            plain = ((kind, _plain(as_text(value))) for kind, value in values)
            new = ((kind, value) for kind, value in plain if value.strip() and value not in before)
            yield event, frozenset(kind for kind, value in new if value in text)
        before += _plain(_shown(trace, event, item))


def _gold(item: Item) -> Iterator[tuple[Leak, JSON]]:
    yield from ((Leak.RESULT, answer) for answer in (item.answer, *(h.answer for h in item.hops)))
    calls = [dict(hop.gold.arguments) for hop in item.hops if hop.gold is not None]
    values = (value for call in calls for _, value in scalars(call))
    yield from ((Leak.ARGUMENT, value) for value in values if not isinstance(value, bool | None))


def _reported(call: Called) -> Iterator[JSON]:
    """Yield the values in a tool's report of its own failure."""
    report: JSON = call.outcome.message if isinstance(call.outcome, Raised) else None
    report = result_value(call.outcome) if isinstance(call.outcome, Returned) else report
    for path, value in scalars(report):
        key = next((step for step in reversed(path) if isinstance(step, str)), "error")
        if key in SENTENCES and isinstance(value, str):
            yield from (quoted[2] for quoted in _QUOTED.finditer(value))
            yield from (word for word in _plain(value).split() if plain_number(word) is not None)
        elif key not in CODES and not isinstance(value, bool | None):
            yield value


def _shown(trace: Trace, event: Event, item: Item) -> str:
    """Return what an event adds to what the model has read or written."""
    names = event.tools if isinstance(event, Started | ToolsChanged) else ()
    tools = [item.all_tools[name].schema.to_openai() for name in names]
    texts = [json.dumps(tools, ensure_ascii=False)]
    for message in messages_of(event, trace.started.call_format):
        texts.append(message.content)
        if isinstance(message, AssistantMessage):
            texts += [f"{call.name} {call.arguments}" for call in message.calls]
    return " ".join(texts)


def _plain(text: str) -> str:
    """Return the words of a text, of whatever length, between spaces; JSON's escapes resolved."""
    text = _ESCAPED.sub(lambda escape: chr(int(escape[1], 16)) if escape[1] else " ", text)
    said = (word for part in text.split() for word in words(part))
    numbers = ((word, plain_number(word)) for word in said)
    return f" {' '.join(word if n is None else f'{n.normalize():f}' for word, n in numbers)} "
