"""`toolhop construct`: make items with a model, each of them run and proven."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import click
from pydantic import ValidationError
from rich.console import Console

from toolhop_agents.cli import EXIT_EPISODES, INTERRUPTED
from toolhop_agents.cli import construct_nested as nested
from toolhop_agents.cli.construct_review import FLAGS, review
from toolhop_agents.cli.construct_view import print_estimate, print_funnel, print_item, print_plan
from toolhop_agents.cli.options import cluster_of, cluster_options
from toolhop_agents.cli.progress import Steps
from toolhop_agents.construct import folder as folders
from toolhop_agents.construct.nested.session import DATA as NESTED_DATA
from toolhop_agents.construct.nested.session import KIND as NESTED
from toolhop_agents.construct.nested.session import NestSettings, construct_nested
from toolhop_agents.construct.nested.session import read_seeds as read_nest_seeds
from toolhop_agents.construct.session import Ended, opened
from toolhop_agents.construct.session import construct as make
from toolhop_agents.construct.settings import Settings, check_prices
from toolhop_agents.models.cache import ResponseCache
from toolhop_agents.models.prices import parse as parse_price
from toolhop_agents.runs.signals import until_signal
from toolhop_agents.scripted.choose import choose
from toolhop_agents.scripted.constructor.model import PREFIX
from toolhop_agents.table import table_console
from toolhop_env.runs.files import held
from toolhop_sandbox.choose import KINDS
from toolhop_tools.construct.prompts import load as load_prompts
from toolhop_tools.construct.seeds import LEAST_HOPS, MOST_HOPS, Seed, World, proposed, read
from toolhop_tools.load import load

TOGETHER = {
    "review": FLAGS,
    "show": ("item",),
    "direct_model": ("direct_samples", "direct_base_url", "direct_price"),
    "checker": ("checker_base_url", "checker_price"),
}
"""Flags that mean nothing without another one."""
TOGETHER_WITH = {"review": "FOLDER", "show": "FOLDER", "direct_model": "NAME", "checker": "NAME"}
ALONE = {"review": FLAGS, "show": ("item",)}
"""Flags that go with no others but these."""
LIMITS = ("token_limit", "cost_limit", "run_token_limit", "run_cost_limit", "least_yield",
          "at_a_time", "cache", "executor", "ray_address", "timeout_s", "max_retries")  # fmt: skip
"""What a session that resumes may change."""


# fmt: off
@cluster_options
@click.command(context_settings={"show_default": True})
@click.argument("seeds", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--model", metavar="NAME", help="PROVIDER/MODEL, as in `toolhop run`; or "
              "scripted/NAME, which needs no provider: honest, clumsy, faulty:KIND.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), metavar="FOLDER",
              help="A new folder for the items and all that was paid for.")
@click.option("--resume", type=click.Path(file_okay=False, path_type=Path), metavar="FOLDER",
              help="Resume a folder; nothing that was paid for is asked for again.")
@click.option("--show", type=click.Path(file_okay=False, path_type=Path), metavar="FOLDER",
              help="Show what became of a folder's items, by stage.")
@click.option("--item", metavar="ID", help="With --show: one item, reply by reply.")
@click.option("--review", type=click.Path(file_okay=False, path_type=Path), metavar="FOLDER",
              help="Show a folder's accepted items to one reviewer, who accepts or rejects each on "
              "a page of this machine. Another reviewer's verdicts are not seen.")
@click.option("--reviewer", metavar="NAME", help="With --review: whose verdicts these are.  "
              "[default: the account's name]")
@click.option("--terminal", is_flag=True, help="With --review: here, without a browser.")
@click.option("--settle", is_flag=True,
              help="With --review: only items that two judge differently; this verdict decides.")
@click.option("--agreement", is_flag=True,
              help="With --review: print how far reviewers agree, and on what they do not.")
@click.option("--port", type=click.IntRange(0, 65535), default=0,
              help="With --review: of the page, on 127.0.0.1; 0 for any free one.")
@click.option("--domain", metavar="NAME", help="Without SEEDS: have questions proposed.")
@click.option("--hops", metavar="N-M", default="3-5",
              help=f"Least and most hops, within {LEAST_HOPS} to {MOST_HOPS}.")
@click.option("--items", type=click.IntRange(1, 100_000),
              help="With --domain or --pool: how many to try.")
@nested.nested_options
@click.option("--world", type=click.Choice([one.value for one in World]), default="closed",
              help="closed: all entities are invented. real: facts and answers are the seeds'.")
@click.option("--licence", default="", help="Of SEEDS, or items of DATA, that state none.")
@click.option("--prompts", type=click.Path(file_okay=False, path_type=Path), metavar="FOLDER",
              help="Prompts that replace the product's, a file each.")
@click.option("--repairs", type=click.IntRange(0, 20), default=4, help="Repairs per stage.")
@click.option("--against", multiple=True, metavar="DATA",
              help="A test set that no item may be like: in words that hold a value, or in values "
              "and answers; repeatable.")
@click.option("--per-template", type=click.IntRange(1), metavar="N",
              help="Keep at most N items whose questions are alike but for the values.")
@click.option("--official-safe", is_flag=True,
              help="Reject answers that ToolHop's official rule can find by accident.")
@click.option("--direct-model", metavar="NAME",
              help="Ask this model each question without tools; in a closed world an item that it "
              "gets right is rejected.")
@click.option("--direct-samples", type=click.IntRange(1, 100), default=1,
              help="Times that --direct-model is asked each.")
@click.option("--direct-base-url", help="Where --direct-model is asked.")
@click.option("--direct-price", metavar="IN,OUT[,CACHED]", help="Of --direct-model, as --price.")
@click.option("--checker", metavar="NAME",
              help="Another model, asked as --model is: from the text and the tools' documents "
              "alone it has to make calls that come to the same. What it reads otherwise goes back "
              "as a repair; what stays so is rejected.")
@click.option("--checker-base-url", help="Where --checker is asked.")
@click.option("--checker-price", metavar="IN,OUT[,CACHED]", help="Of --checker, as --price.")
@click.option("--cache", type=click.Path(file_okay=False, path_type=Path), metavar="FOLDER",
              help="Keep replies here too, and take those that are there: nothing that was paid "
              "for is asked for again, in whatever folder.")
@click.option("--base-url", help="Base URL of the model's API, if not its provider's.")
@click.option("--temperature", type=click.FloatRange(0, 2), default=0.7)
@click.option("--max-tokens", type=click.IntRange(1), help="Of one reply.")
@click.option("--timeout", "timeout_s", type=click.FloatRange(0, min_open=True), default=120.0,
              help="Seconds per request, of any model.")
@click.option("--max-retries", type=click.IntRange(0), default=5,
              help="Retries of a failed request.")
@click.option("--price", metavar="IN,OUT[,CACHED]", help="USD per million tokens.")
@click.option("--token-limit", type=click.IntRange(1), help="Tokens per item.")
@click.option("--cost-limit", type=click.FloatRange(0, min_open=True), help="USD per item.")
@click.option("--run-token-limit", type=click.IntRange(1), help="Tokens in all.")
@click.option("--run-cost-limit", type=click.FloatRange(0, min_open=True), help="USD in all.")
@click.option("--least-yield", type=click.FloatRange(0, 1), default=0.1,
              help="Stop after 20 items if fewer passed every stage at the first reply; 0: never.")
@click.option("--at-a-time", type=click.IntRange(1, 64), default=2, help="Items at a time.")
@click.option("--seed", type=int, default=0, help="Of the examples that tools are checked with.")
@click.option("--sandbox", type=click.Choice(KINDS), default="auto", help="What isolates tools.")
@click.option("--dry-run", is_flag=True, help="Say what would be asked; ask nothing.")
@click.option("--estimate", type=click.IntRange(1), metavar="N",
              help="Make the first N items, and say what the rest will take.")
@click.option("--json", "as_json", is_flag=True, help="The figures as JSON on standard output.")
@click.pass_context
def construct(ctx: click.Context, /, **flags: Any) -> None:  # noqa: ANN401 -- click passes options of many types
    """Make items with tools, by a model, out of SEEDS or for a domain; or nested tasks.

    Every reply is checked, every tool is tested, every hop is proven by running it; what fails
    goes back with the call that shows it. docs/construct.md says what an item has to hold. Out
    comes a data set like any other: FOLDER/items.jsonl with FOLDER/certificates.jsonl.
    With --kind nestools, FOLDER/test_data.jsonl: docs/construct-nestools.md.

    Exit code 0: done, whatever was accepted. 1: a fault or a limit stopped it. 2: bad input.
    """
    _check(flags, _given(ctx, flags))
    cluster_of(flags)  # refuses what cannot be
    if flags["review"]:
        review(flags)
        return
    if flags["show"]:
        _show(flags)
        return
    if flags["dry_run"]:
        if flags["resume"]:
            raise click.UsageError("--dry-run is for a folder that is not begun; --show has others")
        if flags["kind"] == NESTED:
            drafts, wanted = nested.begin(flags, _given(ctx, flags), folder_wanted=False)
            nested.print_plan(drafts, wanted, as_json=flags["as_json"])
            return
        nested.refuse_own(flags, _given(ctx, flags))
        seeds, settings = _begin(flags, folder_wanted=False)
        print_plan(seeds, settings, as_json=flags["as_json"])
        return
    folder, settings = _folder(ctx, flags)
    with held(folder):
        ended, cut = _run(folder, settings, flags["estimate"])
    _report(folder, ended, flags)
    if cut:
        click.echo(f"stopped; resume with: toolhop construct --resume {folder}", err=True)
        sys.exit(INTERRUPTED)
    if ended.fault is not None:
        raise ended.fault
    if ended.stopped_by:
        click.echo(f"stopped: {ended.stopped_by}; toolhop construct --resume {folder}", err=True)
        sys.exit(EXIT_EPISODES)


# fmt: on
def _given(ctx: click.Context, flags: dict[str, Any]) -> list[str]:
    """Names of the flags on the command line."""
    typed = click.core.ParameterSource.COMMANDLINE
    return [name for name in flags if ctx.get_parameter_source(name) is typed]


def _flag(name: str) -> str:
    own = {"seeds": "SEEDS", "as_json": "--json", "timeout_s": "--timeout"}
    return own.get(name) or "--" + name.replace("_", "-")


def _check(flags: dict[str, Any], given: Sequence[str]) -> None:
    """See that flags go together, and that their values can be kept.

    Raises:
        UsageError: they cannot.
    """
    for name in given:
        _check_value(name, flags[name])
    for name in given:
        for flag, others in TOGETHER.items():
            if name in others and not flags[flag]:
                raise click.UsageError(
                    f"{_flag(name)} goes with {_flag(flag)} {TOGETHER_WITH[flag]}"
                )
    if flags["dry_run"] and flags["estimate"]:
        raise click.UsageError(
            "--dry-run asks nothing and --estimate makes items: give one of them"
        )
    for flag, others in ALONE.items():
        odd = [name for name in given if name not in {flag, "as_json", *others}]
        if flags[flag] and odd:
            raise click.UsageError(f"{_flag(odd[0])} does not go with {_flag(flag)}")


def _check_value(name: str, value: Any) -> None:  # noqa: ANN401 -- of many types
    """See that the value of one flag can be kept.

    Raises:
        UsageError: it cannot.
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise click.UsageError(f"{_flag(name)} is {value}; give a number")
    if name in {"checker", "direct_model"} and not value.strip():
        raise click.UsageError(
            f"{_flag(name)} is blank; give PROVIDER/MODEL, or leave it out for none"
        )
    if name.endswith("price"):
        try:
            parse_price(value)
        except ValueError as error:
            raise click.UsageError(f"{_flag(name)}: {error}") from None
    if name.endswith("base_url") and "@" in urlsplit(value).netloc:
        raise click.UsageError(
            f"{_flag(name)} has a user in it that the folder would keep; give keys by the "
            "provider's variable, such as OPENAI_API_KEY"
        )


