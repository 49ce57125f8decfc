"""`toolhop data card`: write the facts known about a data set as a page for data hubs."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from toolhop_agents.card.collect import collect
from toolhop_agents.card.page import markdown
from toolhop_agents.cli.flags import data_option, overwrite_option
from toolhop_agents.cli.json_output import json_option
from toolhop_agents.cli.options import setting_option
from toolhop_agents.export.files import check_free, write_text
from toolhop_agents.terminal import say


@click.command()
@data_option
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path),
              help="The file to write, such as README.md; else stdout.")  # fmt: skip
@overwrite_option
@setting_option("certificates", help="Certificates of the items, as `toolhop certify` writes them.")
@json_option
def card(
    data: str, out: Path | None, overwrite: bool, certificates: Path | None, as_json: bool
) -> None:  # fmt: skip
    """Write a data card in Markdown, with the head in YAML that data hubs read.

    It has licence, provenance, sizes, proofs, families, known limits and how to load, play and
    score; a folder that `toolhop construct` made also has models, prompts, settings, funnel,
    refinement, criteria, overlap and reviews. Every figure is counted; what nobody noted is "not
    known".
    """
    check_free([out] if out else [], overwrite)
    found = collect(data, certificates)
    text = json.dumps(asdict(found), ensure_ascii=False) + "\n" if as_json else markdown(found)
    if out is None:
        click.echo(text.encode(), nl=False)
        return
    write_text(out, text, overwrite=overwrite)
    say(f"wrote {out}")
