"""Tables in formats for other programs: CSV, Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import click
from rich.console import Console

from toolhop_agents.stacked import StackedTable

FORMAT = "toolhop.format"
"""Key in click's context of the command's table format."""
COMMENT = {"csv": "# ", "markdown": "", "latex": "% "}
"""Prefix of a line that is not part of a table, by format."""
LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
        "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
        "±": r"$\pm$", "<": "$<$", ">": "$>$", "→": r"$\rightarrow$", "≤": r"$\le$", "≥": r"$\ge$",
    }
)  # fmt: skip


class Form(StrEnum):
    """A format for tables."""

    TABLE = "table"
    CSV = "csv"
    MARKDOWN = "markdown"
    LATEX = "latex"


class TableConsole(Console):
    """A console that prints tables in a given format, and anything else as comments or
    paragraphs.
    """

    def __init__(self, form: Form = Form.TABLE, *, width: int | None = None) -> None:
        """Print to standard output; `width` is in characters, detected by rich if None."""
        super().__init__(width=width)
        self.form = form

    def print(self, *objects: object, **options: Any) -> None:  # noqa: ANN401 -- passed on to `Console.print`, which types each
        """Print as rich does, or in the table format."""
        if self.form is Form.TABLE:
            super().print(*objects, **options)
            return
        for renderable in objects or ("",):
            if isinstance(renderable, StackedTable):
                click.echo(written(renderable, self.form))
                continue
            with self.capture() as text:
                super().print(renderable, **{**options, "soft_wrap": True})
            for line in text.get().splitlines():
                click.echo(f"{COMMENT[self.form]}{line}" if line.strip() else "")


def written(table: StackedTable, form: Form) -> str:
    """Format a table as CSV (RFC 4180), Markdown (GitHub's pipes) or LaTeX (booktabs), below its
    title.
    """
    rows = [[" ".join(cell.split()) for cell in row] for row in table.rows]
    title = f"{COMMENT[form]}{table.title}\n" if table.title else ""
    match form:
        case Form.CSV:
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows(filter(None, [table.headers, *rows]))
            return title + text.getvalue()
        case Form.MARKDOWN:
            # Without an empty line before it, a table would join the paragraph.
            return f"{title}\n{_markdown(table, rows)}"
        case _:
            return title + _latex(table, rows)


def _markdown(table: StackedTable, rows: Sequence[Sequence[str]]) -> str:
    # A Markdown table must have a header row.
    head = table.headers or [""] * len(table.numbers)
    lines = [head, ["--:" if right else ":--" for right in table.numbers], *rows]
    return "".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines
    )


def _latex(table: StackedTable, rows: Sequence[Sequence[str]]) -> str:
    columns = "".join("r" if right else "l" for right in table.numbers)
    head = [_cells(table.headers), r"\midrule"] if table.headers else []
    lines = [
        rf"\begin{{tabular}}{{{columns}}}", r"\toprule", *head, *map(_cells, rows), r"\bottomrule",
        r"\end{tabular}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _cells(cells: Sequence[str]) -> str:
    return " & ".join(cell.translate(LATEX) for cell in cells) + r" \\"
