"""Play the continuations of lost episodes, stage by stage; each side of a stage is a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

from toolhop_agents.ablate.conduct import FINISHED, changed
from toolhop_agents.ablate.folder import clear
from toolhop_agents.runs.execute import Plan, Run, execute
from toolhop_agents.runs.job import Job, resumed
from toolhop_agents.runs.resume import Prefix
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.runs.unit import WorkUnit
from toolhop_agents.why.cause import Stage
from toolhop_agents.why.folder import SIDES, Arm, Fork, Lost, State, begun_arms
from toolhop_agents.why.steps import branch
from toolhop_env.attempt import Attempt, Key
from toolhop_env.episode import Sink
from toolhop_env.messages import Origin
from toolhop_env.runs.files import held
from toolhop_env.spending import Spent, spent_on


def estimated(lost: Iterable[Lost], continuations: int) -> Spent:
    """Return what the first stage takes if continuations take what the episodes took.

    As played, the diverging turn is asked for anew; repaired, only the turns after it.
    """
    total = Spent()
    for one in lost:
        for side in range(len(SIDES)) if one.repairs else ():
            replies = [event.reply for event in one.trace.replies]
            replies = replies[one.repairs[0].turn - 1 + side :] or replies[-1:]
            asked = [replace(reply, origin=Origin.ASKED, retries=0) for reply in replies]
            total += spent_on(asked * continuations)
    return total


async def conduct(
    state: State,
    settings: RunSettings,
    on_arm: Callable[[Arm, Plan], None],
    on_result: Callable[[Attempt], None],
    on_event: Sink,
) -> tuple[State, Run | None]:
    """Play what is left. Return the folder as it then stands, and the run that stopped, if any.

    Raises:
        ToolsError, UnknownAgent, StoreError, SandboxUnavailable: see `execute`. StoreError also if
            another process is playing the folder.
    """
    with held(state.folder):
        for stage in Stage:
            forks = state.forks(stage)
            for side in SIDES if forks else ():
                job = _job(state, (stage, side), forks, settings)
                started = partial(on_arm, (stage, side))
                run = await execute(job, on_start=started, on_result=on_result, on_event=on_event)
                if run.status != FINISHED:
                    return State(state.folder), run
            state = State(state.folder) if forks else state
    return state, None


def _job(state: State, arm: Arm, forks: Mapping[Key, Fork], settings: RunSettings) -> Job:
    """Return the work left on one side of a stage."""
    (stage, side), stores = arm, begun_arms(state.folder)
    origin = "-".join((Stage.FIRST, SIDES[1])) if stage is Stage.BOTH else state.repairs.run
    others = (one.spent for at, run in stores.items() if at != arm for one in run.attempts())
    spent = sum(others, Spent())
    used = (("token", spent.tokens, 1), ("call", spent.calls, 1), ("cost", spent.cost_usd, 1e-9))
    left = {}
    for name, taken, least in used:  # the limits hold for all runs together, and are above 0
        limit = getattr(settings, f"run_{name}_limit")
        left[f"run_{name}_limit"] = limit and max(limit - (taken or 0), least)
    own = {"log_dir": state.folder, "forked_from": origin, **left}
    settings = settings.model_copy(update=own)
    if (store := stores.get(arm)) is not None:
        job = resumed(store, settings, changed(store, settings))
    else:
        clear(state.folder / "-".join(arm))
        job = replace(resumed(state.run, settings, {}), store=None, folder="-".join(arm))
    return replace(job, only=frozenset(forks), starts=partial(_start, forks, side))


def _start(forks: Mapping[Key, Fork], side: str, unit: WorkUnit) -> Prefix:
    """Return the first turns of a continuation (`Executor.starts`)."""
    fork = forks[unit.key]
    origin = f"{fork.store.folder.name}/{fork.attempt.episode}"
    trace = fork.store.trace(fork.attempt)
    return branch(trace, fork.repair, origin=origin, repaired=side == SIDES[1])
