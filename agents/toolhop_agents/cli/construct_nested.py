"""`toolhop construct --kind nestools`: nested tasks in NesTools' format."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
import click
from rich.console import Console

from toolhop_agents.cli.progress import Steps
from toolhop_agents.construct import folder as folders
from toolhop_agents.construct.nested.begin import Begun, Recipe, Source, from_items, from_pool
from toolhop_agents.construct.nested.session import KIND, NestSettings
from toolhop_agents.construct.session import opened
from toolhop_tools.certify.file import default_path
from toolhop_tools.construct.nested.pool import Meaning
from toolhop_tools.construct.nested.prompts import load as load_prompts
from toolhop_tools.construct.nested.seeds import NestSeed, Way, written
from toolhop_tools.construct.nested.shapes import Structure, possible
from toolhop_tools.errors import counted
from toolhop_tools.load import load, select

KINDS = ("toolhop", KIND)
OWN = ("from_items", "pool", "certificates", "depth", "width", "structure", "edges",
       "distractors")  # fmt: skip
"""Flags that only nested tasks have."""
UNUSED = (
    "seeds", "world", "hops", "examples", "official_safe", "executor", "ray_address",
    "direct_model", "direct_samples", "direct_base_url", "direct_price",
)  # fmt: skip
"""Flags that only items with hops have."""
FLAGS = {Way.CODE: "--domain", Way.ITEM: "--from", Way.POOL: "--pool"}
FOREIGN = {
    Way.CODE: ("certificates", "structure", "edges", "licence"),
    Way.ITEM: ("depth", "width", "structure", "edges", "items"),
    Way.POOL: (),
}
"""Flags that a way has no use for."""
DEEPEST, WIDEST = 6, 4
EDGES = ("named", "model")
Command = TypeVar("Command", bound=Callable[..., Any])


# fmt: off
_OPTIONS = (
    click.option("--kind", type=click.Choice(KINDS), default="toolhop",
                 help="What is made: items with hops and tools that run, or nested tasks in "
                 "NesTools' format, which the flags up to --distractors are for."),
    click.option("--from", "from_items", metavar="DATA",
                 help="Nested tasks out of certified items."),
    click.option("--pool", metavar="DATA",
                 help="Nested tasks out of tools that run, searched for by their results."),
    click.option("--certificates", type=click.Path(dir_okay=False, path_type=Path),
                 help="Of --from (default certificates/DATA.jsonl) or --pool (default none)."),
    click.option("--depth", metavar="N-M", default="2-6",
                 help=f"How deep calls nest, within 2 to {DEEPEST}."),
    click.option("--width", metavar="N-M", default="1-4",
                 help=f"Calls at the widest depth, within 1 to {WIDEST}."),
    click.option("--structure", type=click.Choice([one.value for one in Structure]),
                 default="any", help="With --pool: the form of the calls."),
    click.option("--edges", type=click.Choice(EDGES), default="named",
                 help="With --pool: why a response may go to a parameter. named: an item has it "
                 "so, or the names say it. model: any of the same type, if --model says that it "
                 "makes sense."),
    click.option("--distractors", type=click.IntRange(0, 50), default=0,
                 help="Other tools shown for each tool of a task; NesTools has 5."),
)


# fmt: on
def nested_options(command: Command) -> Command:
    """The flags of nested tasks."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def refuse_own(flags: Mapping[str, Any], given: Sequence[str]) -> None:
    """See that no flag of nested tasks is given for items with hops.

    Raises:
        UsageError: one is.
    """
    if wrong := [name for name in given if name in OWN]:
        raise click.UsageError(f"{_flag(wrong[0])} is for --kind {KIND}; give that too")


def _flag(name: str) -> str:
    return {"seeds": "SEEDS", "from_items": "--from"}.get(name, "--" + name.replace("_", "-"))


def is_nested(folder: Path) -> bool:
    """Whether a folder has nested tasks.

    Raises:
        FolderError: it is no folder of items that are made.
    """
    return folders.read_settings(folder).get("kind") == KIND


def begin(
    flags: Mapping[str, Any], given: Sequence[str], *, folder_wanted: bool = True
) -> tuple[list[NestSeed], NestSettings]:
    """The seeds and settings that the flags of a new folder make. Tools are run for it, and no
    model is asked.

    Raises:
        UsageError: flags that do not go together, or nothing comes of them.
        DataError, CertificateError, BadChoice, SandboxUnavailable: what they name cannot be used.
    """
    if wrong := [name for name in given if name in UNUSED]:
        raise click.UsageError(f"{_flag(wrong[0])} is for --kind toolhop; leave it out")
    if folder_wanted and not flags["out"]:
        raise click.UsageError("--out is missing: the folder to make tasks in")
    way = _way(flags)
    depths = _range("--depth", flags["depth"], 2, DEEPEST)
    widths = _range("--width", flags["width"], 1, WIDEST)
    if foreign := [name for name in given if name in FOREIGN[way]]:
        ways = " and ".join(FLAGS[one] for one in Way if foreign[0] not in FOREIGN[one])
        raise click.UsageError(f"{_flag(foreign[0])} is for {ways}; leave it out")
    if not flags["model"] and (way is Way.CODE or flags["edges"] == "model" or flags["checker"]):
        raise click.UsageError("--model is missing: who is to be asked")
    for name in flags["against"]:
        load(name)
    prompts = flags["prompts"].resolve() if flags["prompts"] else None
    own = {
        name: flags[name]
        for name in NestSettings.model_fields
        if flags.get(name) is not None and name != "prompts"
    }
    made_from = {name: str(flags[name]) for name in OWN if flags[name] is not None}
    digest = load_prompts(prompts).digest
    settings = NestSettings(
        **{**own, "prompts": prompts, "prompts_digest": digest, "made_from": made_from}
    )
    seeds = _seeds(way, flags, depths, widths)
    return seeds, settings