def _show(flags: dict[str, Any]) -> None:
    folder: Path = flags["show"]
    if flags["item"]:
        print_item(folder, flags["item"], as_json=flags["as_json"])
    else:
        print_funnel(table_console(), folder, as_json=flags["as_json"])


def _begin(flags: dict[str, Any], *, folder_wanted: bool = True) -> tuple[list[Seed], Settings]:
    """The seeds and settings that the flags of a new folder make.

    Raises:
        UsageError: flags that do not go together.
        DataError, BadChoice: the seeds, prompts or test sets cannot be read.
    """
    hops = _hops(flags["hops"])
    world = World(flags["world"])
    if not flags["model"]:
        raise click.UsageError("--model is missing: who is to be asked")
    if folder_wanted and not flags["out"]:
        raise click.UsageError("--out is missing: the folder to make items in")
    if flags["seeds"] is None:
        if not (flags["domain"] or "").strip() or not flags["items"]:
            raise click.UsageError("give SEEDS, or --domain and --items")
        if world is World.REAL:
            raise click.UsageError("--world real takes its facts from SEEDS; give them")
        seeds = proposed(flags["domain"], flags["items"], hops, world)
    else:
        if flags["domain"] or flags["items"]:
            raise click.UsageError("give SEEDS, or --domain and --items, not both")
        seeds = read(flags["seeds"], world=world, licence=flags["licence"], hops=hops)
    for name in flags["against"]:
        load(name)
    own = {name: flags[name] for name in Settings.model_fields if name in flags}
    prompts = flags["prompts"].resolve() if flags["prompts"] else None
    digest = load_prompts(prompts).digest
    if flags["cache"]:
        own["cache"] = flags["cache"].resolve()
    return seeds, Settings(**{**own, "prompts": prompts, "prompts_digest": digest})


