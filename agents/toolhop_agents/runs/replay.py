"""Run the calls of recorded episodes again, and compare the results with the traces.

No model is asked: the recorded replies are passed to a fresh `Episode`, which parses, validates,
runs and answers their calls as it did originally. Programs run again, recorded tables are looked
up, the user simulator answers again and other tools are chosen again; answers by a model or a
person in place of a tool or the user come from the trace. Every call must reproduce the recorded
verdict, outcome, error code and feedback byte by byte. If both outcomes are a time or a memory
limit, only their kind is compared, because how far a call got depends on the machine.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from toolhop_agents.benchmarks import binding_of
from toolhop_agents.benchmarks.binding import Interaction
from toolhop_env.benchmarks import UnknownBenchmark
from toolhop_env.episode import Episode, EpisodeOver, Sink
from toolhop_env.feedback import render
from toolhop_env.limits import EpisodeLimits
from toolhop_env.messages import RawCall
from toolhop_env.responders import Answer, Refusal, StandIns
from toolhop_env.results import label_of
from toolhop_env.setting import Setting
from toolhop_env.trace import (
    EVENT,
    Called,
    Ended,
    Ending,
    Event,
    FeedbackSet,
    Replied,
    ResultOrigin,
    Started,
    Trace,
)
from toolhop_env.user import UserReply
from toolhop_env.verdicts import Call, ErrorCode, Rejected
from toolhop_sandbox.base import Sandbox
from toolhop_sandbox.errors import SandboxFault
from toolhop_sandbox.outcome import JSON, Outcome, Returned
from toolhop_tools.model import (
    Body,
    Described,
    EpisodeAction,
    Item,
    RecordedTable,
    Simulated,
    Tool,
)
from toolhop_tools.several import each

GIVEN = frozenset({ResultOrigin.SIMULATED, ResultOrigin.EARLIER, ResultOrigin.FILE})
"""Origins of results for recorded tools that are not in a table."""
CUT_ENDINGS = frozenset({Ending.OUT_OF_CALLS, Ending.OUT_OF_TIME, Ending.STOPPED, Ending.ERRORED})
"""Endings after which calls of the last turn may not have been run."""
BY_KIND = frozenset({"timed_out", "out_of_memory"})
"""Outcomes that are compared only by kind."""
TRIES = 2
"""Sandbox sessions tried per episode before giving up."""
PARTS = ("turn", "raw", "verdict", "outcome", "level", "feedback", "error", "hop", "action")
"""Parts of a call that are compared. Its duration is not."""


class NotReplayable(Exception):
    """The episode's calls cannot be run again. The message says why."""


@dataclass(frozen=True, slots=True)
class CallDifference:
    """A call that differs from the recorded one."""

    item: str
    episode: str
    number: int
    """Position among the episode's calls, from 1."""
    parts: tuple[str, ...]
    """The parts that differ, from `PARTS`; ``call`` if one side lacks the call altogether."""
    recorded: Called | None
    replayed: Called | None

    def to_json(self) -> dict[str, JSON]:
        """Return plain values, with calls in the trace file format."""
        call = self.recorded or self.replayed
        return {
            "item": self.item,
            "episode": self.episode,
            "call": self.number,
            "tool": call.raw.name if call else "",
            "arguments": call.raw.arguments if call else "",
            "parts": list(self.parts),
            "recorded": _plain(self.recorded) if self.recorded else None,
            "replayed": _plain(self.replayed) if self.replayed else None,
        }


@dataclass(frozen=True, slots=True)
class Verification:
    """Results of running episodes again."""

    episodes: int = 0
    """Number of finished episodes run again, including errored ones."""
    calls: int = 0
    by_kind: int = 0
    """Number of calls compared only by kind of outcome."""
    differences: tuple[CallDifference, ...] = ()
    unfinished: tuple[str, ...] = ()
    """Episodes that never ended, which are left out."""
    not_replayed: Mapping[str, str] = field(default_factory=dict)
    """Finished episodes that could not be run again, with the reason."""

    def __add__(self, other: Verification) -> Verification:
        return Verification(
            self.episodes + other.episodes,
            self.calls + other.calls,
            self.by_kind + other.by_kind,
            self.differences + other.differences,
            self.unfinished + other.unfinished,
            {**self.not_replayed, **other.not_replayed},
        )

    @property
    def holds(self) -> bool:
        """Whether every finished episode was run again and every call matched."""
        return not self.differences and not self.not_replayed


