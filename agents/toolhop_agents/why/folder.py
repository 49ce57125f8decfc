"""The folder of a run's repairs. What is played next follows from its runs: a kill loses nothing.

why.json            the `Repairs`; written once, before anything is played
first-as-played/    continuations from the first divergence, a run (`toolhop_env.runs.store`)
first-repaired/     the same with the gold call; likewise `next-...` and `both-...`
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from toolhop_agents.ablate.folder import begun, clear
from toolhop_agents.runs.job import Job, resumed, settings_of
from toolhop_agents.runs.resume import Prefix
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.runs.unit import WorkUnit
from toolhop_agents.why.cause import LEAST, Cause, Stage, Trial, cause
from toolhop_agents.why.steps import Repair, branch, repairs_of
from toolhop_env.attempt import Attempt, Key
from toolhop_env.benchmarks import named
from toolhop_env.divergence import Divergence, first_divergence
from toolhop_env.runs.files import StoreError
from toolhop_env.runs.store import RunStore
from toolhop_env.spending import Spent
from toolhop_env.trace import Trace
from toolhop_tools import regular
from toolhop_tools.certify.file import with_certificates
from toolhop_tools.errors import why
from toolhop_tools.model import Item, by_id

REPAIRS = "why.json"


class Repairs(BaseModel):
    """What is repaired."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str
    """Path of the run, relative to the folder."""
    episodes: tuple[str, ...]
    """Names of its lost episodes."""
    continuations: int
    """Continuations of each episode on each side; each is an epoch of its own."""
    certificates: Path | None
    """Certificates with the gold calls; None if the run's items have them."""
    settings: RunSettings
    """Settings of the continuations; their items are those stored in the run."""
    format: Literal[1] = 1

    @classmethod
    def read(cls, folder: Path) -> Repairs:
        """Read the repairs of a folder.

        Raises:
            StoreError: they cannot be read.
        """
        try:
            return cls.model_validate_json(regular.content(folder / REPAIRS))
        except (OSError, ValidationError) as error:
            raise StoreError(f"{folder / REPAIRS} cannot be read: {why(error)}") from error


@dataclass(frozen=True, slots=True)
class Fork:
    """Where continuations begin."""

    store: RunStore
    attempt: Attempt
    repair: Repair


@dataclass(frozen=True, slots=True)
class Lost:
    """A lost episode, and what its repairs have shown so far."""

    attempt: Attempt
    trace: Trace
    first: Divergence | None
    """The divergence that is repaired first; without repairs, the first of all."""
    repairs: Sequence[Repair]
    trials: dict[Stage, Trial | None] = field(default_factory=dict)
    """The finished stages; None for one with nothing to repair."""

    @property
    def cause(self) -> Cause:
        """What the trials show."""
        return cause(len(self.repairs), self.trials)


def arms(stage: Stage) -> tuple[str, str]:
    """Return the folders of a stage's runs: as played, and repaired."""
    return f"{stage}-as-played", f"{stage}-repaired"


def right(attempt: Attempt) -> bool | None:
    """Whether an episode is right by its benchmark's leading measure; None without a value."""
    lead, score = named(attempt.benchmark).lead, attempt.score
    return None if score is None or lead.of(score) is None else lead.holds(score)


def lost_episodes(
    store: RunStore, certificates: Path | None
) -> tuple[Mapping[str, Item], list[Lost]]:
    """Return a run's items with their gold calls, and its scored episodes that are not right.

    Raises:
        StoreError, ToolsError: a trace, items or certificates cannot be read; or none can be lost.
    """
    played: Sequence[Item] = store.items(last_wins=settings_of(store).last_wins).items
    if certificates is not None:
        played = with_certificates(played, certificates)
    items, lost = by_id(played), list[Lost]()
    for attempt in sorted(store.results(), key=lambda attempt: attempt.key):
        if not (lead := named(attempt.benchmark).lead).binary:
            said = f"{lead.heading} of {attempt.benchmark} is not yes or no"
            raise StoreError(f"{store.folder} has no lost episodes to look at, as {said}")
        if right(attempt) is False:
            trace, item = store.trace(attempt), items[attempt.item]
            diverged = first_divergence(trace, item)
            repairs = repairs_of(diverged, trace, item)
            first = repairs[0].divergence if repairs else diverged.first
            lost.append(Lost(attempt, trace, first, repairs))
    return items, lost