async def _open(settings: Settings) -> None:
    """See that cache and models can be had; raises as these do."""
    if settings.cache:
        ResponseCache.open(settings.cache)
    async with opened(settings):
        pass
    direct = settings.of_direct()
    if direct is not None and direct.model.startswith(PREFIX):
        choose(direct.model.removeprefix(PREFIX))
    elif direct is not None:
        async with opened(direct):
            pass
    if (checker := settings.of_checker()) is not None:
        async with opened(checker):
            pass


def _hops(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d)(?:-(\d))?", text.strip())
    least, most = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not LEAST_HOPS <= least <= most <= MOST_HOPS:
        raise click.UsageError(
            f"--hops is {text!r}; give a range such as 3-5, within {LEAST_HOPS} to {MOST_HOPS}"
        )
    return least, most


def _folder(ctx: click.Context, flags: dict[str, Any]) -> tuple[Path, Settings]:
    given = _given(ctx, flags)
    if flags["resume"] is None:
        folder: Path = flags["out"]
        if flags["kind"] == NESTED:
            drafts, wanted = nested.begin(flags, given)
            check_prices(wanted)
            anyio.run(nested.open_models, wanted)
            folders.make(folder, wanted.model_dump(mode="json"), drafts)
            return folder, wanted
        nested.refuse_own(flags, given)
        seeds, settings = _begin(flags)
        check_prices(settings)
        anyio.run(_open, settings)  # before there is a folder
        folders.make(folder, settings.model_dump(mode="json"), seeds)
        return folder, settings
    free = {*LIMITS, "resume", "estimate", "as_json"}
    if fixed := [name for name in given if name not in free]:
        raise click.UsageError(
            f"{_flag(fixed[0])} is fixed in a folder that was begun; leave it out"
        )
    kept = folders.read_settings(flags["resume"])
    changed = {name: flags[name] for name in given if name in LIMITS}
    if flags["cache"]:
        changed["cache"] = flags["cache"].resolve()
    shape = NestSettings if kept.get("kind") == NESTED else Settings
    try:
        settings = shape.model_validate({**kept, **changed})
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise folders.FolderError(
            f"{flags['resume']}/{folders.SETTINGS}: {where}: {first['msg']}\n"
            "  fix: put back what it was begun with, or begin another folder"
        ) from None
    check_prices(settings)
    return flags["resume"], settings


