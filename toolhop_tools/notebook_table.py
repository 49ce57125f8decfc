"""Display values in a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def table(caption: str, rows: Iterable[tuple[str, object]]) -> str:
    """Return a small HTML table with two columns."""
    cells = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in rows
    )
    return f"<table><caption>{escape(caption)}</caption>{cells}</table>"
