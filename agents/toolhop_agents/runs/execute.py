"""Execute a whole run: combine data, sandbox, agents and store. Called by `toolhop run`."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import partial

from anyio import to_thread

from toolhop_agents.approval import TerminalApprover
from toolhop_agents.judge.judges import Judge
from toolhop_agents.judge.open_judge import open_judge
from toolhop_agents.models import gguf
from toolhop_agents.models.rate import Connections
from toolhop_agents.runs import manifest as manifests
from toolhop_agents.runs.executors import Places
from toolhop_agents.runs.executors.cluster import open_places
from toolhop_agents.runs.executors.local import Executor, Here
from toolhop_agents.runs.job import Job, prepare, simulated_before
from toolhop_agents.runs.ledger import Ledger, RunLimitReached
from toolhop_agents.runs.manifest import Status, folder_name, manifest
from toolhop_agents.runs.means import Given, open_means
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.runs.signals import Interrupted, until_signal
from toolhop_agents.runs.spans import exported
from toolhop_agents.runs.unit import WorkUnit
from toolhop_env.attempt import Attempt
from toolhop_env.episode import Sink
from toolhop_env.extras import require
from toolhop_env.runs import elsewhere
from toolhop_env.runs.files import StoreError
from toolhop_env.runs.packing import Packer
from toolhop_env.runs.progress import Progress, Tally
from toolhop_env.runs.store import RunStore
from toolhop_env.score import Errored
from toolhop_env.spending import Spent
from toolhop_sandbox.outcome import JSON

log = logging.getLogger(__name__)

MODEL_EPISODES = 10
"""Concurrent episodes with a remote model, the default of comparable tools."""


@dataclass(frozen=True, slots=True)
class Run:
    """The result of a run, or of one of its sessions."""

    store: RunStore
    status: Status
    fault: str = ""
    """The error that ended it, or the limit it reached."""
    stopped_by: str = ""
    """Setting of the limit that was reached, such as ``run_token_limit``."""
    spent: Spent = field(default_factory=Spent)
    """Total of all attempts in all sessions."""
    unpacked: str = ""
    """Why finished episodes could not be packed or segments moved; empty on success."""

    @property
    def attempts(self) -> Iterator[Attempt]:
        """The attempts that count, over all sessions, read from the folder.

        Raises:
            StoreError: a trace cannot be read.
        """
        return self.store.results()


@dataclass(frozen=True, slots=True)
class Plan:
    """The work that `execute` is about to start."""

    episodes: int
    """Number of episodes left to play."""
    folder: str


async def execute(
    job: Job | RunSettings,
    *,
    on_start: Callable[[Plan], None] = lambda _: None,
    on_result: Callable[[Attempt], None] = lambda _: None,
    on_event: Sink = lambda _: None,
) -> Run:
    """Play a run until it is finished, interrupted, out of limits, or stopped by a fault.

    Finished episodes are always kept. SIGINT and SIGTERM end a run cleanly.

    Raises:
        ToolsError, UnknownAgent, UnknownPrice, StoreError, SandboxUnavailable, SandboxFault: the
            run cannot start; nothing was played.
        Interrupted: a signal arrived before anything was played.
        MissingExtra: segments are to be moved to an object store, and fsspec is not installed.
    """
    job = prepare(job) if isinstance(job, RunSettings) else job
    if job.settings.segments_to is not None:
        require("fsspec", extra="fsspec", what="--segments-to")
        elsewhere.check(job.settings.segments_to)
    if job.settings.forked_from and job.starts is None:
        raise StoreError(
            f"this run resumes from the episodes of {job.settings.forked_from}: it is played as a "
            "part of its folder, by `toolhop ablate --resume` or `toolhop why --repair`"
        )
    if job.certificates is not None:
        from toolhop_agents.runs.scenarios import made  # numpy, only when used

        job = await made(job)
    job = replace(job, items=tuple(job.items))  # all are played, so create each only once
    async with AsyncExitStack() as stack:
        if job.store is not None:
            stack.enter_context(job.store.held())
        begun = _begun(job)
        episodes = sum(job.left_by_mode(begun.done).values())
        if not episodes and job.store is not None and job.settings.judge is None:
            return _nothing_left(job, job.store, begun)
        return await _RunSession(job, begun, episodes, stack).play(on_start, on_result, on_event)


@dataclass(frozen=True, slots=True)
class _Begun:
    """Progress made by earlier sessions of this run."""

    done: Progress
    spent: Spent


def _begun(job: Job) -> _Begun:
    if job.store is None:
        return _Begun(Progress(), Spent())
    tally = Tally(spent=job.store.judgements().spent)
    job.store.repair_index(tally.add)
    return _Begun(tally.progress(), tally.spent)


def _nothing_left(job: Job, store: RunStore, begun: _Begun) -> Run:
    """Return a run with nothing left to play, correcting its manifest if a kill left it
    unfinished.
    """
    whole = all(unit.key in begun.done.finished for unit in job.work)
    facts = store.manifest
    if whole and facts.get("status") != "success":
        facts = manifests.begun_again(facts, job.changed)
        sandbox = store.manifest.get("sandbox", {})
        store.write_manifest(
            manifests.ended(facts, status="success", sandbox=sandbox, spent=begun.spent)
        )
    status: Status = "success" if whole else "sampled"
    with Packer(store, url=job.settings.segments_to) as packer:
        packer.close()
    return Run(store, status, spent=begun.spent, unpacked=packer.fault)


class _RunSession:
    """One session of a run: opens resources, plays, and records how it ended."""

    def __init__(self, job: Job, begun: _Begun, episodes: int, stack: AsyncExitStack) -> None:
        self._job, self._begun, self._episodes, self._stack = job, begun, episodes, stack
        self._at_a_time = episodes_at_a_time(job.settings)
        self._connections = Connections(job.settings.max_connections or self._at_a_time)
        self._ledger = Ledger(job.settings.run_limits, begun.spent)
        self._scored, self._last_errored = bool(begun.done.finished), ""

    async def play(
        self, on_start: Callable[[Plan], None], on_result: Callable[[Attempt], None], on_event: Sink
    ) -> Run:
        """Play the remaining episodes."""
        job = self._job
        watch = self._stack.enter_context(exported(job.settings))
        places, judge = await self._open()
        store, facts = self._folder(places.description)
        packer = self._stack.enter_context(Packer(store, url=job.settings.segments_to))

        def finished(attempt: Attempt) -> None:
            packer.finished()
            if isinstance(attempt.verdict, Errored):
                self._last_errored = attempt.verdict.reason
            else:
                self._scored = True
            on_result(attempt)

        executor = Executor(
            job.settings, places, store, finished, self._ledger, job.starts, judge, watch, on_event
        )
        on_start(Plan(self._episodes, str(store.folder)))
        left = job.left(self._begun.done)
        status, fault, stopped_by = await _play(
            executor, left, min(self._at_a_time, max(1, self._episodes))
        )
        if status == "success" and self._last_errored and not self._scored:
            status, fault = "error", f"all {self._episodes} errored: {self._last_errored}"
        await to_thread.run_sync(partial(packer.close, at_once=status != "success"))
        if status == "success" and self._leaves_some():
            status = "sampled"
        rates = self._connections.rates if job.settings.model else None
        try:
            store.write_manifest(
                manifests.ended(
                    facts, status=status, fault=fault, stopped_by=stopped_by,
                    spent=self._ledger.spent, rates=rates, sandbox=places.description,
                    nodes=places.nodes_used,
                )
            )  # fmt: skip
        except StoreError as error:
            # For example, the disk is full. An earlier fault takes precedence.
            status, fault = "error", fault or _reported(error)
        return Run(store, status, fault, stopped_by, self._ledger.spent, packer.fault)

    def _leaves_some(self) -> bool:
        """Whether episodes will be left over because only a sample is played."""
        whole = replace(self._job, sample=None)
        return sum(whole.left_by_mode(self._begun.done).values()) > self._episodes

    async def _open(self) -> tuple[Places, Judge | None]:
        """Open the places where episodes are played, and the judge."""
        opened = list[tuple[Places, Judge | None]]()

        async def enter() -> None:
            settings = self._job.settings
            there = settings.executor == "ray"
            places = await (self._on_nodes() if there else self._here())
            judge = None
            if settings.judge is not None:
                opening = open_judge(
                    settings.judge,
                    base_url=settings.judge_base_url,
                    votes=settings.judge_votes,
                    cache=settings.cache,
                )
                judge = await self._stack.enter_async_context(opening)
            opened.append((places, judge))

        if await until_signal(enter):
            raise Interrupted
        return opened[0]

    def _given(self) -> Given:
        job = self._job
        earlier = simulated_before(job) if job.settings.simulator is not None else {}
        return Given(job.settings, tuple(job.items), job.answers, earlier)

    async def _here(self) -> Places:
        settings, address = self._job.settings, self._job.settings.base_url
        if settings.gguf is not None:
            address = await self._stack.enter_async_context(
                gguf.serving(
                    settings.gguf,
                    context=settings.gguf_context,
                    slots=self._at_a_time,
                    threads=settings.gguf_threads,
                    chat_template=settings.chat_template,
                )
            )
        workers = max(1, min(self._at_a_time, self._episodes))
        opening = open_means(self._given(), workers, self._connections, address)
        means = await self._stack.enter_async_context(opening)
        if settings.approve:
            stand_ins = replace(means.stand_ins, approver=TerminalApprover())
            means = replace(means, stand_ins=stand_ins)
        return Here(settings, means, self._ledger)

    async def _on_nodes(self) -> Places:
        opening = open_places(self._given(), self._ledger, self._connections, seats=self._at_a_time)
        places = await self._stack.enter_async_context(opening)
        self._at_a_time = places.nodes.room
        return places

    def _folder(self, sandbox: Mapping[str, JSON]) -> tuple[RunStore, dict[str, JSON]]:
        """Return the run's folder and manifest, creating them for a new run."""
        job = self._job
        if job.store is not None:
            facts = manifests.begun_again(job.store.manifest, job.changed)
            job.store.write_manifest(facts)
            return job.store, facts
        facts = manifest(job.settings, job.data, job.items, sandbox, job.left_out, job.scenarios)
        name = job.folder or folder_name(job.settings)
        store = RunStore.create(job.settings.log_dir, name, facts, job.items)
        self._stack.enter_context(store.held())
        return store, facts


async def _play(
    executor: Executor, work: Iterator[WorkUnit], at_a_time: int
) -> tuple[Status, str, str]:
    """Run the executor, and return the status, the reason and the limit that was reached."""

    async def play() -> None:
        await executor.judge_open()
        await executor.run(work, at_a_time)

    try:
        cut = await until_signal(play)
    except RunLimitReached as limit:
        return "limited", str(limit), limit.limit
    except Exception as error:
        log.debug("the run stopped", exc_info=True)
        return "error", _reported(error), ""
    return ("cancelled" if cut else "success"), "", ""


def _reported(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def episodes_at_a_time(settings: RunSettings) -> int:
    """Return the number of concurrent episodes."""
    if settings.approve:
        return 1
    if settings.max_samples is not None:
        return settings.max_samples
    if settings.gguf is not None:
        return 1  # one episode uses all processors
    return MODEL_EPISODES if settings.model else max(2, os.cpu_count() or 1)