class State:
    """A folder as it stands, read once."""

    def __init__(self, folder: Path) -> None:
        """Read the folder, the run and all continuations.

        Raises:
            StoreError, ToolsError: something cannot be read, or the run was changed.
        """
        self.folder, self.repairs = folder, Repairs.read(folder)
        if not (path := folder / self.repairs.run).is_dir():
            raise StoreError(f"{path} is missing: {folder} needs this run beside it; move both")
        self.run = RunStore.open(path)
        self.items, lost = lost_episodes(self.run, self.repairs.certificates)
        self.lost = [e for e in lost if e.attempt.episode in self.repairs.episodes]
        if len(self.lost) < len(self.repairs.episodes):
            raise StoreError(f"{self.run.folder} no longer has the episodes that {folder} names")
        self.stores = _stores(folder)
        self._ended = {a: {e.key: e for e in s.results()} for a, s in self.stores.items()}
        for episode in self.lost:
            for stage in Stage:
                if episode.cause is not Cause.OPEN or not self._try(episode, stage):
                    break

    def forks(self, stage: Stage) -> dict[Key, Fork]:
        """Return where the continuations of a stage begin, for all episodes that come to it."""
        forks, at = dict[Key, Fork](), [*Stage].index(stage)
        for episode in self.lost:
            tried = len(episode.trials)
            if tried > at or (tried == at and episode.cause is Cause.OPEN):
                forks |= self._forks(episode, stage)
        return forks

    def _forks(self, episode: Lost, stage: Stage) -> dict[Key, Fork]:
        """Return the forks of an episode; empty if nothing can be repaired.

        The last stage repairs each wrong continuation of the first repair.
        """
        n, key = self.repairs.continuations, episode.attempt.key
        keys = [key._replace(epoch=(key.epoch - 1) * n + number) for number in range(1, n + 1)]
        if stage is not Stage.BOTH:
            repairs = episode.repairs[:1] if stage is Stage.FIRST else episode.repairs[1:2]
            forks = [Fork(self.run, episode.attempt, repair) for repair in repairs]
            return {key: fork for fork in forks for key in keys}
        (_, arm), both = arms(Stage.FIRST), dict[Key, Fork]()
        for key in keys:
            attempt = self._ended[arm][key]
            if right(attempt) is False:
                trace, item = self.stores[arm].trace(attempt), self.items[key.item]
                diverged, after = first_divergence(trace, item), episode.repairs[0].turn
                if later := repairs_of(diverged, trace, item, after=after):
                    both[key] = Fork(self.stores[arm], attempt, later[0])
        return both

    def _try(self, episode: Lost, stage: Stage) -> bool:
        """Add the trial of a stage; return whether its continuations have ended."""
        forks = self._forks(episode, stage)
        before, after = (self._ended.get(arm, {}) for arm in arms(stage))
        if not forks.keys() <= before.keys() & after.keys():
            return False
        keys = [key for key in forks if None not in (right(before[key]), right(after[key]))]
        if len(keys) < min(LEAST, len(forks)):
            return False
        texts = [
            {_said(self.stores[arm].trace(self._ended[arm][key])) for key in keys}
            for arm in arms(stage)
        ]
        pairs = tuple((bool(right(before[key])), bool(right(after[key]))) for key in keys)
        identical = len(keys) > 1 and all(len(different) == 1 for different in texts)
        episode.trials[stage] = Trial(pairs, identical) if keys else None
        return True

    def job(self, arm: str, forks: Mapping[Key, Fork], settings: RunSettings) -> Job:
        """Return the work left in one of the `arms`, of which only one may repair."""
        stores = _stores(self.folder)
        others = (store.attempts() for at, store in stores.items() if at != arm)
        spent = sum((attempt.spent for attempts in others for attempt in attempts), Spent())
        used = {"token": spent.tokens, "call": spent.calls, "cost": spent.cost_usd or 0}
        left: dict[str, object] = {}
        for name, taken in used.items():  # the limits hold for all runs together, and are above 0
            limit = getattr(settings, f"run_{name}_limit")
            left[f"run_{name}_limit"] = limit and max(limit - taken, 1e-9 if name == "cost" else 1)
        # The last stage continues the first repair, the others the run.
        origin = arms(Stage.FIRST)[1] if arm in arms(Stage.BOTH) else self.repairs.run
        settings = settings.model_copy(
            update={"log_dir": self.folder, "forked_from": origin, **left}
        )
        if (store := stores.get(arm)) is not None:
            job = resumed(store, settings)
        else:
            clear(self.folder / arm)
            job = replace(resumed(self.run, settings), store=None, folder=arm)
        start = partial(_start, forks, arm.endswith("repaired"))
        return replace(job, only=frozenset(forks), starts=start)


def jobs(folder: Path, settings: RunSettings) -> Iterator[tuple[str, Job]]:
    """Yield what is left of each run by its name, for `toolhop_agents.cli.arms.play`."""
    for stage in Stage:
        state = State(folder)
        if forks := state.forks(stage):
            yield from ((arm, state.job(arm, forks, settings)) for arm in arms(stage))


def _stores(folder: Path) -> dict[str, RunStore]:
    """Return the runs that have begun."""
    stores = ((arm, begun(folder / arm)) for stage in Stage for arm in arms(stage))
    return {arm: store for arm, store in stores if store is not None}


def _start(forks: Mapping[Key, Fork], repaired: bool, unit: WorkUnit) -> Prefix:
    """Return the first turns of a continuation (`Executor.starts`)."""
    fork = forks[unit.key]
    origin = f"{fork.store.folder.name}/{fork.attempt.episode}"
    return branch(fork.store.trace(fork.attempt), fork.repair, origin=origin, repaired=repaired)


def _said(trace: Trace) -> tuple[object, ...]:
    """Return what is said, called and answered, without the calls' ids."""
    return tuple(
        (message.content, *((call.name, call.arguments) for call in getattr(message, "calls", ())))
        for message in trace.conversation()
    )
