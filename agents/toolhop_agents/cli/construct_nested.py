"""`toolhop construct --kind nestools`: nested tasks in NesTools' format."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
import click

from toolhop_agents.cli.certify_read import reader_settings
from toolhop_agents.cli.flags import Whole
from toolhop_agents.cli.progress import ErrorConsole, Steps
from toolhop_agents.construct.nested.begin import Source, from_items, from_pool
from toolhop_agents.construct.nested.session import KIND, NestSettings
from toolhop_agents.construct.settings import Settings, check_prices
from toolhop_agents.runs.flags import flag_name
from toolhop_agents.terminal import say
from toolhop_tools.certify.file import of_items, path_for
from toolhop_tools.construct.nested.kinds import Kinds
from toolhop_tools.construct.nested.kinds import load as load_kinds
from toolhop_tools.construct.nested.pool import Meaning
from toolhop_tools.construct.nested.prompts import load as load_prompts
from toolhop_tools.construct.nested.seeds import NestSeed, Way, written
from toolhop_tools.construct.nested.shapes import Structure, possible
from toolhop_tools.construct.prompts import Prompts
from toolhop_tools.errors import counted
from toolhop_tools.load import load, select
from toolhop_tools.readers.folder import builtin

KINDS = ("toolhop", KIND)
OWN = ("from_items", "pool", "certificates", "kinds", "depth", "width", "structure", "edges",
       "distractors")  # fmt: skip
"""Flags that only nested tasks have."""
WAYS = {Way.CODE: "domain", Way.ITEM: "from_items", Way.POOL: "pool"}
"""The flag that each way is chosen by."""
UNUSED = (
    "seeds", "world", "hops", "examples", "official_safe", "executor", "ray_address", "second",
    "second_base_url", "second_price", "wording", "domains", "closed_book", "closed_book_samples",
    "closed_book_base_url", "closed_book_price",
)  # fmt: skip
FOREIGN = {
    Way.CODE: ("certificates", "kinds", "structure", "edges", "licence"),
    Way.ITEM: ("depth", "width", "structure", "edges", "items"),
    Way.POOL: (),
}
"""Flags that a way has no use for."""
DEEPEST, WIDEST = 6, 4
Command = TypeVar("Command", bound=Callable[..., Any])
AnySettings = TypeVar("AnySettings", bound=Settings)


# fmt: off
_OPTIONS = (
    click.option("--kind", type=click.Choice(KINDS), default="toolhop",
                 help="What is made: items with hops and tools that run, or nested tasks in "
                 "NesTools' format, which the flags up to --reader-price are for."),
    click.option("--from", "from_items", metavar="DATA",
                 help="Nested tasks out of certified items."),
    click.option("--pool", metavar="DATA",
                 help="Nested tasks out of tools that run, searched for by their results."),
    click.option("--certificates", type=click.Path(dir_okay=False, path_type=Path),
                 help="Of --from (default as `toolhop perturb`'s) or --pool (default none)."),
    click.option("--kinds", type=click.Path(dir_okay=False, exists=True, path_type=Path),
                 help="What kind of thing the tools of DATA take and give; those of the built-in "
                 "tools are known."),
    click.option("--depth", metavar="N-M", default="2-6",
                 help=f"How deep calls nest, within 2 to {DEEPEST}."),
    click.option("--width", metavar="N-M", default="1-4",
                 help=f"Calls at the widest depth, within 1 to {WIDEST}."),
    click.option("--structure", type=click.Choice([one.value for one in Structure]), default="any",
                 help="With --pool: the form of the calls."),
    click.option("--edges", type=click.Choice(["known", "model"]), default="known",
                 help="With --pool: which response may go to a parameter. known: an item has it "
                 "so, or both are of one kind. model: also any of the same type, if --model says "
                 "that it makes sense."),
    click.option("--distractors", type=Whole(0, 50), default=0,
                 help="Other tools shown for each tool of a task; NesTools has 5."),
)


# fmt: on
def nested_options(command: Command) -> Command:
    """The flags of nested tasks."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def refuse_own(given: Sequence[str]) -> None:
    """See that no flag of nested tasks is given for items with hops.

    Raises:
        UsageError: one is.
    """
    if wrong := [name for name in given if name in OWN]:
        raise click.UsageError(f"{flag_of(wrong[0])} is for --kind {KIND}; give that too")


def flag_of(name: str) -> str:
    """What a person types for an option."""
    named = {"seeds": "SEEDS", "from_items": "--from", "as_json": "--json"}
    return named.get(name) or flag_name(name)


