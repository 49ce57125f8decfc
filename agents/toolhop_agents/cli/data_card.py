"""`toolhop data card`: what is known of a data set, as the page that data hubs show."""

from __future__ import annotations

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
@click.option("--certificates", type=click.Path(dir_okay=False, path_type=Path),
              help="Of the items. A folder of made items has its own.")  # fmt: skip
def card(source: str, output: Path | None, force: bool, certificates: Path | None) -> None:
    """Write a data card in Markdown, with the head in YAML that data hubs read.

    It has licence, provenance, sizes, proofs, families, known limits and how to load, play and
    score; of a folder that `toolhop construct` made also models, prompts, settings, funnel,
    criteria, overlap and reviews. Every figure is counted; what is not noted is "not known".
    """
    if output and output.exists() and not force:
        raise click.UsageError(f"{output} is there already; --force replaces it")
    text = markdown(collect(source, certificates))
    if output is None:
        click.echo(text.encode(), nl=False)
        return
    try:
        with atomic(output) as beside:
            beside.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"{output} cannot be written: {error.strerror}") from None
    click.echo(f"wrote {output}", err=True)