async def rerun(trace: Trace, item: Item, sandbox: Sandbox) -> Trace:
    """Replay the recorded replies in one sandbox session, and return the new trace.

    It ends as the recorded one does, so that it can be read and scored alike.

    Raises:
        NotReplayable: the trace is of another item, or breaks an episode's rules.
        SandboxError: the sandbox cannot run more calls.
    """
    started = trace.started
    if started.item_digest != item.digest:
        raise NotReplayable(
            f"item {item.id} of the run's items is not the one that was played: it was changed"
        )
    given = [event for event in trace.events if isinstance(event, Replied | FeedbackSet)]
    most: int | None = None
    if trace.ended is None or trace.ended.ending in CUT_ENDINGS:
        run = {call.turn for call in trace.calls}
        given = [one for one in given if isinstance(one, FeedbackSet) or one.turn in run]
        most = len(trace.calls)
    again = Episode(
        item,
        sandbox,
        _setting(started),
        name=started.episode,
        sink=_until_call(most),
        stand_ins=_recorded(trace, item),
    )
    try:
        async with again as episode:
            with suppress(_AllCalled):
                for event in given:
                    await _give(episode, event)
    except UnknownBenchmark as error:
        raise NotReplayable(str(error)) from error
    events = [event for event in episode.trace.events if not isinstance(event, Ended)]
    return Trace((*events, trace.ended) if trace.ended else tuple(events))


class _AllCalled(Exception):
    """Raised after the last recorded call of a cut-off turn was run again."""


def _until_call(most: int | None) -> Sink:
    """Return a sink that ends the turn after `most` calls; None means never."""
    calls = 0

    def sink(event: Event) -> None:
        nonlocal calls
        calls += isinstance(event, Called)
        if isinstance(event, Called) and calls == most:
            raise _AllCalled

    return sink


def _recorded(trace: Trace, item: Item) -> StandIns:
    """Return stand-ins that give the answers in a trace, each only if it was used there."""

    def of(kind: type[Body]) -> list[Called]:
        return [call for call in trace.calls if isinstance(_body(call, item), kind)]

    asked = [call for call in trace.calls if call.action is EpisodeAction.ASK_USER and call.outcome]
    refused = any(call.error is ErrorCode.NOT_APPROVED for call in trace.calls)
    by_rule = any(call.origin is not None for call in asked)
    return StandIns(
        simulator=_RecordedAnswers(of(Simulated)),
        described=_RecordedAnswers(of(Described)),
        user=None if by_rule else _RecordedAnswers(asked),
        wording=_RecordedWording(asked) if by_rule else None,
        others=_RecordedLookUps(
            of(RecordedTable),
            [call for call in trace.calls if isinstance(call.verdict, Rejected)],
        ),
        approver=_RecordedApprovals([*trace.calls]) if refused else None,
    )


@dataclass(frozen=True, slots=True)
class _RecordedApprovals:
    """Refuses the calls that were refused in a trace."""

    left: list[Called]

    async def approve(self, episode: str, call: Call) -> Refusal | None:
        # Find the next call that needed approval.
        while self.left:
            one = self.left.pop(0)
            if isinstance(one.verdict, Rejected) and one.error is ErrorCode.NOT_APPROVED:
                return Refusal(one.verdict.problems[0].given)
            if isinstance(one.verdict, Call) and one.action is None:
                return None
        return None


@dataclass(frozen=True, slots=True)
class _RecordedWording:
    """Repeats a trace's wording of the user simulator's replies."""

    left: list[Called]
    """The remaining questions, in order."""

    async def worded(self, question: str, reply: UserReply) -> str:
        """See `toolhop_env.user.Wording`: the rule's text, unless a model reworded it."""
        call = self.left.pop(0) if self.left else None
        worded = call is not None and call.origin is ResultOrigin.WORDED
        if call is None or not worded or not isinstance(call.outcome, Returned):
            return reply.text
        return str(json.loads(call.outcome.json_text))

    async def asked_for(self, question: str, nouns: Sequence[str]) -> str:
        """See `toolhop_env.user.Wording`: the noun in the reply, if a model understood the
        question.
        """
        call = self.left[0] if self.left else None
        if call is None or call.origin is not ResultOrigin.WORDED:
            return ""
        said = str(json.loads(call.outcome.json_text)) if isinstance(call.outcome, Returned) else ""
        found = next((one for one in nouns if said.startswith(f"The {one} is ")), "")
        if found:
            self.left.pop(0)
        return found


def _setting(started: Started) -> Setting:
    return Setting(
        agent=started.agent,
        mode=started.mode,
        call_format=started.call_format,
        feedback=started.feedback,
        epoch=started.epoch,
        seed=started.seed,
        attempt=started.attempt,
        perturbation=started.perturbation,
        messages=started.messages,
        offer_tools=bool(started.tools),
        answer_malformed=started.answer_malformed,
        single_shot=started.single_shot,
        results=label_of(started.results),
        single_reply=_is_planning(started),
        limits=EpisodeLimits(turns=None, calls=None),
    )


def _is_planning(started: Started) -> bool:
    try:
        return binding_of(started.benchmark).way(started.mode) is Interaction.PLANNING
    except UnknownBenchmark:  # benchmarks without a binding are played step by step
        return False


def _body(call: Called, item: Item) -> Body | None:
    """Return the body of the called tool, or None if the call was rejected."""
    tool = item.all_tools.get(call.verdict.tool) if isinstance(call.verdict, Call) else None
    return tool.body if tool else None


