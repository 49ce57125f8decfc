"""A whole run: data, sandbox, players and store put together. What `toolhop run` calls."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from random import Random

import anyio

from agents.models import prices
from agents.models.rate import Connections
from agents.players.choose import choose
from agents.players.scripted import ScriptedModel
from agents.runs import manifest as manifests
from agents.runs.certified import chosen
from agents.runs.ledger import Ledger, RunLimitReached
from agents.runs.manifest import Status, folder_name, manifest
from agents.runs.resume import Kept, Key, Standing, standing
from agents.runs.runner import PlayerSource, Runner, Unit, left, unit_seed, units
from agents.runs.settings import RunSettings
from agents.runs.signals import until_signal
from agents.runs.store import RunStore, StoreError
from env.spending import Spent
from env.summary import Judged
from sandbox.choose import open_sandbox
from sandbox.outcome import JSON
from sandbox.pool import PooledSandbox
from toolhop_tools.errors import Problem
from toolhop_tools.load import select, survey
from toolhop_tools.model import DataSet, Item
from toolhop_tools.presentation import Presentation, present

__all__ = [
    "Job",
    "Plan",
    "Run",
    "execute",
    "folder_name",
    "manifest",
    "prepare",
    "resumed",
    "sampled",
]

log = logging.getLogger(__name__)

MODEL_EPISODES = 10
"""Episodes at a time with a model behind a network, as peers default to."""


class Interrupted(SystemExit):
    """A signal came before there was a run: the process ends, with the code that shells expect."""

    def __init__(self) -> None:
        super().__init__(130)


@dataclass(frozen=True, slots=True)
class Run:
    """A run that has ended, or a sitting of it."""

    store: RunStore
    status: Status
    judged: Sequence[Judged]
    """The verdicts that count, over all sittings."""
    fault: str = ""
    """Why it ended with an error, or which limit it met."""
    stopped_by: str = ""
    """The limit's setting, such as ``run_token_limit``."""
    spent: Spent = field(default_factory=Spent)
    """By all attempts of all sittings."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is about to be played."""

    items: tuple[Item, ...]
    episodes: int
    """Episodes that are left to play."""
    at_a_time: int
    folder: str


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be played, known before anything starts."""

    settings: RunSettings
    """As they hold in this sitting."""
    data: DataSet
    items: tuple[Item, ...]
    left_out: tuple[Problem, ...] = ()
    """What is wrong with items that cannot be played (``skip_broken``)."""
    store: RunStore | None = None
    """The run that is gone on with; None for a new one."""
    changed: Mapping[str, JSON] = field(default_factory=dict)
    """Settings of this sitting that differ from the run's own."""
    sample: frozenset[str] | None = None
    """Play these items in the first epoch, and leave the rest for another sitting."""
    folder: str = ""
    """Name of a new run's folder; made of the time and the player where none is given."""
    only: frozenset[Key] | None = None
    """The run is made of these episodes alone."""
    starts: Callable[[Unit], Kept] | None = None
    """What each episode begins with (`Runner.starts`); nothing where None."""

    @property
    def work(self) -> Sequence[Unit]:
        """All episodes of the run, finished ones included."""
        work = units(self.settings, self.items)
        return work if self.only is None else [unit for unit in work if unit.key in self.only]

    def left(self, done: Standing) -> Iterator[Unit]:
        """The episodes to play in this sitting."""
        for unit in left(self.work, done):
            if self.sample is None or (unit.epoch == 1 and unit.item.id in self.sample):
                yield unit


def prepare(settings: RunSettings) -> Job:
    """Read the data and list the episodes; nothing is started yet.

    Raises:
        ToolsError: the data cannot be used as asked.
        UnknownAgent: no such player.
        UnknownPrice: a limit on costs is asked for, and nothing tells the model's price.
    """
    _check_player(settings)
    found = survey(settings.data, last_wins=settings.last_wins)
    data = found.usable(skip_broken=settings.skip_broken)
    items = select(data, limit=settings.limit, sample_ids=settings.sample_ids)
    items = chosen(items, data.name, settings.certificates, only=settings.certified_only)
    shown = Presentation.parse(settings.presentation)
    items = present(items, shown, pool=data, seed=settings.seed)
    return Job(settings, data, items, left_out=found.errors)


