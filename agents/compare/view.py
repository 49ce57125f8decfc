"""Comparisons as terminal tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from agents.compare.conditions import is_fork_of
from agents.compare.measures import Line, Method, Unit
from agents.compare.pairing import Pairing
from agents.compare.published import COLUMNS, Reference
from agents.compare.report import ALL, Comparison, Flip, Group, Passing, Report
from agents.compare.sides import Side
from agents.statistics.bootstrap import LEAST_CLUSTERS
from agents.table import MODES, percent
from agents.terminal import plain, visible
from env.summary import Summary, summarize

ANSWER_CHARS = 70
"""Of an answer in the list of flips."""


def print_report(
    console: Console, report: Report, *, flips: int, reference: Reference | None
) -> None:
    """All tables, at most `flips` flips a comparison, and what a reader has to know."""
    console.print(_runs(report.sides))
    for comparison in report.comparisons:
        for part in _comparison(comparison, report, flips):
            # Soft: a path that is cut in two cannot be opened.
            console.print(part, soft_wrap=isinstance(part, Text))
    if report.comparisons:
        for line in _legend(report):
            console.print(Text(line, style="dim"))
    if reference is not None:
        console.print(published_table(report.sides, reference))
        for line in reference.caveats:
            console.print(Text(line, style="dim"))


def _runs(sides: Sequence[Side]) -> Table:
    table = Table(title="Runs", title_justify="left")
    for name in ("", "player", "modes", "run", "status"):
        table.add_column(name, overflow="fold")
    for name in ("items", "epochs", "episodes", "void"):
        table.add_column(name, justify="right")
    for side in sides:
        table.add_row(
            side.letter,
            plain(side.player),
            plain(", ".join(side.modes)),
            plain(str(side.folder)),
            plain(str(side.facts.get("status"))),
            str(len(side.asked)),
            str(side.epochs),
            str(len(side.episodes)),
            str(side.void),
        )
    return table


def _comparison(comparison: Comparison, report: Report, flips: int) -> Iterator[RenderableType]:
    pairing = comparison.pairing
    letters = (pairing.before.letter, pairing.after.letter)
    yield Text()
    yield Text(f"{letters[1]} against {letters[0]}", style="bold")
    differs = "; ".join(map(str, pairing.differs)) or "no setting"
    yield plain(f"What differs ({' / '.join(letters)}): {differs}")
    for line in goes_on(pairing):
        yield plain(line, "dim")
    if pairing.remarks:
        yield plain(f"Made otherwise: {'; '.join(map(str, pairing.remarks))}", "dim")
    yield _figures(comparison.groups, letters, report)
    yield from _counts(comparison)
    if comparison.passes:
        yield _passes(comparison.passes, letters, report)
    if comparison.flips:
        yield from _flips(comparison.flips, letters, flips)
    else:
        yield Text("No pair changed between right and wrong.")


def goes_on(pairing: Pairing) -> Iterator[str]:
    """That one run was forked from the other, and so holds a part of its episodes alone."""
    for one, other in ((pairing.before, pairing.after), (pairing.after, pairing.before)):
        if is_fork_of(one, other):
            yield (
                f"{one.letter} goes on from {other.letter}'s first failed calls; episodes without "
                f"one are {other.letter}'s alone."
            )


def _figures(groups: Sequence[Group], letters: tuple[str, str], report: Report) -> Table:
    table = Table()
    split = len(groups) > 1
    if split:
        table.add_column(next(group.by for group in groups if group.by != ALL), overflow="fold")
    table.add_column("measure")
    level = f"{100 * report.options.confidence:g} %"
    for name in (*letters, f"{letters[1]} - {letters[0]}", f"{level} interval", "p"):
        table.add_column(name, justify="right", no_wrap=True)
    if report.corrected:
        table.add_column("p (Holm)", justify="right", no_wrap=True)
    table.add_column("+ / -", justify="right", no_wrap=True)
    for group in groups:
        for number, line in enumerate(group.lines):
            first = [plain(group.value or ALL)] if number == 0 else [Text()]
            corrected = [_p(line.adjusted)] if report.corrected else []
            table.add_row(*(first if split else []), *_cells(line), *corrected, _flipped(line))
        table.add_section()
    return table


def _cells(line: Line) -> list[str]:
    return [
        line.measure,
        _amount(line.unit, line.before),
        _amount(line.unit, line.after),
        _amount(line.unit, line.difference, sign=True),
        _interval(line.unit, line.low, line.high),
        _p(line.p_value),
    ]


def _flipped(line: Line) -> str:
    return "" if line.gained is None else f"{line.gained} / {line.lost}"


def _counts(comparison: Comparison) -> Iterator[Text]:
    pairing = comparison.pairing
    items = len({pair.key.item for pair in pairing.pairs})
    yield Text(f"{len(pairing.pairs)} pairs of {items} items.")
    first, other = pairing.before.letter, pairing.after.letter
    out = pairing.left_out
    reasons = [
        (out.void_before, f"pairs void in {first}"),
        (out.void_after, f"pairs void in {other}"),
        (out.void_both, "pairs void in both"),
        (out.not_played_before, f"episodes not played by {first}"),
        (out.not_played_after, f"episodes not played by {other}"),
        (out.items_before, f"items only in {first}"),
        (out.items_after, f"items only in {other}"),
        (out.changed, "items with other content"),
    ]
    told = [f"{count} {what}" for count, what in reasons if count]
    if told:
        yield Text(f"Left out: {', '.join(told)}.", style="yellow")
    whole = next(group for group in comparison.groups if group.by == ALL)
    strict = next(line for line in whole.lines if line.measure == "strict")
    if strict.detectable is not None:
        yield Text(
            "Smallest strict difference that so many pairs, so many of them discordant, show in "
            f"4 of 5 studies: {100 * strict.detectable:.1f} points."
        )


def _passes(passes: Sequence[Passing], letters: tuple[str, str], report: Report) -> Table:
    table = Table(title="Tries, per cent ± standard error", title_justify="left")
    level = f"{100 * report.options.confidence:g} %"
    for name in ("mode", "rule", ""):
        table.add_column(name)
    for name in ("items", *letters, f"{letters[1]} - {letters[0]}", f"{level} interval"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in passes:
        table.add_row(
            plain(one.mode),
            one.rule,
            one.kind.replace("k", str(one.k)),
            str(one.before.items),
            _rate(one.before.value, one.before.stderr),
            _rate(one.after.value, one.after.stderr),
            _amount(Unit.SHARE, one.difference, sign=True),
            _interval(Unit.SHARE, one.low, one.high),
        )
    return table


def _flips(flips: Sequence[Flip], letters: tuple[str, str], most: int) -> Iterator[Text]:
    yield Text(f"Flips ({min(most, len(flips))} of {len(flips)}):")
    for flip in flips[:most]:
        head = f"  {flip.key.item}  {flip.key.mode}, epoch {flip.key.epoch}:"
        rules = {"strict": flip.strict, "official": flip.official}
        changes = [f" {rule} {_change(*two)}" for rule, two in rules.items() if two[0] != two[1]]
        yield plain(head + ",".join(changes))
        for letter, played in zip(letters, flip.played, strict=True):
            given = visible(" ".join(played.answer().split())) or "(no answer)"
            if len(given) > ANSWER_CHARS:
                given = given[: ANSWER_CHARS - 1] + "…"
            line = Text(f"    {letter}  {given}\n       ")
            link = played.trace.resolve().as_uri()
            yield line.append(visible(str(played.trace)), style=f"dim link {link}")


def _change(before: bool, after: bool) -> str:
    words = ("wrong", "right")
    return f"{words[before]} -> {words[after]}"


def _legend(report: Report) -> Iterator[str]:
    lines = [
        line
        for comparison in report.comparisons
        for group in comparison.groups
        for line in group.lines
    ]
    tests = {line.test for line in lines}
    yield (
        "+ / -: pairs that gained and lost the property. Shares in per cent, their differences in "
        "points."
    )
    if Method.MCNEMAR in tests:
        yield "strict, official, episodes with an error: exact McNemar test, Tango score interval."
    if Method.PERMUTATION in tests:
        yield (
            f"{'Other measures' if Method.MCNEMAR in tests else 'All measures'}: permutation test "
            f"and bootstrap over whole items ({report.options.resamples:,} resamples, seed "
            f"{report.options.seed}); a dash for fewer than {LEAST_CLUSTERS} items, or no spread."
        )
    if report.corrected:
        yield "p (Holm): over all tests of one measure shown here; error codes are one family."


def published_table(sides: Sequence[Side], reference: Reference) -> Table:
    """The runs under the official rule, then the published rows, marked as such."""
    table = Table(title="ToolHop, official rule, per cent", title_justify="left")
    table.add_column("")
    table.add_column("player", overflow="fold")
    for column in COLUMNS:
        table.add_column(column.capitalize(), justify="right", no_wrap=True)
    for side in sides:
        for name, cells in _own(summarize(one.judged for one in side.episodes.values())):
            table.add_row(side.letter, plain(name), *cells)
    table.add_section()
    for row in reference.table.rows:
        figures = (f"{getattr(row, column):.2f}" for column in COLUMNS)
        table.add_row("published", row.name, *figures, style="dim")
    average = (f"{reference.table.average[column]:.2f}" for column in COLUMNS)
    table.add_row("published", "Avg.", *average, style="dim")
    return table


def _own(summaries: Sequence[Summary]) -> Iterator[tuple[str, list[str]]]:
    for player in dict.fromkeys(one.player for one in summaries):
        by_mode = {one.mode: one for one in summaries if one.player == player}
        tools = by_mode.get("mandatory") or by_mode.get("free")
        cells = [percent(by_mode[m].official) if m in by_mode else "-" for m in MODES]
        errors = (tools.query_error, tools.instance_error) if tools else (None, None)
        yield player, [*cells, *map(percent, errors)]


def _amount(unit: Unit, value: float, *, sign: bool = False) -> str:
    plus = "+" if sign else ""
    match unit:
        case Unit.SHARE:
            return f"{100 * value:{plus}.2f}"
        case Unit.CALLS:
            return f"{value:{plus}.2f}"
        case Unit.TOKENS:
            return f"{value:{plus},.0f}"
        case Unit.USD:
            return f"{value:{plus}.5f}"


def _interval(unit: Unit, low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "-"
    return f"{_amount(unit, low, sign=True)} .. {_amount(unit, high, sign=True)}"


def _rate(value: float, stderr: float | None) -> str:
    error = "" if stderr is None else f" ± {100 * stderr:.2f}"
    return f"{100 * value:.2f}{error}"


def _p(value: float | None) -> str:
    if value is None:
        return ""
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"
