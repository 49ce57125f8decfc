"""The tables printed at the end of a run: the benchmark's measures, then costs of the episodes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import click
from rich.console import Console

from toolhop_agents.stacked import StackedTable
from toolhop_agents.table_forms import FORMAT, Form, TableConsole
from toolhop_env.benchmark import Benchmark
from toolhop_env.chain import Kind
from toolhop_env.estimates import Estimate
from toolhop_env.measures import (
    CONDUCT,
    FIRST,
    HAVING,
    INSTANCE_ERROR,
    QUERY_ERROR,
    Measure,
    Scorer,
    Unit,
)
from toolhop_env.score import Score
from toolhop_env.statistics.passing import KINDS, PassRate
from toolhop_env.summary import Summary
from toolhop_tools.perturb.order import tool_orders

FILE_WIDTH = 120
"""Width of a table written to a file or a pipe, in characters."""
PER_CENT = "per cent [95 % interval]"
INVOCATION_ERRORS = "Query, Instance: invocation error rate by question, by call."
"""Legend of the two columns that are named as in ToolHop's table 4."""
RowName: TypeAlias = tuple[str, ...]
"""Key of a row: agent, feedback level, tool-call format, tool perturbation and judge."""
RowLabels: TypeAlias = Mapping[RowName, str]
"""Labels of the rows."""


def percent(found: Estimate | PassRate | None, digits: int = 2) -> str:
    """Format a percentage with its interval, such as ``87.50 [82.9, 91.0]``; a dash for None."""
    if found is None:
        return "-"
    value = f"{100 * found.value:.{digits}f}"
    if found.low is None or found.high is None:
        return value
    return f"{value} [{100 * found.low:.1f}, {100 * found.high:.1f}]"


def mean(estimate: Estimate | None, digits: int = 2) -> str:
    """Format a mean; a dash for None."""
    return "-" if estimate is None else f"{estimate.value:.{digits}f}"


def shown(measure: Measure, estimate: Estimate | None, digits: int = 2) -> str:
    """Format an estimate in its measure's unit."""
    return percent(estimate, digits) if measure.unit is Unit.SHARE else mean(estimate, digits)


def value_text(measure: Measure, score: Score) -> str:
    """Format a measure of one episode's score: yes or no, counts, or a number."""
    parts = measure.of(score)
    if parts is None:
        return "-"
    if measure.binary:
        return "yes" if parts[0] else "no"
    if measure.unit is Unit.SHARE and parts[1] != 1:
        return f"{parts[0]:g}/{parts[1]:g}"
    return f"{parts[0] / parts[1]:.2f}" if parts[1] else "-"


def table_console() -> TableConsole:
    """Return a console on standard output that prints tables in the command's ``--format``.

    If standard output is not a terminal, the width is COLUMNS, or `FILE_WIDTH` if unset.
    """
    ctx = click.get_current_context(silent=True)
    form = ctx.meta.get(FORMAT, Form.TABLE) if ctx else Form.TABLE
    console = TableConsole(form)
    columns = os.environ.get("COLUMNS", "")
    given = int(columns) > 0 if columns.isdecimal() else console.is_terminal
    return console if given else TableConsole(form, width=FILE_WIDTH)


def labelled(summaries: Sequence[Summary]) -> RowLabels:
    """Return a label for each row: the agent, and whatever else distinguishes the rows."""
    names = list(dict.fromkeys(_name(one) for one in summaries))
    differ = [part for part in range(1, 6) if len({name[part] for name in names}) > 1]
    labels = {}
    for name in names:
        more = [name[part] or "no judge" for part in differ]
        labels[name] = f"{name[0]} ({', '.join(more)})" if more else name[0]
    return labels


def by_agent(summaries: Sequence[Summary]) -> RowLabels:
    """Return a label for each row: the agent alone, for names that are already distinct."""
    return {_name(one): one.group.agent for one in summaries}


def _name(one: Summary) -> RowName:
    group = one.group
    how = (group.feedback.value, group.call_format.value, group.perturbation)
    return (group.agent, *how, group.treatment or "as usual", group.judge)


def _order(summaries: Sequence[Summary]) -> str:
    """Return the tool order and the judges, for the title of the first table."""
    judges = dict.fromkeys(one.group.judge for one in summaries if one.group.judge)
    judged = f"; judged by {' and by '.join(judges)}" if judges else ""
    return tool_orders(one.group.perturbation for one in summaries) + judged


