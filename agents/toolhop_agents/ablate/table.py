"""An ablation in the terminal: its result in sentences, then tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TypeAlias

from rich.console import Console

from toolhop_agents.ablate.design import Ablation, Factor
from toolhop_agents.ablate.parts import PartEffect, leak_sentences, sentences
from toolhop_agents.ablate.plain import path_of
from toolhop_agents.ablate.result import Discordant, Result, Row, code
from toolhop_agents.compare.cells import (
    RIGHT_TO_WRONG,
    WRONG_TO_RIGHT,
    amount,
    change,
    difference,
    discordant_counts,
    effect,
    interval,
    lost,
    p_value,
    table_of,
)
from toolhop_agents.stacked import StackedTable
from toolhop_agents.terminal import plain
from toolhop_env.measures import Measure, Unit
from toolhop_env.pairs.line import Line, disagreements
from toolhop_env.results import InjectionLabel
from toolhop_tools.errors import counted
from toolhop_tools.perturb.order import tool_order

CAVEAT = (
    "Independent runs: these episodes were chosen because a call failed under the prefix level, "
    "so that chance alone favours the other level. Forks and the table of all episodes are free "
    "of that."
)
EFFECTS = (
    "pairs: items and epochs with a score under both levels, shown for each level in per cent "
    "where the measure is a share. right → wrong, wrong → right: discordant pairs. difference: "
    "second level minus first. p (Holm): corrected for the other tests of these episodes and this "
    "measure. minimum detectable: the smallest difference that so many pairs show with a power of "
    "80 %."
)
BREAKDOWN = "The episodes of the first table, by the error code and the hop of that call."
Tables: TypeAlias = dict[tuple[str, str], list[Row]]
"""Rows by design and population."""


def print_result(
    console: Console, ablation: Ablation, found: Result, *, most: int, full: bool
) -> None:
    """Print two sentences on each contrast, then a table; with `full`, all tables.

    With `full`, at most `most` discordant pairs per contrast are listed.
    """
    rows = main_rows(ablation, found.rows)
    if not rows:
        console.print("There is nothing to compare yet.")
        return
    tables: Tables = {}
    for row in found.rows:
        if row not in rows:
            tables.setdefault((row.contrast.design, row.population), []).append(row)
    for text in headlines(ablation, rows, found.parts):
        console.print(plain(text))
    for text in leak_sentences(ablation, found.parts, found.leaks):
        console.print(plain(text))
    for name, counts in found.injections.items():
        if counts:
            labels = ", ".join(f"{label} {counts.get(label, 0)}" for label in InjectionLabel)
            console.print(plain(f"Injected instructions in {name}: {labels}."))
    console.print()
    _print_effects(console, ablation, rows, same=_take_equal(tables, rows))
    if full:
        _print_more(console, ablation, found, tables, rows, most)
    _print_left_out(console, found)
    if not full:
        console.print(plain("--full has the other tables and the discordant pairs.", "dim"))


def headlines(
    ablation: Ablation, rows: Sequence[Row], parts: Sequence[PartEffect]
) -> Iterator[str]:
    """Yield sentences on the leading measure: what changed, and how certain it is.

    `rows` are those of `main_rows`. If there are several `parts`, the sentences are on these.
    """
    if len(parts) > 1:
        yield from sentences(ablation, parts)
        return
    lead, confidence = [row for row in rows if row.measure == rows[0].measure], ablation.confidence
    for second in dict.fromkeys(row.contrast.second for row in lead):
        first, *others = (row for row in lead if row.contrast.second == second)
        levels = f"{first.contrast.first} → {second}"
        if first.effect is None:
            yield f"{levels}: there is no pair to compare."
            continue
        what = f"{ablation.factor.value.capitalize()} {levels}"
        of = _episodes(first) + (f", forked under {first.prefix}" if first.prefix else "")
        yield effect(first.effect, confidence, what=what, of=of, planned=first.planned)
        for row in others:
            if row.effect is not None and row.effect != first.effect:
                found = difference(row.effect, confidence, row.planned)
                said = lost(row.effect, row.planned)
                yield f"Forked under {row.prefix}: {found}. {said}".rstrip()


def main_rows(ablation: Ablation, rows: Sequence[Row]) -> list[Row]:
    """Return the rows with the main result; for forks, those of episodes with a failed call."""
    design = "forked" if ablation.forks else "independent"
    own = [row for row in rows if row.contrast.design == design]
    usual = ("failed", "all") if ablation.forks else ("all",)
    found = [[row for row in own if row.population == name] for name in usual]
    return next((rows for rows in found if any(row.effect for row in rows)), found[0])


def _take_equal(tables: Tables, rows: Sequence[Row]) -> bool:
    """Whether `rows` equal the same design's table of all episodes, which is then removed."""
    other = (rows[0].contrast.design, "all")
    effects = [(one.contrast.second, one.prefix, one.measure, one.effect) for one in rows]
    if rows[0].population == "all" or effects != [
        (one.contrast.second, one.prefix, one.measure, one.effect) for one in tables.get(other, ())
    ]:
        return False
    del tables[other]
    return True


