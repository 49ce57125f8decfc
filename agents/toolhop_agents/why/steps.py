"""Where a trace can be repaired, and how an episode goes on from there, repaired or not."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

from toolhop_agents.call_formats import written
from toolhop_agents.runs.resume import Prefix
from toolhop_env.divergence import Divergence
from toolhop_env.messages import Origin, RawCall, Reply
from toolhop_env.reading import read_calls
from toolhop_env.trace import Trace


def repairable(found: Iterable[Divergence], *, after: int = 0) -> Sequence[Divergence]:
    """Return the divergences after turn `after` that a gold call can repair, the first of each
    turn.
    """
    by_turn: dict[int, Divergence] = {}
    for one in found:
        if one.gold is not None and one.turn > after:
            by_turn.setdefault(one.turn, one)
    return [by_turn[turn] for turn in sorted(by_turn)]


def branch(trace: Trace, step: Divergence, *, origin: str, repaired: bool) -> Prefix:
    """Return the turns before `step` and, if `repaired`, the turn that makes its gold call.

    Without the repair the agent takes that turn anew. `origin` names the episode that the turns
    come from.
    """
    kept = trace.before_turn(step.turn).events[1:]
    turns = Trace((replace(trace.started, episode=origin), *kept))
    return Prefix(turns, _repair(trace, step) if repaired else None)


def _repair(trace: Trace, step: Divergence) -> Reply:
    """Return the reply of a step's turn with the gold call in place of the diverging one.

    Where no call diverged, the gold call is the whole turn. What the agent said beside its calls
    is left out, as it argued for another call. Thoughts stay if the provider signed them, as it
    refuses calls without them.
    """
    form, gold = trace.started.call_format, step.gold
    if gold is None:
        raise ValueError(f"{step.kind} at turn {step.turn} has no gold call")
    reply = next(one.reply for one in trace.replies if one.turn == step.turn)
    arguments = json.dumps(gold.arguments, ensure_ascii=False)
    # Some providers take only ids of nine letters and digits.
    put = RawCall(f"repair{step.turn:03d}", gold.tool, arguments)
    calls, thoughts = list(read_calls(form, reply, step.turn)), None
    if step.call is None or step.call >= len(calls):
        calls = [put]
    else:
        calls[step.call] = replace(put, id=calls[step.call].id)
        thoughts = reply.thoughts if reply.thoughts and reply.thoughts.signed else None
    made = Reply(calls=tuple(calls), thoughts=thoughts, origin=Origin.RESUMED)
    return written(form, made)
