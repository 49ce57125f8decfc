"""A whole run: data, sandbox, agents and store put together. What `toolhop run` calls."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import anyio
from anyio import to_thread

from toolhop_agents.approval import TerminalApprover
from toolhop_agents.benchmarks import binding_of
from toolhop_agents.benchmarks.binding import Answers, Binding
from toolhop_agents.benchmarks.predictions import (
    PREFIX,
    Predicted,
    file_results,
    read_predictions,
    turns_of,
)
from toolhop_agents.extras import require
from toolhop_agents.judge.judges import Judge
from toolhop_agents.judge.open_judge import open_judge
from toolhop_agents.models import gguf
from toolhop_agents.models.clients import open_model
from toolhop_agents.models.rate import Connections
from toolhop_agents.models.reach import reach
from toolhop_agents.runs import manifest as manifests
from toolhop_agents.runs.executors.local import LocalExecutor
from toolhop_agents.runs.job import Job, prepare, simulated_before
from toolhop_agents.runs.ledger import Ledger, RunLimitReached
from toolhop_agents.runs.manifest import Status, folder_name, manifest
from toolhop_agents.runs.play import AgentSource, Means
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.runs.signals import Interrupted, until_signal
from toolhop_agents.runs.spans import exported
from toolhop_agents.runs.unit import WorkUnit, unit_seed
from toolhop_agents.scripted.choose import choose
from toolhop_agents.scripted.model import ScriptedModel
from toolhop_agents.simulator import ModelSimulator, ModelWording
from toolhop_env.attempt import Attempt
from toolhop_env.responders import StandIns
from toolhop_env.runs import elsewhere
from toolhop_env.runs.files import StoreError
from toolhop_env.runs.packing import Packer
from toolhop_env.runs.progress import Progress, Tally
from toolhop_env.runs.store import RunStore
from toolhop_env.spending import Spent
from toolhop_sandbox.choose import open_sandbox
from toolhop_sandbox.outcome import JSON
from toolhop_sandbox.pool import PooledSandbox
from toolhop_tools.model import Item

log = logging.getLogger(__name__)

MODEL_EPISODES = 10
"""Episodes at a time with a model behind a network, as peers default to."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run that has ended, or a session of it."""

    store: RunStore
    status: Status
    attempts: Sequence[Attempt]
    """The attempts that count, over all sessions."""
    fault: str = ""
    """Why it ended with an error, or which limit it met."""
    stopped_by: str = ""
    """The limit's setting, such as ``run_token_limit``."""
    spent: Spent = field(default_factory=Spent)
    """By all attempts of all sessions."""
    unpacked: str = ""
    """Why finished episodes were not packed, or segments not moved; empty where all went well."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is about to be played."""

    items: tuple[Item, ...]
    episodes: int
    """Episodes that are left to play."""
    at_a_time: int
    folder: str


async def execute(
    job: Job | RunSettings,
    *,
    on_start: Callable[[Plan], None] = lambda _: None,
    on_result: Callable[[Attempt], None] = lambda _: None,
) -> Run:
    """Play a run to its end, an interrupt, a limit, or a fault that stops it.

    Everything finished is kept in every case. SIGINT and SIGTERM end it cleanly.

    Raises:
        ToolsError, UnknownAgent, UnknownPrice, StoreError, SandboxUnavailable, SandboxFault: before
            anything was played.
        Interrupted: by a signal before anything was played.
        MissingExtra: segments are to be moved elsewhere, and fsspec is not installed.
    """
    job = prepare(job) if isinstance(job, RunSettings) else job
    if job.settings.segments_to is not None:
        require("fsspec", extra="fsspec", what="--segments-to")
        elsewhere.check(job.settings.segments_to)
    if job.settings.forked_from and job.starts is None:
        raise StoreError(
            f"this run resumes from the episodes of {job.settings.forked_from}: it is played as a "
            "part of its ablation, by `toolhop ablate --resume FOLDER`"
        )
    if job.certificates is not None:
        from toolhop_agents.runs.scenarios import made  # numpy, only when used

        job = await made(job)
    async with AsyncExitStack() as stack:
        if job.store is not None:
            stack.enter_context(job.store.held())
        begun = _begun(job)
        episodes = sum(1 for _ in job.left(begun.done))
        if not episodes and job.store is not None and job.settings.judge is None:
            return _nothing_left(job, job.store, begun)
        return await _RunSession(job, begun, episodes, stack).play(on_start, on_result)


