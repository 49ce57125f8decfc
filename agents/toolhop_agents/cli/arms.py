"""Play a folder's runs one after another, and say how that ended."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import anyio

from toolhop_agents.ablate.conduct import FINISHED
from toolhop_agents.cli import EXIT_EPISODES, INTERRUPTED
from toolhop_agents.cli.progress import Episodes, ErrorConsole
from toolhop_agents.cli.stored_addresses import of_run, resuming
from toolhop_agents.runs.diagnose_command import report_errored
from toolhop_agents.runs.execute import Plan, Run, execute
from toolhop_agents.runs.job import Job
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.terminal import say
from toolhop_env.runs.files import held
from toolhop_env.runs.progress import progress
from toolhop_env.runs.store import RunStore
from toolhop_tools.errors import counted


@dataclass(frozen=True, slots=True)
class Ended:
    """The outcome of playing a folder's runs, complete or not."""

    status: str = FINISHED
    """``success``, or the status of the run that stopped it
    (`toolhop_agents.runs.manifest.Status`)."""
    fault: str = ""
    how_far: str = ""
    """Finished episodes of the run that stopped it, in words."""


def play(folder: Path, agent: str, jobs: Iterable[tuple[str, Job]]) -> Ended:
    """Play named runs with a progress line each, and stop at the first that does not finish.

    The folder is locked, as beginning a run may clear a part of it. A job is asked for when the
    runs before it are finished.

    Raises:
        ToolsError, UnknownAgent, StoreError, SandboxUnavailable: see `execute`. StoreError also if
            another process is playing the folder.
    """
    with held(folder):
        for name, job in jobs:
            run = anyio.run(_played, name, agent, job)
            if run.status != FINISHED:
                finished = len(progress(run.attempts).finished)
                wanted = sum(1 for _ in job.left(progress([])))
                how_far = f"{finished} of {wanted} episodes of {name} are finished"
                return Ended(run.status, run.fault, how_far)
    return Ended()


async def _played(name: str, agent: str, job: Job) -> Run:
    if job.certificates is not None:
        say(f"{name}: made of {len(job.items)} items")
    with ExitStack() as stack:
        shown = Episodes(ErrorConsole(), agent)

        def started(plan: Plan) -> None:
            say(f"{name}: {counted(plan.episodes, 'episode')}")
            stack.enter_context(shown).start(plan.episodes)

        return await execute(job, on_start=started, on_result=shown.result, on_event=shown.event)


def leave(
    command: str, folder: Path, settings: RunSettings, ended: Ended, stores: Iterable[RunStore]
) -> None:
    """Say why runs are not complete and which command resumes them, and exit.

    Return if all are complete, without errored episodes.
    """
    errored = [attempt for store in stores for attempt in store.results() if attempt.errored]
    if ended.status == FINISHED and not errored:
        return
    if ended.status != FINISHED:
        stopped = f"stopped ({ended.status}): {ended.fault}" if ended.fault else "interrupted"
        say(f"{stopped}: {ended.how_far}")
    if not ended.fault:
        report_errored(ErrorConsole(), errored)
    say(f"resume with: {resuming(command, folder, of_run(settings))}")
    sys.exit(INTERRUPTED if ended.status == "cancelled" else EXIT_EPISODES)
