"""Flags shared by several commands, each with one name, one default and one help text."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import click

from toolhop_tools.secrets import http_url

F = TypeVar("F", bound=Callable[..., Any])

MOST = 10**9
"""Maximum of any count. A larger value is surely a typo, and the command would never finish."""


def allowed(kind: click.IntRange | click.FloatRange) -> str:
    """Describe the range, such as ``x>=1``."""
    return kind._describe_range()  # noqa: SLF001 -- click has no public name for it


class Whole(click.IntRange):
    """An integer in a range, at most `MOST`."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ANN401 -- a text or a number, which click types as the number alone
        """Convert to an integer in the range."""
        found = int(super().convert(value, param, ctx))
        if found > (self.max or MOST):
            self.fail(f"{found} is too large: at most {MOST:,} are allowed", param, ctx)
        return found


class Checked(click.types.StringParamType):
    """A string that a function validates; its ValueErrors are reported."""

    def __init__(self, name: str, check: Callable[[str], object]) -> None:
        self.name = name
        self._check = check

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the string if it is valid."""
        try:
            self._check(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return value


def _not_blank(text: str) -> None:
    if not text.strip():
        raise ValueError("it is blank; give a name")


ADDRESS = Checked("url", http_url)
"""URL of a server, validated before anything is sent."""
NAME = Checked("name", _not_blank)


class Number(click.FloatRange):
    """A finite number in a range."""

    name = "number"

    def convert(
        self,
        value: Any,  # noqa: ANN401 -- see `Whole`
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """Convert to a finite number in the range."""
        found = float(super().convert(value, param, ctx))
        if not math.isfinite(found):
            self.fail(f"{found} is not in the range {allowed(self)}", param, ctx)
        return found


def data_option(function: F) -> F:
    """Add ``--data``, with the built-in set as default."""
    text = "A data set of `toolhop data list`, a file or folder, or READER:PATH."
    return click.option("--data", default="builtin", show_default=True, help=text)(function)


def overwrite_option(function: F) -> F:
    """Add ``--overwrite``, without which no file is replaced (`export.files.check_free`)."""
    return click.option("--overwrite", is_flag=True, help="Replace what is there.")(function)


confidence_option = click.option(
    "--confidence", type=Number(0.5, 0.9999), default=0.95, help="Level of the intervals."
)
resamples_option = click.option(
    "--resamples", type=Whole(100, 1_000_000), default=10_000,
    help="Resamples of bootstraps and of permutation tests that are not exact.",
)  # fmt: skip
item_option = click.option("--item", metavar="ID", help="Show this item alone.")


def discordant_option(default: int) -> Callable[[F], F]:
    """Add ``--discordant``."""
    text = "Discordant pairs listed for a comparison; --json has all."
    return click.option("--discordant", type=Whole(min=0), default=default, help=text)


def items_option(**attributes: Any) -> Callable[[F], F]:  # noqa: ANN401 -- click takes attributes of many types
    """Add ``--items``."""
    return click.option("--items", type=Whole(1, 100_000), help="Items to make.", **attributes)


def port_option(default: int) -> Callable[[F], F]:
    """Add ``--port``."""
    text = "Port to listen at; 0 for any free one. The address is printed."
    return click.option("--port", type=Whole(0, 65535), default=default, help=text)
