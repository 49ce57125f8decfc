"""Comparisons as terminal tables."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import replace

from rich.console import Console, RenderableType
from rich.text import Text

from toolhop_agents.compare.cells import (
    RIGHT_TO_WRONG,
    WRONG_TO_RIGHT,
    amount,
    change,
    difference,
    discordant_counts,
    interval,
    lost,
    p_value,
    table_of,
)
from toolhop_agents.compare.conditions import is_fork_of
from toolhop_agents.compare.pairing import Pairing
from toolhop_agents.compare.published import Reference
from toolhop_agents.compare.report import ALL, Comparison, ComparisonReport, Passing, Stratum
from toolhop_agents.stacked import StackedTable
from toolhop_agents.table import PER_CENT, percent, shown
from toolhop_agents.terminal import plain, visible
from toolhop_env.estimates import Estimate
from toolhop_env.measures import Measure, Unit
from toolhop_env.pairs.line import Line, Method, disagreements
from toolhop_env.pairs.pair import Pair
from toolhop_env.pairs.totals import TotalLine
from toolhop_env.runs.sides import Side
from toolhop_env.statistics.bootstrap import LEAST_CLUSTERS
from toolhop_tools.errors import counted
from toolhop_tools.perturb.order import tool_orders

ANSWER_CHARS = 70
"""Maximum length of an answer in the list of discordant pairs, in characters."""


def print_report(
    console: Console, report: ComparisonReport, *, most: int, reference: Reference | None
) -> None:
    """Print all tables with notes, and at most `most` discordant pairs per comparison."""
    console.print(_runs(report))
    for comparison in report.comparisons:
        for part in _comparison(comparison, report, most):
            # Soft wrap, as a path split over two lines cannot be opened.
            console.print(part, soft_wrap=isinstance(part, Text))
    notes = list(_legend(report)) if report.comparisons else []
    if reference is not None:
        console.print(_published(report, reference))
        notes += reference.caveats
    for line in notes:
        console.print(Text(line, style="dim"))


def _runs(report: ComparisonReport) -> StackedTable:
    numbers = ("items", "epochs", "episodes", "errored")
    table = table_of(f"Runs; {_order(report.sides)}", ("", "agent"), numbers)
    for name in ("status", "modes", "run"):
        table.add_columns(name, prose=name != "status")
    for side in report.sides:
        counts = (len(side.asked), side.epochs, len(side.episodes), side.errored)
        words = (side.facts.get("status"), ", ".join(side.modes), side.folder)
        shown = (plain(str(word)) for word in words)
        table.add_row(side.letter, plain(side.agent), *map(str, counts), *shown)
    return table


def _order(sides: Sequence[Side]) -> str:
    return tool_orders(side.perturbation for side in sides)


def _comparison(
    comparison: Comparison, report: ComparisonReport, most: int
) -> Iterator[RenderableType]:
    pairing = comparison.pairing
    first, other = (side.letter for side in pairing.sides)
    yield Text()
    yield Text(f"{other} against {first}; {_order(pairing.sides)}", style="bold")
    differs = "; ".join(map(str, pairing.differs)) or "no setting"
    yield plain(f"What differs ({first} / {other}): {differs}")
    yield from _resumes(pairing)
    if pairing.remarks:
        yield plain(f"Made otherwise: {'; '.join(map(str, pairing.remarks))}", "dim")
    silent = _silent(comparison.strata, report)
    yield _figures(comparison.strata, pairing, report, silent)
    if silent:
        yield Text(f"0 in both: {', '.join(silent.values())}.", style="dim")
    yield from _disagreements(comparison.strata, report)
    if comparison.totals:
        yield _totals(comparison.totals, pairing, report)
    yield from _counts(comparison, report)
    if comparison.passes:
        yield _passes(comparison.passes, pairing, report)
    if comparison.discordant:
        yield from _discordant(comparison, report, most)
    elif any(measure.binary for measure in report.benchmark.answer_measures):
        yield Text("No pair is discordant: none changed between right and wrong.")


def _resumes(pairing: Pairing) -> Iterator[Text]:
    """Note that one run was forked from the other and so holds only part of its episodes."""
    for one, other in (pairing.sides, pairing.sides[::-1]):
        if is_fork_of(one, other):
            yield plain(
                f"{one.letter} resumes from {other.letter}'s first failed calls; episodes without "
                f"one are {other.letter}'s alone.",
                "dim",
            )


def _silent(strata: Sequence[Stratum], report: ComparisonReport) -> dict[str, str]:
    """Return the headings of non-answer measures that are 0 on both sides, by name."""
    lines = [line for one in strata for line in one.lines]
    some = {line.measure.name for line in lines if any(total for total, _ in line.counts)}
    some |= {measure.name for measure in report.benchmark.answer_measures}
    return {one.measure.name: one.heading for one in lines if one.measure.name not in some}


def _figures(
    strata: Sequence[Stratum], pairing: Pairing, report: ComparisonReport, silent: Container[str]
) -> StackedTable:
    split = [one.by for one in strata if one.by != ALL][:1]
    holm = ["p (Holm)"] if report.corrected else []
    turned = (RIGHT_TO_WRONG, WRONG_TO_RIGHT)
    table = table_of("", [*split, "measure"], [*_columns(pairing, report), "p", *holm, *turned])
    for one in strata:
        lines = [line for line in one.lines if line.measure.name not in silent]
        for number, line in enumerate(lines):
            first = plain(one.value or ALL) if number == 0 else Text()
            corrected = [p_value(line.adjusted)] if holm else []
            table.add_row(
                *([first] if split else []), *_cells(line), *corrected, *discordant_counts(line)
            )
        table.add_section()
    return table


def _totals(found: Sequence[TotalLine], pairing: Pairing, report: ComparisonReport) -> StackedTable:
    table = table_of("Totals", ("total", "measure"), _columns(pairing, report))
    last = ""
    for one in found:
        unit = one.measure.unit
        table.add_row(
            plain("" if one.total.name == last else one.total.name),
            one.measure.heading,
            *(amount(unit, value) for value in (one.before, one.after)),
            amount(unit, one.difference, sign=True),
            interval(unit, one.low, one.high),
        )
        last = one.total.name
    return table


def _disagreements(strata: Sequence[Stratum], report: ComparisonReport) -> Iterator[Text]:
    """Explain each interval that seems to contradict its p-value."""
    found = [
        (f"{line.heading} ({one.value})" if one.value else line.heading, line)
        for one in strata
        for line in one.lines
    ]
    for reason, names in disagreements(found, report.options.confidence).items():
        yield plain(f"{', '.join(names)}: {reason}", "yellow")


def _columns(pairing: Pairing, report: ComparisonReport) -> tuple[str, ...]:
    first, other = (side.letter for side in pairing.sides)
    level = f"{100 * report.options.confidence:g} %"
    return first, other, "difference", f"{level} interval"


def _cells(line: Line) -> list[str]:
    unit = line.measure.unit
    return [
        line.heading,
        *(_side(unit, *side) for side in line.counts),
        amount(unit, line.difference, sign=True),
        interval(unit, line.low, line.high),
        p_value(line.p_value),
    ]


def _side(unit: Unit, total: float, divisor: float) -> str:
    """Format one side's figure; for calls, with their number."""
    found = amount(unit, total / divisor)
    return f"{found} ({total:,.0f})" if unit is Unit.CALLS else found


