"""`toolhop construct`: make items with a model, each of them run and proven."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import click
from pydantic import ValidationError

from toolhop_agents.cli import EXIT_EPISODES, INTERRUPTED
from toolhop_agents.cli import construct_nested as nested
from toolhop_agents.cli.construct_nested import flag_of
from toolhop_agents.cli.construct_review import FLAGS, SHARED, review
from toolhop_agents.cli.construct_view import print_estimate, print_funnel, print_item, print_plan
from toolhop_agents.cli.flags import Whole
from toolhop_agents.cli.options import (
    AnyPath,
    cluster_of,
    cluster_options,
    options_of,
)
from toolhop_agents.cli.progress import ErrorConsole, Steps
from toolhop_agents.cli.stored_addresses import StoredAddress, refuse_unnamed, resuming
from toolhop_agents.construct import folder as folders
from toolhop_agents.construct.ask import opened
from toolhop_agents.construct.nested.session import DATA as NESTED_DATA
from toolhop_agents.construct.nested.session import KIND as NESTED
from toolhop_agents.construct.nested.session import NestSession, NestSettings
from toolhop_agents.construct.session import Ended, Session
from toolhop_agents.construct.session import construct as make
from toolhop_agents.construct.settings import OFF, PRICE, Settings, check_prices
from toolhop_agents.models.cache import ResponseCache
from toolhop_agents.models.prices import parse as parse_price
from toolhop_agents.runs.signals import until_signal
from toolhop_agents.table import table_console
from toolhop_agents.terminal import say
from toolhop_env.runs.files import held
from toolhop_tools.construct.prompts import load as load_prompts
from toolhop_tools.construct.seeds import LEAST_HOPS, MOST_HOPS, Seed, World, proposed, read
from toolhop_tools.errors import why
from toolhop_tools.load import load

NEEDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "review": ("FOLDER|FILE", FLAGS),
    "show": ("FOLDER", ("item",)),
    "closed_book": ("NAME", ("closed_book_samples", "closed_book_base_url", "closed_book_price")),
    "second": ("NAME", ("second_base_url", "second_price")),
    "readers": ("NAME", ("votes", "wording", "reader_base_url", "reader_price")),
}
"""By flag: what it is given, and the flags that mean nothing without it."""
BLANK = {
    "second": "PROVIDER/MODEL",
    "closed_book": "PROVIDER/MODEL",
    "reviewer": "a name",
}
"""What to give in place of a blank text."""
ALONE = {"review": (*FLAGS, *SHARED), "show": ("item",)}
"""Flags that go with no others but these, and --json."""
LIMITS = ("token_limit", "cost_limit", "run_token_limit", "run_cost_limit", "least_yield",
          "max_samples", "cache", "executor", "ray_address", "timeout_s",
          "max_retries")  # fmt: skip
"""What a session that resumes may change."""
ADDRESSES = ("base_url", "second_base_url", "reader_base_url", "closed_book_base_url")
"""What it may name again, so that keys are sent there."""


class Kind(NamedTuple):
    """What is made, and how a folder of it is begun, gone on with and shown."""

    settings: type[Settings]
    begin: Callable[..., tuple[Sequence[Seed], Settings]]
    print_plan: Callable[..., None]
    session: type[Session]
    data: str
    """Name of the data set in the folder."""


def _with_settings(command: click.Command) -> click.Command:
    """Give the command the flags of `Settings`, before ``--dry-run``."""
    at = next(at for at, param in enumerate(command.params) if param.name == "dry_run")
    command.params[at:at] = options_of(Settings)
    return command


# fmt: off
@cluster_options
@_with_settings
@click.command(context_settings={"show_default": True})
@click.argument("seeds", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--out", type=AnyPath(file_okay=False, path_type=Path), metavar="FOLDER",
              help="A new folder for the items and all that was paid for.")
@click.option("--resume", type=AnyPath(file_okay=False, path_type=Path), metavar="FOLDER",
              help="Resume a folder; nothing that was paid for is asked for again.")
@click.option("--show", type=AnyPath(file_okay=False, path_type=Path), metavar="FOLDER",
              help="Show what became of a folder's items, by stage.")
@click.option("--item", metavar="ID", help="With --show: one item, reply by reply.")
@click.option("--review", type=AnyPath(path_type=Path), metavar="FOLDER|FILE",
              help="Show accepted items, nested tasks or scenarios to one reviewer, who answers "
              "first and then accepts or rejects each, on a page of this machine.")
@click.option("--reviewer", metavar="NAME", help="With --review: whose verdicts these are.  "
              "[default: the account's name]")
@click.option("--terminal", is_flag=True, help="With --review: here, without a browser.")
@click.option("--settle", is_flag=True,
              help="With --review: only items that two judge differently; this verdict decides.")
@click.option("--sample", type=Whole(1), metavar="N",
              help="With --review: N items drawn at random (--seed); --agreement then bounds the "
              "share of wrong items.")
@click.option("--agreement", is_flag=True,
              help="With --review: print how far reviewers agree, and what samples say.")
@click.option("--port", type=Whole(0, 65535), default=0,
              help="With --review: of the page, on 127.0.0.1; 0 for any free one.")
@click.option("--domain", metavar="NAME", help="Without SEEDS: have questions proposed.")
@click.option("--hops", metavar="N-M", default="3-5",
              help=f"Least and most hops, within {LEAST_HOPS} to {MOST_HOPS}.")
@click.option("--items", type=Whole(1, 100_000),
              help="With --domain or --pool: how many to try.")
@nested.nested_options
@click.option("--world", type=click.Choice([world.value for world in World]), default="closed",
              help="closed: all entities are invented. real: facts and answers are the seeds'.")
@click.option("--licence", default="", help="Of SEEDS, or items of DATA, that state none.")
@click.option("--readers", metavar="NAME[,NAME]",
              help="Models that plan the calls of each item from its question and documents alone; "
              "the plans are run. Without readers items are marked unread.")
@click.option("--votes", type=Whole(1, 99),
              help="Plans for each item, by all readers together.  [default: 3]")
@click.option("--dry-run", is_flag=True, help="Say what would be asked; ask nothing.")
@click.option("--estimate", type=Whole(1), metavar="N",
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
    typed = click.core.ParameterSource.COMMANDLINE
    given = [name for name in flags if ctx.get_parameter_source(name) is typed]
    _check(flags, given)
    cluster_of(flags)  # refuses what cannot be
    as_json = flags["as_json"]
    if flags["review"]:
        return review(flags)
    if flags["show"] and flags["item"]:
        return print_item(flags["show"], flags["item"], as_json=as_json)
    if flags["show"]:
        return print_funnel(table_console(), flags["show"], as_json=as_json)
    if flags["resume"]:
        if flags["dry_run"]:
            raise click.UsageError("--dry-run is for a folder that is not begun; --show has others")
        folder: Path = flags["resume"]
        kind, settings = _resumed(folder, flags, given)
        check_prices(settings)
    else:
        kind, folder = MADE[flags["kind"]], flags["out"]
        seeds, settings = kind.begin(flags, given)
        if flags["dry_run"]:
            return kind.print_plan(seeds, settings, as_json=as_json)
        check_prices(settings)
        anyio.run(_open, settings)  # before there is a folder
        folders.make(folder, settings.model_dump(mode="json"), seeds)
    with held(folder, "made"):
        ended, cut = _run(kind, folder, settings, flags["estimate"])
    _report(kind, folder, ended, flags)
    again = resuming("construct", folder, _stored(settings))
    if cut:
        say(f"stopped; resume with: {again}")
        sys.exit(INTERRUPTED)
    if ended.fault is not None:
        say(f"a fault; resume with: {again}")
        raise ended.fault
    if ended.stopped_by:
        say(f"stopped: {ended.stopped_by}; {again}")
        sys.exit(EXIT_EPISODES)
    return None


# fmt: on
def _check(flags: dict[str, Any], given: Sequence[str]) -> None:
    """See that flags go together, and that their values can be kept.

    Raises:
        UsageError: they cannot.
    """
    for name in given:
        _check_value(name, flags[name])
        if flags["resume"] and name in ADDRESSES:
            continue  # the folder has what they go with
        for flag, (metavar, others) in NEEDS.items():
            if name in others and flags[flag] in (None, "", OFF):
                raise click.UsageError(
                    f"{flag_of(name)} goes with {flag_of(flag)} {metavar}: add it, or leave this "
                    "out"
                )
    if flags["dry_run"] and flags["estimate"]:
        raise click.UsageError(
            "--dry-run asks nothing and --estimate makes items: give one of them"
        )
    for flag, others in ALONE.items():
        odd = [name for name in given if name not in {flag, "as_json", *others}]
        if flags[flag] and odd:
            raise click.UsageError(
                f"{flag_of(odd[0])} does not go with {flag_of(flag)}: leave one out"
            )


def _check_value(name: str, value: Any) -> None:  # noqa: ANN401 -- of many types
    """See that the value of one flag can be kept.

    Raises:
        UsageError: it cannot.
    """
    if (use := BLANK.get(name)) and not value.strip():
        raise click.UsageError(f"{flag_of(name)} is blank; give {use}, or leave it out")
    texts = value if isinstance(value, tuple) else (value,)
    for price in texts if name.endswith("price") else ():
        try:
            parse_price(price)
        except ValueError as error:
            raise click.UsageError(f"{flag_of(name)}: {error}; give {PRICE}, numbers") from None


def _begin(flags: dict[str, Any], given: Sequence[str]) -> tuple[list[Seed], Settings]:
    """The seeds and settings that the flags of a new folder make.

    Raises:
        UsageError: flags that do not go together.
        DataError, BadChoice: the seeds, prompts or test sets cannot be read.
    """
    nested.refuse_own(given)
    if not flags["model"]:
        raise click.UsageError("--model is missing: who is to be asked")
    if not (flags["out"] or flags["dry_run"]):
        raise click.UsageError("--out is missing: the folder to make items in")
    wanted = nested.range_of(flags, "hops", LEAST_HOPS, MOST_HOPS, "3-5")
    hops, world = (wanted[0], wanted[-1]), World(flags["world"])
    domain = (flags["domain"] or "").strip()
    if flags["seeds"] is not None:
        if flags["domain"] or flags["items"]:
            raise click.UsageError("SEEDS and --domain or --items are given: leave one out")
        seeds = read(flags["seeds"], world=world, licence=flags["licence"], hops=hops)
    elif not domain or not flags["items"]:
        raise click.UsageError("it is not said what to make: give SEEDS, or --domain and --items")
    elif world is World.REAL:
        raise click.UsageError("--world real takes its facts from SEEDS; give them")
    else:
        seeds = proposed(flags["domain"], flags["items"], hops, world)
    for name in flags["against"]:
        load(name)
    return seeds, nested.settings_of(Settings, flags, load_prompts)


async def _open(settings: Settings) -> None:
    """See that cache and models can be had; raises as these do."""
    if settings.cache:
        ResponseCache.open(settings.cache)
    for flag, own in settings.asked:
        async with opened(own, flag=flag.replace("price", "base-url")):
            pass


def _resumed(folder: Path, flags: dict[str, Any], given: Sequence[str]) -> tuple[Kind, Settings]:
    """A folder's settings, with the limits that are given.

    Raises:
        UsageError: a flag is given that is fixed; or a key would go to an address that only the
            folder names.
        FolderError: the folder cannot be resumed.
    """
    free = {*LIMITS, *ADDRESSES, "resume", "estimate", "as_json"}
    if fixed := [name for name in given if name not in free]:
        raise click.UsageError(
            f"{flag_of(fixed[0])} is fixed in a folder that was begun; leave it out"
        )
    kept = folders.own_settings(folder)
    changed = {name: flags[name] for name in given if name in LIMITS}
    if flags["cache"]:
        changed["cache"] = flags["cache"].resolve()
    kind = MADE[NESTED if kept.get("kind") == NESTED else "toolhop"]
    try:
        settings = kind.settings.model_validate({**kept, **changed})
    except ValidationError as error:
        raise folders.FolderError(
            f"{folder}/{folders.SETTINGS}: {why(error)}\n"
            "  fix: put back what it was begun with, or begin another folder"
        ) from None
    _see_where_keys_go(folder, settings, {name: flags[name] for name in given if name in ADDRESSES})
    return kind, settings


def _stored(settings: Settings) -> list[StoredAddress]:
    """Where the models of a folder are asked."""
    return [
        StoredAddress(flag.replace("price", "base-url"), own.model, own.base_url)
        for flag, own in settings.asked
    ]


def _see_where_keys_go(folder: Path, settings: Settings, given: Mapping[str, Any]) -> None:
    stored = _stored(settings)
    named = {name: {value} if isinstance(value, str) else {*value} for name, value in given.items()}
    for name, addresses in named.items():
        if addresses - {one.base_url for one in stored}:
            raise click.UsageError(
                f"{flag_of(name)} is fixed in a folder that was begun; it may "
                "be given with the address that it was begun with"
            )
    known = set().union(*named.values())
    refuse_unnamed(folder, (one for one in stored if one.base_url not in known), ())


def _run(kind: Kind, folder: Path, settings: Settings, most: int | None) -> tuple[Ended, bool]:
    total = len(kind.session.seeds_of(folder)[:most])
    ended = Ended()
    with Steps(ErrorConsole(), "items", total, min(folders.finished(folder), total)) as shown:

        async def work() -> None:
            await make(
                folder, settings, ended, most=most, on_item=lambda *_: shown.step(),
                kind=kind.session,
            )  # fmt: skip

        cut = anyio.run(partial(until_signal, work))
    return ended, cut


def _report(kind: Kind, folder: Path, ended: Ended, flags: dict[str, Any]) -> None:
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
        say(f"{took:,} of these replies came out of the cache and cost nothing")
    say(f"items: {folder / kind.data}")


MADE = {
    "toolhop": Kind(Settings, _begin, print_plan, Session, folders.ITEMS),
    NESTED: Kind(NestSettings, nested.begin, nested.print_plan, NestSession, NESTED_DATA),
}  # fmt: skip
