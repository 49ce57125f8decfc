"""An ablation's tables in the terminal, in the columns of ToolHop's table 5."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from toolhop_agents.ablate.design import Ablation, Factor
from toolhop_agents.ablate.plain import model_calls, path_of
from toolhop_agents.ablate.result import Discordant, Result, Row, Saving, code
from toolhop_agents.compare.cells import amount, change, interval, p_value
from toolhop_agents.terminal import plain
from toolhop_env.measures import Measure, Unit
from toolhop_env.pairs.line import Line, disagreements
from toolhop_tools.perturb.order import tool_order

CAVEAT = (
    "Independent runs: these episodes were chosen because a call failed under the prefix level, "
    "so that chance alone favours the other level. Forks and the table of all episodes are free "
    "of that."
)


def print_result(console: Console, ablation: Ablation, found: Result, *, most: int) -> None:
    """Everything, and what a reader has to know; at most `most` discordant pairs a contrast."""
    tables: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in found.rows:
        one = row.contrast
        tables.setdefault((one.first, one.second, one.design, row.population), []).append(row)
    console.print(_head(ablation, tables))
    main = "forked" if ablation.forks else "independent"
    for (_, _, design, population), rows in tables.items():
        _print_effects(console, ablation, rows)
        if population == "failed" and design == "independent":
            console.print(CAVEAT)
        if population == "failed" and design == main:
            for prefix in dict.fromkeys(row.prefix for row in rows if row.by_code):
                console.print(_breakdown([row for row in rows if row.prefix == prefix]))
    if found.savings:
        console.print(_savings(found.savings))
    chosen = [one for one in found.discordant if one.contrast.design == main]
    _print_discordant(console, chosen, found.measures, most)
    for (first, second, design, population), rows in tables.items():
        left = dict.fromkeys(row.contrast.left_out for row in rows)
        if population == "all" and any(left):
            label, counts = f"{first} → {second}, {design}", ", ".join(map(str, left))
            text = f"{label}: {counts} left without a pair, errored or not played yet."
            console.print(plain(text))
    for name, (_, errored) in found.arms.items():
        if errored:
            console.print(plain(f"{errored} episodes of {name} are errored: in no pair."))


def _head(ablation: Ablation, tables: Mapping[tuple[str, str, str, str], list[Row]]) -> str:
    """What holds for all tables."""
    if not tables:
        return "There is nothing to compare yet."
    order = (
        "each level's"
        if ablation.factor is Factor.TOOLS
        else tool_order(ablation.base.perturbation)
    )
    return f"Tools in {order} order."


def _table(title: str, texts: Sequence[str], numbers: Iterable[str]) -> Table:
    table = Table(title=Text(title), title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in texts:
        table.add_column(Text(name))
    for name in numbers:
        table.add_column(Text(name), justify="right", no_wrap=name.endswith("interval"))
    return table


def _print_effects(console: Console, ablation: Ablation, rows: Sequence[Row]) -> None:
    """A table, and why an interval and its p-value seem to contradict each other in it."""
    console.print(_effects(ablation, rows))
    found = [(_name(row), row.effect) for row in rows if row.effect]
    for reason, names in disagreements(found, ablation.confidence).items():
        console.print(plain(f"{', '.join(names)}: {reason}"))


def _effects(ablation: Ablation, rows: Sequence[Row]) -> Table:
    one, last = rows[0].contrast, f"{100 * ablation.confidence:g} % interval"
    which = "episodes with a failed call" if rows[0].population == "failed" else "all episodes"
    title = f"{one.first} → {one.second} ({ablation.factor}, {one.design}), {which}"
    if all(row.measure.unit is Unit.SHARE for row in rows):
        title += ", per cent"
    more = ("change", last, "p", "p Holm", "MDD (80 %)")
    table = _table(title, ("prefix", "measure"), (*_shares(rows[0]), *more))
    for row in rows:
        cells = _cells(row.effect) if row.effect else ("0", *["-"] * 9)
        table.add_row(Text(row.prefix or "-"), row.heading, *cells)
    return table


def _name(row: Row) -> str:
    return f"{row.heading} ({row.prefix})" if row.prefix else row.heading


def _shares(row: Row) -> tuple[str, ...]:
    return ("pairs", row.contrast.first, row.contrast.second, "right → wrong", "wrong → right")


def _cells(one: Line) -> tuple[str, ...]:
    unit = one.measure.unit
    least = "none" if one.detectable is None else _percent(one.detectable)
    return (
        *_share_cells(one),
        amount(unit, one.difference, sign=True, digits=1),
        interval(unit, one.low, one.high, digits=1),
        p_value(one.p_value),
        p_value(one.adjusted),
        least if one.measure.binary else "-",
    )


def _share_cells(one: Line) -> tuple[str, ...]:
    """Pairs, both levels, and the shares of discordant pairs."""
    levels = (amount(one.measure.unit, value, digits=1) for value in (one.before, one.after))
    turned = ("-" if n is None else _percent(n / one.pairs) for n in (one.lost, one.gained))
    return (str(one.pairs), *levels, *turned)


def _percent(share: float) -> str:
    return amount(Unit.SHARE, share, digits=1)


def _breakdown(rows: Sequence[Row]) -> Table:
    """One prefix level's episodes by code and by hop of their first failed call."""
    title = f"The same by the first failed call, prefixes under {rows[0].prefix}"
    table = _table(title, ("", "measure"), (*_shares(rows[0]), "p Holm"))
    for row in rows:
        for name, one in row.by_code.items():
            table.add_row(name, one.heading, *_share_cells(one), p_value(one.adjusted))
    table.add_section()
    for row in rows:
        for name, one in row.by_hop.items():
            label = "no hop's tool" if name == "none" else f"hop {name}"
            table.add_row(label, one.heading, *_share_cells(one), p_value(one.adjusted))
    return table


def _savings(savings: Iterable[Saving]) -> Table:
    columns = ("branches", "asked", "in prefixes", "not failed", "saved", "independent", "counted")
    title = "Model calls of the forks and of independent runs"
    table = _table(title, ("prefix", "to"), (*columns, "tokens saved"))
    for one in savings:
        parts = (one.asked, one.kept, one.unplayed, one.saved, one.independent)
        table.add_row(
            Text(one.prefix),
            Text(one.level),
            str(one.branches),
            *(f"{model_calls(part):,}" for part in parts),
            "-" if one.counted is None else f"{model_calls(one.counted):,}",
            f"{one.saved.tokens + one.saved.saved_tokens:,}",
        )
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
