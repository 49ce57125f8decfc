"""An ablation's tables in the terminal, in the columns of ToolHop's table 5."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agents.ablate.design import Ablation
from agents.ablate.effect import Effect
from agents.ablate.plain import model_calls, path_of, token_count
from agents.ablate.result import RULES, Flip, Result, Row, Saving
from agents.terminal import plain

CAVEAT = (
    "Independent runs: these episodes were chosen because a call failed under the prefix level, "
    "so that chance alone favours the other level. Forks and the table of all episodes are free "
    "of that."
)


def print_result(console: Console, ablation: Ablation, found: Result, *, flips: int) -> None:
    """Everything, and what a reader has to know about it; at most `flips` flips a comparison."""
    tables: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in found.rows:
        tables.setdefault((row.first, row.second, row.design, row.population), []).append(row)
    if not tables:
        console.print("There is nothing to compare yet.")
    main = "forked" if ablation.forks else "independent"
    for rows in tables.values():
        console.print(_effects(ablation, rows))
        if rows[0].population == "failed" and rows[0].design == "independent":
            console.print(CAVEAT)
        if rows[0].population == "failed" and rows[0].design == main:
            for prefix in dict.fromkeys(row.prefix for row in rows if row.by_code):
                console.print(_breakdown([row for row in rows if row.prefix == prefix]))
    if found.savings:
        console.print(_savings(found.savings))
    _print_flips(console, [flip for flip in found.flips if flip.design == main], flips)
    for rows in tables.values():
        if rows[0].population == "all" and any(row.left_out for row in rows):
            left = ", ".join(str(n) for n in dict.fromkeys(row.left_out for row in rows))
            label = f"{rows[0].first} → {rows[0].second}, {rows[0].design}"
            console.print(plain(f"{label}: {left} left without a pair, void or not played yet."))
    for name, (_, void) in found.arms.items():
        if void:
            console.print(plain(f"{void} episodes of {name} are void: in no pair."))


def _effects(ablation: Ablation, rows: Sequence[Row]) -> Table:
    first = rows[0]
    which = "episodes with a failed call" if first.population == "failed" else "all episodes"
    title = f"{first.first} → {first.second} ({ablation.factor}, {first.design}), {which}, per cent"
    table = Table(title=Text(title), title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("prefix")
    table.add_column("rule")
    interval = f"{100 * ablation.confidence:g} % interval"
    for name in (*_shares(first), "change", interval, "p", "p Holm", "could show"):
        table.add_column(Text(name), justify="right", no_wrap=name == interval)
    for row in rows:
        cells = _cells(row.effect) if row.effect else ("0", *["-"] * 9)
        table.add_row(Text(row.prefix or "-"), row.rule, *cells)
    return table


def _shares(row: Row) -> tuple[str, ...]:
    return ("pairs", row.first, row.second, "C→I", "I→C")


def _cells(one: Effect) -> tuple[str, ...]:
    return (
        str(one.pairs),
        *_share_cells(one),
        f"{100 * one.difference:+.1f}",
        _interval(one.low, one.high),
        _p(one.p_value),
        "-" if one.corrected is None else _p(one.corrected),
        _percent(one.detectable) if math.isfinite(one.detectable) else "none",
    )


def _share_cells(one: Effect) -> tuple[str, ...]:
    shares = (one.first, one.second, one.share_to_incorrect, one.share_to_correct)
    return tuple(_percent(share) for share in shares)


def _interval(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"[{100 * low:+.1f}, {100 * high:+.1f}]"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _p(value: float) -> str:
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"


def _breakdown(rows: Sequence[Row]) -> Table:
    """One prefix level's episodes by code and by hop of their first failed call."""
    first = rows[0]
    title = f"The same by the first failed call, prefixes under {first.prefix}"
    table = Table(title=Text(title), title_justify="left", box=SIMPLE_HEAD)
    table.add_column("")
    table.add_column("rule")
    for name in (*_shares(first), "p Holm"):
        table.add_column(Text(name), justify="right")
    for kind in ("code", "hop"):
        for row in rows:
            groups: Mapping[str, Effect] = row.by_code if kind == "code" else row.by_hop
            for name, one in groups.items():
                label = f"hop {name}" if kind == "hop" else name
                label = "no hop's tool" if label == "hop none" else label
                p = "-" if one.corrected is None else _p(one.corrected)
                table.add_row(label, row.rule, str(one.pairs), *_share_cells(one), p)
        table.add_section()
    return table


def _savings(savings: Iterable[Saving]) -> Table:
    table = Table(title="Model calls of the forks and of independent runs", box=SIMPLE_HEAD)
    table.title_justify = "left"
    table.add_column("prefix")
    table.add_column("to")
    columns = ("branches", "asked", "in prefixes", "not failed", "saved", "independent", "counted")
    for name in (*columns, "tokens saved"):
        table.add_column(name, justify="right")
    for one in savings:
        parts = (one.asked, one.kept, one.unplayed, one.saved, one.independent)
        table.add_row(
            Text(one.prefix),
            Text(one.level),
            str(one.branches),
            *(f"{model_calls(part):,}" for part in parts),
            "-" if one.counted is None else f"{model_calls(one.counted):,}",
            f"{token_count(one.saved):,}",
        )
    return table


def _print_flips(console: Console, flips: Sequence[Flip], most: int) -> None:
    groups: dict[tuple[str, str, str], list[Flip]] = {}
    for flip in flips:
        groups.setdefault((flip.first, flip.second, flip.prefix), []).append(flip)
    for (first, second, prefix), found in groups.items():
        under = f", prefixes under {prefix}" if prefix else ""
        console.print(plain(f"Flips, {first} → {second}{under}: {len(found)}", "bold"))
        for flip in found[:most]:
            console.print(plain(_line(flip)), soft_wrap=True)
        if len(found) > most:
            console.print(f"  and {len(found) - most} more: --flips {len(found)} lists them")


def _line(flip: Flip) -> str:
    way = "I→C" if flip.to_correct else "C→I"
    rules = "" if flip.rules == RULES else f" ({', '.join(flip.rules)} only)"
    where = f", turn {flip.turn}: {flip.code}" if flip.turn else ""
    one, other = path_of(*flip.first_episode), path_of(*flip.second_episode)
    return f"  {way} {flip.item} epoch {flip.epoch}{where}{rules}\n      {one}\n      {other}"
