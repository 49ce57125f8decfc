"""Forking of a played episode, to continue under another level of what is compared.

Feedback: successes read the same at every level, so an episode is the same under all levels up to
its first failed call. Treatment of results, and thoughts sent back: nothing differs in the first
turn. Limits: nothing differs before one is reached, as agents are told of none. The turns so far,
with the feedback to their calls rendered again, are what the other level would have shown. Outcomes
come from the trace; no tool is run and no model is called.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from toolhop_env.feedback import render
from toolhop_env.levels import Verbosity
from toolhop_env.limits import EpisodeLimits, Used
from toolhop_env.messages import Count, Reply
from toolhop_env.reading import read_calls
from toolhop_env.results import shown_result
from toolhop_env.trace import Called, Ending, FeedbackSet, Results, Trace
from toolhop_env.verdicts import ErrorCode

_BY_THE_REPLY = {Ending.ANSWERED, Ending.GAVE_UP, Ending.MALFORMED_CALL, Ending.CUT_IN_THOUGHT}
"""Endings that the last reply causes, under any limits that allow it."""


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
    return fork_after(trace, failure.turn, level, trace.started.results, origin=origin)


def fork_after(
    trace: Trace, turn: int, level: Verbosity, results: Results, *, origin: str = ""
) -> Fork:
    """Fork `trace` after a turn that it has, to continue at `level` with `results` treated so."""
    started = trace.started
    reply, wanted, answered = _turn(trace, turn)
    cut_off = answered < wanted
    before = trace.before_turn(turn if cut_off else turn + 1).events[1:]
    head = replace(started, feedback=level, results=results, episode=origin or started.episode)
    kept = Trace((head,))
    for event in before:
        if isinstance(event, Called):
            kept = kept.after(_rendered(event, level, kept))
        elif not isinstance(event, FeedbackSet):
            kept = kept.after(event)
    return Fork(kept, reply if cut_off else None)


def fork_within(trace: Trace, limits: EpisodeLimits, *, origin: str = "") -> Fork:
    """Fork `trace` where `limits` would have ended it, or else where it ended, to go on from there.

    A turn is played again from its reply if the reply ended the episode, or if a limit kept some of
    its calls from running.
    """
    used, ending = Used(), trace.ended and trace.ended.ending
    for event in trace.replies:
        wanted, answered = _turn(trace, event.turn)[1:]
        calls = [one for one in trace.calls if one.turn == event.turn]
        counted = used.calls + sum(one.action is None for one in calls)
        too_many = limits.calls is not None and counted > limits.calls
        ends = event.turn == len(trace.replies) and ending in _BY_THE_REPLY
        if ends or too_many or answered < wanted:
            before = trace.before_turn(event.turn)
            return Fork(_named(before, origin), event.reply)
        used.count(event)
        for call in calls:
            used.count(call)
        if limits.exceeded(used, 0.0) is not None:
            return Fork(_named(trace.before_turn(event.turn + 1), origin))
    return Fork(_named(trace.before_turn(len(trace.replies) + 1), origin))


def _named(trace: Trace, origin: str) -> Trace:
    return Trace((replace(trace.started, episode=origin), *trace.events[1:])) if origin else trace


def _turn(trace: Trace, turn: int) -> tuple[Reply, int, int]:
    """Return a turn's reply, how many calls it has, and how many of them were answered."""
    reply = next(event.reply for event in trace.replies if event.turn == turn)
    wanted = len(read_calls(trace.started.call_format, reply, turn))
    return reply, wanted, sum(call.turn == turn for call in trace.calls)


def _rendered(event: Called, level: Verbosity, before: Trace) -> Called:
    feedback = render(level, event.raw.name, event.verdict, event.outcome)
    text = feedback.text if event.action else shown_result(feedback, before)
    return replace(event, level=level, feedback=text)
