"""The tables in tables.md, which the manual shows."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from pathlib import Path

TABLES = Path(__file__).with_name("tables.md")


def put(name: str, table: str) -> None:
    """Replace what stands between ``<!-- NAME -->`` and the ``<!-- end -->`` after it.

    Raises:
        ValueError: tables.md has no such marks.
    """
    marked = rf"(<!-- {name} -->\n\n).*?(<!-- end -->)"
    text = TABLES.read_text(encoding="utf-8")
    written, count = re.subn(marked, lambda at: f"{at[1]}{table}\n\n{at[2]}", text, flags=re.DOTALL)
    if not count:
        raise ValueError(f"{TABLES} has no <!-- {name} -->")
    TABLES.write_text(written, encoding="utf-8")


def print_or_put(lines: Iterable[str], name: str, about: str | None) -> None:
    """Print a table; with ``--write`` on the command line, put it into tables.md as well."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--write", action="store_true", help=f"put the table into {TABLES.name}")
    wanted = parser.parse_args()
    table = "\n".join(lines)
    print(table)
    if wanted.write:
        put(name, table)