def _run(folder: Path, settings: Settings, most: int | None) -> tuple[Ended, bool]:
    is_nested = isinstance(settings, NestSettings)
    seeds = read_nest_seeds(folder) if is_nested else folders.read_seeds(folder)
    total = len(seeds[:most])
    done = len(folders.books(folder))
    ended = Ended()
    with Steps(Console(stderr=True), "items", total, min(done, total)) as shown:

        async def work() -> None:
            on_item = partial(_step, shown)
            if isinstance(settings, NestSettings):
                await construct_nested(folder, settings, ended, most=most, on_item=on_item)
            else:
                await make(folder, settings, ended, most=most, on_item=on_item)

        cut = anyio.run(partial(until_signal, work))
    return ended, cut


def _step(shown: Steps, seed: Seed, accepted: bool) -> None:
    del seed, accepted
    shown.step()


def _report(folder: Path, ended: Ended, flags: dict[str, Any]) -> None:
    if flags["estimate"]:
        print_estimate(table_console(), folder, as_json=flags["as_json"])
        return
    if flags["as_json"]:
        counts = {"accepted": ended.accepted, "rejected": ended.rejected, "left": ended.left,
                  "asked": ended.took.replies, "cached": ended.took.cached_replies}  # fmt: skip
        click.echo(json.dumps({"folder": str(folder), **counts}))
        return
    print_funnel(table_console(), folder, as_json=False)
    if took := ended.took.cached_replies:
        click.echo(f"{took:,} of these replies came out of the cache and cost nothing", err=True)
    data = folders.ITEMS if not nested.is_nested(folder) else NESTED_DATA
    click.echo(f"items: {folder / data}", err=True)
