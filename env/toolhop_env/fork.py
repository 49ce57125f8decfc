"""Forking of a played episode at its first failed call, to continue at another feedback level.

Successes read the same at every level, so an episode is the same under all levels up to its first
failed call. The turns so far, with the feedback to that turn's calls rendered again, are what the
other level would have shown. Outcomes come from the trace; no tool is run and no model is called.
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
    """Number of the call among all calls, from 1."""
    code: ErrorCode
    tool: str
    """Name that was called."""
    hop: Count | None
    """Index of the hop whose tool was called, from 0; None if the tool is not a hop's."""


@dataclass(frozen=True, slots=True)
class Fork:
    """The beginning of an episode at another level."""

    kept: Trace
    """All turns up to and including the one with the first failed call, without an end."""
    reply: Reply | None = None
    """Reply of that turn if a limit kept some of its calls from running. `kept` then ends before
    that turn, and the reply is to be given again, to meet the same limit."""


def first_failure(trace: Trace) -> Failure | None:
    """Return the first failed call; None if no call failed."""
    for number, call in enumerate(trace.calls, start=1):
        if call.error is not None:
            return Failure(call.turn, number, call.error, call.raw.name, call.hop)
    return None


def fork(trace: Trace, level: Verbosity, *, origin: str = "") -> Fork | None:
    """Fork `trace` at its first failed call, to continue at `level`; None if no call failed.

    A turn with several calls is forked as a whole: the feedback to each call is rendered again. The
    kept turns begin as an episode under `level` would have. `origin` names the episode they come
    from; by default the trace's own.
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
