"""Units of work: the episodes of a run, as values that any executor can play."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from toolhop_agents.benchmarks import binding_of
from toolhop_agents.benchmarks.binding import Ask, Interaction
from toolhop_agents.runs.settings import RunSettings
from toolhop_env.attempt import Key
from toolhop_env.runs.progress import Progress
from toolhop_env.setting import Setting
from toolhop_tools.model import Item


@dataclass(frozen=True, slots=True)
class WorkUnit:
    """One episode to play."""

    item: Item
    mode: str
    epoch: int
    attempt: int = 1
    errored_attempts: int = 0
    """Number of errored attempts before it in this session."""
    lost_attempts: int = 0
    """Number of attempts lost with their node in this session."""

    @property
    def key(self) -> Key:
        """Key of the episode, shared by its attempts."""
        return Key(self.item.id, self.mode, self.epoch)

    @property
    def name(self) -> str:
        """Id of the attempt, unique in the run."""
        return f"{self.item.id}_{self.mode}_e{self.epoch}_a{self.attempt}"


class Units:
    """All episodes of a run by mode, epoch and item, created lazily; for a shard, every Nth.

    A hundred thousand of them take no more memory than the items.
    """

    def __init__(
        self,
        modes: Sequence[str],
        epochs: int,
        items: Sequence[Item],
        shard: tuple[int, int] | None = None,
    ) -> None:
        self._modes, self._epochs, self._items = modes, epochs, items
        first, step = (shard[0] - 1, shard[1]) if shard else (0, 1)
        self._numbers = range(first, len(modes) * epochs * len(items), step)

    def __len__(self) -> int:
        return len(self._numbers)

    def by_mode(self) -> dict[str, int]:
        """Return the number of episodes by mode, without creating any."""
        each = self._epochs * len(self._items)
        ends = [bisect_left(self._numbers, each * at) for at in range(len(self._modes) + 1)]
        return {mode: ends[at + 1] - ends[at] for at, mode in enumerate(self._modes)}

    def __iter__(self) -> Iterator[WorkUnit]:
        return map(self._unit, self._numbers)

    def _unit(self, number: int) -> WorkUnit:
        round_, item = divmod(number, len(self._items))
        mode, epoch = divmod(round_, self._epochs)
        return WorkUnit(self._items[item], self._modes[mode], epoch + 1)


def left(work: Iterable[WorkUnit], done: Progress) -> Iterator[WorkUnit]:
    """Yield the units in `work` that are not finished, each as its next attempt."""
    for unit in work:
        if unit.key not in done.finished:
            yield replace(unit, attempt=done.attempts.get(unit.key, 0) + 1)


def setting(settings: RunSettings, unit: WorkUnit) -> Setting:
    """Return the episode's setting, prompt included."""
    binding = binding_of(unit.item.benchmark)
    ask = Ask(
        item=unit.item,
        mode=unit.mode,
        call_format=settings.call_format,
        schemas=binding.tools_of(unit.item, unit.mode),
        template=settings.template,
        single_shot=settings.single_shot,
        phrasing=settings.phrasing,
    )
    return Setting(
        agent=settings.agent_name,
        mode=unit.mode,
        call_format=settings.call_format,
        feedback=settings.feedback,
        epoch=unit.epoch,
        seed=unit_seed(settings, unit),
        attempt=unit.attempt,
        messages=binding.prompt(ask),
        offer_tools=binding.can_call(unit.mode),
        answer_malformed=settings.answer_malformed,
        single_shot=settings.single_shot,
        single_reply=binding.way(unit.mode) is Interaction.PLANNING,
        perturbation=settings.perturbation,
        results=settings.results,
        limits=settings.episode_limits,
    )


def unit_seed(settings: RunSettings, unit: WorkUnit) -> int:
    """Return the seed of a unit: the run's seed in the first epoch, plus one for each later
    epoch.
    """
    return settings.seed + unit.epoch - 1
