"""`toolhop merge`: the parts of a run, put together."""

from __future__ import annotations

from pathlib import Path

import click

from toolhop_agents.cli.options import setting_option
from toolhop_agents.runs.merge import merged_run
from toolhop_agents.table import print_tables, table_console
from toolhop_agents.terminal import say
from toolhop_env.runs.store import RunStore
from toolhop_env.summary import summarize_run


@click.command(context_settings={"show_default": True})
@click.argument("parts", nargs=-1, required=True, metavar="RUN...",
                type=click.Path(path_type=Path))  # fmt: skip
@setting_option("log_dir")
@setting_option("segments_to")
def merge(parts: tuple[Path, ...], log_dir: Path, segments_to: str | None) -> None:
    """Put the parts of a run together that --shard played apart, and print the table.

    All parts are given, in any order, each finished. They stay as they are, and so do segments
    that a part moved to an object store: the run points to them. With --segments-to the others go
    there too.

    \b
        toolhop run --shard 1/2 ...     # on one machine
        toolhop run --shard 2/2 ...     # on another, with the same options
        toolhop merge FIRST SECOND
    """  # noqa: D301 -- a real backspace character tells click to keep the lines below it
    store = merged_run([RunStore.open(part) for part in parts], log_dir, segments_to=segments_to)
    say(f"run: {store.folder}")
    print_tables(table_console(), summarize_run(store.results()))
