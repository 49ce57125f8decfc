"""Numbers and texts within bounds, edge cases among them, small and readable ones first."""

from __future__ import annotations

import contextlib
import math
import string
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from toolhop_tools.strategies import patterns
from toolhop_tools.strategies.document import Fits, Value
from toolhop_tools.strategies.errors import Place, UnsatisfiableSchema, UnsupportedSchema
from toolhop_tools.strategies.formats import FORMATS, dates

MOST_INTEGER = 10**999
"""A call carries integers of at most 1000 digits; of that length none is made."""
_USUAL = 2**63 - 1
LONGEST_TEXT = 100_000
"""Characters of a text that a schema may ask for."""
_LONG_FROM = 50

_INTEGERS = (1, -1, 0, 2, 3, 10, 12, 100, 1900, 2000, 2024, 2**31 - 1, 2**31, -(2**31), 2**53 + 1)
_FLOATS = (0.5, -0.5, 1.5, 0.1, 2.5, 1.0, 3.14, -2.75, 99.99, 1e-6, 1e10, 1e21)
_READABLE = string.ascii_letters + string.digits + " .,:;-_'/()"
_TEXTS = (
    *("", "a", " ", "A", "0", "-1", "1.5", "é", "日本語", "😀", "ß", "a b", " a ", "a,b", "'", '"'),
    *("a\nb", "null", "%s", "{}", "\\", "a" * 64, "2024-02-29", "January 31, 2023", "31/12/1999"),
)


@dataclass(frozen=True, slots=True)
class Range:
    """Bounds of a number, either of which may be missing."""

    low: Fraction | None
    high: Fraction | None
    open_low: bool
    """`low` itself is out."""
    open_high: bool

    def holds(self, value: float) -> bool:
        """Whether a number is within."""
        exact = Fraction(value)
        low = self.low is None or exact > self.low or (exact == self.low and not self.open_low)
        high = self.high is None or exact < self.high or (exact == self.high and not self.open_high)
        return low and high


def bounds(rules: Mapping[str, Any]) -> Range:
    """What the keywords say together."""
    low, open_low = _tightest(rules.get("minimum"), rules.get("exclusiveMinimum"), 1)
    high, open_high = _tightest(rules.get("maximum"), rules.get("exclusiveMaximum"), -1)
    return Range(low, high, open_low, open_high)


def _tightest(closed: Value, opened: Value, sign: int) -> tuple[Fraction | None, bool]:
    if closed is None and opened is None:
        return None, False
    if opened is None:
        return Fraction(closed), False
    if closed is None or Fraction(opened) * sign >= Fraction(closed) * sign:
        return Fraction(opened), True
    return Fraction(closed), False


def whole_range(rules: Mapping[str, Any], step: int = 1) -> tuple[int | None, int | None]:
    """The least and the greatest factor of `step` within the bounds."""
    within = bounds(rules)
    low = high = None
    if within.low is not None:
        low = math.ceil(within.low / step)
        low += within.open_low and low * step == within.low
    if within.high is not None:
        high = math.floor(within.high / step)
        high -= within.open_high and high * step == within.high
    return low, high


def integers(rules: Mapping[str, Any], place: Place) -> st.SearchStrategy[Any]:
    """Whole numbers, never as floats.

    Raises:
        UnsatisfiableSchema: there is none within the bounds.
    """
    step = Fraction(str(rules.get("multipleOf", 1))).numerator
    given_low, given_high = whole_range(rules, step)
    most = MOST_INTEGER // step
    usual = _USUAL // step or 1
    low, high = given_low, given_high
    if low is None:
        low = -usual if high is None else min(-usual, high - usual)
    if high is None:
        high = max(usual, low + usual)
    low, high = max(low, -most), min(high, most)
    if low > high:
        raise UnsatisfiableSchema(place, "no whole number is within its bounds")
    ends = [end + by for end in (given_low, given_high) if end is not None for by in (0, 1, -1)]
    edges = [n for n in dict.fromkeys([*_INTEGERS, *ends]) if low <= n <= high]
    found = st.integers(low, high)
    if edges and high - low > len(edges):
        found |= st.sampled_from(edges)
    return found if step == 1 else found.map(lambda n: n * step)


def numbers(rules: Mapping[str, Any], place: Place) -> st.SearchStrategy[Any]:
    """Whole numbers and floats.

    Raises:
        UnsatisfiableSchema: there is none within the bounds.
    """
    parts: list[st.SearchStrategy[Any]] = []
    with contextlib.suppress(UnsatisfiableSchema):
        parts.append(integers(rules, place))
    if "multipleOf" in rules:
        parts += _multiples(rules)
    else:
        parts += _floats(bounds(rules))
    if not parts:
        raise UnsatisfiableSchema(place, "no number is within its bounds")
    return st.one_of(parts)