def _counts(comparison: Comparison, report: ComparisonReport) -> Iterator[Text]:
    pairing = comparison.pairing
    of = f"{len(pairing.pairs)} of {counted(pairing.planned, 'pair')}"
    yield Text(f"{of}, of {counted(pairing.items, 'item')}.")
    first, other = (side.letter for side in pairing.sides)
    out = pairing.left_out
    reasons = [
        (out.errored_before, f"pairs errored in {first}"),
        (out.errored_after, f"pairs errored in {other}"),
        (out.errored_both, "pairs errored in both"),
        (out.not_played_before, f"episodes not played by {first}"),
        (out.not_played_after, f"episodes not played by {other}"),
        (out.items_before, f"items only in {first}"),
        (out.items_after, f"items only in {other}"),
        (out.changed, "items with other content"),
    ]
    counts = [f"{count} {what}" for count, what in reasons if count]
    if counts:
        yield Text(f"Left out: {', '.join(counts)}.", style="yellow")
    lead = report.benchmark.lead
    for line in comparison.strata[0].lines:
        if line.pairs < len(pairing.pairs):
            yield Text(f"{line.heading}: known of {line.pairs} pairs.", style="yellow")
        if line.measure == lead and line.pairs < pairing.planned:
            found = difference(line, report.options.confidence, pairing.planned)
            said = f"{line.heading}: {found}. {lost(line, pairing.planned)}"
            yield Text(said.rstrip(), style="yellow")
        if line.measure == lead and line.detectable is not None:
            yield Text(
                f"Minimum detectable difference (80 % power), {lead.heading}: "
                f"{100 * line.detectable:.1f} points."
            )


def _passes(passes: Sequence[Passing], pairing: Pairing, report: ComparisonReport) -> StackedTable:
    numbers = ("items", *_columns(pairing, report))
    table = table_of(f"Tries, {PER_CENT}", ("mode", "measure", ""), numbers)
    for one in passes:
        table.add_row(
            plain(one.mode),
            one.measure.heading,
            one.kind.replace("k", str(one.k)),
            str(one.before.items),
            *(percent(rate) for rate in (one.before, one.after)),
            amount(Unit.SHARE, one.difference, sign=True),
            interval(Unit.SHARE, one.low, one.high),
        )
    return table


