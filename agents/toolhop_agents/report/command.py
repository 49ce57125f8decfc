"""`toolhop report`: write one HTML file with the figures and every episode of some runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from toolhop_agents.cli.flags import Whole, overwrite_option
from toolhop_agents.export.files import atomic, check_free
from toolhop_agents.report.collect import collect
from toolhop_agents.report.page import render
from toolhop_agents.report.runs import open_sources
from toolhop_agents.report.selection import EPISODES
from toolhop_agents.terminal import say

NAME = "report.html"


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    help=f"Where the page goes.  [default: {NAME} in the first run's folder]",
)
@overwrite_option
@click.option("--title", default=None, help="The page's title; else the run's name.")
@click.option("--max-episodes", "most", type=Whole(min=0), default=EPISODES, metavar="N",
              show_default=True, help="Episodes that the page holds to read, at most.")  # fmt: skip
def report(
    runs: Sequence[Path], out: Path | None, title: str | None, most: int, overwrite: bool
) -> None:
    """Write one HTML file about RUNS that opens offline, and print its path and size.

    RUNS are folders of runs or of ablations. The page has the tables and charts, and every
    episode as a conversation, to filter, search and compare. Runs that are under way are shown
    as far as they are; --overwrite replaces a page in one step. No model is asked and no tool is
    run.

    Of more than N episodes the page holds a selection, the same whenever it is made, and says so:
    errored ones, those on which scorers differ, a right and a wrong one of items that have both,
    and a sample of the rest. Figures are of all episodes. `toolhop show RUN ITEM` reads any other.
    """
    sources = open_sources(runs)
    target = out or sources.folder / NAME
    check_free([target], overwrite)
    content = collect(sources, most)
    labels = [run.ablation or run.label for run in sources.runs]
    name = title or (labels[0] if len(set(labels)) == 1 else f"{len(labels)} runs")
    with atomic(target) as beside, beside.open("wb") as page:
        for part in render(content, title=name):
            page.write(part.encode())
        size = page.tell()
    for run in sources.runs:
        for fault in run.unreadable:
            say(f"toolhop: left out: {fault}")
    unfinished = content.unfinished
    more = f", {unfinished} unfinished" if unfinished else ""
    if content.shown < content.episodes:
        more += f", {content.shown:,} of them to read"
    click.echo(f"{target}  {size:,} bytes, {content.episodes:,} episodes{more}")
