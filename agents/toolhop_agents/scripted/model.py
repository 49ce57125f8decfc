"""Scripted agents as models: pure functions of the item, a seed and the conversation so far.

They keep no state, so the same agent works in process and behind a server that receives requests in
any order.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from toolhop_agents.call_formats import restored, written
from toolhop_agents.scripted.faults import FaultKind, SpoiltCall, spoil
from toolhop_agents.scripted.plan import PlannedHop, final_answer, plan, raw_calls, turns
from toolhop_env.messages import Message, Reply, Usage
from toolhop_env.reading import CallFormat
from toolhop_tools.model import Item, ToolSchema

Play: TypeAlias = Callable[[Item, int, Sequence[Message], bool], Reply]
"""Returns the next reply, given the item, a seed, the conversation in native form, and whether
tools are available."""

UNKNOWN = "<answer>unknown</answer>"


def oracle(item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
    """Make each hop's gold call, or else its example calls, then answer from the results.

    Without tools, give the gold answer: the upper bound of direct mode.
    """
    hops = [hop for hop in plan(item) if hop.arguments]
    done = turns(messages)
    if not tools:
        return Reply(f"<answer>{item.answer}</answer>")
    if len(done) < len(hops):
        return Reply(f"Step {len(done) + 1}.", raw_calls(hops[len(done)], len(done) + 1))
    return Reply(f"<answer>{final_answer(item, done[-1] if done else ())}</answer>")


def do_nothing(item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
    """Reply that there is no answer. If this scores above zero, the scoring rule is flawed."""
    return Reply("I have no answer to this.")


def constant(text: str) -> Play:
    """Return an agent that always answers `text`."""

    def always(item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
        return Reply(f"<answer>{text}</answer>")

    return always


@dataclass(frozen=True, slots=True)
class Faulty:
    """The oracle with errors: each hop's first call is broken with probability `rate`.

    It answers `unknown` once a hop has failed, because later hops need the missing result. With
    `repairs` it first tries again, correctly if the feedback says how; otherwise it gives up on the
    hop.
    """

    rate: float = 0.3
    kinds: tuple[FaultKind, ...] = tuple(FaultKind)
    repairs: bool = False

    def __call__(self, item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
        """Return the next reply; see the class."""
        if not tools:
            return oracle(item, seed, messages, tools)
        hops = [hop for hop in plan(item) if hop.arguments]
        failed, done = False, list(turns(messages))
        turn = len(done) + 1
        last: tuple[str, ...] = ()
        for number, hop in enumerate(hops):
            fault = self._fault(item, seed, number, hop)
            if not done:
                calls = raw_calls(hop, turn) if fault is None else (fault.call,)
                return Reply(f"Step {number + 1}.", calls)
            last = done.pop(0)
            if fault is None:
                continue
            if not (self.repairs and _tells(last, fault)):
                failed = True
            elif not done:
                return Reply("The call has to be repaired.", raw_calls(hop, turn))
            else:
                last = done.pop(0)
        return Reply(UNKNOWN if failed else f"<answer>{final_answer(item, last)}</answer>")

    def _fault(self, item: Item, seed: int, number: int, hop: PlannedHop) -> SpoiltCall | None:
        """Return the broken call for a hop, always the same; None if the hop is spared."""
        rng = random.Random(f"{seed}/{item.id}/{number}")
        if rng.random() >= self.rate:
            return None
        return spoil(raw_calls(hop, number + 1)[0], _document(item, hop.tool), self.kinds, rng)


def _tells(feedback: tuple[str, ...], fault: SpoiltCall) -> bool:
    return any(fault.cue in text.lower() for text in feedback)


def _document(item: Item, tool: str) -> ToolSchema:
    return item.all_tools[tool].schema


@dataclass(frozen=True)
class ScriptedModel:
    """A scripted agent for one item, as a `Model`."""

    label: str
    play: Play
    item: Item
    seed: int = 0
    call_format: CallFormat = CallFormat.NATIVE
    """Format of the agent's calls: set by the episode, never read from the prompt."""
    offered: bool = True
    """Whether tools are available in the text format, which sends no schemas with the prompt."""

    @property
    def name(self) -> str:
        """The agent's name in reports."""
        return self.label

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Reply:
        """See `Model.reply`."""
        offered = self.offered if self.call_format is CallFormat.TEXT else bool(tools)
        item = as_offered(self.item, messages, tools)
        return respond(self.play, item, self.seed, self.call_format, messages, offered)


def on_offer(item: Item, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> list[str]:
    """Return the names of the tools that a conversation offers, in the order shown.

    They are the tools passed beside it, or else the item's tools that its messages describe.
    """
    if tools:
        return [tool.name for tool in tools]
    said = "\n".join(message.content for message in messages)
    places = {name: said.find(f'"name": "{name}"') for name in item.all_tools}
    return sorted((name for name, at in places.items() if at >= 0), key=places.__getitem__)


def as_offered(item: Item, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Item:
    """Return the item with the tools that the conversation offers, which may have changed."""
    names = on_offer(item, messages, tools)
    if not names or names == [*item.tools] or not {*names} <= item.all_tools.keys():
        return item
    return replace(item, order=tuple(names))


def respond(
    play: Play,
    item: Item,
    seed: int,
    call_format: CallFormat,
    messages: Sequence[Message],
    offered: bool,
) -> Reply:
    """Return the agent's next reply, written in `call_format`."""
    reply = play(item, seed, restored(messages), offered)
    return written(call_format, replace(reply, usage=Usage(cost_usd=0.0)))
