"""Results as JSON on standard output."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def json_option(function: F) -> F:
    """``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Write JSON to stdout.")(function)


def write_json(value: object) -> None:
    """Write a value to standard output."""
    # Bytes: JSON is UTF-8 whatever the terminal's encoding.
    click.echo(json.dumps(value, ensure_ascii=False, indent=2).encode())
