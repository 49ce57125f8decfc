"""Play an ablation: arm after arm, each as a run of its own.

A fork arm is played after the arm that it goes on from. Its episodes are those of that arm that
have a score and a failed call; each begins with the turns up to that call (`env.fork`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from agents.ablate.design import Ablation, Arm
from agents.ablate.folder import AblationFolder
from agents.ablate.pairs import Played, counting, played
from agents.runs.execute import Job, Plan, Run, execute, prepare, resumed
from agents.runs.resume import Kept, Key
from agents.runs.runner import Unit
from agents.runs.settings import OPERATIONAL, RunSettings
from agents.runs.store import RunStore, StoreError, read_trace
from env.fork import fork
from env.messages import Origin
from env.summary import Judged
from sandbox.outcome import JSON

FINISHED = "success"
"""The status of a run of which nothing is left to play."""


@dataclass(frozen=True, slots=True)
class Conducted:
    """An ablation that was played as far as it went."""

    folder: AblationFolder
    status: str
    """``success``, or how the arm ended that stopped it (`agents.runs.manifest.Status`)."""
    fault: str = ""


def check(ablation: Ablation) -> None:
    """See that every arm could be played, before anything is.

    Raises:
        ToolsError, UnknownAgent, DesignError, LevelError: one could not.
    """
    ablation.checked()
    for arm in ablation.arms:
        if not arm.forked:
            prepare(ablation.settings(arm))


async def conduct(
    folder: AblationFolder,
    *,
    on_arm: Callable[[Arm, Plan], None] = lambda _arm, _plan: None,
    on_result: Callable[[Judged], None] = lambda _: None,
) -> Conducted:
    """Play what is left of every arm. The first that does not come to its end ends it all.

    Raises:
        ToolsError, UnknownAgent, StoreError, SandboxUnavailable: see `execute`. StoreError also
            where another process plays it.
    """
    with folder.held():
        for arm in folder.ablation.arms:
            job = _job(folder, arm)
            if job is None:
                continue

            def started(plan: Plan, arm: Arm = arm) -> None:
                on_arm(arm, plan)

            run: Run = await execute(job, on_start=started, on_result=on_result)
            if run.status != FINISHED:
                return Conducted(folder, run.status, run.fault)
    return Conducted(folder, FINISHED)


def standing(folder: AblationFolder) -> str:
    """How far an ablation has come: ``success``, or the status of the first arm that has not."""
    for arm in folder.ablation.arms:
        store = folder.store(arm)
        if store is None and (not arm.forked or _parents(folder, arm)):
            return "started"
        if store is not None and store.manifest["status"] != FINISHED:
            return str(store.manifest["status"])
    return FINISHED


def _job(folder: AblationFolder, arm: Arm) -> Job | None:
    """What is to be played of an arm; None where it has no episode at all."""
    settings = folder.ablation.settings(arm).model_copy(update={"log_dir": folder.path})
    store = folder.store(arm)
    if not arm.forked:
        return _begun(folder, arm, store, settings)
    parents = _parents(folder, arm)
    if not parents:
        return None
    settings = settings.model_copy(update={"forked_from": _base(folder.ablation, arm).name})
    job = _begun(folder, arm, store, settings)
    return replace(job, only=frozenset(parents), starts=_Starts(folder.ablation, arm, parents))


def _begun(folder: AblationFolder, arm: Arm, store: RunStore | None, settings: RunSettings) -> Job:
    if store is not None:
        return resumed(store, settings, _changed(store, settings))
    folder.clear(arm)
    job = prepare(settings)
    first = folder.store(folder.ablation.arms[0])
    if first is not None and first.manifest["data"]["digest"] != job.data.digest:
        raise StoreError(
            f"the data {settings.data} is not what {first.folder} was played on: it was changed "
            "since; put it back, or start a new ablation"
        )
    return replace(job, folder=arm.name)


def _changed(store: RunStore, settings: RunSettings) -> dict[str, JSON]:
    """The settings that differ from those that the arm began with, for its manifest."""
    own, plain = store.manifest["settings"], settings.model_dump(mode="json")
    names = sorted(OPERATIONAL - {"log_dir"})
    return {name: plain[name] for name in names if plain[name] != own.get(name)}


def _base(ablation: Ablation, arm: Arm) -> Arm:
    return next(one for one in ablation.arms if not one.forked and one.level == arm.prefix)


def _parents(folder: AblationFolder, arm: Arm) -> Mapping[Key, tuple[str, Path]]:
    """By episode what its branch goes on from: the name by which it is told, and the trace."""
    base = _base(folder.ablation, arm)
    store = folder.store(base)
    if store is None:
        raise StoreError(f"{folder.path} has no {base.name}, which {arm.name} goes on from")
    found = counting(_episodes(base, store)).values()
    mode = folder.ablation.base.modes[0].value
    return {
        (one.item, mode, one.epoch): (f"{base.name}/{one.episode}", store.path(one.episode))
        for one in found
        if one.failure is not None and not one.void
    }


def _episodes(arm: Arm, store: RunStore) -> Iterator[Played]:
    for trace in store.traces():
        yield played(trace, arm.name)


@dataclass(frozen=True, slots=True)
class _Starts:
    """What each branch of a fork arm begins with."""

    ablation: Ablation
    arm: Arm
    parents: Mapping[Key, tuple[str, Path]]

    def __call__(self, unit: Unit) -> Kept:
        """See `Runner.starts`. The parent's trace is read when its branch begins."""
        origin, path = self.parents[unit.key]
        found = fork(read_trace(path), self.ablation.verbosity(self.arm.level), origin=origin)
        if found is None:
            raise StoreError(f"{path} has no failed call any more: it was changed")
        reply = found.reply and replace(found.reply, origin=Origin.RESUMED)
        return Kept(found.kept, reply)
