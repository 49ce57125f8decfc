"""Resume episodes: which are left, and where each one continues.

After a cut-off, or an error that is our fault, an episode does not start over: the next attempt
keeps the complete turns, so no reply is paid for twice, and the model's earlier mistakes are not
undone. A reply whose calls were not all answered is also kept: it is replayed, and its calls, which
have no side effects, are run again.
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
    """The beginning of the next attempt."""

    turns: Trace | None = None
    """Complete turns, for `Episode`'s `resume_from`; None if there are none."""
    reply: Reply | None = None
    """The reply after these turns, whose calls must be run again."""

    @property
    def turn_count(self) -> int:
        """Number of turns that are not requested again."""
        return (len(self.turns.replies) if self.turns else 0) + (self.reply is not None)


def kept(
    traces: Iterable[Trace], item: Item, prompt: Sequence[SystemMessage | UserMessage]
) -> Prefix:
    """Return the prefix of the attempt that got farthest, among those that can be continued.

    Args:
        traces: the attempts, in order.
        item: the episode's item. Traces of other versions of it are ignored.
        prompt: the next attempt's prompt. Traces with another prompt are ignored.

    Traces without their thoughts are ignored too, so their episodes start over.
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
    # A reply from a cache was free and still is.
    resumed = last if last.origin is Origin.CACHED else replace(last, origin=Origin.RESUMED)
    return Prefix(trace.before_turn(turn) if turn > 1 else None, resumed)


@dataclass
class PrimedModel:
    """A model whose first reply is already known."""

    model: Model
    reply_first: Reply | None

    @property
    def name(self) -> str:
        """Name of the wrapped model."""
        return self.model.name

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Reply:
        """See `Model.reply`."""
        first, self.reply_first = self.reply_first, None
        return first if first is not None else await self.model.reply(messages, tools)