def _discordant(comparison: Comparison, report: ComparisonReport, most: int) -> Iterator[Text]:
    pairs, measures = comparison.discordant, report.benchmark.answer_measures
    yield Text(f"Discordant pairs ({min(most, len(pairs))} of {len(pairs)}):")
    for pair in pairs[:most]:
        found = [(measure.heading, pair.change(measure)) for measure in measures]
        changes = ", ".join(f"{name} {change(sides)}" for name, sides in found if sides)
        yield plain(f"  {pair.key.item}  {pair.key.mode}, epoch {pair.key.epoch}: {changes}")
        yield from _episodes(comparison.pairing, pair)


def _episodes(pairing: Pairing, pair: Pair) -> Iterator[Text]:
    for side, episode in zip(pairing.sides, (pair.before, pair.after), strict=True):
        given = visible(" ".join(side.answer(episode).split())) or "(no answer)"
        if len(given) > ANSWER_CHARS:
            given = given[: ANSWER_CHARS - 1] + "…"
        path = side.folder / episode.stored_in
        line = Text(f"    {side.letter}  {given}\n       ")
        yield line.append(
            visible(side.stored_at(episode)), style=f"dim link {path.resolve().as_uri()}"
        )


def _legend(report: ComparisonReport) -> Iterator[str]:
    exact = {line.heading for line in report.lines if line.test is Method.MCNEMAR}
    yield (
        "Shares in per cent, their differences in points: second run minus first. "
        f"{RIGHT_TO_WRONG}, {WRONG_TO_RIGHT}: discordant pairs; of a measure that is not an answer "
        "those that have what it names in the first run alone, and in the second alone."
    )
    if exact:
        ordered = dict.fromkeys(one.measure.heading for one in report.lines)
        names = ", ".join(name for name in ordered if name in exact)
        yield f"Exact McNemar test, Tango score interval: {names}."
    if any(line.test is Method.PERMUTATION for line in report.lines):
        yield (
            f"{'Other measures' if exact else 'All measures'}: permutation test "
            f"and bootstrap over whole items ({report.options.resamples:,} resamples, seed "
            f"{report.options.seed}); a dash for fewer than {LEAST_CLUSTERS} items, or no spread."
        )
    shown = [line.measure.heading for line in report.lines if not line.measure.tested]
    if shown:
        yield (
            f"{', '.join(dict.fromkeys(shown))}: not tested, as it also rises where fewer good "
            "calls are made. Failed calls an episode are tested; in brackets their number."
        )
    if any(one.totals for one in report.comparisons):
        yield "Totals: not tested; intervals by Student's t, clustered by item."
    if report.corrected:
        yield "p (Holm): over all tests of one measure shown here; error codes are one family."


def _published(report: ComparisonReport, reference: Reference) -> StackedTable:
    """Return a table of the runs in the published columns, followed by the published rows."""
    table, columns = reference.table, reference.table.shown
    judged = f", judged by {table.judge}" if table.judge else ""
    of = f"{report.benchmark.title}, {table.rule} scorer{judged}, {table.unit}"
    title = f"{of}; {_order(report.sides)}"
    wide = len(columns) > ROOM_FOR_ERRORS
    found = table_of(title, ("", "agent"), [*columns])
    for side in report.sides:
        for agent, figures in reference.own(side.episodes.values()).items():
            cells = [
                _own(column.of_one(report.benchmark), figures[name], table.digits, wide=wide)
                for name, column in columns.items()
            ]
            found.add_row(side.letter, plain(_who(side, agent)), *cells)
    found.add_section()
    for row in table.rows:
        names = [row.get("family"), row["version"]]
        cells = [_figure(row.get(name), table.digits) for name in columns]
        found.add_row("published", " ".join(str(one) for one in names if one), *cells, style="dim")
    if table.average:
        average = [_figure(table.average[name], table.digits) for name in columns]
        found.add_row("published", "Avg.", *average, style="dim")
    return found


ROOM_FOR_ERRORS = 6
"""Maximum number of columns with which intervals are shown."""


def _who(side: Side, agent: str) -> str:
    judge = next((one.judge for one in side.episodes.values() if one.judge), "")
    return f"{agent}, judged by {judge}" if judge else agent


def _own(measure: Measure, estimate: Estimate | None, digits: int, *, wide: bool) -> str:
    bare = replace(estimate, low=None, high=None) if estimate and wide else estimate
    return shown(measure, bare, digits)


def _figure(value: str | float | None, digits: int) -> str:
    return "-" if value is None else f"{float(value):.{digits}f}"
