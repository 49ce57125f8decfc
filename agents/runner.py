"""Many episodes: units of work, a bounded number at a time, void ones played again.

A unit is a value that says which episode to play; playing it touches nothing but its own trace
file. So one machine's tasks and another executor can take the same units.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import anyio

from agents.models.base import Model, ModelFault
from agents.prompts import Mode, prompt
from agents.react import play
from agents.settings import RunSettings
from agents.store import RunStore
from env.episode import Episode, Setting
from env.score import Void
from env.summary import Judged, judge
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

    @property
    def name(self) -> str:
        """The episode's id, unique in the run."""
        return f"{self.item.id}_{self.mode}_e{self.epoch}_a{self.attempt}"


PlayerSource = Callable[[Unit], Model]
"""Who plays a unit: a shared client, or a scripted player made for the item."""


def units(settings: RunSettings, items: Sequence[Item]) -> list[Unit]:
    """All episodes of a run, mode by mode, epoch by epoch, in item order."""
    return [
        Unit(item, mode, epoch)
        for mode in settings.modes
        for epoch in range(1, settings.epochs + 1)
        for item in items
    ]


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
    judged: list[Judged] = field(default_factory=list)

    async def run(self, work: Sequence[Unit], at_a_time: int) -> None:
        """Play all of `work`, at most `at_a_time` episodes at a time.

        Cancelling leaves finished episodes as they are and the others cut off.

        Raises:
            ModelFault: the model cannot be asked at all; the episodes so far are kept.
            SandboxUnavailable: no worker can be started any more.
            StoreError: traces cannot be written.
        """
        waiting = deque(work)
        fault: list[BaseException] = []

        async def take() -> None:
            while waiting and not fault:
                unit = waiting.popleft()
                try:
                    again = await self.play(unit)
                except Exception as error:  # noqa: BLE001 -- raised below, outside of the group
                    fault.append(error)
                    tasks.cancel_scope.cancel()
                    return
                if again is not None:
                    waiting.append(again)

        async with anyio.create_task_group() as tasks:
            for _ in range(min(at_a_time, len(work))):
                tasks.start_soon(take)
        if fault:
            raise fault[0]

    async def play(self, unit: Unit) -> Unit | None:
        """Play one unit; the unit to play again where it was void and may be repeated."""
        fatal: ModelFault | None = None
        with self.store.sink(unit.name) as sink:
            episode = Episode(
                unit.item,
                self.sandbox,
                setting(self.settings, unit),
                sink=sink,
                name=unit.name,
            )
            try:
                async with episode:
                    await play(episode, self.players(unit))
            except ModelFault as error:
                fatal = error
            except SandboxFault:
                # No worker could be leased; the trace says so, and the unit may come again.
                pass
        result = judge(episode.trace)
        self.judged.append(result)
        self.on_result(result)
        if fatal is not None:
            raise fatal
        if isinstance(result.verdict, Void) and unit.attempt <= self.settings.retry_on_error:
            return replace(unit, attempt=unit.attempt + 1)
        return None
