"""`toolhop show`: read a run, or one of its episodes, in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from agents.cli import EXIT_USAGE
from agents.runs.index import Attempt
from agents.runs.store import EPISODES, MANIFEST, RunStore, read_trace
from agents.table import table_console
from agents.terminal import plain
from agents.trace_view import episode_lines
from env.score import Score, Void
from env.summary import Judged
from env.trace import to_line

FRAMED = 500
"""Episodes that are listed in a framed table; more come as plain lines, at once."""
FINDINGS = 5
"""Findings about the harness that a framed list ends with."""
WORDS = ("episode", "mode", "ending", "official", "strict")
NUMBERS = ("turns", "calls", "failed", "hops", "seconds")


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

    def fits(one: Attempt) -> bool:
        judged = one.judged
        return (
            (mode is None or judged.mode == mode)
            and (epoch is None or judged.epoch == epoch)
            and (item is None or item in {judged.item, judged.episode})
            and (not failed or _failed(judged))
        )

    attempts = [one for one in _attempts(run) if fits(one)]
    if not attempts:
        what = f"no episode of {item}" if item else "no episode"
        click.echo(f"toolhop: {run} has {what} that fits; `toolhop show {run}` lists all", err=True)
        sys.exit(EXIT_USAGE)
    if item is None and run.is_dir() and not as_json:
        if len(attempts) <= FRAMED:
            table_console().print(_episodes(attempts))
            if mode is None and epoch is None and not failed:
                _print_findings(run)
        else:
            _print_plain(attempts)
        return
    for attempt in attempts:
        trace = read_trace(run if run.is_file() else run / EPISODES / attempt.file)
        if as_json:
            sys.stdout.buffer.writelines(to_line(event) for event in trace.events)
        else:
            table_console().print(*episode_lines(trace), sep="\n")


def _print_findings(run: Path) -> None:
    """The headlines of the run's diagnosis, if it has any; it reads every trace."""
    from agents.cli.diagnose import headline
    from agents.diagnosis.diagnose import diagnose

    findings = diagnose({str(run): RunStore.open(run).traces()})
    console = table_console()
    for finding in findings[:FINDINGS]:
        console.print(headline(finding))
    if findings:
        told = f"{len(findings)} findings about the harness: toolhop diagnose {run}"
        console.print(plain(told, "dim"))


def _attempts(run: Path) -> Iterator[Attempt]:
    """From the index where RUN is a folder: thousands are listed without reading a trace."""
    if run.is_file() and run.name != MANIFEST:
        trace = read_trace(run)
        if trace.events:
            yield Attempt.of(run.name, trace)
        return
    yield from RunStore.open(run).attempts()


def _failed(judged: Judged) -> bool:
    return isinstance(judged.verdict, Void) or not judged.verdict.strict


def _episodes(attempts: Sequence[Attempt]) -> Table:
    table = Table()
    for name in WORDS:
        table.add_column(name, no_wrap=name == "episode", overflow="fold")
    for name in NUMBERS:
        table.add_column(name, justify="right")
    for attempt in attempts:
        void = isinstance(attempt.judged.verdict, Void)
        table.add_row(*_row(attempt), style="dim" if void else None)
    return table


def _print_plain(attempts: Sequence[Attempt]) -> None:
    """The same without a frame: a table that is laid out as a whole takes seconds for thousands."""
    rows = [WORDS + NUMBERS, *(tuple(map(str, _row(attempt))) for attempt in attempts)]
    width = max(len(row[0]) for row in rows)
    for row in rows:
        words = f"{row[0]:{width}}  {row[1]:9}  {row[2]:14}"
        rest = [f"{cell:8}" for cell in row[3:5]] + [f"{cell:>7}" for cell in row[5:]]
        click.echo("  ".join([words, *rest]).rstrip())


def _row(attempt: Attempt) -> tuple[str | Text, ...]:
    judged, verdict = attempt.judged, attempt.judged.verdict
    head = (plain(judged.episode), judged.mode)
    if isinstance(verdict, Void):
        return (*head, plain(f"void: {verdict.reason}"[:60]))
    return (*head, *_cells(verdict))


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
