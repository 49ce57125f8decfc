"""Foreign text on a terminal: models, tools and data files are not to be trusted with it."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable
from functools import partial
from traceback import format_exception
from typing import TYPE_CHECKING

import click

from toolhop_tools.secrets import redacted

if TYPE_CHECKING:
    from rich.text import Text

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    r"""The text, redacted, with control characters (other than tab and newline) as ``\x1b``.

    Terminal sequences, carriage returns and letters that turn the writing's direction are
    written out, so that what a tool returns cannot hide or overwrite what stands beside it.
    """
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], redacted(text))


def natural(text: str) -> list[tuple[bool, int, str]]:
    """What ids are sorted by: numbers in them by their value."""
    parts = re.findall(r"\d+|\D+", text, flags=re.ASCII)
    return [(not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]


def plain(text: str, style: str = "") -> Text:
    """Foreign text for rich: no markup, no control characters."""
    from rich.text import Text  # help and messages do without

    return Text(visible(text), style=style)


def say(text: object = "") -> None:
    """Print a line on standard error; it may be foreign."""
    click.echo(visible(str(text)), err=True)


class _Visible(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record))


def _write(write: Callable[[str], int], text: str) -> int:
    return write(redacted(text))


def redact_output() -> None:
    """Have all that this process prints redacted, also what Python itself says of faults."""
    for stream in (sys.stdout, sys.stderr):
        vars(stream)["write"] = partial(_write, stream.write)
    sys.excepthook = lambda *error: say("".join(format_exception(*error)).rstrip())
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_Visible())
