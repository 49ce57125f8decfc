"""Tables of figures within pages of the docs."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from pathlib import Path


def put(page: Path, name: str, table: str) -> None:
    """Replace what stands between ``<!-- NAME -->`` and the ``<!-- end -->`` after it."""
    marked = rf"(<!-- {name} -->\n\n).*?(<!-- end -->)"
    text = page.read_text(encoding="utf-8")
    found = re.sub(marked, lambda at: f"{at[1]}{table}\n\n{at[2]}", text, flags=re.DOTALL)
    page.write_text(found, encoding="utf-8")


def print_or_put(lines: Iterable[str], page: Path, name: str, about: str | None) -> None:
    """Print a table; with ``--write`` on the command line, put it into the page as well."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--write", action="store_true", help="put the table into the page")
    wanted = parser.parse_args()
    found = "\n".join(lines)
    print(found)
    if wanted.write:
        put(page, name, found)
