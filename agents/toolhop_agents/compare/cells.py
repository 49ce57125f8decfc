"""A comparison as text: tables without rows, their cells, and sentences.

Sentences say what changed and by how much, of how many pairs, and how sure it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from toolhop_agents.stacked import StackedTable
from toolhop_env.measures import Unit
from toolhop_env.pairs.line import Line
from toolhop_tools.errors import counted

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


LEAST_SHARE = 0.8
"""Of the planned pairs: with fewer, what was lost may decide, and no verdict is given."""


def effect(one: Line, confidence: float, *, what: str, of: str, planned: int) -> str:
    """All sentences. `what` is compared, such as ``Feedback detailed → minimal``; `planned` pairs
    are `of` something, such as ``all episodes``.
    """
    unit = one.measure.unit
    before, after = (amount(unit, value, digits=1) for value in (one.before, one.after))
    per = " per cent" if unit is Unit.SHARE else ""
    moves = f"goes from {before} to {after}" if before != after else f"stays at {before}"
    return (
        f"{what}: {one.heading} {moves}{per}, a difference of "
        f"{difference(one, confidence, planned)} of {of}. "
        + (lost(one, planned) or _how_sure(one, confidence))
    )


def lost(one: Line, planned: int) -> str:
    """That there is no verdict, where too few of the planned pairs are there; else empty."""
    if one.pairs >= LEAST_SHARE * planned:
        return ""
    of = f"{planned - one.pairs} of {counted(planned, 'pair')} are lost"
    return f"No verdict: {of} (errored, not played or judged); with so few, they may decide."


def bounds(one: Line, planned: int) -> tuple[float, float] | None:
    """Bounds of the difference if every lost pair had gone down or up; None if it is unbounded."""
    if one.measure.unit is not Unit.SHARE:
        return None
    missing, known = max(0, planned - one.pairs), one.difference * one.pairs
    return (known - missing) / (one.pairs + missing), (known + missing) / (one.pairs + missing)


def difference(one: Line, confidence: float, planned: int) -> str:
    """The difference with its interval, of how many pairs, and its bounds where some are lost."""
    unit, limits = one.measure.unit, "no interval"
    if one.low is not None:
        limits = f"{100 * confidence:g} % interval "
        limits += interval(unit, one.low, one.high, digits=1)
    points = " points" if unit is Unit.SHARE else ""
    found = f"{amount(unit, one.difference, sign=True, digits=1)}{points} ({limits})"
    if one.pairs < planned and (ends := bounds(one, planned)):
        found += f", {interval(unit, *ends, digits=1)} had every lost pair gone either way"
    return f"{found}, over {one.pairs} of {counted(planned, 'pair')}"


def _how_sure(one: Line, confidence: float) -> str:
    """Whether chance explains the difference, and what else could have been seen."""
    p = one.p_value if one.adjusted is None else one.adjusted
    if p is None:
        return "It is not tested."
    said = f"= {p:.4f}" if p >= 0.0001 else "< 0.0001"
    test = f"p {said}, {one.test}{', Holm' if p != one.p_value else ''}"
    if p <= 1 - confidence:
        return f"Chance alone is an unlikely cause ({test})."
    missed = ""
    if one.detectable is not None:
        least = amount(Unit.SHARE, one.detectable, digits=1)
        missed = f"; with so many pairs a true difference below {least} points is often missed"
    return f"Chance alone can explain it ({test}){missed}."
