"""`toolhop align dpo`: preference pairs of replies to one context, or of whole trajectories.

Every reply has been executed in its context: by the run or the sampler that it comes from, or here.
"""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from pathlib import Path
from typing import Any

from toolhop_agents.align import executed
from toolhop_agents.align.check import guards
from toolhop_agents.align.kinds import AlignError, PairType, Source, Verdict
from toolhop_agents.align.line import Candidate, Context, Pair, Result, Wire, digest, turns_in
from toolhop_agents.align.sft import thought
from toolhop_agents.benchmarks.scenarios.agents import asks_when_missing
from toolhop_agents.export.chat import Arguments, chat_message
from toolhop_agents.models.wire_reading import messages_from_wire
from toolhop_agents.scripted.faults import FaultKind, spoil
from toolhop_env.benchmarks.known import Known
from toolhop_env.messages import AssistantMessage
from toolhop_env.reading import CallFormat
from toolhop_env.trace import ToolsChanged, Trace
from toolhop_sandbox.base import Sandbox
from toolhop_tools.model import Item
from toolhop_tools.several import each
from toolhop_tools.words import as_text, scalars

RANK = {source: rank for rank, source in enumerate(Source)}
TRUE_LENGTHS = (0.8, 1.25)
"""Ratio of chosen to rejected, in characters, beyond which length may be what is learned."""


@dataclass
class Gathered:
    """Continuations by the key of their context, with the items."""

    items: dict[str, Item] = field(default_factory=dict)
    contexts: dict[str, Context] = field(default_factory=dict)
    replies: dict[str, list[Candidate]] = field(default_factory=lambda: defaultdict(list))
    """Single replies to a context."""
    episodes: dict[str, list[Candidate]] = field(default_factory=lambda: defaultdict(list))
    """All that follows the prompt of an episode."""
    dropped: Counter[str] = field(default_factory=Counter)

    def take(self, item: Item, origin: Path) -> None:
        """Add an item.

        Raises:
            AlignError: another item has its id.
        """
        if self.items.setdefault(item.id, item).digest != item.digest:
            raise AlignError(
                f"{origin} has another item {item.id} than the runs before it",
                fix="give runs of the same data and the same --tools",
            )

    def add(self, context: Context, *candidates: Candidate) -> None:
        """Add replies to a context; equal ones are kept once, from the best source."""
        self.contexts.setdefault(context.key, context)
        known = self.replies[context.key]
        for one in candidates:
            if all(_alike(one.messages[0]) != _alike(other.messages[0]) for other in known):
                known.append(one)

    @property
    def waiting(self) -> list[tuple[str, int]]:
        """Places of the replies that are not executed yet."""
        return [
            (key, at)
            for key, replies in self.replies.items()
            for at, one in enumerate(replies)
            if one.result is None
        ]

    async def execute(self, sandbox: Sandbox, at_a_time: int, on_reply: Callable[[], None]) -> None:
        """Execute the waiting replies, each from its context."""

        async def one(place: tuple[str, int]) -> None:
            key, at = place
            candidate, context = self.replies[key][at], self.contexts[key]
            reply, item = candidate.messages[0], self.items[context.item]
            result = await executed.result_of(context, reply, item, sandbox)
            self.replies[key][at] = candidate.model_copy(update={"result": result})
            on_reply()

        await each(self.waiting, one, at_a_time=at_a_time)


def _calls(message: Wire) -> list[tuple[str, str]]:
    """Return tool and arguments of each call."""
    functions = (call["function"] for call in message.get("tool_calls", ()))
    return [(one["name"], one["arguments"]) for one in functions]


def _alike(reply: Wire) -> object:
    return _calls(reply) or reply["content"]


