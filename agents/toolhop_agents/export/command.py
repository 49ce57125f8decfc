"""`toolhop export`: export runs to the formats of other tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from toolhop_agents.ablate.folder import opened
from toolhop_agents.cli.flags import overwrite_option
from toolhop_agents.cli.json_output import json_option
from toolhop_agents.export.chat import Arguments, ChatStyle, ToolOrder
from toolhop_agents.export.formats import FORMATS, Order, write
from toolhop_agents.terminal import say


# fmt: off
@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--to", "kind", metavar=f"[{'|'.join(FORMATS)}|NAME]", required=True,
              help="What to write; NAME is a format that an installed package adds.")
@click.option("--out", type=click.Path(path_type=Path), required=True,
              help="Where to: a folder; for chat a file, for predictions either.")
@click.option("--include-wrong", is_flag=True,
              help="chat: wrong episodes as well.")
@click.option("--tool-order", type=click.Choice([one.value for one in ToolOrder]), default=None,
              help="chat: order in which tools are listed.  [default: shuffled]")
@click.option("--arguments", type=click.Choice([one.value for one in Arguments]), default=None,
              help="chat: a call's arguments as objects, or as JSON texts.  [default: object]")
@overwrite_option
@json_option
def export(
    runs: Sequence[Path],
    kind: str,
    out: Path,
    include_wrong: bool,
    tool_order: str | None,
    arguments: str | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Write RUNS in the format of another tool. The runs stay as they are.

    RUNS are folders of runs, or of ablations, which stand for their arms.

    \b
    parquet   a folder with the tables `episodes` and `calls`
    hf        the same as a folder for Hugging Face's `load_dataset`
    inspect   a folder of logs for `inspect view`
    chat      a file of chats with tools for fine-tuning, the right ones
    atif      a folder of trajectories of Harbor's format ATIF 1.8, a file an episode
    hf-session  the same of session traces, which the Hugging Face hub shows
    predictions  one run's answers as its benchmark's official code keeps them: a file, of
              RelyToolBench a folder with a file for each set

    parquet and hf need the extra `export`, inspect the extra `inspect`. docs/export.md says how
    a package of one's own adds a format.
    """  # noqa: D301 -- a real backspace character tells click to keep the lines below it
    if include_wrong and kind != "chat":
        raise click.UsageError(
            "--include-wrong goes with --to chat: leave it out; other formats have every episode"
        )
    if (tool_order or arguments) and kind != "chat":
        raise click.UsageError("--tool-order and --arguments go with --to chat: leave them out")
    style = ChatStyle(
        ToolOrder(tool_order or ToolOrder.SHUFFLED),
        Arguments(arguments or Arguments.OBJECT),
        include_wrong,
    )
    stores = [store for _, store in opened(runs)]
    written = write(kind, Order(stores, out, overwrite, style))
    if as_json:
        files = [str(path) for path in written.files]
        click.echo(json.dumps({"files": files, **written.rows}, ensure_ascii=False))
        return
    for path in written.files:
        click.echo(path)
    say(", ".join(f"{count} {name}" for name, count in written.rows.items()))
# fmt: on
