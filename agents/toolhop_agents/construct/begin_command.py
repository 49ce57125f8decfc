"""Flags shared by the commands that make items, and the code that begins or resumes a folder."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import click

from toolhop_agents.certify.reading import READER_OPTIONS, reader_settings
from toolhop_agents.cli import EXIT_EPISODES, INTERRUPTED
from toolhop_agents.cli.flags import Whole
from toolhop_agents.cli.json_output import json_option
from toolhop_agents.cli.options import AnyPath, cluster_of, given, options_of, refuse_unused
from toolhop_agents.cli.progress import ErrorConsole, Steps
from toolhop_agents.cli.stored_addresses import StoredAddress, resuming
from toolhop_agents.construct import folder as folders
from toolhop_agents.construct.ask import opened
from toolhop_agents.construct.session import Ended, Session
from toolhop_agents.construct.session import construct as make
from toolhop_agents.construct.settings import OFF, Settings, check_prices
from toolhop_agents.construct.view import print_estimate, print_funnel, print_plan
from toolhop_agents.models.cache import ResponseCache
from toolhop_agents.runs.flags import goes_with
from toolhop_agents.runs.signals import until_signal
from toolhop_agents.terminal import say
from toolhop_env.runs.files import held
from toolhop_tools.construct.seeds import Seed
from toolhop_tools.load import load

GOES_WITH: Mapping[str, str] = {
    **goes_with(Settings), **dict.fromkeys(("votes", "reader_base_url", "reader_price"), "readers"),
}  # fmt: skip
"""Settings that require another setting, mapped to the name of that setting."""
EXIT_CODES = (
    "Exit code 0: done, whatever was accepted. 1: a fault or a limit stopped it. 2: bad input."
)


class Span(click.ParamType[range]):
    """A range given as one or two digits, such as ``3-5``, within a minimum and a maximum."""

    name = "N-M"

    def __init__(self, low: int, high: int) -> None:
        self._low, self._high = low, high

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None  # noqa: ANN401 -- `click.ParamType.convert` is declared with Any, and an override may not narrow it
    ) -> range:  # fmt: skip
        """Parse the text as an inclusive range."""
        match = re.fullmatch(r"(\d)(?:-(\d))?", value.strip())
        least, most = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not self._low <= least <= most <= self._high:
            self.fail(
                f"{value!r} is not a range within {self._low} to {self._high}, such as "
                f"{self._low}-{self._high}", param, ctx,
            )  # fmt: skip
        return range(least, most + 1)


out_option = click.option("--out", type=AnyPath(file_okay=False, path_type=Path), metavar="FOLDER",
                          help="A new folder for what is made and every reply.")  # fmt: skip
dry_run_option = click.option("--dry-run", is_flag=True,
                              help="Print what would be done, and do nothing.")  # fmt: skip
estimate_option = click.option("--estimate", type=Whole(1), metavar="N",
                               help="Do N items and estimate the rest.")  # fmt: skip
licence_option = click.option("--licence", default="", show_default=False,
                              help="Licence of rows that state none.")  # fmt: skip


def making(
    settings: type[Settings], *left_out: str, needs_model: bool = True
) -> Callable[[click.Command], click.Command]:
    """Add the flags shared by all commands that begin a folder.

    `left_out` names settings that get no flag; `needs_model` makes ``--model`` required.
    """

    def add(command: click.Command) -> click.Command:
        for option in (out_option, dry_run_option, estimate_option, json_option, *READER_OPTIONS):
            option(command)
        command.params += options_of(settings, left_out)
        [model] = [param for param in command.params if param.name == "model"]
        model.required = needs_model
        command.epilog = EXIT_CODES
        return command

    return add


def settings_of(
    ctx: click.Context, kind: type[Session], flags: Mapping[str, Any], **more: object
) -> Settings:
    """Return the settings of a new folder.

    Raises:
        UsageError: the flags contradict each other.
        BadChoice, DataError, UnknownPrice: prompts or test sets cannot be read, or a cost limit
            cannot be enforced.
    """
    if not (flags["out"] or flags["dry_run"]):
        raise click.UsageError("--out is missing: the folder to make items in")
    if flags["dry_run"] and flags["estimate"]:
        raise click.UsageError(
            "--dry-run asks nothing and --estimate makes items: give one of them"
        )
    second = None if flags.get("second") == OFF else flags.get("second")
    refuse_unused(ctx, {**flags, "second": second}, GOES_WITH)
    if "executor" in flags:
        cluster_of(flags)  # refuses contradictory cluster flags
    for name in flags["against"]:
        load(name)
    said = given(ctx)
    own = {name: flags[name] for name in kind.made_with.model_fields
           if name in said or flags.get(name) is not None}  # fmt: skip
    own |= {name: flags[name].resolve() for name in ("prompts", "cache") if flags[name]}
    digest = kind.prompts_of(own.get("prompts")).digest
    settings = kind.made_with(**own | reader_settings(flags) | more, prompts_digest=digest)
    check_prices(settings)
    return settings


def begin(
    kind: type[Session], seeds: Sequence[Seed], settings: Settings, flags: Mapping[str, Any]
) -> None:
    """Make a folder and its items, or print what would be asked."""
    if flags["dry_run"]:
        print_plan(seeds, settings, as_json=flags["as_json"])
        return
    anyio.run(_open, settings)  # before the folder is created
    folders.make(flags["out"], settings.model_dump(mode="json"), seeds)
    go_on(kind, flags["out"], settings, flags)


async def _open(settings: Settings) -> None:
    """Check that the cache and the models can be opened; raise their errors if not."""
    if settings.cache:
        ResponseCache.open(settings.cache)
    for flag, own in settings.asked:
        async with opened(own, flag=flag.replace("price", "base-url")):
            pass


def stored(settings: Settings) -> list[StoredAddress]:
    """Return the addresses of a folder's models."""
    return [
        StoredAddress(flag.replace("price", "base-url"), own.model, own.base_url)
        for flag, own in settings.asked
    ]


