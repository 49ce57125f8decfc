"""`toolhop construct --review`: a page or a terminal for one reviewer, and how reviewers agree."""

from __future__ import annotations

import getpass
import json
import threading
from typing import Any

import click
from rich.console import Console

from toolhop_agents.card.page import Section
from toolhop_agents.construct.reviews import Material, checked
from toolhop_agents.review.bench import Bench
from toolhop_agents.review.figures import disputes, figures, parts
from toolhop_agents.review.server import ReviewServer
from toolhop_agents.review.session import ReviewSession
from toolhop_agents.review.terminal import review as on_terminal
from toolhop_agents.review.terminal import show
from toolhop_agents.table import table_console
from toolhop_agents.terminal import plain, say
from toolhop_tools.errors import counted

FLAGS = ("reviewer", "settle", "terminal", "agreement", "port", "sample")
"""Flags of `toolhop construct` that need ``--review``."""
SHARED = ("seed", "sandbox")
"""Flags that ``--review`` has in common with making."""


def review(flags: dict[str, Any]) -> None:
    """Show items to one reviewer, or print how reviewers agree.

    Raises:
        FolderError, ReviewError, DataError: the data cannot be used.
        BadChoice, UsageError: the flags cannot be followed.
    """
    material = Material.read(flags["review"])
    if flags["agreement"]:
        if any(flags[name] for name in FLAGS if name != "agreement"):
            raise click.UsageError("--agreement is printed of all reviewers; give it alone")
        print_agreement(table_console(), material, as_json=flags["as_json"])
        return
    if flags["sample"] and flags["settle"]:
        raise click.UsageError("--settle shows what reviewers differ on; leave --sample out")
    drawn = (flags["sample"], flags["seed"]) if flags["sample"] else None
    if drawn and drawn[0] > len(material.items):
        raise click.UsageError(
            f"--sample is {drawn[0]}, and there are {counted(len(material.items), 'item')}; "
            "give at most so many"
        )
    reviewer = checked(flags["reviewer"] or getpass.getuser())
    with Bench(flags["sandbox"]) as bench:
        session = ReviewSession.open(
            material, reviewer, bench, settles=flags["settle"], drawn=drawn
        )
        if flags["terminal"]:
            on_terminal(session, Console(), lambda text: str(click.prompt(text, default="")))
        else:
            _serve(session, flags["port"])
        left = len(session.left)
    say(
        f"{reviewer}: {len(session.cases) - left} of {len(session.cases)} judged, {left} left; "
        f"toolhop construct --review {material.folder} --agreement compares reviewers"
    )


def _serve(session: ReviewSession, port: int) -> None:
    done = threading.Event()

    def look() -> None:
        if not session.left:
            done.set()

    try:
        server = ReviewServer(session, port=port, on_verdict=look)
    except OSError as error:
        raise click.UsageError(
            f"--port {port} cannot be had: {error.strerror}; give another, or 0 for any"
        ) from None
    with server:
        click.echo(server.address)
        say(
            f"{session.reviewer}: {counted(len(session.left), 'item')} to judge; open the address "
            "in a browser. Ctrl-C ends; all verdicts are kept."
        )
        try:
            done.wait()
            say("All items are judged; Ctrl-C ends.")
            threading.Event().wait()
        except KeyboardInterrupt:
            say()


def print_agreement(console: Console, material: Material, *, as_json: bool) -> None:
    """Who judged how many, how far reviewers agree, on what they differ, and what samples say."""
    found = figures(material)
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False))
    elif not found["reviewers"]:
        console.print(plain(f"nobody has reviewed {material.folder} yet"))
    else:
        show(console, [Section("Reviews", tuple(parts(found, {})))])
        if differing := disputes(material.standing()):
            show(console, [Section("Judged differently", tuple(differing))])
