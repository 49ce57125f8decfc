"""Tables that fit a narrow terminal: columns that do not fit move below, and no cell is cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from textwrap import wrap
from typing import TypeAlias

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

PROSE_CHARS = 20
"""Minimum width of a prose column, in characters, before other columns move below."""
HEADER_CHARS = 7
"""Minimum width of a header of several words, in characters, however narrow its cells are."""
NAME_CHARS = 40
"""Minimum width of a key column that wraps, in characters."""

Cell: TypeAlias = str | Text


@dataclass(slots=True, eq=False)
class _Column:
    header: str
    right: bool
    prose: bool
    least: int | None
    cells: list[Text] = field(default_factory=list)

    def width(self, most: int) -> int:
        """Return the width of the widest line in characters, limited to `most` in a prose
        column.
        """
        found = max((line.cell_len for cell in self.cells for line in cell.split("\n")), default=0)
        return min(found, most) if self.prose else found

    def narrow_header(self, most: int) -> list[str]:
        """Wrap the header to the width of the cells, or of its longest word if that is wider."""
        longest = max(map(len, self.header.split()), default=1)
        return wrap(self.header, max(self.width(most), longest, HEADER_CHARS)) or [""]

    def framed_width(self, most: int) -> int:
        return max(self.width(most), len(self.header)) + 3

    def bare_width(self, most: int) -> int:
        return max([self.width(most), *map(len, self.narrow_header(most))]) + 1


class StackedTable:
    """A rich table that shrinks in steps until it fits the console.

    It first drops its frame and empty columns, then the columns of `drop`. Then the columns after
    the first `keys` are split into blocks, one below the other, each beside the key columns. Prose
    wraps; other cells wrap only if one is wider than the console. No cell is cut.
    """

    def __init__(
        self, *headers: str, title: str = "", keys: int = 1, drop: Sequence[str] = (),
        framed: bool = True, with_header: bool = True,
    ) -> None:  # fmt: skip
        """Create a table without rows.

        Args:
            headers: headers of the first columns; `add_columns` adds more.
            title: text above the table, over the console's whole width.
            keys: number of columns that identify a row.
            drop: headers of columns to drop on a narrow console, in order.
            framed: whether to draw a frame if there is room.
            with_header: whether to show the headers.
        """
        self._title, self._keys, self._drop = title, keys, drop
        self._framed, self._with_header = framed, with_header
        self._columns: list[_Column] = []
        self._styles: list[str] = []
        self._ends: set[int] = set()
        self.add_columns(*headers)

    def add_columns(
        self, *headers: str, right: bool = False, prose: bool = False, least: int | None = None
    ) -> None:
        """Add columns; `right` aligns their cells to the right, as for numbers.

        Prose wraps, but not below `least` characters; None is the default width.
        """
        self._columns += [_Column(header, right, prose, least) for header in headers]

    def add_row(self, *cells: Cell, style: str = "") -> None:
        """Add a row; missing cells at its end are empty. Strings are not parsed as markup."""
        for number, column in enumerate(self._columns):
            cell = cells[number] if number < len(cells) else ""
            column.cells.append(cell if isinstance(cell, Text) else Text(cell))
        self._styles.append(style)

    @property
    def title(self) -> str:
        """The text above the table; empty if it has none."""
        return self._title

    @property
    def headers(self) -> list[str]:
        """The column headers; empty if they are not shown."""
        return [one.header for one in self._columns] if self._with_header else []

    @property
    def numbers(self) -> list[bool]:
        """Whether each column is right-aligned, as numbers are."""
        return [one.right for one in self._columns]

    @property
    def rows(self) -> list[list[str]]:
        """All cells as plain text. An empty key cell repeats the key of the row above."""
        rows: list[list[str]] = []
        for number in range(self.row_count):
            row = [one.cells[number].plain for one in self._columns]
            for key in range(self._keys if rows else 0):
                row[key] = row[key] or rows[-1][key]
            rows.append(row)
        return rows

    @property
    def row_count(self) -> int:
        """Number of rows so far."""
        return len(self._styles)

    def add_section(self) -> None:
        """End a section; a framed table draws a line there."""
        self._ends.add(len(self._styles) - 1)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self._title:
            yield Text(self._title, style="italic")
        room, columns = options.max_width, list(self._columns)
        if self._framed and 1 + sum(one.framed_width(self._most(one)) for one in columns) <= room:
            yield self._table(columns, framed=True, fits=True)
            return
        if sum(map(self._bare_width, columns)) > room:
            columns = [*columns[: self._keys], *filter(_says_something, columns[self._keys :])]
        dropped = []
        for name in self._drop:
            if sum(map(self._bare_width, columns)) <= room:
                break
            dropped += [one.header for one in columns if one.header == name]
            columns = [one for one in columns if one.header != name]
        for number, block in enumerate(self._blocks(columns, room)):
            if number:
                yield Text()
            yield self._table(block, fits=sum(map(self._bare_width, block)) <= room)
        if dropped:
            yield Text(f"No room for {'; '.join(dropped)}: a wider terminal has them.", style="dim")

    def _most(self, column: _Column) -> int:
        usual = NAME_CHARS if column in self._columns[: self._keys] else PROSE_CHARS
        return column.least or usual

    def _bare_width(self, column: _Column) -> int:
        return column.bare_width(self._most(column))

    def _blocks(self, columns: Sequence[_Column], room: int) -> Iterator[Sequence[_Column]]:
        keys, block = list(columns[: self._keys]), list[_Column]()
        for one in columns[self._keys :]:
            if block and sum(map(self._bare_width, (*keys, *block, one))) > room:
                yield [*keys, *block]
                block = []
            block.append(one)
        yield [*keys, *block]

    def _table(
        self, columns: Sequence[_Column], *, framed: bool = False, fits: bool
    ) -> RenderableType:
        table = Table(show_header=self._with_header)
        if not framed:
            table.box, table.padding = None, (0, 1, 0, 0)
        for one in columns:
            lines = one.narrow_header(PROSE_CHARS)
            table.add_column(
                Text(one.header if framed or one.prose else "\n".join(lines)),
                justify="right" if one.right else "left",
                overflow="fold",
                no_wrap=fits and not one.prose,  # fold only if a single column does not fit
            )
        for number, style in enumerate(self._styles):
            cells = (one.cells[number] for one in columns)
            table.add_row(*cells, style=style or None, end_section=number in self._ends)
        return table


def _says_something(column: _Column) -> bool:
    return any(cell.plain not in ("", "-") for cell in column.cells)
