"""Output of `toolhop construct`: plans, the funnel, single items, and estimates."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.table import Table

from toolhop_agents.construct import folder as folders
from toolhop_agents.construct.folder import StepLedger
from toolhop_agents.construct.nested.session import NestSettings
from toolhop_agents.construct.settings import Settings
from toolhop_agents.runs.estimate import LEVEL, REPLICATES
from toolhop_agents.table import table_console
from toolhop_agents.terminal import visible
from toolhop_env.statistics import totals
from toolhop_env.statistics.wilson import wilson
from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.nested.pool import Meaning
from toolhop_tools.construct.nested.seeds import NestSeed, Way
from toolhop_tools.construct.seeds import Seed
from toolhop_tools.construct.stages import OF_A_HOP, Place, Row, Taken, counts, funnel, lost
from toolhop_tools.errors import BadChoice

FIGURES = ("replies", "input_tokens", "output_tokens", "cost_usd")


def _table(title: str, *columns: str) -> Table:
    """Return a table whose first column is text and whose other columns are numbers."""
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, justify="right" if column != columns[0] else "left")
    return table


def _print_json(value: Mapping[str, Any]) -> None:
    click.echo(json.dumps(value, ensure_ascii=False))


def print_plan(seeds: Sequence[Any], settings: Settings, *, as_json: bool) -> None:
    """Print the planned requests, assuming that no reply needs a repair."""
    if isinstance(settings, NestSettings):
        facts, lines = _nested_plan(seeds, settings)
    else:
        facts, lines = _plan_of_items(seeds, settings)
    if not as_json:
        return click.echo("\n".join(lines))
    return _print_json({
        "model": settings.model, "readers": [*settings.readers], **facts,
        "repairs_a_stage": settings.repairs, "settings": settings.model_dump(mode="json"),
    })  # fmt: skip


def _plan_of_items(seeds: Sequence[Seed], settings: Settings) -> tuple[dict[str, Any], list[str]]:
    second, book = settings.of_second(), settings.closed_book is not None
    per_item = settings.all_votes + 2 * settings.changes
    a_hop = len(OF_A_HOP) - (second is None)

    def replies(seed: Seed, hops: int) -> int:
        made = a_hop * (len(seed.sub_task) or hops) + (not seed.sub_task) + (not seed.question)
        return made + per_item + settings.closed_book_samples * book

    least = sum(replies(seed, seed.least) for seed in seeds)
    most = sum(replies(seed, seed.most) for seed in seeds)
    lines = [
        f"model: {settings.model}; {len(seeds)} items to try",
        f"replies without a repair: {least:,} to {most:,}; at most {settings.repairs} repairs a "
        "stage, and a stage may go back once",
    ]
    if second:
        lines.append(f"{second.model} writes each function once more, which is counted in")
    if settings.readers:
        lines.append(
            f"{per_item} an item are for its readers: {settings.all_votes} plans, and "
            f"{settings.changes} questions of changed chains with a plan each"
        )
    end = "Nothing was asked. --estimate N makes N items and says what the rest will take."
    return {
        "second": second.model if second else "", "replies_beside_a_hop": int(second is not None),
        "replies_beside_an_item": per_item, "items": len(seeds), "replies_least": least,
        "replies_most": most,
    }, [*lines, end]  # fmt: skip


def _nested_plan(
    seeds: Sequence[NestSeed], settings: NestSettings
) -> tuple[dict[str, Any], list[str]]:
    doubtful = sum(any(row["meaning"] == Meaning.MODEL for row in seed.references)
                   for seed in seeds)  # fmt: skip
    code = sum(seed.way is Way.CODE for seed in seeds)
    texts = len(seeds) if settings.model else 0
    replies, readings = code + texts + doubtful, len(seeds) * settings.all_votes
    return {"tasks": len(seeds), "replies": replies, "readings": readings}, [
        f"model: {settings.model or 'none'}; {len(seeds)} tasks to try",
        f"replies without a repair: {replies:,}, of readers {readings:,}; at most "
        f"{settings.repairs} repairs a stage",
        "Nothing was asked.",
    ]


def print_funnel(folder: Path, *, as_json: bool) -> None:
    """Print how many items passed each stage, and why items were rejected."""
    books, console = folders.read_books(folder), table_console()
    rows, whole = funnel(books), counts(books)
    refused = sum(bool(book.get("refused")) for book in books)
    if as_json:
        stages: list[JSON] = [_plain(row) for row in rows]
        accepted = {"items": len(books), "accepted": whole["accepted"], "refused": refused}
        return _print_json({**accepted, "stages": stages})
    table = _table(
        "What passes, 95 % intervals (Wilson)",
        "stage", "begun", "passed at first, %", "passed, %", "replies",
    )  # fmt: skip
    took = Taken.of(books)
    for name, begun, first, passed, asked in (
        *((row.stage.value, row.begun, row.first, row.passed, row.replies) for row in rows),
        ("whole items", len(books), whole["accepted_at_first"], whole["accepted"], took.replies),
    ):
        if begun:
            shares = (_share(first, begun), _share(passed, begun))
            table.add_row(name, f"{begun:,}", *shares, f"{asked:,}")
    console.print(table)
    for place, count in lost(books):
        console.print(f"rejected at {place}: {count}")
    if refused:
        console.print(f"refused by the readers alone: {refused} ({folders.REFUSED})")
    cost = "cost unknown" if took.cost_usd is None else f"${took.cost_usd:.4f}"
    console.print(f"{took.tokens:,} tokens, {cost}, {whole['accepted']} accepted items")
    return None


def _plain(row: Row) -> dict[str, JSON]:
    first, passed = (wilson(part / row.begun, row.begun) for part in (row.first, row.passed))
    return {
        "stage": row.stage.value, "begun": row.begun, "passed_at_first": row.first,
        "passed": row.passed, "replies": row.replies,
        "first_interval": [*first], "passed_interval": [*passed],
    }  # fmt: skip


def _share(part: int, whole: int) -> str:
    low, high = wilson(part / whole, whole)
    return f"{100 * part / whole:.1f} ({100 * low:.1f} .. {100 * high:.1f})"


def print_item(folder: Path, item: str, *, as_json: bool) -> None:
    """Print one item, reply by reply, with the findings of its checks."""
    books = {book["item"]: book for book in folders.read_books(folder)}
    if item not in books:
        known = ", ".join([*books][:5]) or "none yet"
        raise BadChoice(f"{folder} has no finished item {item!r}; it has {known}")
    ledger, book = StepLedger(folder, more=False), books[item]
    replies = [row for row in ledger.rows("reply") if row["item"] == item]
    verdicts = [row for row in ledger.rows("verdict") if row["item"] == item]
    replies.sort(key=lambda row: row["number"])
    if as_json:
        return _print_json({"book": book, "replies": replies, "verdicts": verdicts})
    lines = [f"{item}: accepted" if book["accepted"] else
             f"{item}: rejected at {Place(*book['place'])}: {book['why']}"]  # fmt: skip
    for row in replies:
        lines.append(f"\n-- reply {row['number']}: {Place(row['stage'], row['hop'])}")
        lines.append(_readable(row["text"]))
    lines += [
        f"\n-- {row['what']}: {problem['check']}: {problem['message']}"
        for row in verdicts
        for problem in row["findings"]["problems"]
    ]
    lines.append("")
    for judged in book["criteria"]:
        figure = json.dumps(judged["figure"], ensure_ascii=False)
        holds = "holds" if judged["holds"] else "FAILS"
        lines.append(f"{judged['criterion']:<18} {holds}  {figure}")
    return click.echo("\n".join(map(visible, lines)))


def _readable(text: str) -> str:
    """Format a reply with its code on separate lines."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if isinstance(value, dict) and isinstance(value.get("code"), str):
        return str(value["code"])
    return json.dumps(value, ensure_ascii=False)


