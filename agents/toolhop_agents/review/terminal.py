"""Reviewing without a browser: an item on the terminal, a letter for the verdict."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import click
from rich.console import Console

from toolhop_agents.data_view import item_page
from toolhop_agents.review.session import ReviewSession
from toolhop_agents.terminal import plain
from toolhop_tools.construct.reviews import Ruling
from toolhop_tools.model import Item

KEYS = {"a": Ruling.ACCEPT, "r": Ruling.REJECT, "s": Ruling.SKIP}
ASKS = "accept (a), reject (r), skip (s), code (c), quit (q)"


def review(session: ReviewSession, console: Console, ask: Callable[[str], str]) -> None:
    """Go through the items that wait, until all are judged, or the reviewer stops.

    Args:
        session: the reviewer's.
        console: where items are shown.
        ask: shows a text and gives the line that was typed; raises `click.Abort` at its end.

    Raises:
        ReviewError: a verdict cannot be kept.
    """
    queue = session.left
    for number, item in enumerate(queue, 1):
        console.rule(f"{number} of {len(queue)}", align="right")
        _show(session, item, console, code=False)
        if not _judged(session, item, console, ask):
            return


def _judged(
    session: ReviewSession, item: Item, console: Console, ask: Callable[[str], str]
) -> bool:
    """Whether the reviewer goes on."""
    while True:
        try:
            given = ask(ASKS).strip().lower()
        except click.Abort:
            return False
        if given == "q":
            return False
        if given == "c":
            _show(session, item, console, code=True)
            continue
        ruling = KEYS.get(given)
        if ruling is None:
            console.print(plain(f"{given!r} is none of a, r, s, c, q"))
            continue
        try:
            reason = ask("reason") if ruling is Ruling.REJECT else ""
            session.say(item.id, ruling, reason)
        except click.Abort:
            return False
        except ValueError as error:
            console.print(plain(str(error)))
            continue
        return True


def _show(session: ReviewSession, item: Item, console: Console, *, code: bool) -> None:
    for part in item_page(item, code=code):
        console.print(part)
    material = session.material
    book, certificate = material.books[item.id], material.certificates.get(item.id)
    console.print()
    for number, proof in enumerate(certificate.hops if certificate else (), 1):
        console.print(plain(f"hop {number} gives {proof.result}"))
    for one in book["criteria"]:
        holds = "holds" if one["holds"] else "FAILS"
        figure = json.dumps(one["figure"], ensure_ascii=False)
        console.print(plain(f"{one['criterion']:<18} {holds}  {figure}"))
    for step in book["steps"]:
        console.print(plain(_step(step)))


def _step(step: Mapping[str, Any]) -> str:
    place = f"{step['stage']} of hop {step['hop']}" if step["hop"] else str(step["stage"])
    spoke = ", ".join(step["checks"])
    text = f"{place}: replies {step['replies']}"
    return f"{text}; checks that spoke against it: {spoke}" if spoke else text
