"""Safe terminal output of untrusted text from models, tools and data files."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Callable
from functools import partial
from traceback import format_exception
from typing import TYPE_CHECKING, TextIO

import click

from toolhop_tools.secrets import redacted

if TYPE_CHECKING:
    from rich.text import Text

READER_GONE = 141
"""Exit code of a process ended by SIGPIPE, as shells report it: 128 plus the signal's number."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    r"""Redact the text and escape its control characters, except tab and newline, as ``\x1b``.

    Terminal sequences, carriage returns and characters that change the text direction are escaped,
    so that a tool's result cannot hide or overwrite the text around it.
    """
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], redacted(text))


def natural(text: str) -> list[tuple[bool, int, str]]:
    """Return a sort key that orders the numbers within ids by value."""
    parts = re.findall(r"\d+|\D+", text, flags=re.ASCII)
    return [(not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]


def plain(text: str, style: str = "") -> Text:
    """Make untrusted text safe for rich: no markup, no control characters."""
    from rich.text import Text  # help and messages do not need it

    return Text(visible(text), style=style)


def say(text: object = "") -> None:
    """Print a line on standard error; it may be untrusted."""
    click.echo(visible(str(text)), err=True)


class _Visible(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record))


def _write(write: Callable[[str], int], text: str) -> int:
    return write(redacted(text))


def _until_closed(stream: TextIO, pass_on: Callable[..., object], *data: bytes) -> object:
    try:
        return pass_on(*data)
    except BrokenPipeError:
        # Python flushes once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise SystemExit(READER_GONE) from None


def prepare_output() -> None:
    """Redact everything this process prints, including Python's own error output.

    If the reader has closed the output, as `head` does, the process exits silently with
    `READER_GONE`.
    """
    for stream in filter(None, (sys.stdout, sys.stderr)):  # None if it is closed
        vars(stream)["write"] = partial(_write, stream.write)
        for name in ("write", "flush"):
            # Strings, bytes and rich's tables are all written through the buffer.
            pass_on = getattr(stream.buffer, name)
            vars(stream.buffer)[name] = partial(_until_closed, stream, pass_on)
    sys.excepthook = lambda *error: say("".join(format_exception(*error)).rstrip())
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_Visible())