def gather(gathered: Gathered, trace: Trace, item: Item, origin: str, licence: str) -> None:
    """Add the replies of an episode, each in its context, and what they imply for others.

    A failed call is the rejected reply; the next good call of the same hop is the chosen one. That
    call is moved back to the failed one's context if its values were known there; else the failed
    call is repeated in the context of the good one, after the error.
    """
    turns = range(1, len(trace.replies) + 1)
    found = {turn: executed.context_of(trace, item, turn, origin, licence) for turn in turns}
    results = {turn: executed.classified(trace, item, turn) for turn in turns}
    for turn, context in found.items():
        reply = Candidate(messages=(_wire(trace, turn),), source=Source.RUN, result=results[turn])
        gathered.add(context, reply)
    native = trace.started.call_format is CallFormat.NATIVE
    for turn in turns:
        if native and results[turn].verdict is Verdict.HALLUCINATED and found[turn].solvable:
            _forked(gathered, trace, found, results, turn)
    changed = any(isinstance(event, ToolsChanged) for event in trace.events)
    if found and not (native and changed):
        rest = executed.wired(trace)[len(found[1].prompt) :]
        if rest and rest[-1]["role"] == "assistant":
            whole = executed.trajectory(trace, item)
            gathered.episodes[found[1].key].append(
                Candidate(messages=rest, source=Source.RUN, result=whole)
            )


def _wire(trace: Trace, turn: int) -> Wire:
    reply = next(one.reply for one in trace.replies if one.turn == turn)
    if trace.started.call_format is not CallFormat.NATIVE:
        reply = replace(reply, calls=())
    return chat_message(
        AssistantMessage(reply.content, reply.calls, reply.thoughts), Arguments.STRING
    )


def _forked(
    gathered: Gathered,
    trace: Trace,
    contexts: Mapping[int, Context],
    results: Mapping[int, Result],
    failed: int,
) -> None:
    """Add what a failed call and the next good call of its hop say of each other's contexts."""
    good = next(
        (
            turn
            for turn, result in results.items()
            if turn > failed
            and result.verdict is Verdict.CORRECT
            and contexts[turn].hop == contexts[failed].hop
        ),
        None,
    )
    if good is None:
        return
    at, moved = good, _wire(trace, failed)
    if grounded(right := _wire(trace, good), contexts[failed]):
        # With the failed call's own text, which no error can have shaped.
        at, moved = failed, {**right, "content": moved["content"]}
        moved.pop("reasoning_content", None)
    gathered.add(contexts[at], Candidate(messages=(moved,), source=Source.FORK))


def grounded(reply: Wire, context: Context) -> bool:
    """Whether all values of a reply's calls are in the context's texts, or a choice of a schema."""
    texts = [str(one["content"]) for one in context.prompt]
    known = Known("\n".join([*texts, *(_choices(context.tools))]))
    for _, text in _calls(reply):
        try:
            values = scalars(json.loads(text))
        except ValueError:
            return False
        if not all(known.holds(as_text(value)) for _, value in values):
            return False
    return True


def _choices(tools: Iterable[Wire]) -> Iterator[str]:
    """Yield the choices and defaults that schemas state."""
    for tool in tools:
        for path, value in scalars(tool["function"]["parameters"]):
            if {"enum", "default", "const"} & {*path}:
                yield as_text(value)


def complete(gathered: Gathered, *, faults: bool, seed: int) -> None:
    """Add what the labels ask for to contexts with a wrong reply, and broken calls where asked.

    The gold agent reacts to a context as the label says: with the gold call, or the action.
    """
    for key, context in gathered.contexts.items():
        if context.conditions.call_format is not CallFormat.NATIVE or not context.tools:
            continue
        item = gathered.items[context.item]
        done = [one.result for one in gathered.replies[key] if one.result is not None]
        verdicts, needs = {one.verdict for one in done}, context.needs
        wrong = verdicts & {Verdict.HALLUCINATED, Verdict.INDECISIVE}
        right = needs in {one.action for one in done} if needs else Verdict.CORRECT in verdicts
        if wrong and not right and (gold := _gold(context, item)) is not None:
            gathered.add(context, Candidate(messages=(gold,), source=Source.TWIN))
        if faults and Verdict.CORRECT in verdicts and Verdict.HALLUCINATED not in verdicts:
            gathered.add(context, *_broken(gathered.replies[key], context, item, seed))


