"""`toolhop construct --review`: a page or a terminal for one reviewer, and how reviewers agree."""

from __future__ import annotations

import getpass
import json
import threading
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from toolhop_agents.construct.reviews import Compared, Material, checked, compared, counts
from toolhop_agents.review.server import ReviewServer
from toolhop_agents.review.session import ReviewSession
from toolhop_agents.review.terminal import review as on_terminal
from toolhop_agents.table import table_console
from toolhop_agents.terminal import plain
from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.reviews import Ruling, Standing, fate
from toolhop_tools.errors import counted

FLAGS = ("reviewer", "settle", "terminal", "agreement", "port")
"""Of `toolhop construct` that go with ``--review``."""


def review(flags: dict[str, Any]) -> None:
    """Show a folder's items to one reviewer, or print how reviewers agree.

    Raises:
        FolderError, ReviewError, DataError: the folder cannot be used.
        BadChoice, UsageError: the flags cannot be followed.
    """
    material = Material.read(flags["review"])
    if flags["agreement"]:
        if flags["terminal"] or flags["settle"] or flags["reviewer"]:
            raise click.UsageError("--agreement is printed of all reviewers; give it alone")
        print_agreement(table_console(), material, as_json=flags["as_json"])
        return
    reviewer = checked(flags["reviewer"] or getpass.getuser())
    session = ReviewSession.open(material, reviewer, settles=flags["settle"])
    if flags["terminal"]:
        on_terminal(session, Console(), lambda text: str(click.prompt(text, default="")))
    else:
        _serve(session, flags["port"])
    _say_what_is_left(session)


def _serve(session: ReviewSession, port: int) -> None:
    done = threading.Event()

    def look() -> None:
        if not session.left:
            done.set()

    try:
        server = ReviewServer(session, port=port, on_verdict=look)
    except OSError as error:
        raise click.UsageError(f"--port {port} cannot be had: {error.strerror}") from None
    with server:
        click.echo(server.address)
        click.echo(
            f"{session.reviewer}: {counted(len(session.left), 'item')} to judge; open the address "
            "in a browser. Ctrl-C ends, and what was judged is kept.",
            err=True,
        )
        try:
            done.wait()
            click.echo("All items are judged; Ctrl-C ends.", err=True)
            threading.Event().wait()
        except KeyboardInterrupt:
            click.echo(err=True)


def _say_what_is_left(session: ReviewSession) -> None:
    left = len(session.left)
    click.echo(
        f"{session.reviewer}: {len(session.items) - left} of {len(session.items)} judged, {left} "
        f"left; toolhop construct --review {session.material.folder} --agreement compares "
        "reviewers",
        err=True,
    )


def print_agreement(console: Console, material: Material, *, as_json: bool) -> None:
    """Who judged how many, how far each two agree, and on what they do not."""
    words = material.standing()
    said, pairs = counts(words), compared(words)
    rejected = [item for item, of in words.items() if fate(of) is Ruling.REJECT]
    if as_json:
        click.echo(json.dumps(agreement_json(words, pairs), ensure_ascii=False))
        return
    if not said:
        console.print(f"nobody has reviewed {material.folder} yet")
        return
    table = Table(title="Reviewers", title_justify="left")
    for name in ("reviewer", "accepted", "rejected", "skipped", "left"):
        table.add_column(name, justify="left" if name == "reviewer" else "right")
    for name, of in said.items():
        row = [str(of[ruling]) for ruling in Ruling]
        table.add_row(plain(name), *row, str(len(words) - sum(of.values())))
    console.print(table)
    for one in pairs:
        console.print(plain(_sentence(one)))
        for item in one.disputed:
            console.print(plain(f"  {item}: {_differing(words, item, one)}"))
    if not pairs:
        console.print("no item was judged by two reviewers yet")
    console.print(f"rejected, and left out of an export: {len(rejected)} of {len(words)}")


def _sentence(one: Compared) -> str:
    found = one.found
    low, high = one.raw_limits
    text = (
        f"{one.first} and {one.second}, {counted(found.questions, 'item')}: raw agreement "
        f"{found.accuracy:.3f} (95 %: {low:.3f} to {high:.3f}), "
    )
    if found.kappa is None:
        return text + "kappa not defined, as both always say the same"
    if found.kappa_limits is None:
        return text + f"kappa {found.kappa:.3f} (too few items for an interval)"
    low, high = found.kappa_limits
    return text + f"kappa {found.kappa:.3f} (95 %: {low:.3f} to {high:.3f})"


def _differing(words: Standing, item: str, pair: Compared) -> str:
    said = [words[item][name] for name in (pair.first, pair.second)]
    text = ", ".join(
        f"{one.reviewer} {one.ruling}s{f' ({one.reason})' if one.reason else ''}" for one in said
    )
    settled = [one for one in words[item].values() if one.settles]
    return text + "".join(f"; {one.reviewer} settles: {one.ruling}" for one in settled)


def agreement_json(words: Standing, pairs: list[Compared]) -> dict[str, JSON]:
    """The same as plain values."""
    reviewers: dict[str, JSON] = {
        name: {ruling.value: count for ruling, count in of.items()}
        for name, of in counts(words).items()
    }
    rows: list[JSON] = [
        {
            "reviewers": [one.first, one.second],
            "items": one.found.questions,
            "raw_agreement": one.found.accuracy,
            "raw_interval": list(one.raw_limits),
            "kappa": one.found.kappa,
            "kappa_interval": list(one.found.kappa_limits) if one.found.kappa_limits else None,
            "disputed": list(one.disputed),
        }
        for one in pairs
    ]
    rejected: list[JSON] = [item for item, of in words.items() if fate(of) is Ruling.REJECT]
    items: JSON = len(words)
    return {"items": items, "reviewers": reviewers, "pairs": rows, "rejected": rejected}
