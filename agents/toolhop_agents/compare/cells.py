"""A comparison as text: empty tables, their cells, and sentences.

The sentences say what changed, by how much, over how many pairs, and with what certainty.
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
    """Return a table without rows; the text columns `texts` name its rows."""
    table = StackedTable(title=title, keys=len(texts))
    table.add_columns(*texts, prose=True)
    table.add_columns(*numbers, right=True)
    return table


def amount(unit: Unit, value: float, *, sign: bool = False, digits: int = 2) -> str:
    """Format a figure in its unit, with shares in per cent. `sign` also writes a plus sign."""
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
    """Format the limits of a difference; a dash without limits."""
    if low is None or high is None:
        return "-"
    return " .. ".join(amount(unit, limit, sign=True, digits=digits) for limit in (low, high))


def p_value(value: float | None) -> str:
    """Format a p-value to four digits; None gives an empty string."""
    if value is None:
        return ""
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def change(sides: tuple[bool, bool]) -> str:
    """Describe a discordant pair, given whether each side is right."""
    before, after = ("right" if side else "wrong" for side in sides)
    return f"{before} → {after}"


def discordant_counts(one: Line) -> tuple[str, str]:
    """Return how many pairs only the first side has right, and only the second; dashes if the
    measure is not binary.
    """
    return (
        ("-", "-") if one.lost is None or one.gained is None else (str(one.lost), str(one.gained))
    )


LEAST_SHARE = 0.8
"""Minimum share of the planned pairs for a verdict; below it, the lost pairs may decide."""


def effect(one: Line, confidence: float, *, what: str, of: str, planned: int) -> str:
    """Return the sentences on one difference.

    `what` is the comparison, such as ``Feedback detailed → minimal``; `of` describes the `planned`
    pairs, such as ``all episodes``.
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
    """Say that too few planned pairs remain for a verdict; empty if there are enough."""
    if one.pairs >= LEAST_SHARE * planned:
        return ""
    of = f"{planned - one.pairs} of {counted(planned, 'pair')} are lost"
    return f"No verdict: {of} (errored, not played or judged); with so few, they may decide."


def bounds(one: Line, planned: int) -> tuple[float, float] | None:
    """Return the bounds of the difference had all lost pairs gone down, or up; None if
    unbounded.
    """
    if one.measure.unit is not Unit.SHARE:
        return None
    missing, known = max(0, planned - one.pairs), one.difference * one.pairs
    return (known - missing) / (one.pairs + missing), (known + missing) / (one.pairs + missing)


def difference(one: Line, confidence: float, planned: int) -> str:
    """Return the difference with interval and number of pairs, and with bounds if pairs are
    lost.
    """
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
    """Say whether chance can explain the difference, and how large a difference may be missed."""
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
