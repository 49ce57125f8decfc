"""Run the calls of recorded episodes again, and compare what comes of them with the traces.

No model is asked: the recorded replies are given to a fresh `Episode`, which reads, validates,
runs and answers their calls as it did the first time. Every call has to give the recorded
verdict, outcome, error code and feedback, byte by byte. Where both outcomes are a time or a
memory limit, only their kind is compared: how far a call came is the machine's affair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

import anyio

from env.episode import Episode, EpisodeOver, Setting
from env.feedback import render
from env.limits import EpisodeLimits
from env.trace import EVENT, Called, Ended, Ending, FeedbackSet, Replied, Trace
from sandbox.base import Sandbox
from sandbox.errors import SandboxFault
from sandbox.outcome import JSON
from toolhop_tools.model import Item

CUT_ENDINGS = frozenset({Ending.OUT_OF_CALLS, Ending.OUT_OF_TIME, Ending.STOPPED, Ending.VOID})
"""Endings after which the last turn may have calls that were never run."""
BY_KIND = frozenset({"timed_out", "out_of_memory"})
"""Outcomes that are compared by their kind alone."""
TRIES = 2
"""Sessions that an episode gets where the sandbox is lost under it."""
PARTS = ("turn", "raw", "verdict", "outcome", "level", "feedback", "error", "hop")
"""What of a call is compared; the seconds it took are not."""


class NotReplayable(Exception):
    """An episode whose calls cannot be run again; says why."""


@dataclass(frozen=True, slots=True)
class Difference:
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
    """What came of running many episodes again."""

    episodes: int = 0
    """Finished episodes whose calls were run again, void ones included."""
    calls: int = 0
    by_kind: int = 0
    """Calls of which only the kind of outcome was compared."""
    differences: tuple[Difference, ...] = ()
    unfinished: tuple[str, ...] = ()
    """Episodes that were cut off before their end: left out."""
    not_replayed: Mapping[str, str] = field(default_factory=dict)
    """Finished episodes that could not be run again, with the reason."""

    @property
    def holds(self) -> bool:
        """Whether every finished episode was run again, and every call was as recorded."""
        return not self.differences and not self.not_replayed


@dataclass(frozen=True, slots=True)
class _Result:
    calls: int = 0
    by_kind: int = 0
    differences: tuple[Difference, ...] = ()
    fault: str = ""


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
    setting = Setting(
        player=started.player,
        mode=started.mode,
        dialect=started.dialect,
        feedback=started.feedback,
        epoch=started.epoch,
        seed=started.seed,
        attempt=started.attempt,
        presentation=started.presentation,
        messages=started.messages,
        offer_tools=bool(started.tools),
        limits=EpisodeLimits(turns=None, calls=None),
    )
    given = [event for event in trace.events if isinstance(event, Replied | FeedbackSet)]
    if trace.ended is None or trace.ended.ending in CUT_ENDINGS:
        run = {call.turn for call in trace.calls}
        given = [one for one in given if isinstance(one, FeedbackSet) or one.turn in run]
        limits = EpisodeLimits(turns=None, calls=len(trace.calls) or None)
        setting = replace(setting, limits=limits)
    async with Episode(item, sandbox, setting, name=started.episode) as episode:
        for event in given:
            await _give(episode, event)
    events = [event for event in episode.trace.events if not isinstance(event, Ended)]
    return Trace((*events, trace.ended) if trace.ended else tuple(events))


async def _give(episode: Episode, event: Replied | FeedbackSet) -> None:
    if isinstance(event, FeedbackSet):
        episode.set_feedback(event.level)
        return
    try:
        await episode.step(event.reply)
    except EpisodeOver as error:
        raise NotReplayable(f"turn {event.turn} comes after the episode's end") from error


def compare(recorded: Trace, replayed: Trace) -> tuple[Difference, ...]:
    """The calls of a trace that are not as in another one of the same replies."""
    start = recorded.started
    found = []
    pairs = zip_longest(recorded.calls, replayed.calls)
    for number, (one, other) in enumerate(pairs, start=1):
        parts = ("call",) if one is None or other is None else differing(one, other)
        if parts:
            found.append(Difference(start.item, start.episode, number, parts, one, other))
    return tuple(found)


def differing(recorded: Called, replayed: Called) -> tuple[str, ...]:
    """Names of the parts in which two calls differ, as they are written to a trace file."""
    if same_limit(recorded, replayed):
        feedback = render(replayed.level, replayed.raw.name, replayed.verdict, recorded.outcome)
        replayed = replace(replayed, outcome=recorded.outcome, feedback=feedback.text)
    one, other = _plain(recorded), _plain(replayed)
    return tuple(part for part in PARTS if _text(one[part]) != _text(other[part]))


def same_limit(recorded: Called, replayed: Called) -> bool:
    """Whether both calls ran into the same kind of limit."""
    one, other = recorded.outcome, replayed.outcome
    return one is not None and other is not None and one.kind == other.kind and one.kind in BY_KIND


def _plain(call: Called) -> dict[str, JSON]:
    plain: dict[str, JSON] = EVENT.dump_python(call, mode="json")
    return plain


def _text(value: JSON) -> str:
    # Not `==`: 1, 1.0 and True are three values here, and NaN is one.
    return repr(value)


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
    source = enumerate(traces)
    done: dict[int, tuple[str, _Result]] = {}
    unfinished: list[str] = []

    async def take() -> None:
        for place, trace in source:
            name = trace.started.episode
            if trace.ended is None:
                unfinished.append(name)
                continue
            done[place] = (name, await _verified(trace, items.get(trace.started.item), sandbox))
            on_episode(name)

    fault: list[Exception] = []

    async def watched() -> None:
        try:
            await take()
        except Exception as error:  # noqa: BLE001 -- kept and raised below: a task group would wrap it in an ExceptionGroup
            fault.append(error)
            tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        for _ in range(at_a_time):
            tasks.start_soon(watched)
    if fault:
        raise fault[0]
    return _summed([done[place] for place in sorted(done)], unfinished)


async def _verified(trace: Trace, item: Item | None, sandbox: Sandbox) -> _Result:
    if item is None:
        return _Result(fault=f"item {trace.started.item} is not among the run's items")
    for attempt in range(1, TRIES + 1):
        try:
            again = await rerun(trace, item, sandbox)
        except NotReplayable as error:
            return _Result(fault=str(error))
        except SandboxFault as error:
            if attempt == TRIES:
                return _Result(fault=f"the sandbox was lost {TRIES} times: {error}")
            continue
        by_kind = sum(map(same_limit, trace.calls, again.calls))
        return _Result(len(trace.calls), by_kind, compare(trace, again))
    raise AssertionError("the last attempt returns")


def _summed(done: Sequence[tuple[str, _Result]], unfinished: Sequence[str]) -> Verification:
    replayed = [result for _, result in done if not result.fault]
    return Verification(
        episodes=len(replayed),
        calls=sum(result.calls for result in replayed),
        by_kind=sum(result.by_kind for result in replayed),
        differences=tuple(one for result in replayed for one in result.differences),
        unfinished=tuple(unfinished),
        not_replayed={name: result.fault for name, result in done if result.fault},
    )
