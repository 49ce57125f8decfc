"""The tables that runs end with, in ToolHop's own columns (paper table 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from rich.console import Console
from rich.table import Table
from rich.text import Text

from env.summary import Estimate, Summary
from sandbox.outcome import JSON

FILE_WIDTH = 120
"""Columns of a table that goes to a file or a pipe."""
MODES = ("direct", "mandatory", "free")
Labels: TypeAlias = Mapping[tuple[str, str, str], str]
"""What a row is called, by player, feedback level and dialect."""


def percent(estimate: Estimate | None) -> str:
    """Per cent with its standard error, such as ``87.50 ± 2.10``; a dash for none."""
    if estimate is None:
        return "-"
    value = f"{100 * estimate.value:.2f}"
    return value if estimate.stderr is None else f"{value} ± {100 * estimate.stderr:.2f}"


def mean(estimate: Estimate | None, digits: int = 2) -> str:
    """A mean; a dash for none."""
    return "-" if estimate is None else f"{estimate.value:.{digits}f}"


def table_console() -> Console:
    """Standard output, wide enough for the tables where it is no terminal."""
    console = Console()
    return console if console.is_terminal else Console(width=FILE_WIDTH)


def labelled(summaries: Sequence[Summary]) -> Labels:
    """A label for each player, feedback level and dialect, no longer than tells them apart."""
    names = list(dict.fromkeys((s.player, s.feedback.value, s.dialect.value) for s in summaries))
    differ = [len({name[part] for name in names}) > 1 for part in (1, 2)]
    labels = {}
    for name in names:
        more = [name[part] for part in (1, 2) if differ[part - 1]]
        labels[name] = f"{name[0]} ({', '.join(more)})" if more else name[0]
    return labels


def by_player(summaries: Sequence[Summary]) -> Labels:
    """A label for each row by the player alone: for names that tell the rows apart already."""
    return {_name(one): one.player for one in summaries}


def _name(one: Summary) -> tuple[str, str, str]:
    return (one.player, one.feedback.value, one.dialect.value)


def toolhop_table(summaries: Sequence[Summary], labels: Labels | None = None) -> Table:
    """Direct, Mandatory, Free, Query, Instance: a row a player and answer rule.

    Query and Instance are those of the mandatory mode, of the free mode where mandatory was not
    played: an invocation error needs invocations.
    """
    table = Table(title="ToolHop, per cent ± standard error", title_justify="left")
    table.add_column("arm" if labels else "player")
    table.add_column("rule")
    for column in ("Direct", "Mandatory", "Free", "Query", "Instance"):
        table.add_column(column, justify="right")
    for name, player in (labels or labelled(summaries)).items():
        by_mode = {s.mode: s for s in summaries if _name(s) == name}
        tools = by_mode.get("mandatory") or by_mode.get("free")
        for rule in ("official", "strict"):
            cells = [percent(getattr(by_mode[m], rule)) if m in by_mode else "-" for m in MODES]
            errors = [
                percent(tools.query_error if tools else None),
                percent(tools.instance_error if tools else None),
            ]
            table.add_row(Text(player if rule == "official" else ""), rule, *cells, *errors)
        if any(one.proven is not None for one in by_mode.values()):
            for rule in ("official", "strict"):
                cells = [_proven(by_mode.get(mode), rule) for mode in MODES]
                table.add_row("", f"{rule}, proven items", *cells, "", "")
    return table


def _proven(one: Summary | None, rule: str) -> str:
    """The score over the items that certificates prove, with their number."""
    if one is None or not one.proven:
        return "-"
    return f"{percent(getattr(one, f'{rule}_proven'))} (n={one.proven})"


def detail_table(summaries: Sequence[Summary], labels: Labels | None = None) -> Table:
    """What the episodes took: a row a player and mode."""
    table = Table(title="Episodes", title_justify="left")
    table.add_column("arm" if labels else "player")
    table.add_column("mode")
    columns = ("played", "void", "hops solved", "turns", "calls", "tokens", "seconds", "cost")
    for column in columns:
        table.add_column(column, justify="right")
    labels = labels or labelled(summaries)
    for one in summaries:
        table.add_row(
            Text(labels[_name(one)]),
            one.mode,
            str(one.episodes),
            str(one.void),
            percent(one.hops_solved),
            mean(one.turns),
            mean(one.calls),
            f"{one.input_tokens + one.output_tokens:,}",
            mean(one.wall_s, 3),
            "unknown" if one.cost_usd is None else f"${one.cost_usd:.4f}",
        )
    return table


def error_table(summaries: Sequence[Summary], labels: Labels | None = None) -> Table | None:
    """Failed calls by code; None where none failed."""
    if not any(summary.errors for summary in summaries):
        return None
    table = Table(title="Failed calls by code", title_justify="left")
    table.add_column("code")
    labels = labels or labelled(summaries)
    for one in summaries:
        table.add_column(Text(f"{labels[_name(one)]} {one.mode}"), justify="right")
    codes = sorted({code for summary in summaries for code in summary.errors})
    for code in codes:
        table.add_row(code.value, *(str(summary.errors.get(code, 0)) for summary in summaries))
    return table


def print_tables(
    console: Console, summaries: Sequence[Summary], labels: Labels | None = None
) -> None:
    """All tables, and what a reader has to know about them.

    Args:
        console: where to.
        summaries: what they show.
        labels: what rows are called, where arms are shown; made by `labelled` where None.
    """
    if not summaries:
        console.print("No episode was finished.")
        return
    console.print(toolhop_table(summaries, labels))
    console.print(detail_table(summaries, labels))
    errors = error_table(summaries, labels)
    if errors is not None:
        console.print(errors)
    cached = sum(summary.cached_replies for summary in summaries)
    if cached:
        tokens = sum(summary.saved_tokens for summary in summaries)
        prices = [summary.saved_usd for summary in summaries]
        known = [price for price in prices if price is not None]
        worth = f"${sum(known):.4f}" if len(known) == len(prices) else "an unknown price"
        console.print(
            f"{cached:,} replies came from the response cache: {tokens:,} tokens and {worth} that "
            "were not spent, and are in no figure above."
        )
    void = sum(summary.void for summary in summaries)
    if void:
        are = "episode is" if void == 1 else "episodes are"
        console.print(f"{void} {are} void: faults of the harness, in no mean.")


def to_json(summaries: Sequence[Summary]) -> list[JSON]:
    """The same figures as plain values."""
    return [_plain(summary) for summary in summaries]


def _plain(value: object) -> JSON:
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, Summary | Estimate):
        return {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value)
