"""Figures of a comparison as text: its tables without rows, and their cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from toolhop_agents.stacked import StackedTable
from toolhop_env.measures import Unit
from toolhop_env.pairs.line import Line

RIGHT_TO_WRONG, WRONG_TO_RIGHT = "right → wrong", "wrong → right"
"""Headings of the two counts of discordant pairs."""


def table_of(title: str, texts: Sequence[str], numbers: Iterable[str]) -> StackedTable:
    """A table without rows; the columns of text name its rows."""
    table = StackedTable(title=title, keys=len(texts))
    table.add_columns(*texts, prose=True)
    table.add_columns(*numbers, right=True)
    return table


def amount(unit: Unit, value: float, *, sign: bool = False, digits: int = 2) -> str:
    """A figure in its unit; shares in per cent. `sign` writes a plus as well."""
    plus = "+" if sign else ""
    match unit:
        case Unit.SHARE:
            return f"{100 * value:{plus}.{digits}f}"
        case Unit.TOKENS:
            return f"{value:{plus},.0f}"
        case Unit.USD:
            return f"{value:{plus}.5f}"
        case _:
            return f"{value:{plus}.2f}"


def interval(unit: Unit, low: float | None, high: float | None, *, digits: int = 2) -> str:
    """The limits of a difference; a dash for none."""
    if low is None or high is None:
        return "-"
    return " .. ".join(amount(unit, limit, sign=True, digits=digits) for limit in (low, high))


def p_value(value: float | None) -> str:
    """To four digits; nothing for none."""
    if value is None:
        return ""
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def change(sides: tuple[bool, bool]) -> str:
    """What became of a discordant pair, from whether each side is right."""
    before, after = ("right" if side else "wrong" for side in sides)
    return f"{before} → {after}"


def discordant_counts(one: Line) -> tuple[str, str]:
    """Pairs that the first side alone has right, and the second alone; dashes where none can."""
    return (
        ("-", "-") if one.lost is None or one.gained is None else (str(one.lost), str(one.gained))
    )
