"""The folder of a run's repairs. What is played next follows from its runs: a kill loses nothing.

why.json            the `Repairs`; written once, before anything is played
first-as-played/    continuations from the first divergence, a run (`toolhop_env.runs.store`)
first-repaired/     the same with the gold call; likewise `next-...` and `both-...`
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError

from toolhop_agents.ablate.folder import begun
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.why.cause import Cause, Stage, Trial, cause
from toolhop_agents.why.steps import Repair, repairs_of
from toolhop_env.attempt import Attempt, Key
from toolhop_env.benchmarks import named
from toolhop_env.divergence import Divergence, first_divergence
from toolhop_env.runs.files import StoreError, write_atomic
from toolhop_env.runs.store import RunStore
from toolhop_env.trace import Called, Replied, Trace
from toolhop_tools import regular
from toolhop_tools.errors import why
from toolhop_tools.model import Item

REPAIRS = "why.json"
SIDES = ("as-played", "repaired")
Arm: TypeAlias = tuple[Stage, str]
"""Stage and side of a run below the folder."""


class Repairs(BaseModel):
    """What is repaired."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str
    """Path of the run whose episodes are repaired, relative to the folder."""
    episodes: tuple[str, ...]
    """Names of its lost episodes."""
    continuations: int
    """Continuations of each episode on each side."""
    settings: RunSettings
    """Settings of the continuations; their items are those stored in the run."""
    format: int = 1

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

    def write(self, folder: Path) -> None:
        """Write the repairs to a folder."""
        write_atomic(folder / REPAIRS, self.model_dump_json(indent=2).encode())


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
        """See `toolhop_agents.why.cause.cause`."""
        return cause(len(self.repairs), self.trials)


def right(one: Attempt) -> bool:
    """Whether a scored episode is right by the leading measure of its benchmark."""
    return one.score is not None and named(one.benchmark).lead.holds(one.score)


def lost_episodes(store: RunStore, items: Mapping[str, Item]) -> Iterator[Lost]:
    """Yield a run's scored episodes that are not right, with their divergences.

    Raises:
        StoreError: a trace cannot be read.
    """
    for one in sorted(store.results(), key=lambda one: one.key):
        if one.score is not None and named(one.benchmark).lead.binary and not right(one):
            trace, item = store.trace(one), items[one.item]
            yield Lost(one, trace, first_divergence(trace, item).first, repairs_of(trace, item))


class State:
    """A folder as it stands, read once."""

    def __init__(self, folder: Path) -> None:
        """Read the folder, the run and all continuations.

        Raises:
            StoreError: something cannot be read, or the run was changed.
        """
        self.folder, self.repairs = folder, Repairs.read(folder)
        self.run = RunStore.open(folder / self.repairs.run)
        self.items = self.run.items(last_wins=self.repairs.settings.last_wins).by_id
        wanted, found = set(self.repairs.episodes), lost_episodes(self.run, self.items)
        self.lost = [one for one in found if one.attempt.episode in wanted]
        if len(self.lost) < len(wanted):
            raise StoreError(f"{self.run.folder} no longer has the episodes that {folder} names")
        arms = [(stage, side) for stage in Stage for side in SIDES]
        self.stores = {arm: s for arm in arms if (s := begun(folder / "-".join(arm))) is not None}
        self._ended = {a: {e.key: e for e in s.results()} for a, s in self.stores.items()}
        for stage in Stage:
            for one in self.lost:
                if one.cause is Cause.OPEN:
                    self._try(one, stage)

    def forks(self, one: Lost, stage: Stage) -> dict[Key, Fork]:
        """Return where the continuations of an episode begin; empty if nothing can be repaired.

        Each is an epoch of its own. The last stage repairs each wrong one of the first repair.
        """
        n, key = self.repairs.continuations, one.attempt.key
        keys = [key._replace(epoch=(key.epoch - 1) * n + number) for number in range(1, n + 1)]
        if stage is not Stage.BOTH:
            repairs = one.repairs[:1] if stage is Stage.FIRST else one.repairs[1:2]
            return {key: Fork(self.run, one.attempt, repair) for repair in repairs for key in keys}
        arm, found = (Stage.FIRST, SIDES[1]), dict[Key, Fork]()
        for key in keys:
            attempt = self._ended.get(arm, {}).get(key)
            if attempt is not None and attempt.score is not None and not right(attempt):
                trace = self.stores[arm].trace(attempt)
                item, turn = self.items[key.item], one.repairs[0].turn
                if later := repairs_of(trace, item, after=turn):
                    found[key] = Fork(self.stores[arm], attempt, later[0])
        return found

    def wanted(self, stage: Stage) -> dict[Key, Fork]:
        """Return the forks of a stage for all episodes that earlier stages left open."""
        earlier = [*Stage][: [*Stage].index(stage)]
        found = dict[Key, Fork]()
        for one in self.lost:
            trials = {before: one.trials[before] for before in earlier if before in one.trials}
            if len(trials) == len(earlier) and cause(len(one.repairs), trials) is Cause.OPEN:
                found |= self.forks(one, stage)
        return found

    def _try(self, one: Lost, stage: Stage) -> None:
        """Add the trial of a stage if all of its continuations have ended."""
        forks = self.forks(one, stage)
        before, after = (self._ended.get((stage, side), {}) for side in SIDES)
        if not forks.keys() <= before.keys() & after.keys():
            return
        scored = [key for key in forks if before[key].score and after[key].score]
        if scored or not forks:
            pairs = tuple((right(before[key]), right(after[key])) for key in scored)
            alike = all(self._alike((stage, side), scored) for side in SIDES)
            one.trials[stage] = Trial(pairs, len(scored) > 1 and alike) if scored else None

    def _alike(self, arm: Arm, keys: list[Key]) -> bool:
        """Whether continuations are alike in what is said, called and answered."""
        return len({_said(self.stores[arm].trace(self._ended[arm][key])) for key in keys}) == 1


def _said(trace: Trace) -> tuple[object, ...]:
    said = (one for one in trace.events if isinstance(one, Replied | Called))
    return tuple(
        (one.reply.content, *((call.name, call.arguments) for call in one.reply.calls))
        if isinstance(one, Replied)
        else one.feedback
        for one in said
    )