def begin(flags: Mapping[str, Any], given: Sequence[str]) -> tuple[list[NestSeed], NestSettings]:
    """The seeds and settings that the flags of a new folder make. Tools are run for it, and no
    model is asked.

    Raises:
        UsageError: flags that do not go together, or nothing comes of them.
        DataError, CertificateError, BadChoice, SandboxUnavailable: what they name cannot be used.
    """
    if wrong := [name for name in given if name in UNUSED]:
        raise click.UsageError(f"{flag_of(wrong[0])} is for --kind toolhop; leave it out")
    if not (flags["out"] or flags["dry_run"]):
        raise click.UsageError("--out is missing: the folder to make tasks in")
    ways = [way for way, name in WAYS.items() if flags[name]]
    if len(ways) != 1:
        named = " and ".join(flag_of(WAYS[way]) for way in ways) or "none"
        raise click.UsageError(f"{named} of --domain, --from and --pool is given: give one of them")
    [way] = ways
    if foreign := [name for name in given if name in FOREIGN[way]]:
        others = " and ".join(flag_of(WAYS[one]) for one in Way if foreign[0] not in FOREIGN[one])
        raise click.UsageError(f"{flag_of(foreign[0])} is for {others}; leave it out")
    if way is not Way.ITEM and not flags["items"]:
        raise click.UsageError("--items is missing: how many tasks to try")
    if not flags["model"] and (way is Way.CODE or flags["edges"] == "model"):
        raise click.UsageError("--model is missing: who is to be asked")
    for name in flags["against"]:
        load(name)
    made_from = {name: str(flags[name]) for name in OWN if flags[name] is not None}
    settings = settings_of(NestSettings, flags, load_prompts, made_from=made_from)
    check_prices(settings)  # before anything is run
    return _seeds(way, flags), settings


def settings_of(
    kind: type[AnySettings], flags: Mapping[str, Any], prompts: Callable[[Path | None], Prompts],
    **more: object,
) -> AnySettings:  # fmt: skip
    """The settings that flags make of a new folder.

    Raises:
        UsageError: flags of readers that do not go together.
        BadChoice: the prompts cannot be read.
    """
    own = {name: flags[name] for name in kind.model_fields if flags.get(name) is not None}
    own |= {name: flags[name].resolve() for name in ("prompts", "cache") if flags[name]}
    digest = prompts(own.get("prompts")).digest
    return kind(**own | reader_settings(flags) | more, prompts_digest=digest)


def range_of(flags: Mapping[str, Any], name: str, low: int, high: int, example: str = "") -> range:
    """The numbers that a flag such as ``--depth 2-4`` means; `example` is for the message.

    Raises:
        UsageError: it is no range, or not within `low` and `high`.
    """
    match = re.fullmatch(r"(\d)(?:-(\d))?", flags[name].strip())
    least, most = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not low <= least <= most <= high:
        raise click.UsageError(
            f"--{name} is {flags[name]!r}; give a range such as {example or f'{low}-{high}'}, "
            f"within {low} to {high}"
        )
    return range(least, most + 1)


def _seeds(way: Way, flags: Mapping[str, Any]) -> list[NestSeed]:
    depths, widths = range_of(flags, "depth", 2, DEEPEST), range_of(flags, "width", 1, WIDEST)
    if way is Way.CODE:
        return written(flags["domain"], flags["items"], depths, widths)
    structure = Structure(flags["structure"])
    forms = [form for form in itertools.product(depths, widths) if possible(structure, *form)]
    if not forms:
        raise click.UsageError(
            f"--structure {structure} is not to be had with --depth {flags['depth']} and --width "
            f"{flags['width']}; chains are of width 1, all others wider"
        )
    dataset = load(flags["pool"] or flags["from_items"])
    items = select(dataset, limit=None, sample_ids=())
    path = flags["certificates"] or (path_for(dataset) if way is Way.ITEM else None)
    kinds = Kinds()
    if flags["kinds"] or dataset.origin == builtin().origin:
        kinds = load_kinds(flags["kinds"], (t for item in items for t in item.all_tools.values()))
    source = Source(dataset, items, of_items(items, path) if path else {}, kinds, flags["licence"],
                    flags["sandbox"], flags["distractors"])  # fmt: skip
    total = flags["items"] or len(items)
    with Steps(ErrorConsole(), "drafts", total) as shown:
        work = partial(from_items, source, shown.step)
        if way is Way.POOL:
            doubtful = flags["edges"] == Meaning.MODEL
            work = partial(from_pool, source, shown.step, count=total, forms=forms,
                           structure=structure, seed=flags["seed"],
                           doubtful=doubtful)  # fmt: skip
        drafts = anyio.run(work)
    say(f"{len(drafts.seeds)} of {total} drafts; {drafts.run.calls:,} calls")
    for why, count in drafts.unfit.most_common():
        say(f"  none of {counted(count, 'draft')}: {why}")
    if not drafts.seeds:
        raise click.UsageError("nothing can be made of it; the reasons are above")
    return drafts.seeds


def print_plan(seeds: Sequence[NestSeed], settings: NestSettings, *, as_json: bool) -> None:
    """What would be asked, where no reply has to be repaired."""
    doubtful = sum(any(row["meaning"] == Meaning.MODEL for row in seed.references)
                   for seed in seeds)  # fmt: skip
    code = sum(seed.way is Way.CODE for seed in seeds)
    texts = len(seeds) if settings.model else 0
    facts = {
        "model": settings.model, "readers": [*settings.readers], "tasks": len(seeds),
        "replies": code + texts + doubtful, "readings": len(seeds) * settings.all_votes,
        "repairs_a_stage": settings.repairs, "settings": settings.model_dump(mode="json"),
    }  # fmt: skip
    if as_json:
        click.echo(json.dumps(facts, ensure_ascii=False))
        return
    click.echo(f"model: {settings.model or 'none'}; {len(seeds)} tasks to try")
    click.echo(f"replies without a repair: {facts['replies']:,}, of readers {facts['readings']:,}; "
               f"at most {settings.repairs} repairs a stage")  # fmt: skip
    click.echo("Nothing was asked.")