def print_estimate(folder: Path, *, as_json: bool) -> None:
    """Print estimated usage of the remaining items, based on the finished ones."""
    books = folders.read_books(folder)
    left = len(folders.read_seeds(folder)) - len(books)
    rng = np.random.default_rng(folders.read_settings(folder)["seed"])
    totals_left: dict[str, tuple[float, float | None, float | None] | None] = {}
    for name in FIGURES:
        values = [book[name] for book in books]
        totals_left[name] = None
        if values and None not in values:
            sample = np.array(values, dtype=np.float64)
            limits = totals.total(sample, left, rng, level=LEVEL, replicates=REPLICATES)
            totals_left[name] = (left * float(sample.mean()), *(limits or (None, None)))
    if as_json:
        made = {"left": left, "level": LEVEL, "made": len(books)}
        return _print_json({**made, **totals_left})
    share = _share(sum(book["accepted"] for book in books), len(books)) if books else "-"
    table = _table(
        f"{left:,} items are left; estimated from {len(books)}, of which {share} % are accepted",
        "to come", "expected", f"{LEVEL:.0%} interval",
    )  # fmt: skip
    for name, row in totals_left.items():
        text = "{:,.4f}" if name == "cost_usd" else "{:,.0f}"
        expected, span = "unknown", "pass --price"
        if row is not None:
            expected, span = text.format(row[0]), "one item does not say"
            if row[1] is not None:
                span = f"{text.format(row[1])} to {text.format(row[2])}"
        table.add_row(name.replace("_", " "), expected, span)
    return table_console().print(table)
