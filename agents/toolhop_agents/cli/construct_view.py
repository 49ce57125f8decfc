"""What `toolhop construct` prints: the plan, the funnel, one item, and what the rest will take."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from toolhop_agents.construct import folder as folders
from toolhop_agents.construct.ledger import StepLedger
from toolhop_agents.construct.settings import Settings
from toolhop_agents.runs.estimate import LEVEL, REPLICATES
from toolhop_agents.terminal import visible
from toolhop_env.statistics import totals
from toolhop_env.statistics.agreement import wilson
from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.funnel import funnel
from toolhop_tools.construct.seeds import Seed
from toolhop_tools.construct.stages import OF_A_HOP
from toolhop_tools.errors import BadChoice

FIGURES = ("replies", "input_tokens", "output_tokens", "cost_usd")


def print_plan(seeds: Sequence[Seed], settings: Settings, *, as_json: bool) -> None:
    """What would be asked, where no reply has to be repaired."""
    beside = settings.direct_samples if settings.direct_model else 0
    beside += bool(settings.checker)
    least = [_replies(seed, seed.least) + beside for seed in seeds]
    most = [_replies(seed, seed.most) + beside for seed in seeds]
    facts: dict[str, JSON] = {
        "model": settings.model,
        "checker": settings.checker or "",
        "items": len(seeds),
        "replies_least": sum(least),
        "replies_most": sum(most),
        "repairs_a_stage": settings.repairs,
        "settings": settings.model_dump(mode="json"),
    }
    if as_json:
        click.echo(json.dumps(facts, ensure_ascii=False))
        return
    click.echo(f"model: {settings.model}; {len(seeds)} items to try")
    click.echo(
        f"replies without a repair: {sum(least):,} to {sum(most):,}; at most {settings.repairs} "
        "repairs a stage, and a stage may go back once"
    )
    if settings.checker:
        click.echo(
            f"of these {settings.checker} writes {len(seeds):,}, one an item; where it reads an "
            "item otherwise, one for each hop up to the one at fault, and one after each repair"
        )
    click.echo("Nothing was asked. --estimate N makes N items and says what the rest will take.")


def _replies(seed: Seed, hops: int) -> int:
    given = len(seed.sub_task)
    return len(OF_A_HOP) * (given or hops) + (not given) + (not seed.question)


def print_funnel(console: Console, folder: Path, *, as_json: bool) -> None:
    """What passed, by stage, and why items were rejected."""
    books = folders.read_books(folder)
    rows = funnel(books)
    if as_json:
        plain: list[JSON] = [
            {
                "stage": row.stage.value,
                "begun": row.begun,
                "passed_at_first": row.first,
                "passed": row.passed,
                "replies": row.replies,
                "first_interval": list(wilson(row.first / row.begun, row.begun)),
                "passed_interval": list(wilson(row.passed / row.begun, row.begun)),
            }
            for row in rows
        ]
        accepted = sum(one["accepted"] for one in books)
        refused = sum(bool(one.get("refused")) for one in books)
        counts = {"items": len(books), "accepted": accepted, "refused": refused}
        click.echo(json.dumps({**counts, "stages": plain}))
        return
    table = Table(title="What passes, 95 % intervals (Wilson)", title_justify="left")
    for name in ("stage", "begun", "passed at first, %", "passed, %", "replies"):
        table.add_column(name, justify="left" if name == "stage" else "right")
    for row in rows:
        shares = (_share(row.first, row.begun), _share(row.passed, row.begun))
        table.add_row(row.stage.value, f"{row.begun:,}", *shares, f"{row.replies:,}")
    if books:
        first = sum(_at_first(one) for one in books)
        shares = (_share(first, len(books)), _share(_accepted(books), len(books)))
        replies = sum(one["replies"] for one in books)
        table.add_row("whole items", f"{len(books):,}", *shares, f"{replies:,}")
    console.print(table)
    why = Counter(_place(one) for one in books if not one["accepted"])
    for place, count in why.most_common():
        console.print(f"rejected at {place}: {count}")
    if refused := sum(bool(one.get("refused")) for one in books):
        console.print(f"refused by the checker alone: {refused} ({folders.REFUSED})")
    costs = [one["cost_usd"] for one in books]
    tokens = sum(one["input_tokens"] + one["output_tokens"] for one in books)
    cost = "cost unknown" if None in costs else f"${sum(costs):.4f}"
    console.print(f"{tokens:,} tokens, {cost}, {_accepted(books)} accepted items")


def _accepted(books: Sequence[dict[str, Any]]) -> int:
    return sum(one["accepted"] for one in books)


def _at_first(book: dict[str, Any]) -> bool:
    steps = book["steps"]
    return bool(book["accepted"]) and all(
        step["replies"] <= 1 and not step["returned"] for step in steps
    )


def _place(book: dict[str, Any]) -> str:
    stage, hop = book["place"]
    return f"{stage} of hop {hop}" if hop else str(stage)


def _share(part: int, whole: int) -> str:
    low, high = wilson(part / whole, whole)
    return f"{100 * part / whole:.1f} ({100 * low:.1f} .. {100 * high:.1f})"


def print_item(folder: Path, item: str, *, as_json: bool) -> None:
    """One item, reply by reply, with what the checks found."""
    books = {one["item"]: one for one in folders.read_books(folder)}
    if item not in books:
        known = ", ".join([*books][:5]) or "none yet"
        raise BadChoice(f"{folder} has no finished item {item!r}; it has {known}")
    ledger = StepLedger(folder, more=False)
    replies = [row for row in ledger.rows("reply") if row["item"] == item]
    verdicts = [row for row in ledger.rows("verdict") if row["item"] == item]
    replies.sort(key=lambda row: row["number"])
    if as_json:
        whole = {"book": books[item], "replies": replies, "verdicts": verdicts}
        click.echo(json.dumps(whole, ensure_ascii=False))
        return
    book = books[item]
    verdict = "accepted" if book["accepted"] else f"rejected at {_place(book)}: {book['why']}"
    click.echo(visible(f"{item}: {verdict}"))
    for row in replies:
        place = f"{row['stage']} of hop {row['hop']}" if row["hop"] else row["stage"]
        click.echo(visible(f"\n-- reply {row['number']}: {place}"))
        click.echo(visible(_readable(row["text"])))
    for row in verdicts:
        for problem in row["findings"]["problems"]:
            click.echo(visible(f"\n-- {row['what']}: {problem['check']}: {problem['message']}"))
    click.echo("")
    for one in book["criteria"]:
        holds = "holds" if one["holds"] else "FAILS"
        figure = json.dumps(one["figure"], ensure_ascii=False)
        click.echo(visible(f"{one['criterion']:<18} {holds}  {figure}"))


def _readable(text: str) -> str:
    """A reply with its code as lines."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if isinstance(value, dict) and isinstance(value.get("code"), str):
        return str(value["code"])
    return json.dumps(value, ensure_ascii=False)