@dataclass(frozen=True, slots=True)
class _Begun:
    """How far a run has come before this session."""

    done: Progress
    spent: Spent


def _begun(job: Job) -> _Begun:
    if job.store is None:
        return _Begun(Progress(), Spent())
    tally = Tally(spent=job.store.judgements().spent)
    job.store.repair_index(tally.add)
    return _Begun(tally.progress(), tally.spent)


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
    with Packer(store, url=job.settings.segments_to) as packer:
        packer.close()
    return Run(store, status, [*store.results()], spent=begun.spent, unpacked=packer.fault)


class _RunSession:
    """One session of a run: opens what it needs, plays, and writes down how it ended."""

    def __init__(self, job: Job, begun: _Begun, episodes: int, stack: AsyncExitStack) -> None:
        self._job, self._begun, self._episodes, self._stack = job, begun, episodes, stack
        self._at_a_time = episodes_at_a_time(job.settings)
        self._connections = Connections(job.settings.max_connections or self._at_a_time)
        self._ledger = Ledger(job.settings.run_limits, begun.spent)

    async def play(
        self, on_start: Callable[[Plan], None], on_result: Callable[[Attempt], None]
    ) -> Run:
        """Play what is left."""
        job = self._job
        watch = self._stack.enter_context(exported(job.settings))
        sandbox, means, judge = await self._open()
        store, facts = self._folder(sandbox)
        packer = self._stack.enter_context(Packer(store, url=job.settings.segments_to))

        def finished(attempt: Attempt) -> None:
            packer.finished()
            on_result(attempt)

        executor = LocalExecutor(job.settings, means, store, finished, self._ledger, judge=judge)
        executor.starts, executor.watch = job.starts or executor.starts, watch
        on_start(Plan(job.items, self._episodes, self._at_a_time, str(store.folder)))
        left = job.left(self._begun.done)
        status, fault, stopped_by = await _play(executor, left, self._at_a_time)
        await to_thread.run_sync(partial(packer.close, at_once=status != "success"))
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
            status, fault = "error", fault or _reported(error)
        results, spent = [*store.results()], self._ledger.spent
        return Run(store, status, results, fault, stopped_by, spent, packer.fault)

    def _leaves_some(self) -> bool:
        """Whether a sample is played, and not all that was left."""
        whole = replace(self._job, sample=None)
        return sum(1 for _ in whole.left(self._begun.done)) > self._episodes

    async def _open(self) -> tuple[PooledSandbox, Means, Judge | None]:
        job, opened = self._job, list[tuple[PooledSandbox, Means, Judge | None]]()
        settings = job.settings
        workers = max(1, min(self._at_a_time, self._episodes))
        binding = binding_of(job.items[0].benchmark)
        answers = _answers(settings, binding)

        async def enter() -> None:
            enter_context = self._stack.enter_async_context
            address = settings.base_url
            if settings.gguf is not None:
                address = await enter_context(
                    gguf.serving(
                        settings.gguf,
                        context=settings.gguf_context,
                        slots=self._at_a_time,
                        threads=settings.gguf_threads,
                        chat_template=settings.chat_template,
                    )
                )
            for name, place in (
                (settings.model, settings.base_url),
                (settings.simulator, settings.simulator_base_url),
                (settings.user_model, settings.user_model_base_url),
            ):
                if name and place:
                    await reach(name, place)
            sandbox = await enter_context(await sandbox_of(settings, workers))
            agents = await enter_context(_agents(job, binding, answers, self._connections, address))
            stand_ins = await open_stand_ins(settings, binding, self._stack)
            if settings.simulator is not None:
                stand_ins = replace(stand_ins, earlier=simulated_before(job))
            if settings.approve:
                stand_ins = replace(stand_ins, approver=TerminalApprover())
            judge = None
            if settings.judge is not None:
                opening = open_judge(
                    settings.judge,
                    base_url=settings.judge_base_url,
                    votes=settings.judge_votes,
                    cache=settings.cache,
                )
                judge = await enter_context(opening)
            own = None
            if answers is not None:
                own = partial(_from_file, answers, stand_ins)
            opened.append((sandbox, Means(sandbox, agents, stand_ins, own), judge))

        if await until_signal(enter):
            raise Interrupted
        return opened[0]

    def _folder(self, sandbox: PooledSandbox) -> tuple[RunStore, dict[str, JSON]]:
        """The run's folder and its manifest: a new one, or the one resumed."""
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


