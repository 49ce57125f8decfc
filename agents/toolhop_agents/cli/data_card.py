"""`toolhop data card`: what is known of a data set, as the page that data hubs show."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from toolhop_agents.card.collect import collect
from toolhop_agents.card.page import markdown
from toolhop_tools.atomic import atomic


@click.command()
@click.argument("source", metavar="NAME|PATH")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path),
              help="The file to write, such as README.md; else stdout.")  # fmt: skip
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
@click.option(
    "--certificates",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Of the items. A folder of made items has its own.",
)
@click.option("--json", "as_json", is_flag=True, help="The card's tables and texts as JSON.")
def card(
    source: str, output: Path | None, force: bool, certificates: Path | None, as_json: bool
) -> None:  # fmt: skip
    """Write a data card in Markdown, with the head in YAML that data hubs read.

    It has licence, provenance, sizes, proofs, families, known limits and how to load, play and
    score; a folder that `toolhop construct` made also has models, prompts, settings, funnel,
    refinement, criteria, overlap and reviews. Every figure is counted; what nobody noted is "not
    known".
    """
    if output and output.exists() and not force:
        raise click.UsageError(f"{output} is there already; --force replaces it")
    found = collect(source, certificates)
    text = json.dumps(asdict(found), ensure_ascii=False) + "\n" if as_json else markdown(found)
    if output is None:
        click.echo(text.encode(), nl=False)
        return
    try:
        with atomic(output) as beside:
            beside.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"{output} cannot be written: {error.strerror}") from None
    click.echo(f"wrote {output}", err=True)
