"""`toolhop show`: read a run, or one of its episodes, in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.table import Table

from agents.cli import EXIT_USAGE
from agents.store import MANIFEST, RunStore, read_trace
from agents.table import table_console
from agents.terminal import plain
from agents.trace_view import episode_lines
from env.score import Score, Void, score
from env.trace import Trace, to_line


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("item", required=False)
@click.option("--mode", default=None, help="Only episodes in this mode.")
@click.option("--epoch", type=int, default=None, help="Only this epoch.")
@click.option("--failed", is_flag=True, help="Only episodes that are void or strictly wrong.")
@click.option("--json", "as_json", is_flag=True, help="The events as JSON lines.")
def show(
    run: Path, item: str | None, mode: str | None, epoch: int | None, failed: bool, as_json: bool
) -> None:
    """List the episodes of RUN, or read those of ITEM. RUN may also be one trace file.

    ITEM is an item's id, or an episode's as the list shows it.
    """
    traces = [
        trace
        for trace in _traces(run)
        if (mode is None or trace.started.mode == mode)
        and (epoch is None or trace.started.epoch == epoch)
        and (item is None or item in {trace.started.item, trace.started.episode})
        and (not failed or _failed(trace))
    ]
    if not traces:
        what = f"no episode of {item}" if item else "no episode"
        click.echo(f"toolhop: {run} has {what} that fits; `toolhop show {run}` lists all", err=True)
        sys.exit(EXIT_USAGE)
    if as_json:
        for trace in traces:
            for event in trace.events:
                sys.stdout.buffer.write(to_line(event))
        return
    console = table_console()
    if item is None and run.is_dir():
        console.print(_episodes(traces))
        return
    for trace in traces:
        console.print(*episode_lines(trace), sep="\n")


def _traces(run: Path) -> list[Trace]:
    if run.is_file() and run.name != MANIFEST:
        return [read_trace(run)]
    return list(RunStore.open(run).traces())


def _failed(trace: Trace) -> bool:
    verdict = score(trace)
    return isinstance(verdict, Void) or not verdict.strict


def _episodes(traces: Sequence[Trace]) -> Table:
    table = Table()
    for name in ("episode", "mode", "ending", "official", "strict"):
        table.add_column(name)
    for name in ("turns", "calls", "failed", "hops", "seconds"):
        table.add_column(name, justify="right")
    for trace in traces:
        start, verdict = trace.started, score(trace)
        head = (plain(start.episode), start.mode)
        if isinstance(verdict, Void):
            table.add_row(*head, plain(f"void: {verdict.reason}"[:60]), style="dim")
        else:
            table.add_row(*head, *_cells(verdict))
    return table


def _cells(verdict: Score) -> tuple[str, ...]:
    official = "unset" if verdict.official is None else ("yes" if verdict.official else "no")
    return (
        verdict.ending.value,
        official,
        "yes" if verdict.strict else "no",
        str(verdict.turns),
        str(verdict.calls),
        str(verdict.failed_calls),
        f"{verdict.hops_solved}/{verdict.hops}",
        f"{verdict.wall_s:.3f}",
    )