def _print_more(
    console: Console, ablation: Ablation, found: Result, tables: Tables, first: Sequence[Row],
    most: int,
) -> None:  # fmt: skip
    """Print the other tables, the main table's breakdowns and the pairs."""
    while tables:
        rows = tables.pop(next(iter(tables)))
        console.print()
        same = _take_equal(tables, rows)
        _print_effects(console, ablation, rows, same=same, legend="Columns as above.")
        if (rows[0].population, rows[0].contrast.design) == ("failed", "independent"):
            console.print(plain(CAVEAT, "dim"))
    if any(row.by_code for row in first):
        console.print()
        console.print(_breakdown(first))
        console.print(plain(BREAKDOWN, "dim"))
    design = "forked" if ablation.forks else "independent"
    chosen = [one for one in found.discordant if one.contrast.design == design]
    console.print()
    _print_discordant(console, chosen, found.measures, most)


def _print_left_out(console: Console, found: Result) -> None:
    contrasts = {id(row.contrast): row.contrast for row in found.rows if row.population == "all"}
    for one in contrasts.values():
        if one.left_out:
            label = f"{one.first} → {one.second}, {one.design}"
            text = f"{label}: {one.left_out} without a pair, errored or not played yet."
            console.print(plain(text))
    for name, (_, errored) in found.arms.items():
        if errored:
            text = f"{counted(errored, 'episode')} of {name} errored: in no pair."
            console.print(plain(text))


def _print_effects(
    console: Console, ablation: Ablation, rows: Sequence[Row], *, same: bool, legend: str = EFFECTS
) -> None:
    """Print a table and its legend, and explain intervals that seem to contradict their
    p-values.
    """
    console.print(_effects(ablation, rows, same=same))
    console.print(plain(legend, "dim"))
    found = [(_name(row), row.effect) for row in rows if row.effect]
    for reason, names in disagreements(found, ablation.confidence).items():
        console.print(plain(f"{', '.join(names)}: {reason}"))


def _episodes(row: Row) -> str:
    at = row.contrast.fork_at.value
    return f"episodes with {at}" if row.population == "failed" else "all episodes"


def _effects(ablation: Ablation, rows: Sequence[Row], *, same: bool) -> StackedTable:
    of = f"all episodes, each with {rows[0].contrast.fork_at.value}" if same else _episodes(rows[0])
    order = "" if ablation.factor is Factor.TOOLS else tool_order(ablation.base.perturbation)
    title = f"{ablation.factor}, {rows[0].contrast.design}, {of}"
    title += f"; tools in {order} order" if order else ""
    more = ("difference", f"{100 * ablation.confidence:g} % interval", "p", "p (Holm)")
    keys, cells = _keyed(rows, lambda row: [("", row.effect)])
    table = table_of(title, (*keys, "measure"), (*_shares(rows), *more, "minimum detectable"))
    for names, one in cells:
        table.add_row(*names, *(_cells(one) if one else ("0", *["-"] * 9)))
    return table


