"""Run the calls of recorded episodes again, and compare what comes of them with the traces.

No model is asked: the recorded replies are given to a fresh `Episode`, which reads, validates,
runs and answers their calls as it did the first time. Programs are run, recorded tables are looked
up, the user simulator is asked again and other tools are chosen again; what a model or a person
said in the place of a tool or the user is taken from the trace. Every call has to
give the recorded verdict, outcome, error code and feedback, byte by byte. Where both outcomes are
a time or a memory limit, only their kind is compared: how far a call came is the machine's affair.
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
"""Results of recorded tools that no table holds."""
CUT_ENDINGS = frozenset({Ending.OUT_OF_CALLS, Ending.OUT_OF_TIME, Ending.STOPPED, Ending.ERRORED})
"""Endings after which the last turn may have calls that were never run."""
BY_KIND = frozenset({"timed_out", "out_of_memory"})
"""Outcomes that are compared by their kind alone."""
TRIES = 2
"""Sessions that an episode gets where the sandbox is lost under it."""
PARTS = ("turn", "raw", "verdict", "outcome", "level", "feedback", "error", "hop", "action")
"""What of a call is compared; the seconds it took are not."""


class NotReplayable(Exception):
    """An episode whose calls cannot be run again; says why."""


@dataclass(frozen=True, slots=True)
class CallDifference:
    """A call that was not as recorded."""

    item: str
    episode: str
    number: int
    """Place among the episode's calls, from 1."""
    parts: tuple[str, ...]
    """What differs, out of `PARTS`; ``call`` where one side has no such call at all."""
    recorded: Called | None
    replayed: Called | None

    def to_json(self) -> dict[str, JSON]:
        """As plain values; the calls as trace files have them."""
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
    """What came of running episodes again."""

    episodes: int = 0
    """Finished episodes whose calls were run again, errored ones included."""
    calls: int = 0
    by_kind: int = 0
    """Calls of which only the kind of outcome was compared."""
    differences: tuple[CallDifference, ...] = ()
    unfinished: tuple[str, ...] = ()
    """Episodes that were cut off before their end: left out."""
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
        """Whether every finished episode was run again, and every call was as recorded."""
        return not self.differences and not self.not_replayed


async def rerun(trace: Trace, item: Item, sandbox: Sandbox) -> Trace:
    """The trace of the same replies, given again. One session of the sandbox is leased.

    It ends as the recorded one does, so that it can be read and scored like that.

    Raises:
        NotReplayable: the trace is not of this item, or does not follow an episode's rules.
        SandboxError: the sandbox cannot run calls any more.
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
    """The last recorded call of a turn that was cut off was run again."""


def _until_call(most: int | None) -> Sink:
    """A sink that ends the turn after so many calls; None for no end."""
    calls = 0

    def sink(event: Event) -> None:
        nonlocal calls
        calls += isinstance(event, Called)
        if isinstance(event, Called) and calls == most:
            raise _AllCalled

    return sink


def _recorded(trace: Trace, item: Item) -> StandIns:
    """Stand-ins that say what a trace has, each only where it was asked."""

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
    """Refuses the calls that a trace says were refused."""

    left: list[Called]

    async def approve(self, episode: str, call: Call) -> Refusal | None:
        # What became of the next call that was asked of.
        while self.left:
            one = self.left.pop(0)
            if isinstance(one.verdict, Rejected) and one.error is ErrorCode.NOT_APPROVED:
                return Refusal(one.verdict.problems[0].given)
            if isinstance(one.verdict, Call) and one.action is None:
                return None
        return None


@dataclass(frozen=True, slots=True)
class _RecordedWording:
    """Puts what the user simulator says in the words of a trace."""

    left: list[Called]
    """The questions that are left, in order."""

    async def worded(self, question: str, reply: UserReply) -> str:
        """See `toolhop_env.user.Wording`: the rule's own words where no model put it in others."""
        call = self.left.pop(0) if self.left else None
        worded = call is not None and call.origin is ResultOrigin.WORDED
        if call is None or not worded or not isinstance(call.outcome, Returned):
            return reply.text
        return str(json.loads(call.outcome.json_text))

    async def asked_for(self, question: str, nouns: Sequence[str]) -> str:
        """See `toolhop_env.user.Wording`: what the reply names, where a model understood."""
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
        single_reply=_is_planning(started),
        limits=EpisodeLimits(turns=None, calls=None),
    )


def _is_planning(started: Started) -> bool:
    try:
        return binding_of(started.benchmark).way(started.mode) is Interaction.PLANNING
    except UnknownBenchmark:  # without a binding it was played step by step
        return False


def _body(call: Called, item: Item) -> Body | None:
    """What answered a call; None where it was rejected."""
    tool = item.all_tools.get(call.verdict.tool) if isinstance(call.verdict, Call) else None
    return tool.body if tool else None


class _RecordedAnswers:
    """Answers in the place of a model or a user what a trace has: nobody is asked again."""

    def __init__(self, calls: Sequence[Called]) -> None:
        self._left = [*calls]

    async def respond(self, tool: Tool, arguments: Mapping[str, JSON]) -> Outcome:
        """The outcome of the next such call; whether its arguments were these is compared later.

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
    """What a model or a file gave to calls of recorded tools, by a trace."""

    left: list[Called]
    """The calls of a trace that were looked up, in order."""
    rejected: list[Called]
    """Those that were rejected, in order."""

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
    """The calls of a trace that are not as in another one of the same replies."""
    start = recorded.started
    found = []
    pairs = zip_longest(recorded.calls, replayed.calls)
    for number, (one, other) in enumerate(pairs, start=1):
        parts = ("call",) if one is None or other is None else differing(one, other)
        if parts:
            found.append(CallDifference(start.item, start.episode, number, parts, one, other))
    return tuple(found)


def differing(recorded: Called, replayed: Called) -> tuple[str, ...]:
    """Names of the parts in which two calls differ, as they are written to a trace file."""
    if same_limit(recorded, replayed):
        feedback = render(replayed.level, replayed.raw.name, replayed.verdict, recorded.outcome)
        replayed = replace(replayed, outcome=recorded.outcome, feedback=feedback.text)
    one, other = _plain(recorded), _plain(replayed)
    # Not by `==`: 1, 1.0 and True are three values here, and NaN is one.
    return tuple(part for part in PARTS if repr(one[part]) != repr(other[part]))


def same_limit(recorded: Called, replayed: Called) -> bool:
    """Whether both calls ran into the same kind of limit."""
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
        traces: read as they are needed; no more than `at_a_time` are held.
        items: by id, as they were played.
        sandbox: entered; `at_a_time` sessions of it are leased at once.
        at_a_time: episodes under way at once.
        on_episode: given each episode's name once it was run again.

    Raises:
        SandboxUnavailable: no worker can be started any more.
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