def print_estimate(console: Console, folder: Path, *, as_json: bool) -> None:
    """What the items that are left will take, by those that are finished."""
    books = folders.read_books(folder)
    left = len(folders.read_seeds(folder)) - len(books)
    settings = folders.read_settings(folder)
    rng = np.random.default_rng(settings["seed"])
    found: dict[str, tuple[float, float | None, float | None] | None] = {}
    for name in FIGURES:
        values = [one[name] for one in books]
        if None in values or not values:
            found[name] = None
            continue
        sample = np.array(values, dtype=np.float64)
        limits = totals.total(sample, left, rng, level=LEVEL, replicates=REPLICATES)
        found[name] = (left * float(sample.mean()), *(limits or (None, None)))
    if as_json:
        click.echo(json.dumps({"left": left, "level": LEVEL, "made": len(books), **found}))
        return
    share = _share(_accepted(books), len(books)) if books else "-"
    title = f"{left:,} items are left; estimated from {len(books)}, of which {share} % are accepted"
    table = Table(title=title, title_justify="left")
    table.add_column("to come")
    table.add_column("expected", justify="right")
    table.add_column(f"{LEVEL:.0%} interval", justify="right")
    for name, row in found.items():
        text = "{:,.4f}" if name == "cost_usd" else "{:,.0f}"
        if row is None:
            table.add_row(name.replace("_", " "), "unknown", "pass --price")
        elif row[1] is None:
            table.add_row(name.replace("_", " "), text.format(row[0]), "one item tells none")
        else:
            span = f"{text.format(row[1])} to {text.format(row[2])}"
            table.add_row(name.replace("_", " "), text.format(row[0]), span)
    console.print(table)