def answer_table(
    benchmark: Benchmark, summaries: Sequence[Summary], labels: RowLabels | None = None
) -> StackedTable:
    """Build the table of answer measures: a row per agent and measure, a column per mode.

    Query and Instance (ToolHop, table 4) come from the first mode with tool calls, because an
    invocation error needs an invocation. They are omitted if nothing was called.
    """
    scale = PER_CENT if benchmark.lead.unit is Unit.SHARE else "means"
    title = f"{benchmark.title}, {scale}; {_order(summaries)}"
    table = StackedTable(title=title, keys=2)
    table.add_columns("arm" if labels else "agent", "scorer", prose=True)
    table.add_columns(*benchmark.modes, right=True)
    called = any(one.figures[INSTANCE_ERROR.name] is not None for one in summaries)
    table.add_columns(*(("Query", "Instance") if called else ()), right=True)
    for name, agent in (labels or labelled(summaries)).items():
        by_mode = {s.group.mode: s for s in summaries if _name(s) == name}
        _add_rows(table, benchmark, agent, by_mode, called=called)
    return table


def _add_rows(
    table: StackedTable,
    benchmark: Benchmark,
    agent: str,
    by_mode: Mapping[str, Summary],
    *,
    called: bool,
) -> None:
    played = [by_mode[mode] for mode in benchmark.modes if mode in by_mode]
    calling = [one for one in played if one.figures[INSTANCE_ERROR.name] is not None]
    first = next(iter(calling or played), None)
    rates = (QUERY_ERROR, INSTANCE_ERROR) if called else ()
    errors = [percent(first.figures[one.name] if first else None) for one in rates]
    for number, measure in enumerate(benchmark.answer_measures):
        cells = [
            shown(measure, by_mode[mode].figures[measure.name]) if mode in by_mode else "-"
            for mode in benchmark.modes
        ]
        table.add_row("" if number else agent, measure.heading, *cells, *errors)
    if any(one.proven is not None and not _all_proven(one) for one in by_mode.values()):
        for measure in benchmark.answer_measures:
            cells = [_proven(by_mode.get(mode), measure) for mode in benchmark.modes]
            table.add_row("", f"{measure.heading}, proven items", *cells, *("" for _ in errors))


def _all_proven(one: Summary) -> bool:
    return one.proven == one.episodes - one.errored


def _proven(one: Summary | None, measure: Measure) -> str:
    """Format the figure over the items proven by certificates, and the number of these items."""
    if one is None or not one.proven:
        return "-"
    return f"{shown(measure, one.figures_proven[measure.name])} (n={one.proven})"


def detail_table(
    benchmark: Benchmark, summaries: Sequence[Summary], labels: RowLabels | None = None
) -> StackedTable:
    """Build the table of other measures, time and cost: a row per agent and mode."""
    known = {name for one in summaries for name, figure in one.figures.items() if figure}
    shown_elsewhere = (*benchmark.answer_measures, *_by_scorer(benchmark))
    others = [
        measure
        for measure in benchmark.measures
        if measure.in_tables and measure not in shown_elsewhere and measure.name in known
    ]
    conduct = [one for one in CONDUCT if one.name in ("turns", "calls")]
    table = StackedTable(title="Episodes", keys=2)
    table.add_columns("arm" if labels else "agent", prose=True)
    table.add_columns("mode")
    measures = [one.heading for one in others] + [one.name for one in conduct]
    # Agents without a model use no tokens and cost nothing.
    spent = any(one.spent.tokens or one.spent.cost_usd != 0 for one in summaries)
    paid = ("tokens", "seconds", "cost") if spent else ("seconds",)
    table.add_columns("played", "errored", *measures, *paid, right=True)
    labels = labels or labelled(summaries)
    for one in summaries:
        cost = "unknown" if one.spent.cost_usd is None else f"${one.spent.cost_usd:.4f}"
        cells = {
            "tokens": f"{one.spent.tokens:,}",
            "seconds": mean(one.figures["wall_s"], 3),
            "cost": cost,
        }
        table.add_row(
            labels[_name(one)],
            one.group.mode,
            str(one.episodes),
            str(one.errored),
            *(shown(measure, one.figures[measure.name]) for measure in (*others, *conduct)),
            *(cells[column] for column in paid),
        )
    return table


def _by_scorer(benchmark: Benchmark) -> list[Measure]:
    return [one for one in benchmark.measures if one.in_tables and one.topic]


