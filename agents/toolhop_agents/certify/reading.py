"""Blind reading in `toolhop certify`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import click

from toolhop_agents.cli.flags import ADDRESS, Number, Whole
from toolhop_agents.cli.options import PRICE, refuse_unused
from toolhop_agents.cli.progress import ErrorConsole, Steps
from toolhop_agents.construct.certified import (
    ReaderSettings,
    opened,
    read_all,
    unread,
)
from toolhop_agents.construct.settings import Settings
from toolhop_agents.runs.flags import max_tokens_of, temperature_of
from toolhop_agents.runs.signals import until_signal
from toolhop_agents.runs.spread import Isolation
from toolhop_agents.terminal import say
from toolhop_tools.blind.file import Readings, path_beside
from toolhop_tools.certify.model import Basis, Certificate
from toolhop_tools.errors import counted
from toolhop_tools.model import Item

VOTES = 3
READ_AT_A_TIME = 4
GOES_WITH: Mapping[str, str] = dict.fromkeys(
    ("votes", "reader_base_url", "reader_price", "reader_temperature", "reader_max_tokens",
     "reader_timeout_s", "max_retries"), "readers",
)  # fmt: skip
"""Flags that require ``--readers``."""


def _parsed(parse: Callable[[str], object]) -> Callable[..., object]:
    def callback(_: click.Context, __: click.Parameter, text: str) -> object:
        try:
            return parse(text)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return callback


# fmt: off
reader_base_url_option = click.option(
    "--reader-base-url", multiple=True, type=ADDRESS,
    help="Base URL of --readers: once for all, or once for each in order.")
READER_OPTIONS = (
    click.option("--readers", metavar="NAME[,NAME]",
                 help="Models that plan the calls of each item from its question and documents "
                 "alone; the plans are run. Without readers items are marked unread."),
    click.option("--votes", type=Whole(1, 99),
                 help="Plans for each item, by all readers together.  [default: 3, or one of each "
                 "reader]"),
    reader_base_url_option,
    click.option("--reader-price", multiple=True, metavar="IN,OUT[,CACHED]", type=PRICE,
                 help="USD per million tokens of --readers: once for all, or once for each in "
                 "order."),
)
"""Options of every command that has items read blind."""
_OPTIONS = (
    *READER_OPTIONS,
    click.option("--reader-temperature", default="0.7", metavar="NUMBER|none",
                 callback=_parsed(temperature_of),
                 help="Temperature of readers; none leaves it to the provider."),
    click.option("--reader-max-tokens", default="4096", metavar="NUMBER|none",
                 callback=_parsed(max_tokens_of),
                 help="Tokens per reply of a reader, reasoning included."),
    click.option("--reader-timeout", "reader_timeout_s", default=120.0,
                 type=Number(0, min_open=True), help="Seconds per request to a reader."),
    click.option("--max-retries", type=Whole(0), default=5,
                 help="Retries of a failed request."),
)
# fmt: on


def reader_options(command: click.Command) -> click.Command:
    """Add the flags of readers to a command, before those of the sandbox."""
    at = next(at for at, param in enumerate(command.params) if param.name == "executor")
    for option in _OPTIONS:
        option(command)
    own = command.params[-len(_OPTIONS) :]
    command.params[at:] = [*own, *command.params[at : -len(_OPTIONS)]]
    return command


def readers_of(flags: Mapping[str, Any]) -> tuple[list[str], int]:
    """Return the named readers and their total votes; an empty list and 0 without readers.

    Raises:
        click.UsageError: a name is blank or repeated, or there are fewer votes than readers.
    """
    if flags["readers"] is None:
        return [], 0
    names = [name.strip() for name in flags["readers"].split(",")]
    if not all(names):
        raise click.UsageError(
            f"--readers is {flags['readers']!r}, which has a blank name; give PROVIDER/MODEL, "
            "several with commas between them"
        )
    if repeated := next((name for name in names if names.count(name) > 1), ""):
        raise click.UsageError(
            f"--readers names {repeated} twice: name it once; --votes has it asked several times"
        )
    votes = flags["votes"] or max(VOTES, len(names))
    if votes < len(names):
        raise click.UsageError(
            f"--votes is {votes} and there are {len(names)} readers: give at least {len(names)} "
            "votes, or fewer readers"
        )
    return names, votes


def reader_settings(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reader settings for making items.

    Raises:
        click.UsageError: as `readers_of`, or the number of addresses or prices does not match.
    """
    names, votes = readers_of(flags)
    urls = each_of("--reader-base-url", flags["reader_base_url"], names) if names else ()
    prices = each_of("--reader-price", flags["reader_price"], names) if names else ()
    own = {"reader_base_url": (*urls,), "reader_price": (*prices,)}
    return {"readers": (*names,), "votes": votes, **own}