def resumed(store: RunStore, settings: RunSettings, changed: Mapping[str, JSON]) -> Job:
    """The same for a run that is gone on with: its items are those it kept.

    Args:
        store: the run.
        settings: the run's own, with what is changed for this sitting.
        changed: what is changed, for the manifest.

    Raises:
        StoreError, ToolsError: the items are not there, or not those that were played.
        UnknownAgent, UnknownPrice: see `prepare`.
    """
    _check_player(settings)
    data = store.items(last_wins=settings.last_wins)
    wanted = (store.manifest.get("data") or {}).get("played_digest")
    if wanted is not None and wanted != manifests.digest(data.items):
        raise StoreError(
            f"the items in {store.folder} are not those that the run began with: items.jsonl was "
            "changed, or this version of toolhop-env reads it otherwise; start a new run"
        )
    return Job(settings, data, data.items, store=store, changed=changed)


def sampled(job: Job, count: int) -> Job:
    """The same job, of which only `count` items are played, spread over the data by the seed."""
    identities = [item.id for item in job.items]
    return replace(job, sample=spread(identities, count, job.settings.seed))


def spread(identities: Sequence[str], count: int, seed: int) -> frozenset[str]:
    """A sample spread over the data: one item of each of `count` equal stretches."""
    draw = Random(seed)
    count = min(count, len(identities))
    ends = [len(identities) * part // count for part in range(count + 1)]
    return frozenset(identities[draw.randrange(first, last)] for first, last in pairwise(ends))


def _check_player(settings: RunSettings) -> None:
    if settings.model is None:
        choose(settings.player)
    elif settings.run_limits.known_costs:
        prices.check(settings.model, settings.base_url, settings.price)


async def execute(
    job: Job | RunSettings,
    *,
    on_start: Callable[[Plan], None] = lambda _: None,
    on_result: Callable[[Judged], None] = lambda _: None,
) -> Run:
    """Play a run to its end, an interrupt, a limit, or a fault that stops it.

    Everything finished is kept in every case. SIGINT and SIGTERM end it cleanly.

    Raises:
        ToolsError, UnknownAgent, UnknownPrice, StoreError, SandboxUnavailable: before anything
            was played.
        Interrupted: by a signal before anything was played.
    """
    job = prepare(job) if isinstance(job, RunSettings) else job
    if job.settings.forked_from and job.starts is None:
        raise StoreError(
            f"this run goes on from the episodes of {job.settings.forked_from}: it is played as a "
            "part of its ablation, by `toolhop ablate --resume FOLDER`"
        )
    async with AsyncExitStack() as stack:
        if job.store is not None:
            stack.enter_context(job.store.held())
        begun = _begun(job)
        episodes = sum(1 for _ in job.left(begun.done))
        if not episodes and job.store is not None:
            return _nothing_left(job, job.store, begun)
        return await _Sitting(job, begun, episodes, stack).play(on_start, on_result)


@dataclass(frozen=True, slots=True)
class _Begun:
    """How far a run has come before this sitting."""

    done: Standing
    spent: Spent


def _begun(job: Job) -> _Begun:
    attempts = job.store.mend_index() if job.store else []
    return _Begun(standing(attempts), sum((one.spent for one in attempts), Spent()))


def _nothing_left(job: Job, store: RunStore, begun: _Begun) -> Run:
    """All is played: the manifest says so, where a kill kept it from saying so."""
    whole = all(unit.key in begun.done.finished for unit in job.work)
    facts = store.manifest
    if whole and facts.get("status") != "success":
        facts = manifests.begun_again(facts, job.changed)
        end = manifests.ended(
            facts, status="success", fault="", stopped_by="", spent=begun.spent, rates=None,
            sandbox=store.manifest.get("sandbox", {}),
        )  # fmt: skip
        store.write_manifest(end)
    status: Status = "success" if whole else "sampled"
    return Run(store, status, list(store.results()), spent=begun.spent)


class _Sitting:
    """One sitting of a run: opens what it needs, plays, and writes down how it ended."""

    def __init__(self, job: Job, begun: _Begun, episodes: int, stack: AsyncExitStack) -> None:
        self._job, self._begun, self._episodes, self._stack = job, begun, episodes, stack
        self._at_a_time = episodes_at_a_time(job.settings)
        self._connections = Connections(job.settings.max_connections or self._at_a_time)
        self._ledger = Ledger(job.settings.run_limits, begun.spent)

    async def play(
        self, on_start: Callable[[Plan], None], on_result: Callable[[Judged], None]
    ) -> Run:
        """Play what is left."""
        job = self._job
        sandbox, players = await self._open()
        store, facts = self._folder(sandbox)
        runner = Runner(job.settings, sandbox, store, players, on_result, self._ledger)
        runner.starts = job.starts or runner.starts
        on_start(Plan(job.items, self._episodes, self._at_a_time, str(store.folder)))
        status, fault, stopped_by = await _play(runner, job.left(self._begun.done), self._at_a_time)
        if status == "success" and self._leaves_some():
            status = "sampled"
        rates = self._connections.rates if job.settings.model else None
        try:
            store.write_manifest(
                manifests.ended(
                    facts, status=status, fault=fault, stopped_by=stopped_by,
                    spent=self._ledger.spent, rates=rates, sandbox=sandbox.description,
                )
            )  # fmt: skip
        except StoreError as error:
            # As after a full disk, which is the first fault to tell.
            status, fault = "error", fault or _told(error)
        return Run(store, status, list(store.results()), fault, stopped_by, self._ledger.spent)

    def _leaves_some(self) -> bool:
        """Whether a sample is played, and not all that was left."""
        whole = replace(self._job, sample=None)
        return sum(1 for _ in whole.left(self._begun.done)) > self._episodes

    async def _open(self) -> tuple[PooledSandbox, PlayerSource]:
        settings, opened = self._job.settings, list[tuple[PooledSandbox, PlayerSource]]()
        workers = min(self._at_a_time, self._episodes)

        async def enter() -> None:
            sandbox = await self._stack.enter_async_context(await _sandbox(settings, workers))
            players = _players(settings, self._connections)
            opened.append((sandbox, await self._stack.enter_async_context(players)))

        if await until_signal(enter):
            raise Interrupted
        return opened[0]

    def _folder(self, sandbox: PooledSandbox) -> tuple[RunStore, dict[str, JSON]]:
        """The run's folder and its manifest: a new one, or the one gone on with."""
        job = self._job
        if job.store is not None:
            facts = manifests.begun_again(job.store.manifest, job.changed)
            job.store.write_manifest(facts)
            return job.store, facts
        facts = manifest(job.settings, job.data, job.items, sandbox, job.left_out)
        name = job.folder or folder_name(job.settings)
        store = RunStore.create(job.settings.log_dir, name, facts, job.items)
        self._stack.enter_context(store.held())
        return store, facts


async def _sandbox(settings: RunSettings, workers: int) -> PooledSandbox:
    return await open_sandbox(
        settings.sandbox,
        limits=settings.tool_limits,
        policy=settings.policy,
        max_workers=workers,
        base=settings.sandbox_base,
        runtime=settings.runtime,
        transport=settings.transport,
    )


async def _play(runner: Runner, work: Iterator[Unit], at_a_time: int) -> tuple[Status, str, str]:
    """Run until done, interrupted, stopped by a limit or broken: how it ended, why, which limit."""
    try:
        cut = await until_signal(partial(runner.run, work, at_a_time))
    except RunLimitReached as limit:
        return "limited", str(limit), limit.limit
    except Exception as error:
        log.debug("the run stopped", exc_info=True)
        return "error", _told(error), ""
    return ("cancelled" if cut else "success"), "", ""


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def episodes_at_a_time(settings: RunSettings) -> int:
    """How many episodes are under way at once."""
    if settings.max_samples is not None:
        return settings.max_samples
    return MODEL_EPISODES if settings.model else max(2, os.cpu_count() or 1)


@asynccontextmanager
async def _players(settings: RunSettings, connections: Connections) -> AsyncIterator[PlayerSource]:
    """Clients of a model, or a scripted player made for each item."""
    if settings.model is None:
        play = choose(settings.player)
        yield lambda unit: ScriptedModel(
            settings.player, play, unit.item, unit_seed(settings, unit)
        )
        return
    from agents.runs.served import Served

    served = Served(settings, settings.model, connections)
    try:
        yield served.player
    finally:
        with anyio.CancelScope(shield=True):
            await served.aclose()