def _keyed(
    rows: Sequence[Row], lines: Callable[[Row], Iterable[tuple[str, Line | None]]]
) -> tuple[tuple[str, ...], list[tuple[tuple[str, ...], Line | None]]]:
    """Return the key columns that tell the rows apart, and the keys and line of each row.

    Rows that are equal under several prefix levels are merged.
    """
    several = len({row.contrast.second for row in rows}) > 1
    found: list[tuple[tuple[str, ...], list[str], str, Line | None]] = []
    for row in rows:
        levels = (f"{row.contrast.first} → {row.contrast.second}",) if several else ()
        for name, one in lines(row):
            names = (*((name,) if name else ()), *levels)
            heading = one.heading if one else row.heading
            for other in found:
                if (names, heading, one) == (other[0], *other[2:]):
                    other[1].append(row.prefix)
                    break
            else:
                found.append((names, [row.prefix], heading, one))
    prefixed = any(row.prefix for row in rows)
    keys = (*(("levels",) if several else ()), *(("prefix",) if prefixed else ()))
    return keys, [
        ((*names, *((", ".join(prefixes),) if prefixed else ()), heading), one)
        for names, prefixes, heading, one in found
    ]


def _name(row: Row) -> str:
    return f"{row.heading} ({row.prefix})" if row.prefix else row.heading


def _shares(rows: Sequence[Row]) -> tuple[str, ...]:
    levels = {(row.contrast.first, row.contrast.second) for row in rows}
    names = levels.pop() if len(levels) == 1 else ("first", "second")
    return ("pairs", *names, RIGHT_TO_WRONG, WRONG_TO_RIGHT)


def _cells(one: Line) -> tuple[str, ...]:
    unit = one.measure.unit
    least = "none" if one.detectable is None else _percent(one.detectable)
    return (
        *_share_cells(one),
        amount(unit, one.difference, sign=True, digits=1),
        interval(unit, one.low, one.high, digits=1),
        p_value(one.p_value),
        p_value(one.adjusted),
        least if one.measure.binary and one.power else "-",
    )


def _share_cells(one: Line) -> tuple[str, ...]:
    """Format the pairs, both levels, and the discordant pairs."""
    levels = (amount(one.measure.unit, value, digits=1) for value in (one.before, one.after))
    return (str(one.pairs), *levels, *discordant_counts(one))


def _percent(share: float) -> str:
    return amount(Unit.SHARE, share, digits=1)


def _breakdown(rows: Sequence[Row]) -> StackedTable:
    """Return a table of effects by code and by hop of the first failed call."""
    parts: tuple[Callable[[Row], Iterable[tuple[str, Line | None]]], ...] = (
        lambda row: row.by_code.items(),
        lambda row: (
            ("no hop's tool" if name == "none" else f"hop {name}", one)
            for name, one in row.by_hop.items()
        ),
    )
    keyed = [_keyed(rows, lines) for lines in parts]
    keys = ("", *keyed[0][0], "measure")
    table = table_of("By the first failed call", keys, (*_shares(rows), "p (Holm)"))
    for _, cells in keyed:
        for names, one in cells:
            if one is not None:
                table.add_row(*names, *_share_cells(one), p_value(one.adjusted))
        table.add_section()
    return table


def _print_discordant(
    console: Console, pairs: Sequence[Discordant], measures: Sequence[Measure], most: int
) -> None:
    for contrast, group in groupby(pairs, key=lambda one: one.contrast):
        found = list(group)
        under = f", prefixes under {contrast.prefix}" if contrast.prefix else ""
        title = f"Discordant pairs, {contrast.first} → {contrast.second}{under}: {len(found)}"
        console.print(plain(title, "bold"))
        for one in found[:most]:
            console.print(plain(_line(one, measures)), soft_wrap=True)
        if len(found) > most:
            more = f"  and {len(found) - most} more: --discordant {len(found)} lists them"
            console.print(more)


def _line(one: Discordant, measures: Sequence[Measure]) -> str:
    key, names = one.pair.key, ", ".join(measure.heading for measure in one.measures)
    by = "" if one.measures == tuple(measures) else f" ({names} only)"
    where = f", turn {one.failure.turn}: {code(one.failure)}" if one.failure else ""
    first, second = one.contrast.arms(one.pair)
    return (
        f"  {change(one.change)} {key.item} epoch {key.epoch}{where}{by}\n"
        f"      {path_of(first, one.pair.before)}\n      {path_of(second, one.pair.after)}"
    )