def settings_of(ctx: click.Context, flags: Mapping[str, Any]) -> ReaderSettings | None:
    """Return the reader settings; None if there are no readers.

    Raises:
        click.UsageError: flags of readers without readers, or unusable values.
    """
    refuse_unused(ctx, flags, GOES_WITH)
    if flags["readers"] is None:
        return None
    names, votes = readers_of(flags)
    urls = each_of("--reader-base-url", flags["reader_base_url"], names)
    prices = each_of("--reader-price", flags["reader_price"], names)
    # The settings for making items have narrower bounds than these flags.
    shared = Settings(model="").model_copy(update={
        "temperature": flags["reader_temperature"], "max_tokens": flags["reader_max_tokens"],
        "timeout_s": flags["reader_timeout_s"], "max_retries": flags["max_retries"],
        "max_samples": flags["max_samples"] or READ_AT_A_TIME,
    })  # fmt: skip
    readers = tuple(
        shared.model_copy(update={"model": name, "base_url": url, "price": price})
        for name, url, price in zip(names, urls, prices, strict=True)
    )
    return ReaderSettings(readers, votes, flags["seed"])


def each_of(flag: str, given: Sequence[str], names: Sequence[str]) -> list[str | None]:
    """Return one value of a flag per reader."""
    if len(given) not in (0, 1, len(names)):
        raise click.UsageError(
            f"{flag} is given {len(given)} times and there are {len(names)} readers: give it once "
            "for all, or once for each in order"
        )
    return [*given] if len(given) == len(names) else [*(given or (None,))] * len(names)


def check_readers(settings: ReaderSettings) -> None:
    """Check that every reader can be asked, before a long search starts.

    Raises:
        NoSuchModel, NoKey, ModelFault: a reader cannot be asked.
    """

    async def check() -> None:
        async with opened(settings):
            pass

    anyio.run(check)


def read_blind(
    items: Sequence[Item],
    certificates: Mapping[str, Certificate],
    path: Path,
    settings: ReaderSettings,
    isolation: Isolation,
    basis: Basis,
) -> bool:
    """Have readers read the certified items that have no reading; return True if interrupted.

    Raises:
        NoSuchModel, NoKey, ModelFault: a reader cannot be asked; finished readings stay stored.
        ReadingsError: the file cannot be read or written.
        SandboxUnavailable: no sandbox is available.
    """
    with Readings.writing(path_beside(path)) as readings:
        work = unread(items, certificates, settings, readings)
        if not work:
            return False
        most = len(work) * settings.votes
        say(
            f"reading {counted(len(work), 'item')} blind: {counted(most, 'request')}, at most "
            f"{2 * most:,} with repairs; replies that are kept are not asked for again"
        )
        return anyio.run(partial(_read, work, certificates, readings, settings, isolation, basis))


async def _read(
    work: Sequence[Item],
    certificates: Mapping[str, Certificate],
    readings: Readings,
    settings: ReaderSettings,
    isolation: Isolation,
    basis: Basis,
) -> bool:
    shown = Steps(ErrorConsole(), "read", len(work), 0)

    async def run() -> None:
        async with await isolation.opened(basis) as sandbox:
            await read_all(work, certificates, settings, readings, sandbox, lambda _: shown.step())

    with shown:
        return await until_signal(run)
