"""Many episodes: units of work, a bounded number at a time, void ones played again.

A unit is a value that says which episode to play; playing it touches nothing but its own trace
file and a line of the index. So one machine's tasks and another executor can take the same units.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import overload

import anyio

from agents.models.base import Model, ModelFault
from agents.prompts import Mode, prompt
from agents.react import play
from agents.runs.ledger import Ledger, Metered, RunLimitReached, RunLimits
from agents.runs.resume import Kept, Key, Standing, Taken, kept
from agents.runs.settings import RunSettings
from agents.runs.store import RunStore, read_trace
from env.episode import Episode, Setting, Sink
from env.score import Void
from env.summary import Judged
from env.trace import Event, Trace
from sandbox.base import Sandbox
from sandbox.errors import SandboxFault
from toolhop_tools.model import Item


@dataclass(frozen=True, slots=True)
class Unit:
    """One episode to play."""

    item: Item
    mode: Mode
    epoch: int
    attempt: int = 1
    voids: int = 0
    """Void attempts of this sitting before it."""

    @property
    def key(self) -> Key:
        """What it is an attempt at."""
        return (self.item.id, self.mode.value, self.epoch)

    @property
    def name(self) -> str:
        """The episode's id, unique in the run."""
        return f"{self.item.id}_{self.mode}_e{self.epoch}_a{self.attempt}"


PlayerSource = Callable[[Unit], Model]
"""Who plays a unit: a shared client, or a scripted player made for the item."""


class Units(Sequence[Unit]):
    """All episodes of a run, mode by mode, epoch by epoch, in item order; made as they are asked.

    A hundred thousand of them take no more memory than the items.
    """

    def __init__(self, modes: Sequence[Mode], epochs: int, items: Sequence[Item]) -> None:
        self._modes, self._epochs, self._items = modes, epochs, items

    def __len__(self) -> int:
        return len(self._modes) * self._epochs * len(self._items)

    @overload
    def __getitem__(self, index: int) -> Unit: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Unit]: ...

    def __getitem__(self, index: int | slice) -> Unit | Sequence[Unit]:
        numbers = range(len(self))[index]
        if isinstance(numbers, range):
            return [self._unit(number) for number in numbers]
        return self._unit(numbers)

    def _unit(self, number: int) -> Unit:
        round_, item = divmod(number, len(self._items))
        mode, epoch = divmod(round_, self._epochs)
        return Unit(self._items[item], self._modes[mode], epoch + 1)


def units(settings: RunSettings, items: Sequence[Item]) -> Units:
    """All episodes of a run."""
    return Units(settings.modes, settings.epochs, items)


def left(work: Iterable[Unit], done: Standing) -> Iterator[Unit]:
    """Those of `work` that are not finished, each as its next attempt."""
    for unit in work:
        if unit.key not in done.finished:
            yield replace(unit, attempt=done.attempts.get(unit.key, 0) + 1)


def setting(settings: RunSettings, unit: Unit) -> Setting:
    """The episode's setting, prompt included."""
    offer_tools = unit.mode is not Mode.DIRECT
    documents = [tool.document for tool in unit.item.tools.values()] if offer_tools else []
    return Setting(
        player=settings.player,
        mode=unit.mode.value,
        dialect=settings.dialect,
        feedback=settings.feedback,
        epoch=unit.epoch,
        seed=unit_seed(settings, unit),
        attempt=unit.attempt,
        messages=prompt(
            unit.mode,
            settings.dialect,
            unit.item.question,
            documents,
            template=settings.template,
        ),
        offer_tools=offer_tools,
        presentation=settings.presentation,
        limits=settings.episode_limits,
    )


def unit_seed(settings: RunSettings, unit: Unit) -> int:
    """The run's seed in the first epoch, the next ones in those after."""
    return settings.seed + unit.epoch - 1


