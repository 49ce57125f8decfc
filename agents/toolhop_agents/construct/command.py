"""`toolhop construct`: make items with a model, each of them run and proven."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from pydantic import ValidationError

from toolhop_agents.certify.reading import reader_base_url_option
from toolhop_agents.cli.flags import NAME, item_option, items_option
from toolhop_agents.cli.json_output import json_option
from toolhop_agents.cli.options import (
    AnyPath,
    cluster_of,
    cluster_options,
    given,
    resuming_options,
)
from toolhop_agents.cli.stored_addresses import refuse_unnamed
from toolhop_agents.construct import folder as folders
from toolhop_agents.construct.begin_command import (
    EXIT_CODES,
    ITEMS,
    TASKS,
    Span,
    begin,
    estimate_option,
    go_on,
    licence_option,
    making,
    settings_of,
    stored,
)
from toolhop_agents.construct.nested.command import nested
from toolhop_agents.construct.nested.session import KIND as NESTED
from toolhop_agents.construct.settings import Settings, check_prices
from toolhop_agents.construct.view import print_funnel, print_item
from toolhop_agents.review.command import agreement, review
from toolhop_agents.runs.flags import flag_name, operational
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.table import table_console
from toolhop_tools.construct.seeds import LEAST_HOPS, MOST_HOPS, World, proposed, read
from toolhop_tools.errors import why

ADDRESSES = ("base_url", "second_base_url", "reader_base_url", "closed_book_base_url")
"""What a command that resumes may name again, so that keys are sent there."""


@click.group()
def construct() -> None:
    """Make items with a model, each of them run and proven.

    Every reply is checked, every tool tested, every hop proven by running it; what fails goes back
    with the call that shows it. Out comes a data set like any other:
    FOLDER/items.jsonl with FOLDER/certificates.jsonl. docs/construct.md says what an item has to
    hold.
    """


# fmt: off
hops_option = click.option("--hops", type=Span(LEAST_HOPS, MOST_HOPS), default="3-5",
                           help=f"Fewest and most hops, within {LEAST_HOPS} to {MOST_HOPS}.")


@cluster_options
@making(Settings)
@construct.command("from-domain", context_settings={"show_default": True})
@click.argument("domain", type=NAME)
@items_option(required=True)
@hops_option
@click.pass_context
def from_domain(ctx: click.Context, /, domain: str, items: int, hops: range, **flags: Any) -> None:  # noqa: ANN401 -- click passes options of many types
    """Make items about DOMAIN.

    The model proposes the questions. DOMAIN is a topic, such as Geography.
    """
    settings = settings_of(ctx, ITEMS, flags)
    begin(ITEMS, proposed(domain, items, (hops[0], hops[-1]), World.CLOSED), settings, flags)


@cluster_options
@making(Settings)
@construct.command("from-seeds", context_settings={"show_default": True})
@click.argument("seeds", type=click.Path(dir_okay=False, path_type=Path))
@hops_option
@click.option("--world", type=click.Choice([world.value for world in World]), default="closed",
              help="closed: all entities are invented. real: facts and answers are the seeds'.")
@licence_option
@click.pass_context
def from_seeds(
    ctx: click.Context, /, seeds: Path, hops: range, world: str, licence: str, **flags: Any,  # noqa: ANN401 -- click passes options of many types
) -> None:
    """Make items out of your own questions."""
    rows = read(seeds, world=World(world), licence=licence, hops=(hops[0], hops[-1]))
    begin(ITEMS, rows, settings_of(ctx, ITEMS, flags), flags)


# fmt: on
@construct.command(epilog=EXIT_CODES)
@click.argument("folder", type=AnyPath(file_okay=False, path_type=Path))
@estimate_option
@json_option
@click.pass_context
def resume(ctx: click.Context, /, folder: Path, **flags: Any) -> None:  # noqa: ANN401 -- click passes options of many types
    """Resume a folder that was stopped.

    Makes the items of FOLDER that are not made yet; no reply in it is asked for again.
    Its settings hold; limits may be given anew. Keys are sent to an address of the folder only if
    it is named again.
    """
    kept = folders.own_settings(folder)
    kind = TASKS if kept.get("kind") == NESTED else ITEMS
    own = {name: flags[name] for name in given(ctx) if name in Settings.model_fields}
    named = {name: own.pop(name) for name in ADDRESSES if name in own}
    if "cache" in own:
        own["cache"] = own["cache"].resolve()
    try:
        settings = kind.settings.model_validate({**kept, **own})
    except ValidationError as error:
        raise folders.FolderError(
            f"{folder}/{folders.SETTINGS}: {why(error)}\n"
            "  fix: put back what it was begun with, or begin another folder"
        ) from None
    cluster_of(settings.model_dump())  # refuses what cannot be
    _see_where_keys_go(folder, settings, named)
    check_prices(settings)
    go_on(kind, folder, settings, flags)


reader_base_url_option(resume)
resume.params += resuming_options(Settings, {*operational(Settings), *ADDRESSES})
resume.params += resuming_options(RunSettings, {"executor", "ray_address"})


def _see_where_keys_go(folder: Path, settings: Settings, given: dict[str, Any]) -> None:
    kept = stored(settings)
    named = {name: {value} if isinstance(value, str) else {*value} for name, value in given.items()}
    for name, addresses in named.items():
        if addresses - {one.base_url for one in kept}:
            raise click.UsageError(
                f"{flag_name(name)} is fixed in a folder that was begun; it may "
                "be given with the address that it was begun with"
            )
    known = set().union(*named.values())
    refuse_unnamed(folder, (one for one in kept if one.base_url not in known), ())


@construct.command()
@click.argument("folder", type=AnyPath(file_okay=False, path_type=Path))
@item_option
@json_option
def show(folder: Path, item: str | None, *, as_json: bool) -> None:
    """Show what became of items, by stage."""
    if item:
        print_item(folder, item, as_json=as_json)
    else:
        print_funnel(table_console(), folder, as_json=as_json)


for part in (nested, review, agreement):
    construct.add_command(part)