def _floats(within: Range) -> list[st.SearchStrategy[Any]]:
    low, high = _inner(within.low, 1), _inner(within.high, -1)
    open_low = within.open_low and low is not None and Fraction(low) == within.low
    open_high = within.open_high and high is not None and Fraction(high) == within.high
    first = -sys.float_info.max if low is None else low
    last = sys.float_info.max if high is None else high
    if not math.isfinite(first) or not math.isfinite(last):
        return []
    first = math.nextafter(first, math.inf) if open_low else first
    last = math.nextafter(last, -math.inf) if open_high else last
    if first > last:
        return []
    edges = [edge for edge in (*_FLOATS, first, last) if first <= edge <= last]
    if low is None or high is None:
        edges = [edge for edge in edges if abs(edge) < sys.float_info.max]
    # Minus zero is below zero to Hypothesis, and zero to a schema.
    plain = st.floats(first + 0.0, last + 0.0, allow_nan=False, allow_infinity=False)
    return [plain | st.sampled_from(edges) if edges else plain]


def _inner(bound: Fraction | None, sign: int) -> float | None:
    """The float nearest to a bound that is not outside of it."""
    if bound is None:
        return None
    try:
        near = float(bound)
    except OverflowError:
        outside = (bound > 0) == (sign > 0)
        return math.inf if outside else None
    if Fraction(near) * sign < bound * sign:
        return math.nextafter(near, math.inf * sign)
    return near


def _multiples(rules: Mapping[str, Any]) -> list[st.SearchStrategy[Any]]:
    unit = Fraction(str(rules["multipleOf"]))
    if unit.denominator == 1:
        return []
    scaled = {
        key: Fraction(rules[key]) / unit
        for key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
        if key in rules
    }
    low, high = whole_range(scaled)
    low = (-(10**6) if high is None else high - 10**6) if low is None else low
    high = low + 2 * 10**6 if high is None else high
    if low > high:
        return []
    within = bounds(rules)

    def clean(value: float) -> bool:
        # Readers differ in what floats do to a quotient: made is what all of them agree on.
        return within.holds(value) and (value / rules["multipleOf"]).is_integer()

    return [st.integers(low, high).map(lambda n: float(n * unit)).filter(clean)]


def texts(
    rules: Mapping[str, Any], fits: Fits, place: Place, *, day: bool = False
) -> st.SearchStrategy[Any]:
    """Texts.

    Args:
        rules: the keywords.
        fits: whether a text fits the keywords; asked where that does not follow.
        place: for messages.
        day: the text seems to be wanted for a date.

    Raises:
        UnsatisfiableSchema: no length is within the bounds.
        UnsupportedSchema: the pattern is not understood, or the text too long.
    """
    low, high = int(rules.get("minLength", 0)), rules.get("maxLength")
    high = None if high is None else int(high)
    if high is not None and low > high:
        raise UnsatisfiableSchema(place, f"no text has {low} characters and at most {high}")
    if low > LONGEST_TEXT:
        raise UnsupportedSchema(place, "minLength", f"at most {LONGEST_TEXT} characters are made")
    if "pattern" in rules:
        return patterns.matching(rules["pattern"], low, high, place).filter(fits)
    if rules.get("format") in FORMATS:
        found = FORMATS[rules["format"]]()
        return found.filter(fits)
    return _free_texts(low, high, fits, day)


def _free_texts(low: int, high: int | None, fits: Fits, day: bool) -> st.SearchStrategy[Any]:
    if low > _LONG_FROM:
        most = low + 20 if high is None else min(high, low + 20)
        start = st.text(_READABLE, max_size=20)
        return st.builds(
            lambda text, n: text + "a" * (n - len(text)), start, st.integers(low, most)
        )
    parts = [st.text(_READABLE, min_size=low, max_size=high)]
    parts.append(st.text(patterns.LETTERS, min_size=low, max_size=high))
    edges = [text for text in _TEXTS if len(text) >= low and (high is None or len(text) <= high)]
    if edges:
        parts.append(st.sampled_from(edges))
    if high is None or high >= 100:
        longest = 300 if high is None else min(high, 300)
        long = st.integers(max(low, 50), longest).map(lambda n: "a" * n)
        # Mapped, so that the union stays one branch: long texts are slow, and read badly.
        parts[1] = (parts[1] | (parts[1] | long).map(str)).map(str)
    if day and (high is None or high >= 10) and low <= 10:
        parts.append(dates().filter(fits))
    return st.one_of(parts)