@dataclass
class Runner:
    """Plays units over a sandbox, writing traces to a store."""

    settings: RunSettings
    sandbox: Sandbox
    store: RunStore
    players: PlayerSource
    on_result: Callable[[Judged], None] = lambda _: None
    """Called after each finished episode, void ones included."""
    ledger: Ledger = field(default_factory=lambda: Ledger(RunLimits()))
    starts: Callable[[Unit], Kept] = lambda _: Kept()
    """What a unit begins with that no attempt has been made at."""

    async def run(self, work: Iterable[Unit], at_a_time: int) -> None:
        """Play all of `work`, at most `at_a_time` episodes at a time.

        Cancelling leaves finished episodes as they are and the others cut off.

        Raises:
            RunLimitReached: after the replies under way were taken; other episodes are cut off.
            ModelFault: the model cannot be asked at all; the episodes so far are kept.
            SandboxUnavailable: no worker can be started any more.
            StoreError: traces cannot be written.
        """
        new, again = iter(work), deque[Unit]()
        stopped: list[RunLimitReached] = []
        fault: list[BaseException] = []

        async def take() -> None:
            while not (fault or stopped):
                unit = next(new, None) or (again.popleft() if again else None)
                if unit is None:
                    return
                try:
                    self.ledger.check()
                    repeat = await self.play(unit)
                except RunLimitReached as limit:
                    # Each of the others stops by itself, before its next request.
                    stopped.append(limit)
                    return
                except Exception as error:  # noqa: BLE001 -- raised below, outside of the group
                    fault.append(error)
                    tasks.cancel_scope.cancel()
                    return
                if repeat is not None:
                    again.append(repeat)

        async with anyio.create_task_group() as tasks:
            for _ in range(at_a_time):
                tasks.start_soon(take)
        if fault or stopped:
            raise (fault or stopped)[0]

    async def play(self, unit: Unit) -> Unit | None:
        """Play one unit; the unit to play again where it was void and may be repeated.

        It begins with what earlier attempts left (`agents.runs.resume`).
        """
        unit, begun = self._next_attempt(unit)
        fatal: ModelFault | None = None
        stopped: RunLimitReached | None = None
        with self._sink(unit, begun) as sink:
            episode = self._episode(unit, begun, sink)
            try:
                async with episode:
                    model = Metered(self.players(unit), self.ledger)
                    await play(episode, Taken(model, begun.reply))
            except ModelFault as error:
                fatal = error
            except RunLimitReached as limit:
                stopped = limit
            except SandboxFault:
                # No worker could be leased; the trace says so, and the unit may come again.
                pass
        if stopped is not None:
            raise stopped
        result = self.store.add_result(unit.name, episode.trace).judged
        self.on_result(result)
        if fatal is not None:
            raise fatal
        if isinstance(result.verdict, Void) and unit.voids < self.settings.retry_on_error:
            return replace(unit, attempt=unit.attempt + 1, voids=unit.voids + 1)
        return None

    def _episode(self, unit: Unit, begun: Kept, sink: Sink) -> Episode:
        return Episode(
            unit.item,
            self.sandbox,
            setting(self.settings, unit),
            sink=sink,
            name=unit.name,
            resume_from=begun.turns,
        )

    @contextmanager
    def _sink(self, unit: Unit, begun: Kept) -> Iterator[Sink]:
        """The trace file, with the ledger listening."""
        kept_turns = len(begun.turns.replies) if begun.turns else 0
        with self.store.sink(unit.name) as write:

            def sink(event: Event) -> None:
                write(event)
                self.ledger.add(event, kept_turns)

            yield sink

    def _next_attempt(self, unit: Unit) -> tuple[Unit, Kept]:
        """The unit under a number that no file has, and what the attempts before it left."""
        while self.store.path(unit.name).exists():
            unit = replace(unit, attempt=unit.attempt + 1)
        first = self.starts(unit)
        if unit.attempt == 1:
            return unit, first
        prompt = setting(self.settings, unit).messages
        found = kept(self._attempts_before(unit), unit.item, prompt)
        return unit, found if found.turn_count >= first.turn_count else first

    def _attempts_before(self, unit: Unit) -> Iterator[Trace]:
        for attempt in range(1, unit.attempt):
            path = self.store.path(replace(unit, attempt=attempt).name)
            if path.exists():
                trace = read_trace(path)
                if trace.events:
                    yield trace