def go_on(kind: type[Session], folder: Path, settings: Settings, flags: Mapping[str, Any]) -> None:
    """Make the unfinished items of a folder, and print the outcome."""
    with held(folder, "made"):
        ended, cut = _run(kind, folder, settings, flags["estimate"])
    _report(kind, folder, ended, flags)
    again = resuming("construct resume", folder, stored(settings))
    if cut:
        say(f"stopped; resume with: {again}")
        sys.exit(INTERRUPTED)
    if ended.fault is not None:
        say(f"a fault; resume with: {again}")
        raise ended.fault
    if ended.stopped_by:
        say(f"stopped: {ended.stopped_by}; {again}")
        sys.exit(EXIT_EPISODES)


def _run(
    kind: type[Session], folder: Path, settings: Settings, most: int | None
) -> tuple[Ended, bool]:
    total = len(folders.read_seeds(folder)[:most])
    finished = len([*folders.StepLedger(folder, more=False).rows("item")])
    ended = Ended()
    with Steps(ErrorConsole(), "items", total, min(finished, total)) as shown:

        async def work() -> None:
            await make(
                folder, settings, ended, most=most, on_item=lambda *_: shown.step(), kind=kind
            )

        cut = anyio.run(partial(until_signal, work))
    return ended, cut


def _report(kind: type[Session], folder: Path, ended: Ended, flags: Mapping[str, Any]) -> None:
    if flags["estimate"]:
        print_estimate(folder, as_json=flags["as_json"])
        return
    if flags["as_json"]:
        counts = {"accepted": ended.accepted, "rejected": ended.rejected, "left": ended.left,
                  "asked": ended.took.replies, "cached": ended.took.cached_replies}  # fmt: skip
        click.echo(json.dumps({"folder": str(folder), **counts}))
        return
    print_funnel(folder, as_json=False)
    if took := ended.took.cached_replies:
        say(f"{took:,} of these replies came out of the cache and cost nothing")
    say(f"items: {folder / kind.data}")
