"""What a diagnosis keeps of a trace: small, so that whole runs fit in memory."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from agents.diagnosis.rule_gaps import Gap, gap
from env.reading import tagged_answer
from env.score import Score, holds_answer, repair_of
from env.summary import Judged, counting, judge
from env.trace import Called, Trace
from env.verdicts import BEFORE_RUNNING, ErrorCode

ORACLE = "oracle"
CUT_REASONS = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
"""Finish reasons, in small letters, of a reply that reached the limit of its tokens."""


@dataclass(frozen=True, slots=True)
class SeenCall:
    """A call."""

    tool: str
    arguments: str
    """A short digest of their text."""
    error: ErrorCode | None
    repaired: bool
    """It was rejected, and a lenient reader would have run it."""

    @property
    def ran(self) -> bool:
        """Whether the tool was run."""
        return self.error not in BEFORE_RUNNING


@dataclass(frozen=True, slots=True)
class Seen:
    """A finished attempt at an episode."""

    name: str
    """The episode's; with its run's in front where there are several runs."""
    item: str
    """The item's id; with a part of its digest where runs have two versions of it."""
    digest: str
    """Of the item."""
    judged: Judged
    gold: str
    hop_tools: tuple[str, ...]
    hop_answers: tuple[str, ...]
    given: frozenset[int]
    """Hops (from 0) whose gold some tool returned."""
    calls: tuple[SeenCall, ...]
    answer: str | None
    """What was given as the answer."""
    cut: bool
    """A reply reached the limit of its tokens."""
    gap: Gap | None
    counts: bool = True
    """The run's figures count this attempt."""
    left: bool = False
    """Another attempt goes on from it: what was left behind is no fault."""

    @property
    def score(self) -> Score | None:
        """None for a void attempt."""
        verdict = self.judged.verdict
        return verdict if isinstance(verdict, Score) else None

    @property
    def baseline(self) -> bool:
        """Whether the player does not try: nothing can be told from its failures."""
        return is_baseline(self.judged.player)


def is_baseline(player: str) -> bool:
    """Whether a player answers without looking at the question."""
    return player == "do-nothing" or player.startswith("constant:")


@dataclass(frozen=True, slots=True)
class _Begun:
    """What an attempt says of its place in the run."""

    seen: Seen
    episode: str
    parent: str


def seen_in(run: str, traces: Iterable[Trace]) -> Iterator[Seen]:
    """The finished attempts of one run; `run` goes in front of their names, if not empty."""
    begun = [
        _Begun(_seen(run, trace), trace.started.episode, trace.started.parent)
        for trace in traces
        if trace.ended is not None
    ]
    counted = {one.episode for one in counting(one.seen.judged for one in begun)}
    parents = {one.parent for one in begun}
    for one in begun:
        counts, left = one.episode in counted, one.episode in parents
        yield replace(one.seen, counts=counts, left=left)


def told_apart(seen: Sequence[Seen]) -> list[Seen]:
    """The same, where an id means one item: two versions of an item get two names."""
    versions: dict[str, set[str]] = defaultdict(set)
    for one in seen:
        versions[one.item].add(one.digest)
    return [
        replace(one, item=f"{one.item} ({one.digest[:8]})") if len(versions[one.item]) > 1 else one
        for one in seen
    ]


def _seen(run: str, trace: Trace) -> Seen:
    start, text = trace.started, trace.final_text
    hops = start.hops
    return Seen(
        name=f"{run}/{start.episode}" if run else start.episode,
        item=start.item,
        digest=start.item_digest,
        judged=judge(trace),
        gold=start.answer,
        hop_tools=hops.tools,
        hop_answers=hops.answers,
        given=frozenset(
            place
            for place, answer in enumerate(hops.answers)
            if any(holds_answer(call, answer) for call in trace.calls)
        ),
        calls=tuple(_call(call) for call in trace.calls),
        answer=None if text is None else tagged_answer(text) or text,
        cut=any(turn.reply.finish_reason.lower() in CUT_REASONS for turn in trace.replies),
        gap=gap(trace),
    )


def _call(call: Called) -> SeenCall:
    text = hashlib.sha256(call.raw.arguments.encode()).hexdigest()[:12]
    return SeenCall(call.raw.name, text, call.error, repair_of(call))