def _answers(settings: RunSettings, binding: Binding) -> Answers | None:
    """Those of the file that is played; None where no file is."""
    name = settings.agent_name
    if settings.model is not None or not name.startswith(PREFIX):
        return None
    return read_predictions(name, binding, None)


def _from_file(answers: Answers, stand_ins: StandIns, unit: WorkUnit, begun: int) -> StandIns:
    turns = turns_of(answers, unit.item.id, unit.mode) or ()
    return file_results(stand_ins, turns[begun:])


async def open_stand_ins(
    settings: RunSettings, binding: Binding, stack: AsyncExitStack
) -> StandIns:
    """Who answers tools that are no programs, and questions to the user, as the settings say.

    Args:
        settings: the run's.
        binding: of the benchmark that is played.
        stack: keeps open whom is asked.

    Raises:
        ModelFault: a model that is asked for cannot be had.
    """
    found = StandIns(described=binding.described)
    if settings.simulator is not None:
        model = open_model(settings.simulator, base_url=settings.simulator_base_url)
        found = replace(found, simulator=ModelSimulator(await stack.enter_async_context(model)))
    if settings.user_model is not None:
        model = open_model(settings.user_model, base_url=settings.user_model_base_url)
        found = replace(found, wording=ModelWording(await stack.enter_async_context(model)))
    return found


async def sandbox_of(settings: RunSettings, workers: int) -> PooledSandbox:
    """The sandbox that the settings ask for, not entered.

    Raises:
        SandboxUnavailable: it cannot be had here.
    """
    return await open_sandbox(
        settings.sandbox,
        limits=settings.tool_limits,
        policy=settings.policy,
        max_workers=workers,
        base=settings.sandbox_base,
        runtime=settings.runtime,
        transport=settings.transport,
    )


async def _play(
    executor: LocalExecutor, work: Iterator[WorkUnit], at_a_time: int
) -> tuple[Status, str, str]:
    """Run until done, interrupted, stopped by a limit or broken: how it ended, why, which limit."""

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
    """How many episodes are under way at once."""
    if settings.approve:
        return 1
    if settings.max_samples is not None:
        return settings.max_samples
    if settings.gguf is not None:
        return 1  # one takes all processors
    return MODEL_EPISODES if settings.model else max(2, os.cpu_count() or 1)


@asynccontextmanager
async def _agents(
    job: Job,
    binding: Binding,
    answers: Answers | None,
    connections: Connections,
    base_url: str | None,
) -> AsyncIterator[AgentSource]:
    """Clients of a model, or a scripted agent or a file's answer for each item."""
    settings, name = job.settings, job.settings.agent_name
    if answers is not None:
        yield lambda unit: Predicted(name, turns_of(answers, unit.item.id, unit.mode))
        return
    if settings.model is None:
        play = choose(settings.agent_name, binding.agents)
        yield lambda unit: ScriptedModel(
            settings.agent_name,
            play,
            unit.item,
            unit_seed(settings, unit),
            settings.call_format,
            binding.can_call(unit.mode),
        )
        return
    from toolhop_agents.runs.served import Served

    served = Served(settings, settings.model, connections, base_url)
    try:
        yield served.agent
    finally:
        with anyio.CancelScope(shield=True):
            await served.aclose()
