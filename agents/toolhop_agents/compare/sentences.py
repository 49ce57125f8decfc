"""What a comparison found, in two sentences: what changed and by how much, and how sure it is."""

from __future__ import annotations

from toolhop_agents.compare.cells import amount, interval
from toolhop_env.measures import Unit
from toolhop_env.pairs.line import Line
from toolhop_tools.errors import counted


def effect(one: Line, confidence: float, *, what: str, of: str) -> str:
    """Both sentences. `what` is compared, such as ``Feedback detailed → minimal``; pairs are `of`
    something, such as ``all episodes``.
    """
    unit = one.measure.unit
    before, after = (amount(unit, value, digits=1) for value in (one.before, one.after))
    per = " per cent" if unit is Unit.SHARE else ""
    moves = f"goes from {before} to {after}" if before != after else f"stays at {before}"
    return (
        f"{what}: {one.heading} {moves}{per}, a difference of "
        f"{difference(one, confidence)}, over {counted(one.pairs, 'pair')} of {of}. "
        f"{_how_sure(one, confidence)}"
    )


def difference(one: Line, confidence: float) -> str:
    """The difference with its interval."""
    unit, limits = one.measure.unit, "no interval"
    if one.low is not None:
        limits = f"{100 * confidence:g} % interval "
        limits += interval(unit, one.low, one.high, digits=1)
    points = " points" if unit is Unit.SHARE else ""
    return f"{amount(unit, one.difference, sign=True, digits=1)}{points} ({limits})"


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
