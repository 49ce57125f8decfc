"""Play many episodes from this process, with bounded concurrency, and repeat errored ones."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import anyio

from toolhop_agents.cluster.jobs import NodeLost
from toolhop_agents.cluster.nodes import MOST_LOST, lost_again
from toolhop_agents.judge.ask import judged
from toolhop_agents.judge.judges import Judge
from toolhop_agents.models.base import ConversationTooLong, ModelFault
from toolhop_agents.runs.executors import Places, PlayUnit
from toolhop_agents.runs.ledger import (
    Breaker,
    Ledger,
    Metered,
    RunLimitReached,
    RunLimits,
    SameFault,
)
from toolhop_agents.runs.means import Means, play
from toolhop_agents.runs.resume import Prefix, kept
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.runs.unit import WorkUnit, setting
from toolhop_env.attempt import Attempt
from toolhop_env.episode import Sink
from toolhop_env.runs.judgements import Judgement
from toolhop_env.runs.store import RunStore
from toolhop_env.score import Errored
from toolhop_env.trace import Event, Trace
from toolhop_sandbox.outcome import JSON

LARGE_CHARS = 65_536
"""Feedback size above which an episode is scored in a thread."""


@dataclass
class Here:
    """Places in this process, which always has room."""

    settings: RunSettings
    means: Means
    ledger: Ledger

    def __post_init__(self) -> None:
        self.on_more: Callable[[int], None] = lambda _: None

    @property
    def description(self) -> Mapping[str, JSON]:
        """See `Places.description`."""
        return self.means.sandbox.description

    @property
    def nodes_used(self) -> Mapping[str, JSON]:
        """See `Places.nodes_used`."""
        return {}

    @asynccontextmanager
    async def place(self) -> AsyncIterator[PlayUnit]:
        """See `Places.place`."""
        agents, grant = self.means.agents, self.ledger.grant
        means = replace(self.means, agents=lambda unit: Metered(agents(unit), grant))
        yield lambda unit, sink, prefix: play(unit, self.settings, means, sink, prefix)


@dataclass
class Executor:
    """Plays units in places, as tasks of this process. The only writer of the run's folder."""

    settings: RunSettings
    places: Places
    store: RunStore
    on_result: Callable[[Attempt], None] = lambda _: None
    """Called after each finished episode, including errored ones."""
    ledger: Ledger = field(default_factory=lambda: Ledger(RunLimits()))
    starts: Callable[[WorkUnit], Prefix] | None = None
    """Returns where a unit's first attempt begins; None means at the start."""
    judge: Judge | None = None
    """Answers a benchmark's questions; None leaves them open."""
    watch: Callable[[], Sink] | None = None
    """Creates an additional sink for each episode's events."""
    on_event: Sink = lambda _: None
    """Called with each event of every episode."""

    def __post_init__(self) -> None:
        self._said = self.store.judgements()
        self._breaker = Breaker()
        self._unasked: ModelFault | None = None
        """Why the judge is no longer used."""

    async def run(self, work: Iterable[WorkUnit], at_a_time: int) -> None:
        """Play all of `work`, at most `at_a_time` episodes at a time, and more as places are added.

        Cancellation keeps finished episodes and cuts the others off.

        Raises:
            RunLimitReached: a limit was reached. Replies under way were kept; unfinished episodes
                are cut off.
            ModelFault: the model cannot be used, and the episodes so far are kept; or the judge
                could not be used, raised after all were played.
            SameFault: too many episodes in a row had the same fault.
            SandboxUnavailable: no more workers can be started.
            ClusterFault: no node is left.
            StoreError: traces cannot be written.
        """
        new, again = iter(work), deque[WorkUnit]()
        stopped: list[RunLimitReached] = []
        fault: list[BaseException] = []
        takers = 0

        async def take() -> None:
            nonlocal takers
            try:
                await take_all()
            finally:
                takers -= 1

        async def take_all() -> None:
            while not (fault or stopped):
                unit = next(new, None) or (again.popleft() if again else None)
                if unit is None:
                    return
                try:
                    self.ledger.check()
                    repeat = await self.play(unit)
                except RunLimitReached as limit:
                    # The other takers stop on their own before their next request.
                    stopped.append(limit)
                    return
                except Exception as error:  # noqa: BLE001 -- raised below, outside of the group
                    fault.append(error)
                    tasks.cancel_scope.cancel()
                    return
                if repeat is not None:
                    again.append(repeat)

        def more(count: int) -> None:
            nonlocal takers
            for _ in range(count):
                takers += 1
                tasks.start_soon(take)

        async with anyio.create_task_group() as tasks:
            # Without takers all work is taken, and the group is about to exit.
            self.places.on_more = lambda count: more(count) if takers else None
            more(at_a_time)
        if fault or stopped:
            raise (fault or stopped)[0]
        if self._unasked is not None:
            raise self._unasked

    async def play(self, unit: WorkUnit) -> WorkUnit | None:
        """Play one unit. If it errored and may be repeated, return the unit to play again.

        It continues from earlier attempts (`toolhop_agents.runs.resume`). If a node is lost, the
        attempt is cut off as by a kill, and the next one continues from the events that arrived.
        """
        async with self.places.place() as play_unit:
            return await self._play(unit, play_unit)

    async def _play(self, unit: WorkUnit, play_unit: PlayUnit) -> WorkUnit | None:
        unit, prefix = self._next_attempt(unit)
        fatal: ModelFault | RunLimitReached | SameFault | None = None
        unasked: ModelFault | None = None
        may_repeat = unit.errored_attempts < self.settings.retry_on_error
        events: list[Event] = []
        with self._sink(unit, prefix, events) as sink:
            try:
                await play_unit(unit, sink, prefix)
            except NodeLost:
                if unit.lost_attempts + 1 == MOST_LOST:
                    raise lost_again(unit.name) from None
                lost = unit.lost_attempts + 1
                return replace(unit, attempt=unit.attempt + 1, lost_attempts=lost)
            except ModelFault as error:
                unasked, fatal = error, error if error.fatal else None
                may_repeat = may_repeat and not isinstance(error, ConversationTooLong)
        trace = Trace(tuple(events))
        try:
            await self._judge(trace)
        except RunLimitReached as reached:  # finished episodes count, judged or not
            fatal = fatal or reached
        result = await self._scored(unit, trace)
        self.on_result(result)
        if isinstance(result.verdict, Errored):
            fatal = fatal or self._breaker.errored(result.verdict.reason, unasked)
        else:
            self._breaker.ended()
        if fatal is not None:
            raise fatal
        if isinstance(result.verdict, Errored) and may_repeat:
            errored = unit.errored_attempts + 1
            return replace(unit, attempt=unit.attempt + 1, errored_attempts=errored)
        return None

    async def _scored(self, unit: WorkUnit, trace: Trace) -> Attempt:
        """Score a trace and add it to the index. Searching large results for an answer takes
        seconds, so they are scored in a thread.
        """
        add = partial(self.store.add_result, unit.name, trace, self._said)
        size = sum(len(call.feedback) for call in trace.calls)
        return add() if size <= LARGE_CHARS else await anyio.to_thread.run_sync(add)

    async def judge_open(self) -> None:
        """Put questions that earlier sessions left open to the judge."""
        if self.judge is None:
            return
        for trace in self.store.traces():
            await self._judge(trace)
        given = self._said.by_panel.get(self.judge.name, {})
        answered = [one for of in given.values() for one in of.values() if one.answer is not None]
        if answered and self._said.panel != self.judge.name:
            # Another judge answered last, so make this one's answers the latest again.
            self._keep(answered[-1])

    async def _judge(self, trace: Trace) -> None:
        """Put a trace's open questions to the judge. A failing judge does not stop episodes: its
        questions stay open, and it is not used again until the run is resumed.
        """
        if self.judge is None or self._unasked is not None:
            return
        self.ledger.check()
        try:
            async for found, took in judged(trace, self.judge, self._said):
                self.ledger.add_spent(took)
                self._keep(found)
        except ModelFault as fault:
            self._unasked = ModelFault(
                f"the judge {self.judge.name} could not be asked: {fault}; the episodes are kept, "
                "and resuming the run asks it what is open"
            )

    def _keep(self, one: Judgement) -> None:
        self.store.add_judgements([one])
        self._said.add([one])

    @contextmanager
    def _sink(self, unit: WorkUnit, prefix: Prefix, events: list[Event]) -> Iterator[Sink]:
        """Open the episode's trace file, as a sink that also updates the ledger."""
        prefix_turns = len(prefix.turns.replies) if prefix.turns else 0
        watch = self.watch() if self.watch else lambda _: None
        with self.store.sink(unit.name) as write:

            def sink(event: Event) -> None:
                write(event)
                events.append(event)
                watch(event)
                self.on_event(event)
                self.ledger.add(event, prefix_turns)

            yield sink

    def _next_attempt(self, unit: WorkUnit) -> tuple[WorkUnit, Prefix]:
        """Return the unit with an unused attempt number, and the prefix left by earlier
        attempts.
        """
        while self.store.path(unit.name).exists():
            unit = replace(unit, attempt=unit.attempt + 1)
        first = self.starts(unit) if self.starts else Prefix()
        if unit.attempt == 1:
            return unit, first
        prompt = setting(self.settings, unit).messages
        found = kept(self._attempts_before(unit), unit.item, prompt)
        return unit, found if found.turn_count >= first.turn_count else first

    def _attempts_before(self, unit: WorkUnit) -> Iterator[Trace]:
        for attempt in range(1, unit.attempt):
            trace = self.store.named(replace(unit, attempt=attempt).name)
            if trace is not None and trace.events:
                yield trace