class _RecordedAnswers:
    """Repeats the answers in a trace instead of asking a model or user."""

    def __init__(self, calls: Sequence[Called]) -> None:
        self._left = [*calls]

    async def respond(self, tool: Tool, arguments: Mapping[str, JSON]) -> Outcome:
        """Return the outcome of the next call of the tool. Its arguments are compared later.

        Raises:
            NotReplayable: the trace has no such call.
        """
        call = self._left.pop(0) if self._left else None
        if call is None or call.outcome is None or call.raw.name != tool.name:
            raise NotReplayable(
                f"a call of {tool.name} with {dict(arguments)} has no answer in the trace, and "
                "nobody is asked again"
            )
        return call.outcome


@dataclass(frozen=True, slots=True)
class _RecordedLookUps:
    """Answers of a model or file to calls of recorded tools, from a trace."""

    left: list[Called]
    """The trace's calls of recorded tools, in order."""
    rejected: list[Called]
    """The trace's rejected calls, in order."""

    def looked_up(self, tool: Tool, arguments: Mapping[str, JSON]) -> Answer | None:
        call = self.left.pop(0) if self.left else None
        if call is None or call.outcome is None or call.origin not in GIVEN:
            return None
        return call.outcome, call.origin

    def to_rejected(self, raw: RawCall) -> Outcome | None:
        call = self.rejected.pop(0) if self.rejected else None
        return call.outcome if call is not None and call.raw == raw else None


async def _give(episode: Episode, event: Replied | FeedbackSet) -> None:
    if isinstance(event, FeedbackSet):
        episode.set_feedback(event.level)
        return
    try:
        await episode.step(event.reply)
    except EpisodeOver as error:
        raise NotReplayable(f"turn {event.turn} comes after the episode's end") from error


def compare(recorded: Trace, replayed: Trace) -> tuple[CallDifference, ...]:
    """Return the differences between the calls of two traces with the same replies."""
    start = recorded.started
    found = []
    pairs = zip_longest(recorded.calls, replayed.calls)
    for number, (one, other) in enumerate(pairs, start=1):
        parts = ("call",) if one is None or other is None else differing(one, other)
        if parts:
            found.append(CallDifference(start.item, start.episode, number, parts, one, other))
    return tuple(found)


def differing(recorded: Called, replayed: Called) -> tuple[str, ...]:
    """Return the names of the parts in which two calls differ, as written to a trace file."""
    if same_limit(recorded, replayed):
        feedback = render(replayed.level, replayed.raw.name, replayed.verdict, recorded.outcome)
        replayed = replace(replayed, outcome=recorded.outcome, feedback=feedback.text)
    one, other = _plain(recorded), _plain(replayed)
    # Not by `==`: 1, 1.0 and True must differ here, and NaN must equal itself.
    return tuple(part for part in PARTS if repr(one[part]) != repr(other[part]))


def same_limit(recorded: Called, replayed: Called) -> bool:
    """Whether both calls hit the same kind of limit."""
    one, other = recorded.outcome, replayed.outcome
    return one is not None and other is not None and one.kind == other.kind and one.kind in BY_KIND


def _plain(call: Called) -> dict[str, JSON]:
    plain: dict[str, JSON] = EVENT.dump_python(call, mode="json")
    return plain


async def verify(
    traces: Iterable[Trace],
    items: Mapping[str, Item],
    sandbox: Sandbox,
    *,
    at_a_time: int = 2,
    on_episode: Callable[[str], None] = lambda _: None,
) -> Verification:
    """Run every finished episode again and compare.

    Args:
        traces: read lazily; at most `at_a_time` are held in memory.
        items: the items as played, by id.
        sandbox: entered; `at_a_time` of its sessions are leased at once.
        at_a_time: number of concurrent episodes.
        on_episode: called with an episode's name after it was run again.

    Raises:
        SandboxUnavailable: no more workers can be started.
    """
    done: dict[int, Verification] = {}

    async def run_again(numbered: tuple[int, Trace]) -> None:
        place, trace = numbered
        name = trace.started.episode
        if trace.ended is None:
            done[place] = Verification(unfinished=(name,))
            return
        done[place] = await _verified(trace, items.get(trace.started.item), sandbox)
        on_episode(name)

    await each(enumerate(traces), run_again, at_a_time=at_a_time)
    return sum((done[place] for place in sorted(done)), Verification())


async def _verified(trace: Trace, item: Item | None, sandbox: Sandbox) -> Verification:
    name, reason = trace.started.episode, ""
    if item is None:
        reason = f"item {trace.started.item} is not among the run's items"
        return Verification(not_replayed={name: reason})
    for _ in range(TRIES):
        try:
            again = await rerun(trace, item, sandbox)
        except NotReplayable as error:
            return Verification(not_replayed={name: str(error)})
        except SandboxFault as error:
            reason = f"the sandbox was lost {TRIES} times: {error}"
            continue
        by_kind = sum(map(same_limit, trace.calls, again.calls))
        return Verification(1, len(trace.calls), by_kind, compare(trace, again))
    return Verification(not_replayed={name: reason})
