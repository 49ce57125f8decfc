"""`toolhop run`: play many episodes, show their progress, print the table."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import click
from click.core import ParameterSource
from dotenv import load_dotenv
from rich.console import Console

from toolhop_agents.cli import EXIT_EPISODES, INTERRUPTED
from toolhop_agents.cli.flags import Whole
from toolhop_agents.cli.json_output import json_option, table_format
from toolhop_agents.cli.options import (
    Sectioned,
    announce_default,
    config,
    options_of,
    resumed_settings,
    settings_of,
)
from toolhop_agents.cli.progress import Episodes, ErrorConsole, Steps
from toolhop_agents.cli.stored_addresses import of_run, resuming
from toolhop_agents.plain_summary import to_json
from toolhop_agents.runs.certified import marked, selected
from toolhop_agents.runs.diagnose_command import print_headlines, report_errored
from toolhop_agents.runs.execute import Plan, Run, execute
from toolhop_agents.runs.job import Job, prepare, resumed, sampled
from toolhop_agents.runs.job import settings_of as kept_settings
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.table import print_tables, table_console
from toolhop_agents.terminal import say
from toolhop_env.attempt import Attempt
from toolhop_env.diagnosis.diagnose import diagnose as diagnosed
from toolhop_env.runs.store import RunStore
from toolhop_env.summary import Summing
from toolhop_env.sums import in_run
from toolhop_tools.errors import counted
from toolhop_tools.model import ItemsOnDemand

PRINTED = 50
"""Maximum number of problems with left-out items that are printed; the manifest has all."""


# fmt: off
@click.command(cls=Sectioned, context_settings={"show_default": True})
@click.option("--config", type=click.Path(path_type=Path), callback=config, is_eager=True,
              expose_value=False, help="TOML file with flags as keys; the command line wins.")
@click.option("--resume", type=click.Path(path_type=Path), default=None, metavar="RUN",
              help="Resume a stopped run with its settings.")
@click.option("--dry-run", is_flag=True, help="Print what would be done, without doing it.")
@click.option("--estimate", type=Whole(min=2), is_flag=False, flag_value=10, default=None,
              metavar="[N]", help="Play N items (10) and estimate the rest.")
@table_format
@json_option
@click.pass_context
def run(
    ctx: click.Context, /, resume: Path | None, dry_run: bool, estimate: int | None,
    as_json: bool, **flags: Any,  # noqa: ANN401 -- click passes options of many types
) -> None:
    """Play many episodes and print the table.

    The run's folder is printed first. Everything finished stays in it, whatever happens, and
    --resume continues the run.
    """
    load_dotenv(Path(".env"))
    if estimate and dry_run:
        raise click.UsageError(
            "--dry-run plays nothing and --estimate plays items: give one of them"
        )
    if ctx.get_parameter_source("turn_limit") is ParameterSource.DEFAULT:
        del flags["turn_limit"]  # a benchmark may have its own limit
    job = _resumed(ctx, resume, flags) if resume else prepare(settings_of(ctx, flags))
    named = dict(job.settings) if resume else flags
    errors = ErrorConsole()
    if job.left_out:
        _print_left_out(errors, job)
    if dry_run:
        from toolhop_agents.runs.dry_run_view import print_plan  # numpy, only when used

        announce_default(named)
        print_plan(job, as_json=as_json)
        return
    if job.settings.pass_rate and not resume:
        low, high = job.settings.pass_rate
        say(f"pass rate {low:g}-{high:g} in {job.settings.profile}: "
            f"{len(job.items)} of {counted(len(job.data.items), 'item')}")
    job = _made(job, errors)
    if estimate:
        job = sampled(job, estimate)
    ended = _play(job, errors, named)
    _print_faults(errors, ended)
    if estimate:
        from toolhop_agents.runs.dry_run_view import print_estimate  # numpy, only when used

        print_estimate(job, ended, as_json=as_json, console=table_console())
        whole = _Whole(job, ended)
    else:
        whole = _Whole(job, ended)
        _print_figures(whole, ended, as_json=as_json)
        # Comparing would create each item of a lazy sequence.
        of = job.items if isinstance(job.data.items, ItemsOnDemand) else job.data.items
        selection = selected(job.items, of, job.settings.certified_only)
        if selection and not as_json:
            click.echo(selection)
    errored = whole.errored
    if not ended.fault:
        report_errored(errors, errored)
    if errored or ended.status != "success":
        again = resuming("run --resume", ended.store.folder, of_run(job.settings))
        errors.print(f"resume with: {again}", markup=False, highlight=False, soft_wrap=True)
    if ended.status == "cancelled":
        errors.print(f"interrupted: {whole.finished} of {len(job.work)} episodes are finished")
        sys.exit(INTERRUPTED)
    sys.exit(EXIT_EPISODES if ended.fault or errored else 0)


def _made(job: Job, errors: Console) -> Job:
    """Turn the job's items into scenarios if the settings ask for it."""
    if job.certificates is None:
        return job
    from toolhop_agents.cli.perturb import print_yields  # numpy, only when used
    from toolhop_agents.runs.scenarios import made

    with Steps(errors, "scenarios", len(job.items)) as steps:
        job = anyio.run(made, job, steps.step)
    print_yields(errors, job.scenarios or {})
    return job


