"""A played episode as it would have been under another feedback level, up to its first failure.

Successes read the same at every level. So up to its first failed call an episode is the same
under all of them, and there the ways part: the turns so far, with the feedback to that turn's
calls said anew at the other level, are what the other level would have shown. Outcomes stand in
the trace; no tool and no model is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from toolhop_env.feedback import render
from toolhop_env.levels import Verbosity
from toolhop_env.messages import Count, Reply
from toolhop_env.reading import read_calls
from toolhop_env.trace import Called, Event, FeedbackSet, Trace
from toolhop_env.verdicts import ErrorCode


@dataclass(frozen=True, slots=True)
class Failure:
    """The first failed call of an episode."""

    turn: Count
    number: Count
    """Place among all calls, from 1."""
    code: ErrorCode
    tool: str
    """The name that was called."""
    hop: Count | None
    """Index (from 0) of the hop whose tool was called; None where it is not a hop's."""


@dataclass(frozen=True, slots=True)
class Fork:
    """What an episode at another level begins with."""

    kept: Trace
    """All turns up to the one with the first failed call, that one included; not ended."""
    reply: Reply | None = None
    """That turn's reply, where a limit left calls of it that were never run: then `kept` ends
    before it, and it is to be given once more, to meet the same limit."""


def first_failure(trace: Trace) -> Failure | None:
    """The first failed call, None where none failed."""
    for number, call in enumerate(trace.calls, start=1):
        if call.error is not None:
            return Failure(call.turn, number, call.error, call.raw.name, call.hop)
    return None


def fork(trace: Trace, level: Verbosity, *, origin: str = "") -> Fork | None:
    """`trace` forked at its first failed call, to go on at `level`; None where no call failed.

    A turn with several calls is forked as a whole: the feedback to each of its calls is said
    anew. What is kept begins as an episode under `level` would have; `origin` is the name by
    which it tells where its turns come from, the episode's own where none is given.
    """
    failure = first_failure(trace)
    if failure is None:
        return None
    started, turn = trace.started, failure.turn
    reply = next(event.reply for event in trace.replies if event.turn == turn)
    wanted = len(read_calls(started.call_format, reply, turn))
    cut_off = sum(call.turn == turn for call in trace.calls) < wanted
    before = trace.before_turn(turn if cut_off else turn + 1).events[1:]
    kept: list[Event] = [replace(started, feedback=level, episode=origin or started.episode)]
    kept += [_at(level, event) for event in before if not isinstance(event, FeedbackSet)]
    return Fork(Trace(tuple(kept)), reply if cut_off else None)


def _at(level: Verbosity, event: Event) -> Event:
    if not isinstance(event, Called):
        return event
    feedback = render(level, event.raw.name, event.verdict, event.outcome)
    return replace(event, level=level, feedback=feedback.text)
