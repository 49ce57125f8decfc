"""Flags that several commands have: the same thing has one name, one default and one help text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def data_option(function: F) -> F:
    """``--data``, with the built-in set as default."""
    text = "A data set of `toolhop data list`, a file or folder, or READER:PATH."
    return click.option("--data", default="builtin", show_default=True, help=text)(function)


def overwrite_option(function: F) -> F:
    """``--overwrite``: nothing that is there is replaced without it (`export.files.check_free`)."""
    return click.option("--overwrite", is_flag=True, help="Replace what is there.")(function)
