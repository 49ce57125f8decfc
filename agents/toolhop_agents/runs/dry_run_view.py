"""Output of `toolhop run --dry-run` (what would be played) and `--estimate` (what it will cost)."""

from __future__ import annotations

import json
from dataclasses import asdict

import click
from rich.console import Console

from toolhop_agents.runs.estimate import LEVEL, ExpectedTotal, RunEstimate, estimate
from toolhop_agents.runs.execute import Run, episodes_at_a_time
from toolhop_agents.runs.job import Job
from toolhop_agents.stacked import StackedTable
from toolhop_env.runs.progress import Progress, progress
from toolhop_env.sums import in_run
from toolhop_sandbox.outcome import JSON
from toolhop_tools.errors import counted
from toolhop_tools.model import by_id
from toolhop_tools.perturb.order import tool_order

SHOWN = 5
"""Item ids listed in the text output; the JSON lists all."""


def progress_of(job: Job) -> Progress:
    """Return the progress of the job's run, which is empty for a new run."""
    return progress(job.store.attempts() if job.store else ())


def print_plan(job: Job, *, as_json: bool) -> None:
    """Print the plan of a run."""
    if job.certificates is not None:
        _print_to_be_made(job, as_json=as_json)
        return
    left = job.left_by_mode(progress_of(job))
    facts: dict[str, JSON] = {
        "agent": job.settings.agent_name,
        "data": job.data.name,
        "items": list(by_id(job.items)),
        "left_out": [str(problem) for problem in job.left_out],
        "modes": list(job.settings.modes),
        "epochs": job.settings.epochs,
        "episodes": len(job.work),
        "left": dict(left),
        "at_a_time": episodes_at_a_time(job.settings),
        "settings": job.settings.model_dump(mode="json"),
    }
    if as_json:
        click.echo(json.dumps(facts, ensure_ascii=False))
        return
    ids = list(by_id(job.items))
    more = f", ... {ids[-1]}" if len(ids) > SHOWN else ""
    click.echo(f"agent: {job.settings.agent_name}")
    click.echo(
        f"data: {job.data.name}, {counted(len(ids), 'item')}: {', '.join(ids[:SHOWN])}{more}"
    )
    order = tool_order(job.settings.perturbation)
    click.echo(f"modes: {', '.join(left)}; epochs: {job.settings.epochs}; tools: {order} order")
    played = f", {len(job.work) - sum(left.values())} of them played" if job.store else ""
    click.echo(f"episodes: {len(job.work)}{played}; {facts['at_a_time']} at a time")
    click.echo("Nothing was asked and nothing was played. --estimate says what it will cost.")


def _print_to_be_made(job: Job, *, as_json: bool) -> None:
    """Print which items would be made into scenarios. Their number is known only after making
    them.
    """
    into, items = ", ".join(job.settings.into), [item.id for item in job.items]
    if as_json:
        settings = job.settings.model_dump(mode="json")
        facts = {"agent": job.settings.agent_name, "data": job.data.name, "made_of": items}
        click.echo(json.dumps({**facts, "settings": settings}, ensure_ascii=False))
        return
    click.echo(f"agent: {job.settings.agent_name}")
    click.echo(f"data: {job.data.name}; scenarios are made of {len(items)} items: {into}")
    click.echo("How many there will be is known once they are made, which takes no model.")
    click.echo("Nothing was asked and nothing was played. --estimate says what it will cost.")


def print_estimate(job: Job, ended: Run, *, as_json: bool, console: Console) -> None:
    """Print the estimated cost of the rest of a run after a sample was played.

    Raises:
        NothingToGoBy: no item of the sample has a score.
    """
    whole = Job(job.settings, job.data, job.items, store=ended.store)
    done = progress(ended.store.attempts())
    left = whole.left_by_mode(done)
    made = estimate(
        sorted(ended.attempts, key=in_run),
        left,
        items_left=len({unit.item.id for unit in whole.left(done)}),
        at_a_time=episodes_at_a_time(job.settings),
        seed=job.settings.seed,
        turn_limit=job.settings.turn_limit,
    )
    if as_json:
        plain = {
            "run": str(ended.store.folder),
            "status": ended.status,
            "fault": ended.fault or None,
        }
        click.echo(json.dumps({**plain, "level": LEVEL, "left": asdict(made)}))
        return
    if not any(left.values()):
        console.print("No episode is left to play, so that nothing more will be asked or paid for.")
        return
    console.print(_table(made))
    if made.errored:
        console.print(f"{made.errored} of the episodes played are errored, and tell nothing.")


def _table(made: RunEstimate) -> StackedTable:
    title = f"{made.episodes:,} episodes are left; estimated from {counted(made.items, 'item')}"
    table = StackedTable("to come", title=title)
    table.add_columns("expected", f"{LEVEL:.0%} interval", right=True)
    for name, interval, text in (
        ("requests", made.requests, "{:,.0f}"),
        ("input tokens", made.input_tokens, "{:,.0f}"),
        ("output tokens", made.output_tokens, "{:,.0f}"),
        ("cost", made.cost_usd, "${:,.4f}"),
        ("seconds", made.seconds, "{:,.1f}"),
    ):
        table.add_row(name, *_cells(interval, text))
    return table


def _cells(interval: ExpectedTotal | None, text: str) -> tuple[str, str]:
    if interval is None:
        return "unknown", "pass --price"
    if interval.low is None or interval.high is None:
        return text.format(interval.expected), "one item tells none"
    span = f"{text.format(interval.low)} to {text.format(interval.high)}"
    return text.format(interval.expected), span
