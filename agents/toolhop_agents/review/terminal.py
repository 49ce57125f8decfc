"""Review without a browser: one case at a time, an answer, then a letter for the verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

import click
from rich.console import Console
from rich.syntax import Syntax

from toolhop_agents.card.page import Code, Section, Table
from toolhop_agents.review.case import Case
from toolhop_agents.review.session import ReviewSession
from toolhop_agents.stacked import StackedTable
from toolhop_agents.terminal import plain, visible
from toolhop_sandbox.errors import SandboxError
from toolhop_tools.construct.reviews import Ruling

Ask: TypeAlias = Callable[[str], str]
KEYS = {"a": Ruling.ACCEPT, "r": Ruling.REJECT, "s": Ruling.SKIP}
ANSWER = "answer; or: call TOOL {...}, start over, none, skip, quit"
VERDICT = "accept (a), reject (r), skip (s), code (c), quit (q)"


def review(session: ReviewSession, console: Console, ask: Ask) -> None:
    """Go through the cases without a verdict, until all are judged or the reviewer stops.

    `ask` shows a text and returns the typed line; it raises `click.Abort` at end of input.

    Raises:
        ReviewError: an answer or a verdict cannot be stored.
    """
    queue = session.left
    for number, case in enumerate(queue, 1):
        console.rule(f"{number} of {len(queue)}", align="right")
        console.print(plain(case.item.question, "bold"))
        show(console, case.shown)
        if session.is_revealed(case.id):
            show(console, case.revealed)
        else:
            console.print(plain(case.asks))
        done = False
        while not done:
            step = _ruled if session.is_revealed(case.id) else _skipped
            try:
                done = step(session, case, console, ask)
            except (ValueError, SandboxError) as error:
                console.print(plain(str(error)))
            except click.Abort:
                return


def _skipped(session: ReviewSession, case: Case, console: Console, ask: Ask) -> bool:
    """Read a tool call, or an answer that reveals the gold; return whether the case was skipped."""
    typed = ask(ANSWER).strip()
    word, _, rest = typed.partition(" ")
    if typed == "quit":
        raise click.Abort
    if typed == "skip":
        session.say(case.id, Ruling.SKIP, "")
        return True
    if typed == "start over":
        session.bench.forget(case.item)
    elif word == "call":
        tool, _, arguments = rest.strip().partition(" ")
        console.print(plain(session.bench.call(case.item, tool, arguments or "{}")))
    elif typed:
        own = session.derive(case.id, "" if typed == "none" else typed)
        console.print(plain(f"your answer {'is' if own.agreed else 'is not'} the gold"))
        show(console, case.revealed)
    return False


def _ruled(session: ReviewSession, case: Case, console: Console, ask: Ask) -> bool:
    """Read a verdict on a revealed case; return whether one was given."""
    typed = ask(VERDICT).strip().lower()
    if typed == "q":
        raise click.Abort
    if typed == "c":
        show(console, [*case.shown, *case.revealed], folded=True)
        return False
    if typed not in KEYS:
        raise ValueError(f"{typed!r} is none of a, r, s, c, q")
    session.say(case.id, KEYS[typed], ask("reason") if typed == "r" else "")
    return True


def show(console: Console, sections: Iterable[Section], *, folded: bool = False) -> None:
    """Print sections; code that pages fold is shown only with `folded`."""
    for section in sections:
        console.print()
        console.print(plain(section.title, "bold"))
        for part in section.parts:
            match part:
                case Table(head, rows):
                    table = StackedTable(head[0], framed=False)
                    table.add_columns(*head[1:], prose=True)
                    for row in rows:
                        table.add_row(*map(plain, row))
                    console.print(table)
                case Code(text, title):
                    if folded or not title:
                        console.print(Syntax(visible(text), "python", word_wrap=True))
                case str():
                    console.print(plain(part))
