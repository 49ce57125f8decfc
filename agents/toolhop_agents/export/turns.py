"""The turns of an attempt, each with its calls and what came of them, for formats of traces."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from toolhop_env.messages import RawCall
from toolhop_env.reading import CallFormat, read_calls
from toolhop_env.trace import Called, FeedbackSet, Replied, ToolsChanged, Trace
from toolhop_env.validation import strict_json
from toolhop_env.verdicts import Call, ErrorCode
from toolhop_sandbox.outcome import JSON


@dataclass(frozen=True, slots=True)
class TurnCall:
    """A call that the agent wrote."""

    id: str
    """Unique in the attempt: the provider's id, or one of ours where that is empty or was used."""
    raw: RawCall
    called: Called | None
    """None where a limit ended the episode before it."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A reply and what followed it."""

    replied: Replied
    calls: tuple[TurnCall, ...]
    malformed: tuple[Called, ...]
    """Feedback to what was no readable call: there is no call that it answers."""
    changes: dict[str, JSON]
    """What another level of feedback or other tools are from the next turn on."""


def turns(trace: Trace) -> Iterator[Turn]:
    """The turns in order."""
    called: dict[int, list[Called]] = defaultdict(list)
    changes: dict[int, dict[str, JSON]] = defaultdict(dict)
    turn = 0
    for event in trace.events:
        match event:
            case Replied():
                turn = event.turn
            case Called():
                called[event.turn].append(event)
            case FeedbackSet():
                changes[turn]["feedback"] = event.level.value
            case ToolsChanged():
                changes[turn]["tools"] = list(event.tools)
    seen: set[str] = set()
    for replied in trace.replies:
        made = called[replied.turn]
        calls = tuple(
            TurnCall(_unique(raw.id, replied.turn, number, seen), raw, one)
            for number, (raw, one) in enumerate(_written(trace, replied, made), start=1)
        )
        malformed = tuple(one for one in made if one.error is ErrorCode.MALFORMED_CALL)
        yield Turn(replied, calls, malformed, changes[replied.turn])


def _written(
    trace: Trace, replied: Replied, made: list[Called]
) -> Iterator[tuple[RawCall, Called | None]]:
    """The calls that were answered, then those that a limit left."""
    for one in made:
        if one.error is not ErrorCode.MALFORMED_CALL:
            yield one.raw, one
    call_format = trace.started.call_format
    if made or call_format is CallFormat.NATIVE:
        for raw in read_calls(call_format, replied.reply, replied.turn)[len(made) :]:
            yield raw, None


def _unique(given: str, turn: int, number: int, seen: set[str]) -> str:
    name = given
    while not name or name in seen:
        name = f"turn{turn}_call{number}" if name == given else f"{name}_"
    seen.add(name)
    return name


def arguments_of(call: RawCall, called: Called | None) -> dict[str, JSON] | None:
    """A call's arguments as an object; None where their text is none."""
    if called is not None and isinstance(called.verdict, Call):
        return dict(called.verdict.arguments)
    try:
        value = strict_json(call.arguments)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
