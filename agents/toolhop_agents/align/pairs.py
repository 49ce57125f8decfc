"""`toolhop align dpo`: preference pairs of replies to one context, or of whole trajectories.

Every reply has been executed in its context: by the run or the sampler that it comes from, or here.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from toolhop_agents.align import executed
from toolhop_agents.align.check import CALLS, VERDICTS, guards
from toolhop_agents.align.executed import State
from toolhop_agents.align.leaks import Print
from toolhop_agents.align.line import (
    Conditions,
    Pair,
    PairType,
    Result,
    Source,
    Tokens,
    Verdict,
    Wire,
)
from toolhop_agents.align.sft import thought
from toolhop_agents.benchmarks.scenarios.agents import asks_when_missing
from toolhop_agents.export.chat import Arguments, chat_message, listing
from toolhop_agents.scripted.faults import FaultKind, spoil
from toolhop_env.benchmarks.known import Known
from toolhop_env.messages import AssistantMessage, Reply
from toolhop_env.reading import CallFormat
from toolhop_env.trace import ToolsChanged, Trace
from toolhop_sandbox.base import Sandbox
from toolhop_tools.model import Item, canonical
from toolhop_tools.several import each
from toolhop_tools.words import as_text, scalars

RANK = {source: rank for rank, source in enumerate(Source)}
TRUE_LENGTHS = (0.8, 1.25)
"""Ratio of chosen to rejected, in characters, beyond which length may be what is learned."""


@dataclass(frozen=True)
class Context:
    """The state in which replies are compared."""

    item: Item
    conditions: Conditions
    messages: tuple[Wire, ...]
    tools: tuple[Wire, ...]
    state: State
    origin: str
    licence: str

    @property
    def key(self) -> str:
        """Equal for equal contexts, whatever run they are from."""
        parts = [self.item.digest, self.conditions.model_dump(mode="json"), list(self.messages)]
        return hashlib.sha256(canonical(parts).encode()).hexdigest()


@dataclass(frozen=True)
class Candidate:
    """A reply to a context; `result` is None until it is executed."""

    reply: Wire
    source: Source
    result: Result | None = None
    tokens: Tokens | None = None


@dataclass
class Gathered:
    """Replies by context, and whole trajectories by prompt."""

    contexts: dict[str, Context] = field(default_factory=dict)
    replies: dict[str, list[Candidate]] = field(default_factory=lambda: defaultdict(list))
    episodes: dict[str, list[tuple[Context, tuple[Wire, ...], Result]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    dropped: Counter[str] = field(default_factory=Counter)

    def add(self, context: Context, *candidates: Candidate) -> None:
        """Add replies to a context; equal ones are kept once, from the best source."""
        self.contexts.setdefault(context.key, context)
        known = self.replies[context.key]
        for one in candidates:
            if all(_alike(one.reply) != _alike(other.reply) for other in known):
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
            candidate = self.replies[key][at]
            result = await executed_in(self.contexts[key], candidate.reply, sandbox)
            self.replies[key][at] = replace(candidate, result=result)
            on_reply()

        await each(self.waiting, one, at_a_time=at_a_time)


async def executed_in(context: Context, reply: Wire, sandbox: Sandbox) -> Result:
    """Execute a reply in its context, and return what came of it."""
    messages = (*context.messages, reply)
    trace = await executed.replayed(context.item, context.conditions, messages, sandbox)
    return executed.classified(trace, context.item, len(trace.replies))


def _alike(reply: Wire) -> str:
    calls = [
        [call["function"]["name"], call["function"]["arguments"]]
        for call in reply.get("tool_calls", ())
    ]
    return canonical([reply["content"] if not calls else "", calls])


# -- from runs -----------------------------------------------------------------------------------


def context_of(trace: Trace, item: Item, turn: int, origin: str, licence: str) -> Context:
    """Return the context of a turn (from 1)."""
    before = trace.before_turn(turn)
    tools, texts = listing(trace.started, before.tools, item)
    return Context(
        item,
        Conditions.of(trace.started),
        executed.wired(before, texts),
        tuple(tools),
        executed.state_before(trace, item, turn),
        origin,
        licence,
    )


def gather(gathered: Gathered, trace: Trace, item: Item, origin: str, licence: str) -> None:
    """Add the replies of an episode, each in its context, and what they imply for others.

    A failed call is rejected for the next good call of its hop. That call is moved back to the
    failed one's context if its values were known there; else the failed call is repeated in the
    context of the good one, after the error.
    """
    turns = range(1, len(trace.replies) + 1)
    found = {turn: context_of(trace, item, turn, origin, licence) for turn in turns}
    results = {turn: executed.classified(trace, item, turn) for turn in turns}
    for turn, one in found.items():
        reply = _wire(trace, turn)
        gathered.add(one, Candidate(reply, Source.RUN, results[turn]))
    native = trace.started.call_format is CallFormat.NATIVE
    for turn in turns:
        if native and results[turn].verdict is Verdict.HALLUCINATED and found[turn].state.solvable:
            good = _next_good(results, found, turn)
            if good is not None:
                _forked(gathered, trace, found, turn, good)
    changed = any(isinstance(event, ToolsChanged) for event in trace.events)
    if found and not (native and changed):
        whole = executed.wired(trace)
        start = found[1]
        rest = whole[len(start.messages) :]
        if rest and rest[-1]["role"] == "assistant":
            gathered.episodes[start.key].append((start, rest, executed.trajectory(trace, item)))


def _wire(trace: Trace, turn: int) -> Wire:
    reply = next(one.reply for one in trace.replies if one.turn == turn)
    if trace.started.call_format is not CallFormat.NATIVE:
        reply = replace(reply, calls=())
    return chat_message(
        AssistantMessage(reply.content, reply.calls, reply.thoughts), Arguments.STRING
    )


def _next_good(
    results: Mapping[int, Result], contexts: Mapping[int, Context], failed: int
) -> int | None:
    hop = contexts[failed].state.hop
    return next(
        (
            turn
            for turn, result in results.items()
            if turn > failed
            and result.verdict is Verdict.CORRECT
            and contexts[turn].state.hop == hop
        ),
        None,
    )


def _forked(
    gathered: Gathered, trace: Trace, contexts: Mapping[int, Context], failed: int, good: int
) -> None:
    wrong, right = _wire(trace, failed), _wire(trace, good)
    if grounded(right, contexts[failed]):
        # With the failed call's own text, which no error can have shaped.
        moved = {**right, "content": wrong["content"]}
        moved.pop("reasoning_content", None)
        gathered.add(contexts[failed], Candidate(moved, Source.FORK))
    else:
        gathered.add(contexts[good], Candidate(wrong, Source.FORK))


def grounded(reply: Wire, context: Context) -> bool:
    """Whether all values of a reply's calls are in the context's texts, or a choice of a schema."""
    texts = [str(one["content"]) for one in context.messages]
    known = Known("\n".join([*texts, *(_choices(context.tools))]))
    for call in reply.get("tool_calls", ()):
        try:
            arguments = json.loads(call["function"]["arguments"])
        except ValueError:
            return False
        if not all(known.holds(as_text(value)) for _, value in scalars(arguments)):
            return False
    return True


def _choices(tools: Iterable[Wire]) -> Iterator[str]:
    """Yield the choices and defaults that schemas state."""
    for tool in tools:
        for path, value in scalars(tool["function"]["parameters"]):
            if {"enum", "default", "const"} & {*path}:
                yield as_text(value)


# -- from labels, and by faults ------------------------------------------------------------------


def complete(gathered: Gathered, *, faults: bool, seed: int) -> None:
    """Add what the labels ask for to contexts with a wrong reply, and broken calls where asked.

    The gold agent reacts to a context as the label says: with the gold call, or the action.
    """
    for key, context in gathered.contexts.items():
        if context.conditions.call_format is not CallFormat.NATIVE or not context.tools:
            continue
        done = [one.result for one in gathered.replies[key] if one.result is not None]
        verdicts, needs = {one.verdict for one in done}, context.state.needs
        wrong = verdicts & {Verdict.HALLUCINATED, Verdict.INDECISIVE}
        right = needs in {one.action for one in done} if needs else Verdict.CORRECT in verdicts
        if wrong and not right and (gold := _gold(context)) is not None:
            gathered.add(context, Candidate(gold, Source.TWIN))
        if faults and Verdict.CORRECT in verdicts and Verdict.HALLUCINATED not in verdicts:
            gathered.add(context, *_broken(gathered.replies[key], context, seed))


def _gold(context: Context) -> Wire | None:
    """Return the reply of the agent that knows the label; None if it answers or has no call."""
    item = context.item
    if not all(hop.gold for hop in item.hops):
        return None
    messages = executed.native(context.messages)
    names = [str(tool["function"]["name"]) for tool in context.tools]
    offered = replace(item, order=tuple(name for name in item.all_tools if name in names))
    reply = asks_when_missing(offered, 0, messages, True)
    return _as_wire(thought(item, reply)) if reply.calls else None


def _as_wire(reply: Reply) -> Wire:
    return chat_message(AssistantMessage(reply.content, reply.calls), Arguments.STRING)


def _broken(replies: Sequence[Candidate], context: Context, seed: int) -> Iterator[Candidate]:
    right = next(one for one in replies if one.result and one.result.verdict is Verdict.CORRECT)
    message = executed.native([right.reply])[0]
    if not isinstance(message, AssistantMessage) or len(message.calls) != 1:
        return
    call = message.calls[0]
    schema = context.item.all_tools[call.name].schema
    rng = random.Random(f"{seed}/{context.key}")
    spoilt = spoil(call, schema, tuple(FaultKind), rng).call
    yield Candidate(
        chat_message(replace(message, calls=(spoilt,), thoughts=None), Arguments.STRING),
        Source.FAULT,
    )


# -- pairs ---------------------------------------------------------------------------------------


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
    for key, context in gathered.contexts.items():
        done = [one for one in gathered.replies[key] if one.result is not None]
        for chosen in done:
            for rejected in done:
                for kind in _types(chosen.result, rejected.result, rejected.reply):
                    pair = _pair(context, kind, chosen, rejected, split_of)
                    if not [*guards(pair)]:
                        yield pair
    for listed in gathered.episodes.values():
        for start, good, better in listed:
            for _, bad, worse in listed:
                for kind in _types(better, worse, {}):
                    state = replace(start.state, hop=-1)
                    context = replace(start, state=state)
                    yield _made(
                        context, kind, (good, bad), (better, worse), (Source.RUN, Source.RUN),
                        split_of,
                    )  # fmt: skip


def _types(better: Result | None, worse: Result | None, rejected: Wire) -> Iterator[PairType]:
    if better is None or worse is None:
        return
    verdicts = better.verdict, worse.verdict
    yield from (kind for kind, wanted in VERDICTS.items() if wanted == verdicts)
    further = bool(rejected.get("tool_calls")) and worse.verdict in CALLS | {Verdict.OTHER}
    if better.verdict is Verdict.ANSWER and further:
        yield PairType.ANSWER_CALL


def _pair(
    context: Context,
    kind: PairType,
    chosen: Candidate,
    rejected: Candidate,
    split_of: Mapping[str, str],
) -> Pair:
    results = chosen.result, rejected.result
    pair = _made(
        context, kind, ((chosen.reply,), (rejected.reply,)), results,
        (chosen.source, rejected.source), split_of,
    )  # fmt: skip
    tokens = {"chosen_tokens": chosen.tokens, "rejected_tokens": rejected.tokens}
    return pair.model_copy(update=tokens)


def _made(
    context: Context,
    kind: PairType,
    replies: tuple[Sequence[Wire], Sequence[Wire]],
    results: tuple[Result | None, Result | None],
    sources: tuple[Source, Source],
    split_of: Mapping[str, str],
) -> Pair:
    item, state = context.item, context.state
    chosen, rejected = replies
    chosen_result, rejected_result = results
    assert chosen_result is not None and rejected_result is not None  # noqa: S101, PT018
    whole = canonical([context.key, list(chosen), list(rejected)])
    return Pair(
        id=f"{item.id}~{kind}~{hashlib.sha256(whole.encode()).hexdigest()[:8]}",
        item=item.id,
        item_digest=item.digest,
        family=Print.of(item).family,
        domain=item.domain,
        split=split_of[item.id],
        licence=context.licence,
        origin=context.origin,
        conditions=context.conditions,
        tools=context.tools,
        pair_type=kind,
        hop=state.hop,
        needs=state.needs or "",
        solvable=state.solvable,
        chosen_source=sources[0],
        rejected_source=sources[1],
        prompt=context.messages,
        chosen=tuple(chosen),
        rejected=tuple(rejected),
        chosen_result=chosen_result,
        rejected_result=rejected_result,
    )


def length_ratio(pair: Pair) -> float:
    """Return the length of chosen by rejected, in characters of texts and calls."""
    return _length(pair.chosen) / max(1, _length(pair.rejected))


def _length(messages: Sequence[Wire]) -> int:
    said = [one for one in messages if one["role"] == "assistant"]
    calls = [call["function"] for one in said for call in one.get("tool_calls", ())]
    return sum(len(str(one["content"])) for one in said) + sum(
        len(one["name"]) + len(one["arguments"]) for one in calls
    )


def named_apart(pair: Pair) -> bool:
    """Whether the names of the called tools alone tell chosen from rejected."""

    def names(messages: Sequence[Wire]) -> list[str]:
        return [call["function"]["name"] for one in messages for call in one.get("tool_calls", ())]

    return names(pair.chosen) != names(pair.rejected)