def _play(job: Job, errors: Console, named: Mapping[str, Any]) -> Run:
    if job.settings.approve and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise click.UsageError("--approve asks a person, and this is not a terminal: leave it out")
    # A progress line would overwrite the questions to the user.
    shown = Console(quiet=True) if job.settings.approve else errors
    progress = Episodes(shown, job.settings.agent_name)

    def started(plan: Plan) -> None:
        announce_default(named)
        errors.print(f"run: {plan.folder}", markup=False, highlight=False, soft_wrap=True)
        progress.start(plan.episodes)

    with progress:
        return anyio.run(partial(execute, job, on_start=started, on_result=progress.result,
                                 on_event=progress.event))


class _Whole:
    """Streaming summary of the attempts that count; scored attempts are not kept."""

    def __init__(self, job: Job, ended: Run) -> None:
        self.sums = Summing()
        self.errored: list[Attempt] = []
        self.finished = 0
        for one in marked(ended.attempts, job.items):
            self.sums.add(one, in_run(one))
            self.finished += one.score is not None
            if one.score is None:
                self.errored.append(one)


def _print_figures(whole: _Whole, ended: Run, *, as_json: bool) -> None:
    summaries = whole.sums.summaries()
    findings = diagnosed({"": ended.store.traces()}, {"": ended.store.judgements()})
    if not as_json:
        print_tables(table_console(), summaries)
        print_headlines(table_console(), findings)
        for command in ("show", *(("diagnose",) if findings else ()), "report"):
            say(f"toolhop {command} {ended.store.folder}")
        return
    figures = {
        "run": str(ended.store.folder),
        "status": ended.status,
        "fault": ended.fault or None,
        "stopped_by": ended.stopped_by or None,
        "spent": asdict(ended.spent),
        "summaries": to_json(summaries),
        "findings": [finding.to_json() for finding in findings],
    }
    click.echo(json.dumps(figures, ensure_ascii=False))


def _print_faults(errors: Console, ended: Run) -> None:
    if ended.fault:
        what = "stopped" if ended.status == "limited" else "failed"
        errors.print(f"the run {what}: {ended.fault}", markup=False)
    if ended.unpacked:
        again = "`toolhop run --resume` tries again"
        errors.print(f"not all episodes are packed: {ended.unpacked}; {again}", markup=False)


def _print_left_out(errors: Console, job: Job) -> None:
    rows = sorted({problem.where for problem in job.left_out})
    errors.print(f"left out, as they cannot be used: {counted(len(rows), 'item')}", markup=False)
    for problem in job.left_out[:PRINTED]:
        errors.print(f"  {problem}", markup=False, highlight=False, soft_wrap=True)


# fmt: on
def _resumed(ctx: click.Context, folder: Path, flags: Mapping[str, Any]) -> Job:
    """Return the job of a run to resume, with its own settings and any permitted changes.

    Raises:
        click.UsageError: see `resumed_settings`.
        StoreError: the run cannot be read.
    """
    store = RunStore.open(folder)
    own = kept_settings(store)
    source = ctx.get_parameter_source
    given = {name: flags[name] for name in flags if source(name) is not ParameterSource.DEFAULT}
    wanted = resumed_settings(ctx, folder, own, given)
    return resumed(store, wanted)


run.params[1:1] = options_of(RunSettings)
