"""Going on with what was begun: which episodes are left, and where each one is taken up.

An episode that was cut off, or voided by a fault of ours, is not begun anew: its next attempt
keeps the turns that are whole. So a reply that was paid for is not asked for again, and a mistake
that the model made before the fault stays made. A reply whose calls were not all answered is kept
as well: it is given once more as it came, and its calls, which leave nothing behind, are run again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from agents.models.base import Model
from agents.runs.index import Attempt
from env.messages import Message, Origin, Reply, SystemMessage, UserMessage
from env.reading import read_calls
from env.score import Void
from env.trace import Trace
from toolhop_tools.model import Item, ToolDocument

Key: TypeAlias = tuple[str, str, int]
"""What an episode is of: item, mode, epoch."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What the next attempt begins with."""

    turns: Trace | None = None
    """Whole turns, for `Episode`'s `resume_from`; None where there are none."""
    reply: Reply | None = None
    """The reply after them, whose calls have to be run again."""

    @property
    def turn_count(self) -> int:
        """Turns that are not asked for again."""
        return (len(self.turns.replies) if self.turns else 0) + (self.reply is not None)


def kept(
    traces: Iterable[Trace], item: Item, prompt: Sequence[SystemMessage | UserMessage]
) -> Kept:
    """What the attempts so far leave to the next: of those that fit, the one that came farthest.

    Args:
        traces: the attempts, in order.
        item: the episode's item. A trace of another version of it is passed over.
        prompt: the next attempt's prompt. A trace that answers another one is passed over.
    """
    fitting = [
        trace
        for trace in traces
        if trace.started.item_digest == item.digest and trace.started.messages == tuple(prompt)
    ]
    if not fitting:
        return Kept()
    best = max(fitting, key=lambda trace: len(trace.replies))
    return _kept_of(best)


def _kept_of(trace: Trace) -> Kept:
    turn = len(trace.replies)
    if turn == 0:
        return Kept()
    last = trace.replies[-1].reply
    wanted = len(read_calls(trace.started.dialect, last, turn))
    if 0 < wanted == sum(call.turn == turn for call in trace.calls):
        return Kept(trace.before_turn(turn + 1))
    # A reply from a cache cost nothing, and costs nothing now.
    resumed = last if last.origin is Origin.CACHED else replace(last, origin=Origin.RESUMED)
    return Kept(trace.before_turn(turn) if turn > 1 else None, resumed)


@dataclass
class Taken:
    """A model whose first reply is already there."""

    model: Model
    reply_first: Reply | None

    @property
    def name(self) -> str:
        """The model's own."""
        return self.model.name

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolDocument]) -> Reply:
        """See `Model.reply`."""
        first, self.reply_first = self.reply_first, None
        return first if first is not None else await self.model.reply(messages, tools)


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a run has come."""

    finished: frozenset[Key]
    """Episodes with a score: they are not played again."""
    attempts: dict[Key, int]
    """The number of the last attempt, of those that are not finished."""


def standing(attempts: Iterable[Attempt]) -> Standing:
    """From the attempts of a run, in any order."""
    finished: set[Key] = set()
    last: dict[Key, int] = {}
    for attempt in attempts:
        one = attempt.judged
        key = (one.item, one.mode, one.epoch)
        if isinstance(one.verdict, Void):
            last[key] = max(last.get(key, 0), one.attempt)
        else:
            finished.add(key)
    return Standing(frozenset(finished), {k: n for k, n in last.items() if k not in finished})