def _gold(context: Context, item: Item) -> Wire | None:
    """Return the reply of the agent that knows the label; None if it answers or has no call."""
    if not all(hop.gold for hop in item.hops):
        return None
    messages = messages_from_wire(list(context.prompt))
    names = [str(tool["function"]["name"]) for tool in context.tools]
    offered = replace(item, order=tuple(name for name in item.all_tools if name in names))
    reply = thought(item, asks_when_missing(offered, 0, messages, True))
    said = AssistantMessage(reply.content, reply.calls)
    return chat_message(said, Arguments.STRING) if reply.calls else None


def _broken(
    replies: Sequence[Candidate], context: Context, item: Item, seed: int
) -> Iterator[Candidate]:
    right = next(one for one in replies if one.result and one.result.verdict is Verdict.CORRECT)
    message = messages_from_wire(list(right.messages))[0]
    if isinstance(message, AssistantMessage) and len(message.calls) == 1:
        call, rng = message.calls[0], random.Random(f"{seed}/{context.key}")
        spoilt = spoil(call, item.all_tools[call.name].schema, tuple(FaultKind), rng).call
        said = replace(message, calls=(spoilt,), thoughts=None)
        yield Candidate(messages=(chat_message(said, Arguments.STRING),), source=Source.FAULT)


def pairs(
    gathered: Gathered, split_of: Mapping[str, str], *, most: int | None = None
) -> list[Pair]:
    """Return one pair a type, step and item, from the best source; at most `most` for an item.

    Args:
        gathered: executed replies.
        split_of: split by item.
        most: maximum number of pairs of an item; None for any.
    """
    found: dict[tuple[str, str, int], tuple[tuple[int, float, str], Pair]] = {}
    for pair in _all(gathered, split_of):
        place = (pair.pair_type, pair.item, pair.hop)
        worst = max(RANK[pair.chosen_source], RANK[pair.rejected_source])
        rank = worst, abs(1 - length_ratio(pair)), pair.id
        if place not in found or rank < found[place][0]:
            found[place] = rank, pair
    by_item: dict[str, list[Pair]] = defaultdict(list)
    for _, pair in sorted(found.values(), key=lambda one: one[0]):
        by_item[pair.item].append(pair)
    kept = [pair for listed in by_item.values() for pair in listed[:most]]
    return sorted(kept, key=lambda pair: pair.id)


def _all(gathered: Gathered, split_of: Mapping[str, str]) -> Iterator[Pair]:
    for continuations, whole in ((gathered.replies, False), (gathered.episodes, True)):
        for key, listed in continuations.items():
            context = gathered.contexts[key]
            if whole:
                context = context.model_copy(update={"hop": -1})
            done = [(one, one.result.verdict) for one in listed if one.result is not None]
            for (chosen, better), (rejected, worse) in permutations(done, 2):
                for kind in (kind for kind in PairType if kind.allows(better, worse)):
                    pair = _pair(context, kind, chosen, rejected, split_of[context.item])
                    if not [*guards(pair)]:
                        yield pair


def _pair(
    context: Context, kind: PairType, chosen: Candidate, rejected: Candidate, split: str
) -> Pair:
    said = digest(context.key, chosen.messages, rejected.messages)
    sides: dict[str, Any] = {
        f"{side}{suffix}": value
        for side, one in (("chosen", chosen), ("rejected", rejected))
        for suffix, value in (
            ("", one.messages), ("_source", one.source), ("_result", one.result),
            ("_tokens", one.tokens),
        )
    }  # fmt: skip
    identity = f"{context.item}~{kind}~{said[:8]}"
    return Pair(**dict(context), id=identity, split=split, pair_type=kind, **sides)


def length_ratio(pair: Pair) -> float:
    """Return the length of chosen by rejected, in characters of texts and calls."""
    return _length(pair.chosen) / max(1, _length(pair.rejected))


def _length(messages: Sequence[Wire]) -> int:
    said = [messages[at] for at in turns_in(messages)]
    calls = [str(part) for one in said for call in _calls(one) for part in call]
    return len("".join([*(str(one["content"]) for one in said), *calls]))


def named_apart(pair: Pair) -> bool:
    """Whether the names of the called tools alone tell chosen from rejected."""
    chosen, rejected = (
        [name for one in messages for name, _ in _calls(one)]
        for messages in (pair.chosen, pair.rejected)
    )
    return chosen != rejected
