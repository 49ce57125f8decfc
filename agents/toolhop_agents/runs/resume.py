"""Resuming what was begun: which episodes are left, and where each one is taken up.

An episode that was cut off, or errored by a fault of ours, is not begun anew: its next attempt
keeps the turns that are whole. So a reply that was paid for is not asked for again, and a mistake
that the model made before the fault stays made. A reply whose calls were not all answered is kept
as well: it is given once more as it came, and its calls, which leave nothing behind, are run again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from toolhop_agents.models.base import Model
from toolhop_env.messages import Message, Origin, Reply, SystemMessage, UserMessage
from toolhop_env.reading import read_calls
from toolhop_env.trace import Trace
from toolhop_tools.model import Item, ToolSchema


@dataclass(frozen=True, slots=True)
class Prefix:
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
) -> Prefix:
    """What the attempts so far leave to the next: of those that fit, the one that came farthest.

    Args:
        traces: the attempts, in order.
        item: the episode's item. A trace of another version of it is passed over.
        prompt: the next attempt's prompt. A trace that answers another one is passed over.

    A trace whose thoughts were not kept is passed over too: its episode begins anew.
    """
    fitting = [
        trace
        for trace in traces
        if trace.started.item_digest == item.digest
        and trace.started.messages == tuple(prompt)
        and not trace.lacks_thoughts
    ]
    if not fitting:
        return Prefix()
    best = max(fitting, key=lambda trace: len(trace.replies))
    return _prefix_of(best)


def _prefix_of(trace: Trace) -> Prefix:
    turn = len(trace.replies)
    if turn == 0:
        return Prefix()
    last = trace.replies[-1].reply
    wanted = len(read_calls(trace.started.call_format, last, turn))
    if 0 < wanted == sum(call.turn == turn for call in trace.calls):
        return Prefix(trace.before_turn(turn + 1))
    # A reply from a cache cost nothing, and costs nothing now.
    resumed = last if last.origin is Origin.CACHED else replace(last, origin=Origin.RESUMED)
    return Prefix(trace.before_turn(turn) if turn > 1 else None, resumed)


@dataclass
class PrimedModel:
    """A model whose first reply is already there."""

    model: Model
    reply_first: Reply | None

    @property
    def name(self) -> str:
        """The model's own."""
        return self.model.name

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Reply:
        """See `Model.reply`."""
        first, self.reply_first = self.reply_first, None
        return first if first is not None else await self.model.reply(messages, tools)