def scorer_table(
    benchmark: Benchmark,
    summaries: Sequence[Summary],
    labels: RowLabels | None = None,
    *,
    by: str = "",
) -> StackedTable | None:
    """Build the table of official and strict figures for the same topics, one row below the other.

    Args:
        benchmark: benchmark of the summaries; without topics, its answer measures are side by side.
        summaries: summaries to show, each in one row, or in one row per scorer.
        labels: labels of the rows.
        by: what the summaries are split by, shown as a column. If empty, a benchmark without topics
            has no table.
    """
    measures = _by_scorer(benchmark) or (benchmark.answer_measures if by else ())
    if by:
        more = (one for one in benchmark.measures if one.in_tables and not one.topic)
        measures = list(dict.fromkeys((*measures, *more)))
    known = {name for one in summaries for name, figure in one.figures.items() if figure}
    measures = [one for one in measures if one.name in known]
    if not measures:
        return None
    modes = by != "mode" and len({one.group.mode for one in summaries}) > 1
    head = [*(["mode"] if modes else []), *([by, "n"] if by else [])]
    title = f"{benchmark.title} by {by or 'scorer'}"
    table = _scorer_columns(title, ["arm" if labels else "agent", *head], measures)
    labels = labels or labelled(summaries)
    for one in summaries:
        cells = [labels[_name(one)], *([one.group.mode] if modes else [])]
        cells += [one.group.part, str(one.episodes)] if by else []
        _add_by_scorer(table, cells, measures, one.figures)
    return table


def _scorer_columns(title: str, head: Sequence[str], measures: Sequence[Measure]) -> StackedTable:
    units = {one.topic or one.heading: one.unit for one in measures}
    others = [f"{name} in {unit}" for name, unit in units.items() if unit is not Unit.SHARE]
    title = ", ".join([title, "; ".join([PER_CENT, *others])])
    names = [*head, "scorer"] if any(one.topic for one in measures) else head
    table = StackedTable(title=title, keys=len(names), framed=False)
    for column in names:
        table.add_columns(column, right=column == "n", prose=column == head[0])
    table.add_columns(*units, right=True)
    return table


def _add_by_scorer(
    table: StackedTable,
    head: Sequence[str],
    measures: Sequence[Measure],
    figures: Mapping[str, Estimate | None],
) -> None:
    """Add a row for each scorer; measures without a topic are in the first row."""
    topics = dict.fromkeys(one.topic or one.heading for one in measures)
    scorers = list(dict.fromkeys(one.scorer for one in measures if one.topic))
    for number, scorer in enumerate(scorers or [Scorer.NEITHER]):
        found = {
            one.topic or one.heading: one
            for one in measures
            if (one.scorer == scorer if one.topic else not number)
        }
        cells = [
            shown(found[topic], figures.get(found[topic].name), digits=1) if topic in found else "-"
            for topic in topics
        ]
        start = ["" for _ in head] if number else head
        table.add_row(*start, *([scorer] if scorers else []), *cells)


def total_table(
    benchmark: Benchmark, summaries: Sequence[Summary], labels: RowLabels | None = None
) -> StackedTable | None:
    """Build the table of the benchmark's totals: figures over several modes or groups of items."""
    of_row = {_name(one): one.totals for one in summaries}
    names = {name for found in of_row.values() for one in found.values() for name in one}
    measures = [one for one in benchmark.measures if one.name in names]
    if not measures:
        return None
    head = ["arm" if labels else "agent", "total"]
    table = _scorer_columns(f"{benchmark.title}, totals", head, measures)
    labels = labels or labelled(summaries)
    for row, found in of_row.items():
        for number, (total, figures) in enumerate(found.items()):
            _add_by_scorer(table, ["" if number else labels[row], total], measures, figures)
    return table


PASSES = (
    "pass@2: the chance that at least one of 2 tries at an item is right; pass^2: that both are. "
    "Unbiased, from all tries; intervals over items."
)


def pass_table(
    benchmark: Benchmark, summaries: Sequence[Summary], labels: RowLabels | None = None
) -> StackedTable | None:
    """Build the table of pass@k and pass^k; None if no item was tried twice."""
    rates = [rate for one in summaries for kinds in one.passes.values() for of in kinds.values()
             for rate in of]  # fmt: skip
    if not rates:
        return None
    columns = [(kind, k) for k in sorted({rate.k for rate in rates} - {1}) for kind in KINDS]
    title = f"{benchmark.title}, tries, {PER_CENT}"
    table = StackedTable(title=title, keys=3)
    for column in ("arm" if labels else "agent", "mode", "scorer"):
        table.add_columns(column, prose=column != "mode")
    for kind, k in columns:
        table.add_columns(kind.replace("k", str(k)), right=True)
    labels = labels or labelled(summaries)
    headings = {measure.name: measure.heading for measure in benchmark.answer_measures}
    for one in summaries:
        for name, kinds in one.passes.items():
            found = {(kind, rate.k): rate for kind, rates in kinds.items() for rate in rates}
            cells = [percent(found.get(column)) for column in columns]
            table.add_row(labels[_name(one)], one.group.mode, headings[name], *cells)
    return table


