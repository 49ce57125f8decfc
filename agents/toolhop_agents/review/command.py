"""`toolhop construct review`, a page or terminal for one reviewer, and `agreement`, which
compares all.
"""

from __future__ import annotations

import getpass
import json
import threading
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from toolhop_agents.card.page import Section
from toolhop_agents.cli.flags import NAME, Whole, port_option
from toolhop_agents.cli.json_output import json_option
from toolhop_agents.cli.options import AnyPath, options_of
from toolhop_agents.construct.reviews import Material
from toolhop_agents.construct.settings import Settings
from toolhop_agents.review.bench import Bench
from toolhop_agents.review.figures import disputes, figures, parts
from toolhop_agents.review.server import ReviewServer
from toolhop_agents.review.session import ReviewSession
from toolhop_agents.review.terminal import review as on_terminal
from toolhop_agents.review.terminal import show
from toolhop_agents.table import table_console
from toolhop_agents.terminal import plain, say
from toolhop_tools.errors import counted

folder_argument = click.argument("folder", type=AnyPath(path_type=Path), metavar="FOLDER|FILE")


@click.command()
@folder_argument
@json_option
def agreement(folder: Path, *, as_json: bool) -> None:
    """Compare reviewers.

    Prints how far the reviewers of FOLDER agree, and what their samples say.
    """
    material = Material.read(folder)
    whole, console = figures(material), table_console()
    if as_json:
        click.echo(json.dumps(whole, ensure_ascii=False))
    elif not whole["reviewers"]:
        console.print(plain(f"nobody has reviewed {folder} yet"))
    else:
        show(console, [Section("Reviews", tuple(parts(whole, {})))])
        if differing := disputes(material.standing()):
            show(console, [Section("Judged differently", tuple(differing))])


@click.command(context_settings={"show_default": True})
@folder_argument
@click.option(
    "--reviewer",
    metavar="NAME",
    type=NAME,
    help="Whose verdicts these are.  [default: the account's name]",
)
@click.option("--terminal", is_flag=True, help="Here, without a browser.")
@click.option(
    "--settle", is_flag=True, help="Only items that two judge differently; this verdict decides."
)
@click.option(
    "--sample",
    type=Whole(1),
    metavar="N",
    help="N items drawn at random (--seed); `toolhop construct agreement` then bounds "
    "the share of wrong items.",
)
@port_option(0)
def review(folder: Path, **flags: Any) -> None:  # noqa: ANN401 -- click passes options of many types
    """Have a person judge items.

    One reviewer sees accepted items, nested tasks or scenarios on a page of this machine, answers
    each first and then accepts or rejects it.
    """
    material = Material.read(folder)
    if flags["sample"] and flags["settle"]:
        raise click.UsageError("--settle shows what reviewers differ on; leave --sample out")
    drawn = (flags["sample"], flags["seed"]) if flags["sample"] else None
    if drawn and drawn[0] > len(material.items):
        raise click.UsageError(
            f"--sample is {drawn[0]}, and there are {counted(len(material.items), 'item')}; "
            "give at most so many"
        )
    reviewer = flags["reviewer"] or getpass.getuser()
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
        f"toolhop construct agreement {material.folder} compares reviewers"
    )


review.params += (option for option in options_of(Settings) if option.name in ("seed", "sandbox"))


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
