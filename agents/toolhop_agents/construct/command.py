"""`toolhop construct`: make items with a model, and run and prove each one."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import click
from pydantic import ValidationError

from toolhop_agents.certify.reading import reader_base_url_option
from toolhop_agents.cli.flags import NAME, data_option, item_option, items_option
from toolhop_agents.cli.json_output import json_option
from toolhop_agents.cli.options import (
    AnyPath,
    cluster_of,
    cluster_options,
    given,
    resuming_options,
    setting_option,
)
from toolhop_agents.cli.progress import ErrorConsole, Steps
from toolhop_agents.cli.stored_addresses import refuse_unnamed
from toolhop_agents.construct import folder as folders
from toolhop_agents.construct.begin_command import (
    EXIT_CODES,
    Span,
    begin,
    estimate_option,
    go_on,
    licence_option,
    making,
    settings_of,
    stored,
)
from toolhop_agents.construct.nested.begin import Drafts, Source
from toolhop_agents.construct.nested.begin import from_items as drafts_of_items
from toolhop_agents.construct.nested.begin import from_pool as drafts_of_pool
from toolhop_agents.construct.nested.session import KIND as NESTED
from toolhop_agents.construct.nested.session import NestSession, NestSettings
from toolhop_agents.construct.session import Session
from toolhop_agents.construct.settings import Settings, check_prices
from toolhop_agents.construct.view import print_funnel, print_item
from toolhop_agents.review.command import agreement, review
from toolhop_agents.runs.flags import flag_name, operational
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.terminal import say
from toolhop_tools.certify.file import of_items, path_for
from toolhop_tools.construct.nested.kinds import Kinds
from toolhop_tools.construct.nested.kinds import load as load_kinds
from toolhop_tools.construct.nested.pool import Meaning, Structure, possible
from toolhop_tools.construct.nested.seeds import NestSeed, written
from toolhop_tools.construct.seeds import LEAST_HOPS, MOST_HOPS, World, proposed, read
from toolhop_tools.errors import counted, why
from toolhop_tools.load import load, select
from toolhop_tools.model import DataSet
from toolhop_tools.readers.folder import builtin

ADDRESSES = ("base_url", "second_base_url", "reader_base_url", "closed_book_base_url")
"""Addresses that `resume` accepts again, as confirmation that keys may be sent there."""


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
    settings = settings_of(ctx, Session, flags)
    begin(Session, proposed(domain, items, (hops[0], hops[-1])), settings, flags)


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
    begin(Session, rows, settings_of(ctx, Session, flags), flags)


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
    kind = NestSession if kept.get("kind") == NESTED else Session
    own = {name: flags[name] for name in given(ctx) if name in Settings.model_fields}
    named = {name: own.pop(name) for name in ADDRESSES if name in own}
    if "cache" in own:
        own["cache"] = own["cache"].resolve()
    try:
        settings = kind.made_with.model_validate({**kept, **own})
    except ValidationError as error:
        raise folders.FolderError(
            f"{folder}/{folders.SETTINGS}: {why(error)}\n"
            "  fix: put back what it was begun with, or begin another folder"
        ) from None
    cluster_of(settings.model_dump())  # refuses contradictory cluster flags
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
        print_funnel(folder, as_json=as_json)


construct.add_command(review)
construct.add_command(agreement)


@construct.group()
def nested() -> None:
    """Make nested tasks in NesTools' format.

    Their calls take what earlier calls return. Out comes FOLDER/test_data.jsonl:
    docs/construct-nestools.md.
    """


OF_HOPS = ("per_template", "official_safe", "second", "second_base_url", "second_price", "wording",
           "domains", "closed_book", "closed_book_samples", "closed_book_base_url",
           "closed_book_price")  # fmt: skip
"""Settings that do not apply to nested tasks."""
DEEPEST, WIDEST = 6, 4


# fmt: off
depth_option = click.option("--depth", type=Span(2, DEEPEST), default="2-6",
                            help=f"How deep calls nest, within 2 to {DEEPEST}.")
width_option = click.option("--width", type=Span(1, WIDEST), default="1-4",
                            help=f"Calls at the widest depth, within 1 to {WIDEST}.")
certificates_option = setting_option(
    "certificates", help="Certificates of the items, as `toolhop certify` writes them.")
kinds_option = click.option(
    "--kinds", type=click.Path(dir_okay=False, exists=True, path_type=Path),
    help="What kind of thing the tools of --data take and give; those of the built-in tools are "
    "known.")


@making(NestSettings, *OF_HOPS, "sandbox")
@nested.command("from-domain", context_settings={"show_default": True})
@click.argument("domain", type=NAME)
@items_option(required=True)
@depth_option
@width_option
@click.pass_context
def nested_from_domain(ctx: click.Context, /, **flags: Any) -> None:  # noqa: ANN401 -- click passes options of many types
    """Have a model write calls as code.

    DOMAIN is a topic, such as Shipping/Harbours. No tool is run.
    """
    settings = settings_of(ctx, NestSession, flags, made_from=_made_from(flags))
    seeds = written(flags["domain"], flags["items"], flags["depth"], flags["width"])
    begin(NestSession, seeds, settings, flags)


@making(NestSettings, *OF_HOPS, needs_model=False)
@nested.command("from-items", context_settings={"show_default": True})
@data_option
@certificates_option
@kinds_option
@licence_option
@click.pass_context
def nested_from_items(ctx: click.Context, /, **flags: Any) -> None:  # noqa: ANN401 -- click passes options of many types
    """Use the gold calls of certified items.

    The calls of the items of --data are run again.
    """
    settings = settings_of(ctx, NestSession, flags, made_from=_made_from(flags))
    dataset = load(flags["data"])
    source = _source(dataset, flags, flags["certificates"] or path_for(dataset))
    seeds = _drafted(partial(drafts_of_items, source), len(source.items))
    begin(NestSession, seeds, settings, flags)


@making(NestSettings, *OF_HOPS, needs_model=False)
@nested.command("from-pool", context_settings={"show_default": True})
@data_option
@items_option(required=True)
@depth_option
@width_option
@click.option("--structure", type=click.Choice([one.value for one in Structure]), default="any",
              help="The form of the calls.")
@click.option("--edges", type=click.Choice(["known", Meaning.MODEL.value]), default="known",
              help="Which response may go to a parameter. known: an item has it so, or both are "
              "of one kind. model: also any of the same type, if --model says that it makes "
              "sense.")
@certificates_option
@kinds_option
@licence_option
@click.pass_context
def nested_from_pool(ctx: click.Context, /, **flags: Any) -> None:  # noqa: ANN401 -- click passes options of many types
    """Search the tools of data for calls.

    The tools of --data are run, and calls are found by their results.
    """
    doubtful = flags["edges"] == Meaning.MODEL
    if doubtful and not flags["model"]:
        raise click.UsageError("--model is missing: who is asked about --edges model")
    settings = settings_of(ctx, NestSession, flags, made_from=_made_from(flags))
    structure = Structure(flags["structure"])
    forms = [form for form in itertools.product(flags["depth"], flags["width"])
             if possible(structure, *form)]
    if not forms:
        raise click.UsageError(
            f"--structure {structure} is not possible with this --depth and --width; chains are "
            "of width 1, all others wider"
        )
    source = _source(load(flags["data"]), flags, flags["certificates"])
    search = partial(drafts_of_pool, source, count=flags["items"], forms=forms,
                     structure=structure, seed=flags["seed"], doubtful=doubtful)
    begin(NestSession, _drafted(search, flags["items"]), settings, flags)


# fmt: on
def _made_from(flags: Mapping[str, Any]) -> dict[str, str]:
    """Return the flags that are not settings, for the books."""
    spans = {name: f"{flags[name][0]}-{flags[name][-1]}" for name in ("depth", "width")
             if name in flags}  # fmt: skip
    names = ("domain", "data", "certificates", "kinds", "structure", "edges")
    return spans | {name: str(flags[name]) for name in names if flags.get(name) is not None}


def _source(dataset: DataSet, flags: Mapping[str, Any], certificates: Path | None) -> Source:
    items = select(dataset, limit=None, sample_ids=())
    kinds = Kinds()
    if flags["kinds"] or dataset.origin == builtin().origin:
        kinds = load_kinds(flags["kinds"], (t for item in items for t in item.all_tools.values()))
    return Source(
        dataset, items, of_items(items, certificates) if certificates else {}, kinds,
        flags["licence"], flags["sandbox"], flags["distractors"],
    )  # fmt: skip


def _drafted(
    draft: Callable[[Callable[[], None]], Awaitable[Drafts]], total: int
) -> Sequence[NestSeed]:
    """Run the tools to draft seeds, and print why drafts failed."""
    with Steps(ErrorConsole(), "drafts", total) as shown:
        drafts = anyio.run(draft, shown.step)
    say(f"{len(drafts.seeds)} of {total} drafts; {drafts.run.calls:,} calls")
    for reason, count in drafts.unfit.most_common():
        say(f"  none of {counted(count, 'draft')}: {reason}")
    if not drafts.seeds:
        raise click.UsageError("nothing can be made of it; the reasons are above")
    return drafts.seeds
