"""Tables in narrow consoles: nothing is cut, whatever the cells hold."""

from __future__ import annotations

from io import StringIO

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from toolhop_agents.stacked import StackedTable
from toolhop_agents.terminal import natural


def shown(table: StackedTable, width: int) -> list[str]:
    console = Console(width=width, file=StringIO(), record=True)
    console.print(table)
    return [line.rstrip() for line in console.export_text().splitlines()]


def made(names: list[str], rows: list[list[str]], **options: object) -> StackedTable:
    table = StackedTable(names[0], **options)  # type: ignore[arg-type]
    table.add_columns(*names[1:], right=True)
    for row in rows:
        table.add_row(*row)
    return table


CELL = st.text("abc123", min_size=1, max_size=12)
ROWS = st.lists(st.lists(CELL, min_size=6, max_size=6), min_size=1, max_size=4)


@given(ROWS, st.integers(26, 120))
def test_every_cell_is_whole_at_every_width(rows: list[list[str]], width: int) -> None:
    lines = shown(made(["key", *"vwxyz"], rows), width)
    words = " ".join(lines).replace("│", " ").split()
    assert all(len(line) <= width for line in lines)
    assert all(cell in words for row in rows for cell in row)


def test_columns_go_below_beside_their_keys() -> None:
    table = made(["key", "one", "two", "none"], [["k", "1" * 8, "2" * 8, "-"]])
    assert shown(table, 16) == [
        "key      one", "k   11111111", "", "key      two", "k   22222222"
    ]  # fmt: skip


def test_a_list_does_without_columns_and_says_so() -> None:
    table = made(["key", "one", "two"], [["k", "1" * 8, "2" * 8]], drop=["one"])
    assert shown(table, 16)[:2] == ["key      two", "k   22222222"]
    assert "one" in " ".join(shown(table, 16)[2:])


def test_a_cell_wider_than_the_console_is_folded() -> None:
    lines = shown(made(["key", "one"], [["k" * 30, "1" * 30]]), 20)
    assert "".join(lines).count("k") == 31  # the header's one
    assert "".join(lines).count("1") == 30


def test_ids_are_sorted_as_people_count() -> None:
    ids = ["b-10_e1", "b-2_e10", "b-2_e9", "a-3", "b", "10", "9"]
    assert sorted(ids, key=natural) == ["9", "10", "a-3", "b", "b-2_e9", "b-2_e10", "b-10_e1"]
