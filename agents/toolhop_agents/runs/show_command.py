"""`toolhop show`: read a run, or one of its episodes, in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click
from rich.text import Text

from toolhop_agents.cli import EXIT_USAGE
from toolhop_agents.cli.flags import Whole
from toolhop_agents.cli.json_output import json_option
from toolhop_agents.stacked import StackedTable
from toolhop_agents.table import table_console, value_text
from toolhop_agents.terminal import natural, plain, say
from toolhop_agents.trace_view import episode_lines
from toolhop_env.attempt import Attempt, attempt_of
from toolhop_env.benchmarks import named
from toolhop_env.measures import Measure
from toolhop_env.runs.catalog import read_trace
from toolhop_env.runs.files import MANIFEST, StoreError
from toolhop_env.runs.store import RunStore
from toolhop_env.trace import to_line
from toolhop_tools.errors import counted

FRAMED = 500
"""Maximum number of episodes in a framed table; longer lists are printed as plain lines at once."""
FINDINGS = 5
"""Maximum number of findings about the harness after a framed list."""
WORDS = ("episode", "mode", "ending")
NUMBERS = ("turns", "calls", "failed", "seconds")


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("item", required=False)
@click.option("--mode", default=None, help="Only episodes in this mode.")
@click.option("--epoch", type=Whole(1), default=None, help="Only this epoch.")
@click.option(
    "--failed",
    is_flag=True,
    help="Only episodes that are errored or wrong.",
)
@json_option
def show(
    run: Path, item: str | None, mode: str | None, epoch: int | None, failed: bool, as_json: bool
) -> None:
    """List the episodes of RUN, or read those of ITEM. RUN may also be one trace file.

    ITEM is an item's id, or an episode's as the list shows it.
    """

    def fits(one: Attempt) -> bool:
        return (
            (mode is None or one.mode == mode)
            and (epoch is None or one.epoch == epoch)
            and (item is None or item in {one.item, one.episode})
            and (not failed or _failed(one))
        )

    faults: list[StoreError] = []
    attempts = [one for one in _attempts(run, item or "", faults.append) if fits(one)]
    for fault in faults:
        say(f"toolhop: left out: {fault}")
    if not attempts and run.is_file():
        say(f"toolhop: {run} holds no episode; give a trace of `episodes/`, or a run's folder")
        sys.exit(EXIT_USAGE)
    attempts.sort(key=lambda one: natural(one.episode))
    if not attempts:
        given = [f"of {item}"] if item else []
        given += [f"in mode {mode}"] if mode else []
        given += [f"of epoch {epoch}"] if epoch is not None else []
        given += ["that is errored or wrong"] if failed else []
        what = " ".join(["no episode", *given])
        say(f"toolhop: {run} has {what}; `toolhop show {run}` lists all")
        sys.exit(EXIT_USAGE)
    if item is None and run.is_dir() and not as_json:
        if len(attempts) <= FRAMED:
            table_console().print(_episodes(attempts))
            if mode is None and epoch is None and not failed:
                _print_findings(run)
        else:
            _print_plain(attempts)
        sys.exit(EXIT_USAGE if faults else 0)
    for attempt in attempts:
        trace = read_trace(run) if run.is_file() else RunStore(run).trace(attempt)
        if as_json:
            sys.stdout.buffer.writelines(to_line(event) for event in trace.events)
        else:
            table_console().print(*episode_lines(trace), sep="\n")
    sys.exit(EXIT_USAGE if faults else 0)


def _print_findings(run: Path) -> None:
    """Print the headlines of the run's diagnosis, if any. Reads every trace.

    An unreadable trace is reported on stderr but is not an error, since the list itself is
    complete.
    """
    from toolhop_agents.runs.diagnose_command import headline
    from toolhop_env.diagnosis.diagnose import diagnose

    store = RunStore.open(run)
    try:
        findings = diagnose({"run": store.traces()}, {"run": store.judgements()})
    except StoreError as error:
        say(f"toolhop: findings about the harness are left out: {error}")
        return
    console = table_console()
    for finding in findings[:FINDINGS]:
        console.print(headline(finding))
    if findings:
        text = f"{counted(len(findings), 'finding')} about the harness: toolhop diagnose {run}"
        console.print(plain(text, "dim"), soft_wrap=True)


def _attempts(run: Path, item: str, faults: Callable[[StoreError], None]) -> Iterator[Attempt]:
    """Yield a run's attempts, from the index if RUN is a folder, which avoids reading thousands
    of traces.
    """
    if run.is_file() and run.name != MANIFEST:
        trace = read_trace(run)
        if trace.events:
            yield attempt_of(trace, file=run.name)
        return
    yield from RunStore.open(run).attempts(item, faults)


def _failed(one: Attempt) -> bool:
    lead = named(one.benchmark).lead
    return one.score is None or (lead.binary and not lead.holds(one.score))


def _measures(attempts: Sequence[Attempt]) -> list[Measure]:
    """Return the measures to show as columns: those of the episodes' benchmarks."""
    names = dict.fromkeys(one.benchmark for one in attempts)
    of = [named(name) for name in names]
    # Official and strict measures together do not fit a line, so show those of the answers.
    found = {
        m.name: m
        for one in of
        for m in one.measures
        if m.in_tables and (not m.topic or m in one.answer_measures)
    }
    return list(found.values())


def _episodes(attempts: Sequence[Attempt]) -> StackedTable:
    measures = _measures(attempts)
    table = StackedTable(drop=_spare(measures))
    for name in WORDS:
        table.add_columns(name, prose=name == "ending")
    for measure in measures:
        table.add_columns(measure.heading, right=not measure.binary)
    table.add_columns(*NUMBERS, right=True)
    for attempt in attempts:
        table.add_row(*_row(attempt, measures), style="dim" if attempt.errored else "")
    return table


def _spare(measures: Sequence[Measure]) -> Sequence[str]:
    """Return the columns that a narrow list drops, in order."""
    return ("mode", "seconds", *(one.heading for one in measures[:0:-1]), *NUMBERS[2::-1])


def _print_plain(attempts: Sequence[Attempt]) -> None:
    """Print the list without a frame: laying out thousands of rows as a table takes seconds."""
    measures = _measures(attempts)
    head = (*WORDS, *(measure.heading for measure in measures), *NUMBERS)
    rows = [head, *(tuple(map(str, _row(attempt, measures))) for attempt in attempts)]
    widths = {
        name: max((len(row[n]) for row in rows if n < len(row)), default=0)
        for n, name in enumerate(head)
    }
    widths["ending"] = 14  # reasons of errored episodes are longer, but nothing follows them
    for name in _spare(measures):
        if sum(widths.values()) + 2 * len(widths) <= table_console().width:
            break
        del widths[name]
    for row in rows:
        cells = zip(head, row, strict=False)
        shown = [f"{cell:{widths[name]}}" for name, cell in cells if name in widths]
        click.echo("  ".join(shown).rstrip())


def _row(one: Attempt, measures: Sequence[Measure]) -> tuple[str | Text, ...]:
    head = (plain(one.episode), one.mode)
    if one.score is None:
        return (*head, plain(f"errored: {one.errored}"[:60]))
    conduct = one.score.conduct
    return (
        *head,
        conduct.ending.value,
        *(value_text(measure, one.score) for measure in measures),
        str(conduct.turns),
        str(conduct.calls),
        str(conduct.failed_calls),
        f"{conduct.wall_s:.3f}",
    )