def _way(flags: Mapping[str, Any]) -> Way:
    names = {Way.CODE: "domain", Way.ITEM: "from_items", Way.POOL: "pool"}
    given = [way for way in Way if flags[names[way]]]
    if len(given) != 1:
        raise click.UsageError(
            "give one of --domain (with --items), --from and --pool (with --items); given: "
            f"{' and '.join(FLAGS[way] for way in given) or 'none'}"
        )
    if given[0] is not Way.ITEM and not flags["items"]:
        raise click.UsageError("--items is missing: how many tasks to try")
    return given[0]


def _range(name: str, text: str, low: int, high: int) -> range:
    found = re.fullmatch(r"(\d)(?:-(\d))?", text.strip())
    least, most = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not low <= least <= most <= high:
        raise click.UsageError(
            f"{name} is {text!r}; give a range such as {low}-{high}, within {low} to {high}"
        )
    return range(least, most + 1)


def _seeds(way: Way, flags: Mapping[str, Any], depths: range, widths: range) -> list[NestSeed]:
    if way is Way.CODE:
        return written(flags["domain"], flags["items"], depths, widths)
    structure = Structure(flags["structure"])
    if not any(possible(structure, deep, wide) for deep in depths for wide in widths):
        raise click.UsageError(
            f"--structure {structure} is not to be had with --depth {flags['depth']} and --width "
            f"{flags['width']}; chains are of width 1, all others wider"
        )
    dataset = load(flags["pool"] or flags["from_items"])
    items = select(dataset, limit=None, sample_ids=())
    path = flags["certificates"]
    if way is Way.ITEM:
        path = path or default_path(dataset.name)
    source = Source.of(dataset, items, path, flags["licence"])
    total = flags["items"] or len(items)
    with Steps(Console(stderr=True), "drafts", total) as shown:
        if way is Way.ITEM:
            work = partial(from_items, source, flags["sandbox"], flags["distractors"], shown.step)
        else:
            meanings = [Meaning.ITEM, Meaning.NAME, Meaning.PLAIN]
            meanings += [Meaning.MODEL] if flags["edges"] == "model" else []
            recipe = Recipe(total, depths, widths, structure, flags["seed"], (*meanings,),
                            flags["distractors"])  # fmt: skip
            work = partial(from_pool, source, flags["sandbox"], recipe, shown.step)
        begun = anyio.run(work)
    _report(begun, total)
    return begun.seeds


def _report(begun: Begun, total: int) -> None:
    """What came of the drafts.

    Raises:
        UsageError: nothing did.
    """
    click.echo(f"{len(begun.seeds)} of {total} drafts; {begun.calls:,} calls", err=True)
    for why, count in begun.unfit.most_common():
        click.echo(f"  none of {counted(count, 'draft')}: {why}", err=True)
    if not begun.seeds:
        raise click.UsageError("nothing can be made of it; the reasons are above")


async def open_models(settings: NestSettings) -> None:
    """See that the models can be asked.

    Raises:
        NoSuchModel, NoKey, ModelFault, UnknownPrice: one cannot.
    """
    for own in (settings if settings.model else None, settings.of_checker()):
        if own is not None:
            async with opened(own):
                pass


def print_plan(seeds: Sequence[NestSeed], settings: NestSettings, *, as_json: bool) -> None:
    """What would be asked, where no reply has to be repaired."""
    written_ = sum(seed.way is Way.CODE for seed in seeds)
    texts = len(seeds) if settings.model else 0
    doubtful = sum(seed.has_doubts for seed in seeds)
    replies = written_ + texts + doubtful + (texts if settings.checker else 0)
    facts = {
        "model": settings.model, "checker": settings.checker or "", "tasks": len(seeds),
        "replies": replies, "repairs_a_stage": settings.repairs,
        "settings": settings.model_dump(mode="json"),
    }  # fmt: skip
    if as_json:
        click.echo(json.dumps(facts, ensure_ascii=False))
        return
    click.echo(f"model: {settings.model or 'none'}; {len(seeds)} tasks to try")
    click.echo(f"replies without a repair: {replies:,}; at most {settings.repairs} repairs a stage")
    click.echo("Nothing was asked.")
