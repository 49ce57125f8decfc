"""`toolhop construct nested`: nested tasks in NesTools' format."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import click

from toolhop_agents.cli.flags import NAME, data_option, items_option
from toolhop_agents.cli.options import setting_option
from toolhop_agents.cli.progress import ErrorConsole, Steps
from toolhop_agents.construct.begin_command import (
    TASKS,
    Span,
    begin,
    licence_option,
    making,
    settings_of,
)
from toolhop_agents.construct.nested.begin import Drafts, Source
from toolhop_agents.construct.nested.begin import from_items as drafts_of_items
from toolhop_agents.construct.nested.begin import from_pool as drafts_of_pool
from toolhop_agents.construct.nested.session import NestSettings
from toolhop_agents.terminal import say
from toolhop_tools.certify.file import of_items, path_for
from toolhop_tools.construct.nested.kinds import Kinds
from toolhop_tools.construct.nested.kinds import load as load_kinds
from toolhop_tools.construct.nested.pool import Meaning
from toolhop_tools.construct.nested.seeds import NestSeed, written
from toolhop_tools.construct.nested.shapes import Structure, possible
from toolhop_tools.errors import counted
from toolhop_tools.load import load, select
from toolhop_tools.model import DataSet
from toolhop_tools.readers.folder import builtin

OF_HOPS = ("per_template", "official_safe", "second", "second_base_url", "second_price", "wording",
           "domains", "closed_book", "closed_book_samples", "closed_book_base_url",
           "closed_book_price")  # fmt: skip
"""Settings that nested tasks have no use for."""
DEEPEST, WIDEST = 6, 4


@click.group()
def nested() -> None:
    """Make nested tasks in NesTools' format.

    Their calls take what earlier calls return. Out comes FOLDER/test_data.jsonl:
    docs/construct-nestools.md.
    """


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
def from_domain(ctx: click.Context, /, **flags: Any) -> None:  # noqa: ANN401 -- click passes options of many types
    """Have a model write calls as code.

    DOMAIN is a topic, such as Shipping/Harbours. No tool is run.
    """
    settings = settings_of(ctx, TASKS, flags, made_from=_made_from(flags))
    seeds = written(flags["domain"], flags["items"], flags["depth"], flags["width"])
    begin(TASKS, seeds, settings, flags)


@making(NestSettings, *OF_HOPS, needs_model=False)
@nested.command("from-items", context_settings={"show_default": True})
@data_option
@certificates_option
@kinds_option
@licence_option
@click.pass_context
def from_items(ctx: click.Context, /, **flags: Any) -> None:  # noqa: ANN401 -- click passes options of many types
    """Use the gold calls of certified items.

    The calls of the items of --data are run again.
    """
    settings = settings_of(ctx, TASKS, flags, made_from=_made_from(flags))
    dataset = load(flags["data"])
    source = _source(dataset, flags, flags["certificates"] or path_for(dataset))
    begin(TASKS, _drafted(partial(drafts_of_items, source), len(source.items)), settings, flags)


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
def from_pool(ctx: click.Context, /, **flags: Any) -> None:  # noqa: ANN401 -- click passes options of many types
    """Search the tools of data for calls.

    The tools of --data are run, and calls are found by their results.
    """
    doubtful = flags["edges"] == Meaning.MODEL
    if doubtful and not flags["model"]:
        raise click.UsageError("--model is missing: who is asked about --edges model")
    settings = settings_of(ctx, TASKS, flags, made_from=_made_from(flags))
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
    begin(TASKS, _drafted(search, flags["items"]), settings, flags)


# fmt: on
def _made_from(flags: Mapping[str, Any]) -> dict[str, str]:
    """The flags that are no settings, for the books."""
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
    """The seeds that come of running tools; says why others are none."""
    with Steps(ErrorConsole(), "drafts", total) as shown:
        drafts = anyio.run(draft, shown.step)
    say(f"{len(drafts.seeds)} of {total} drafts; {drafts.run.calls:,} calls")
    for why, count in drafts.unfit.most_common():
        say(f"  none of {counted(count, 'draft')}: {why}")
    if not drafts.seeds:
        raise click.UsageError("nothing can be made of it; the reasons are above")
    return drafts.seeds