def divergence_table(
    benchmark: Benchmark, summaries: Sequence[Summary], labels: RowLabels | None = None
) -> StackedTable | None:
    """Build the table of divergences, and of the paper's kinds of error; None without any."""
    table = StackedTable(title=f"{benchmark.title}, divergences, {PER_CENT}", keys=3)
    for column in ("arm" if labels else "agent", "mode", "kind"):
        table.add_columns(column, prose=column != "mode")
    table.add_columns("first", "in all", right=True)
    labels = labels or labelled(summaries)
    for one in summaries:
        found = one.figures.get
        rows = [(k.words, found(f"{FIRST}_{k}"), found(f"{HAVING}_{k}")) for k in Kind]
        own = map(benchmark.measure, benchmark.presentation.categories)
        rows += [(measure.heading, None, found(measure.name)) for measure in own]
        rows = [row for row in rows if row[2] and row[2].value]
        for number, (kind, *figures) in enumerate(rows):
            head = ("", "") if number else (labels[_name(one)], one.group.mode)
            table.add_row(*head, kind, *map(percent, figures))
    return table if table.row_count else None


def error_table(
    summaries: Sequence[Summary], labels: RowLabels | None = None
) -> StackedTable | None:
    """Build the table of failed calls by error code; None if no call failed."""
    if not any(summary.errors for summary in summaries):
        return None
    table = StackedTable("code", title="Failed calls by code")
    labels = labels or labelled(summaries)
    for one in summaries:
        table.add_columns(f"{labels[_name(one)]} {one.group.mode}", right=True)
    codes = sorted({code for summary in summaries for code in summary.errors})
    for code in codes:
        table.add_row(code.value, *(str(summary.errors.get(code, 0)) for summary in summaries))
    return table


def print_tables(
    console: Console, summaries: Sequence[Summary], labels: RowLabels | None = None
) -> None:
    """Print all tables with their legends.

    Args:
        console: console to print to.
        summaries: summaries to show; each benchmark has its own tables.
        labels: labels of the rows, for comparisons of arms; built by `labelled` if None.
    """
    if not summaries:
        console.print("No episode was finished.")
        return
    for name in dict.fromkeys(one.group.benchmark for one in summaries):
        these = [one for one in summaries if one.group.benchmark == name]
        console.print(answer_table(these[0].benchmark, these, labels))
        if any(one.figures[INSTANCE_ERROR.name] is not None for one in these):
            console.print(INVOCATION_ERRORS, style="dim")
        if all(map(_all_proven, these)):
            console.print("All items are proven.", style="dim")
        for table in (scorer_table, total_table, pass_table, detail_table, divergence_table):
            _print_next(console, table(these[0].benchmark, these, labels))
            if table is pass_table and any(one.passes for one in these):
                console.print(PASSES, style="dim")
    _print_next(console, error_table(summaries, labels))
    _print_cached(console, summaries)
    if unanswered := sum(summary.no_reply for summary in summaries):
        console.print(
            f"{unanswered} of {sum(s.episodes for s in summaries)} episodes have no reply, and "
            "count as wrong where a figure has them: an answer that a file lacks, or a limit "
            "reached before the first reply."
        )
    if left_out := sum(summary.no_official for summary in summaries):
        console.print(
            f"Official figures leave out {left_out} of {sum(s.episodes for s in summaries)} "
            "episodes: no reply, a reply at which the official code stops, a judge that has not "
            "answered, or a mode that is not official."
        )
    errored = sum(summary.errored for summary in summaries)
    if errored:
        are = "episode is" if errored == 1 else "episodes are"
        console.print(f"{errored} {are} errored: faults of the harness, in no mean.")


def _print_next(console: Console, table: StackedTable | None) -> None:
    if table is not None:
        console.print()
        console.print(table)


def _print_cached(console: Console, summaries: Sequence[Summary]) -> None:
    cached = sum(summary.spent.cached_replies for summary in summaries)
    if not cached:
        return
    tokens = sum(summary.spent.saved_tokens for summary in summaries)
    prices = [summary.spent.saved_usd for summary in summaries]
    known = [price for price in prices if price is not None]
    worth = f"${sum(known):.4f}" if len(known) == len(prices) else "an unknown price"
    console.print(
        f"{cached:,} replies came from the response cache: {tokens:,} tokens and {worth} that "
        "were not spent, and are in no sum above."
    )
