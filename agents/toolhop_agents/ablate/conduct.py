"""The arms of an ablation as runs that are left to play.

A fork arm is played after the arm that it resumes from. It resumes the episodes of that arm that
have a score and that the levels can differ in (`Ablation.branches_from`); each begins with the
turns that they share (`toolhop_env.fork`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from toolhop_agents.ablate.design import Ablation, Arm, Factor
from toolhop_agents.ablate.folder import AblationFolder, clear
from toolhop_agents.ablate.varied import DesignError
from toolhop_agents.benchmarks import binding_of
from toolhop_agents.benchmarks.binding import Binding
from toolhop_agents.runs.job import Job, prepare, resumed
from toolhop_agents.runs.resume import Prefix
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.runs.unit import WorkUnit
from toolhop_env.attempt import Attempt, Key
from toolhop_env.messages import Origin
from toolhop_env.pairs.pair import by_key
from toolhop_env.runs.files import StoreError
from toolhop_env.runs.store import RunStore

Parents: TypeAlias = Mapping[Key, tuple[RunStore, Attempt]]
FINISHED = "success"
"""Status of a run with nothing left to play."""


def check(ablation: Ablation) -> Ablation:
    """Check that every arm can be played, without playing; return the ablation with its data's
    modes.

    Raises:
        ToolsError, UnknownAgent, UnknownBenchmark, DesignError, LevelError: an arm cannot be
            played.
    """
    ablation.checked()
    for arm in ablation.arms:
        if not arm.forked:
            job = prepare(ablation.settings(arm))
    modes = job.settings.modes
    if len(modes) > 1:
        raise DesignError(
            f"an ablation has one mode, not {', '.join(modes)}; or compare --factor mode"
        )
    if ablation.factor is Factor.MODE:
        return ablation
    if ablation.factor is Factor.FEEDBACK and not _binding(job).can_call(modes[0]):
        raise DesignError(f"{modes[0]} mode makes no calls, so that feedback cannot matter there")
    return ablation.model_copy(update={"base": ablation.base.model_copy(update={"modes": modes})})


def usual_modes(settings: RunSettings) -> tuple[str, ...]:
    """Return the two modes that are compared by default for the data's benchmark.

    Raises:
        ToolsError, UnknownBenchmark: the data cannot be used.
    """
    return _binding(prepare(settings)).benchmark.modes[:2]


def _binding(job: Job) -> Binding:
    return binding_of(job.items[0].benchmark)


def jobs(folder: AblationFolder) -> Iterator[tuple[str, Job]]:
    """Yield what is left of each arm by its name, for `toolhop_agents.cli.arms.play`."""
    for arm in folder.ablation.arms:
        if (job := _job(folder, arm)) is not None:
            yield arm.name, job


def progress(folder: AblationFolder) -> str:
    """Return ``success``, or the status of the first unfinished arm."""
    for arm in folder.ablation.arms:
        store = folder.store(arm)
        if store is None and (not arm.forked or _parents(folder, arm)):
            return "started"
        if store is not None and store.manifest["status"] != FINISHED:
            return str(store.manifest["status"])
    return FINISHED


def _job(folder: AblationFolder, arm: Arm) -> Job | None:
    """Return the work left in an arm; None if it has no episodes."""
    settings = folder.ablation.settings(arm).model_copy(update={"log_dir": folder.path})
    store = folder.store(arm)
    if not arm.forked:
        return _begun(folder, arm, store, settings)
    parents = _parents(folder, arm)
    if not parents:
        return None
    settings = settings.model_copy(update={"forked_from": arm.base.name})
    job = _begun(folder, arm, store, settings)
    return replace(
        job, only=frozenset(parents), starts=partial(_start, folder.ablation, arm, parents)
    )


def _begun(folder: AblationFolder, arm: Arm, store: RunStore | None, settings: RunSettings) -> Job:
    if store is not None:
        return resumed(store, settings)
    clear(folder.path / arm.name)
    job = prepare(settings)
    first = folder.store(folder.ablation.arms[0])
    if first is not None and first.manifest["data"]["digest"] != job.data.digest:
        raise StoreError(
            f"the data {settings.data} is not what {first.folder} was played on: it was changed "
            "since; put it back, or start a new ablation"
        )
    return replace(job, folder=arm.name)


def _parents(folder: AblationFolder, arm: Arm) -> Parents:
    """Return the parent of each branch, by the branch's key."""
    store = folder.store(arm.base)
    if store is None:
        raise StoreError(f"{folder.path} has no {arm.base.name}, which {arm.name} resumes from")
    return {
        branch: (store, one)
        for key, one in by_key(store.attempts()).items()
        if folder.ablation.branches_from(one) and not one.errored
        for branch in folder.ablation.branches(key)
    }


def _start(ablation: Ablation, arm: Arm, parents: Parents, unit: WorkUnit) -> Prefix:
    """Return the first turns of a branch, read from its parent's trace on demand
    (`Executor.starts`).
    """
    store, parent = parents[unit.key]
    origin = f"{arm.base.name}/{parent.episode}"
    found = ablation.fork(store.trace(parent), arm, unit.item, origin=origin)
    if found is None:
        raise StoreError(
            f"{store.folder / parent.stored_at} has no failed call any more: it was changed"
        )
    reply = found.reply and replace(found.reply, origin=Origin.RESUMED)
    return Prefix(found.kept, reply)
