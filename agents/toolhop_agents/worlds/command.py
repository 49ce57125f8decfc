"""`toolhop worlds`: write files of generated items, and show worlds, items and settings."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import RenderableType

from toolhop_agents.cli import INTERRUPTED
from toolhop_agents.cli.flags import Whole, item_option, overwrite_option
from toolhop_agents.cli.json_output import json_option, write_json
from toolhop_agents.cli.progress import ErrorConsole, Steps
from toolhop_agents.data_view import item_object, item_page
from toolhop_agents.export.files import check_free
from toolhop_agents.table import table_console
from toolhop_agents.terminal import say
from toolhop_agents.worlds.view import (
    chain_parts,
    executed,
    series_json,
    series_tables,
    settings_json,
    settings_tables,
    world_json,
    world_tables,
)
from toolhop_sandbox.outcome import JSON
from toolhop_tools.errors import DataError, counted
from toolhop_tools.load import load, select
from toolhop_tools.model import Item
from toolhop_tools.readers.worlds import MadeItems, write
from toolhop_tools.worlds.items import Making
from toolhop_tools.worlds.spec import SETTINGS, Series, parse, referred

F = TypeVar("F", bound=Callable[..., Any])
NUMBERS = {"seed": 0, "items": 1}
"""Settings whose flags are numbers in other commands too, with their minimum."""
FLAGS = {"tools": "--tool-count"}
"""Flags not named after their setting, because `--tools` has another meaning elsewhere."""


def setting_options(command: F) -> F:
    """Add a flag for each setting of `toolhop_tools.worlds.spec`, with its description."""
    for name, setting in reversed([*SETTINGS.items()]):
        kind = Whole(NUMBERS[name]) if name in NUMBERS else None
        about = setting.about if kind else f"{setting.about} Give {setting.allowed}."
        flag = FLAGS.get(name, f"--{name}")
        command = click.option(flag, name, type=kind, default=None, help=about)(command)
    return command


def series_of(spec: str, flags: dict[str, Any]) -> Series:
    """Return the series that a spec and flags describe.

    Raises:
        BadChoice: the value of a setting is not allowed, or a setting is given twice.
    """
    given = [f"{name}={value}" for name, value in flags.items() if value is not None]
    return parse(",".join([*filter(None, [spec]), *given]))


@click.group()
def worlds() -> None:
    """Make items from a seed, and look at what they are made from."""


@worlds.command()
@click.argument("spec", default="")
@setting_options
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), required=True,
              help="The file to write; `--data FILE` reads it.")  # fmt: skip
@overwrite_option
def make(
    spec: str,
    out: Path,
    overwrite: bool,
    **flags: Any,  # noqa: ANN401 -- texts and numbers
) -> None:
    """Write a file of made items, each in less than a kilobyte.

    SPEC is what follows `--data worlds:`, such as seed=7,items=200,hops=3-5; flags say the same.

    The file has each item's digest, question, answer and difficulty. World and tools are made again
    when it is read, and a digest that differs is an error. `toolhop data export` writes whole rows
    instead, with their tools. What was cut off resumes by the same command.
    """
    check_free([out], overwrite)
    series = series_of(spec, flags)
    try:
        with Steps(ErrorConsole(), "items", len(series)) as shown:
            write(series, out, shown.step)
    except KeyboardInterrupt:
        say("stopped; the same command resumes")
        sys.exit(INTERRUPTED)
    say(f"wrote {counted(len(series), 'item')} to {out}")


@worlds.command()
@click.argument("spec", default="")
@item_option
@click.option(
    "--with-world", "world", is_flag=True, help="The item's world, or the first: types and tools."
)
@click.option("--code", is_flag=True, help="Show the tools' source too.")
@json_option
def show(spec: str, item: str | None, world: bool, code: bool, as_json: bool) -> None:
    """Show settings, tiers and benchmarks; with SPEC what it stands for, an item, or a world.

    SPEC is what follows `--data worlds:`: settings, a benchmark, or a file that `toolhop worlds
    make` wrote.
    """
    chosen = _item(spec, item) if item or world else None
    made, parts = _shown(spec, chosen, item=bool(item), world=world, code=code)
    if as_json:
        write_json(made)
        return
    console = table_console()
    for part in parts:
        console.print(part)


def _item(spec: str, wanted: str | None) -> Item:
    """Return an item of a spec or file by its id, or the first item if `wanted` is None.

    Raises:
        BadChoice: no such item exists.
    """
    data = load(f"worlds:{spec}")
    return select(data, sample_ids=[wanted])[0] if wanted else data.items[0]


def _shown(
    spec: str, chosen: Item | None, *, item: bool, world: bool, code: bool
) -> tuple[dict[str, JSON], Iterable[RenderableType]]:
    """Return the output as plain values and as the parts of a page."""
    if chosen is None and not spec:
        return settings_json(), settings_tables()
    if chosen is None:
        made = load(f"worlds:{spec}").items
        series = made.series if isinstance(made, MadeItems) else parse(spec)
        return series_json(series), series_tables(series)
    place = referred(chosen)
    if place is None:
        raise DataError("its items say no world", origin=f"worlds:{spec}", fix="make them again")
    toolbox = Making(place[0].knobs, str(chosen.extra["family"]), Counter()).tools
    plain: dict[str, JSON] = {}
    parts: list[Iterable[RenderableType]] = []
    if item:
        plain["item"] = {**item_object(chosen), "extra": dict(chosen.extra)}
        plain["calls"] = list(executed(chosen, toolbox))
        parts += [item_page(chosen, code=code), chain_parts(chosen, toolbox)]
    if world:
        plain["world"] = world_json(toolbox)
        parts += [world_tables(toolbox)]
    return plain, chain.from_iterable(parts)
