"""The folder of a run's repairs. What is played next follows from its runs: a kill loses nothing.

why.json            the `Repairs`; written once, before anything is played
first-as-played/    continuations from the first divergence, a run (`toolhop_env.runs.store`)
first-repaired/     the same with the gold call; likewise `next-...` and `both-...`
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError

from toolhop_agents.ablate.folder import begun
from toolhop_agents.runs.job import settings_of
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.why.cause import Cause, Stage, Trial, cause
from toolhop_agents.why.steps import Repair, repairs_of
from toolhop_env.attempt import Attempt, Key
from toolhop_env.benchmarks import named
from toolhop_env.divergence import Divergence, first_divergence
from toolhop_env.runs.files import StoreError
from toolhop_env.runs.store import RunStore
from toolhop_env.trace import Trace
from toolhop_tools import regular
from toolhop_tools.certify.file import with_certificates
from toolhop_tools.errors import why
from toolhop_tools.model import Item, by_id

REPAIRS = "why.json"
SIDES = ("as-played", "repaired")
Arm: TypeAlias = tuple[Stage, str]
"""Stage and side of a run below the folder."""


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
    """The first divergence, whether it can be repaired or not."""
    repairs: Sequence[Repair]
    trials: dict[Stage, Trial | None] = field(default_factory=dict)
    """The finished stages; None for one with nothing to repair."""

    @property
    def cause(self) -> Cause:
        """What the trials show."""
        return cause(len(self.repairs), self.trials)


def right(one: Attempt) -> bool:
    """Whether a scored episode is right by the leading measure of its benchmark."""
    return one.score is not None and named(one.benchmark).lead.holds(one.score)


def lost_episodes(
    store: RunStore, certificates: Path | None
) -> tuple[Mapping[str, Item], Iterator[Lost]]:
    """Return a run's items with their gold calls, and its scored episodes that are not right.

    Raises:
        StoreError, ToolsError: a trace, the items or the certificates cannot be read.
    """
    played: Sequence[Item] = store.items(last_wins=settings_of(store).last_wins).items
    if certificates is not None:
        played = with_certificates(played, certificates)
    items = by_id(played)

    def lost() -> Iterator[Lost]:
        for one in sorted(store.results(), key=lambda one: one.key):
            if one.score is not None and named(one.benchmark).lead.binary and not right(one):
                trace, item = store.trace(one), items[one.item]
                found = first_divergence(trace, item)
                yield Lost(one, trace, found.first, repairs_of(found, trace, item))

    return items, lost()


def begun_arms(folder: Path) -> dict[Arm, RunStore]:
    """Return the runs of a folder that have begun."""
    arms = [(stage, side) for stage in Stage for side in SIDES]
    found = ((arm, begun(folder / "-".join(arm))) for arm in arms)
    return {arm: store for arm, store in found if store is not None}


class State:
    """A folder as it stands, read once."""

    def __init__(self, folder: Path) -> None:
        """Read the folder, the run and all continuations.

        Raises:
            StoreError, ToolsError: something cannot be read, or the run was changed.
        """
        self.folder, self.repairs = folder, Repairs.read(folder)
        self.run = RunStore.open(folder / self.repairs.run)
        self.items, found = lost_episodes(self.run, self.repairs.certificates)
        wanted = set(self.repairs.episodes)
        self.lost = [one for one in found if one.attempt.episode in wanted]
        if len(self.lost) < len(wanted):
            raise StoreError(f"{self.run.folder} no longer has the episodes that {folder} names")
        self.stores = begun_arms(folder)
        self._ended = {a: {e.key: e for e in s.results()} for a, s in self.stores.items()}
        for one in self.lost:
            for stage in Stage:
                if one.cause is not Cause.OPEN or not self._try(one, stage):
                    break

    def forks(self, stage: Stage) -> dict[Key, Fork]:
        """Return where the continuations of a stage begin, for all episodes that come to it."""
        at, found = [*Stage].index(stage), dict[Key, Fork]()
        for one in self.lost:
            if len(one.trials) > at or (len(one.trials) == at and one.cause is Cause.OPEN):
                found |= self._forks(one, stage)
        return found

    def _forks(self, one: Lost, stage: Stage) -> dict[Key, Fork]:
        """Return the forks of an episode; empty if nothing can be repaired.

        The last stage repairs each wrong continuation of the first repair.
        """
        n, key = self.repairs.continuations, one.attempt.key
        keys = [key._replace(epoch=(key.epoch - 1) * n + number) for number in range(1, n + 1)]
        if stage is not Stage.BOTH:
            repairs = one.repairs[:1] if stage is Stage.FIRST else one.repairs[1:2]
            return {key: Fork(self.run, one.attempt, repair) for repair in repairs for key in keys}
        arm, found = (Stage.FIRST, SIDES[1]), dict[Key, Fork]()
        for key in keys:
            attempt = self._ended[arm][key]
            if attempt.score is not None and not right(attempt):
                trace, item = self.stores[arm].trace(attempt), self.items[key.item]
                diverged, after = first_divergence(trace, item), one.repairs[0].turn
                if later := repairs_of(diverged, trace, item, after=after):
                    found[key] = Fork(self.stores[arm], attempt, later[0])
        return found

    def _try(self, one: Lost, stage: Stage) -> bool:
        """Add the trial of a stage; return whether its continuations have ended."""
        forks, arms = self._forks(one, stage), [(stage, side) for side in SIDES]
        before, after = (self._ended.get(arm, {}) for arm in arms)
        if not forks.keys() <= before.keys() & after.keys():
            return False
        keys = [key for key in forks if before[key].score and after[key].score]
        if not keys and forks:
            return False
        said = [{_said(self.stores[arm].trace(self._ended[arm][k])) for k in keys} for arm in arms]
        pairs = tuple((right(before[key]), right(after[key])) for key in keys)
        alike = len(keys) > 1 and all(len(one) == 1 for one in said)
        one.trials[stage] = Trial(pairs, alike) if keys else None
        return True


def _said(trace: Trace) -> tuple[object, ...]:
    """Return what is said, called and answered, without the calls' ids."""
    return tuple(
        (one.content, *((call.name, call.arguments) for call in getattr(one, "calls", ())))
        for one in trace.conversation()
    )
