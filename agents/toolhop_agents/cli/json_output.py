"""Write results for programs and papers to standard output."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import click

from toolhop_agents.table import table_console
from toolhop_agents.table_forms import FORMAT, Form

F = TypeVar("F", bound=Callable[..., Any])


def json_option(function: F) -> F:
    """Add ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Write JSON to stdout.")(function)


def write_json(value: object) -> None:
    """Write a value as JSON to standard output."""
    # Written as bytes: JSON is UTF-8 whatever the terminal's encoding.
    click.echo(json.dumps(value, ensure_ascii=False, indent=2).encode())


def table_format(function: F) -> F:
    """Add ``--format``, which `toolhop_agents.table.table_console` reads."""

    @wraps(function)
    def command(*args: object, **flags: object) -> object:
        if flags.get("as_json") and table_console().form is not Form.TABLE:
            raise click.UsageError("--json writes no table: leave out --json or --format")
        return function(*args, **flags)

    def keep(ctx: click.Context, _: click.Parameter, value: str) -> None:
        ctx.meta[FORMAT] = Form(value)

    option = click.option(
        "--format",
        type=click.Choice([form.value for form in Form]),
        default=Form.TABLE.value,
        callback=keep,
        expose_value=False,
        help="How tables are written: for the terminal, or as CSV, Markdown or LaTeX (booktabs).",
    )
    return cast("F", option(command))
