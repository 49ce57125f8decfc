"""`toolhop export`: runs in the formats of other tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import click

from agents.ablate.folder import opened
from agents.export.chat import write_chats
from agents.export.files import check_free
from agents.export.huggingface import CARD, DATA, write_dataset
from agents.export.inspect_log import write_logs
from agents.export.parquet import CALLS_FILE, EPISODES_FILE, Written, write_tables
from agents.export.played import Played, attempts, labels
from agents.runs.store import RunStore
from toolhop_tools.model import Item

Write = Callable[[Sequence[RunStore], Path, bool, bool], Written]


def _parquet(stores: Sequence[RunStore], out: Path, overwrite: bool, _: bool) -> Written:
    check_free((out / name for name in (EPISODES_FILE, CALLS_FILE)), overwrite=overwrite)
    return write_tables(attempts(stores), out)


def _huggingface(stores: Sequence[RunStore], out: Path, overwrite: bool, _: bool) -> Written:
    names = (CARD, f"{DATA}/{EPISODES_FILE}", f"{DATA}/{CALLS_FILE}")
    check_free((out / name for name in names), overwrite=overwrite)
    return write_dataset(attempts(stores), out, labels(stores))


def _inspect(stores: Sequence[RunStore], out: Path, overwrite: bool, _: bool) -> Written:
    return write_logs(stores, out, overwrite=overwrite)


def _chat(stores: Sequence[RunStore], out: Path, overwrite: bool, include_wrong: bool) -> Written:
    check_free([out], overwrite=overwrite)
    return write_chats(_with_items(stores), out, include_wrong=include_wrong)


def _with_items(stores: Sequence[RunStore]) -> Iterator[tuple[Played, Item | None]]:
    for store in stores:
        settings = store.manifest.get("settings") or {}
        items = store.items(last_wins=settings.get("last_wins") is True).by_id
        for one in attempts([store]):
            yield one, items.get(one.trace.started.item)


FORMATS: Mapping[str, Write] = {
    "parquet": _parquet,
    "hf": _huggingface,
    "inspect": _inspect,
    "chat": _chat,
}


# fmt: off
@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--to", "kind", type=click.Choice(list(FORMATS)), required=True,
              help="What to write.")
@click.option("--out", type=click.Path(path_type=Path), required=True,
              help="Where to: a folder; for chat a file.")
@click.option("--all", "include_wrong", is_flag=True,
              help="chat: wrong episodes as well.")
@click.option("--overwrite", is_flag=True, help="Replace files that are there.")
@click.option("--json", "as_json", is_flag=True, help="What was written as JSON.")
def export(
    runs: Sequence[Path],
    kind: str,
    out: Path,
    include_wrong: bool,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Write RUNS in the format of another tool. The runs stay as they are.

    RUNS are folders of runs, or of ablations, which stand for their arms.

    \b
    parquet   a folder with the tables `episodes` and `calls`
    hf        the same as a folder for Hugging Face's `load_dataset`
    inspect   a folder of logs for `inspect view`
    chat      a file of chats with tools for fine-tuning, the strictly right ones

    parquet and hf need the extra `export`, inspect the extra `inspect`.
    """  # noqa: D301 -- a real backspace character tells click to keep the lines below it
    if include_wrong and kind != "chat":
        raise click.UsageError("--all goes with --to chat; the other formats have every episode")
    stores = [store for _, store in opened(runs)]
    write = partial(FORMATS[kind], stores, out, overwrite)
    written = write(include_wrong)
    if as_json:
        files = [str(path) for path in written.files]
        click.echo(json.dumps({"files": files, **written.rows}, ensure_ascii=False))
        return
    for path in written.files:
        click.echo(path)
    click.echo(", ".join(f"{count} {name}" for name, count in written.rows.items()), err=True)
# fmt: on
