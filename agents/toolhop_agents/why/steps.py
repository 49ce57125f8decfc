"""The steps of a lost episode that can be repaired, and how it goes on from there."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from toolhop_agents.call_formats import written
from toolhop_agents.runs.resume import Prefix
from toolhop_env.divergence import Divergence, Divergences, Kind, next_step
from toolhop_env.messages import Origin, RawCall, Reply
from toolhop_env.reading import read_calls
from toolhop_env.trace import Trace
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import Item


@dataclass(frozen=True, slots=True)
class Repair:
    """A divergence and the gold call that repairs it."""

    divergence: Divergence
    tool: str
    arguments: Mapping[str, JSON]

    @property
    def turn(self) -> int:
        """Turn of the divergence, from 1."""
        return self.divergence.turn


def repairs_of(lost: Divergences, trace: Trace, item: Item, *, after: int = 0) -> Sequence[Repair]:
    """Return the repairs of a trace's divergences after turn `after`, one a turn, in time.

    The gold call is that of the step that diverged, else of the next step of the chain. Without a
    proven call there is none, nor for an answer after the last step. Divergences that the agent
    made good are repaired only if all were.
    """
    by_turn: dict[tuple[bool, int], Repair] = {}
    for place in lost.all:
        if place.turn > after and place.kind is not Kind.OUT_OF_LIMIT:
            step = place.step or next_step(trace, item, place.turn)
            if step is not None and step.arguments is not None:
                at = place.made_good is not None, place.turn
                by_turn.setdefault(at, Repair(place, step.tool, step.arguments))
    least = min(by_turn, default=(False, 0))[0]
    return [by_turn[at] for at in sorted(by_turn) if at[0] == least]


def branch(trace: Trace, repair: Repair, *, origin: str, repaired: bool) -> Prefix:
    """Return the turns before a divergence and, if `repaired`, the turn with the gold call.

    Without the repair the agent takes that turn anew. `origin` names the episode that the turns
    come from.
    """
    kept = trace.before_turn(repair.turn).events[1:]
    turns = Trace((replace(trace.started, episode=origin), *kept))
    return Prefix(turns, _repaired(trace, repair) if repaired else None)


def _repaired(trace: Trace, repair: Repair) -> Reply:
    """Return the turn of a divergence with the gold call in place of the diverging one.

    Where no call diverged, the gold call is the whole turn. What the agent said beside its calls
    is left out, as it argued for another call. Thoughts stay if the provider signed them, as it
    refuses calls without them.
    """
    form, turn = trace.started.call_format, repair.turn
    reply = next(taken.reply for taken in trace.replies if taken.turn == turn)
    # Some providers take only ids of nine letters and digits.
    gold = RawCall(
        f"repair{turn:03d}", repair.tool, json.dumps(dict(repair.arguments), ensure_ascii=False)
    )
    calls, thoughts = list(read_calls(form, reply, turn)), None
    if calls and repair.divergence.call is not None:
        at = repair.divergence.call - sum(call.turn < turn for call in trace.calls)
        calls[at] = replace(gold, id=calls[at].id)
        thoughts = reply.thoughts if reply.thoughts and reply.thoughts.signed else None
    made = Reply(calls=tuple(calls or [gold]), thoughts=thoughts, origin=Origin.RESUMED)
    return written(form, made)
