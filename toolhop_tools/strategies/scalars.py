"""Strategies for numbers and texts within bounds, including edge cases."""

from __future__ import annotations

import contextlib
import math
import string
import sys
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from toolhop_tools.strategies import patterns
from toolhop_tools.strategies.errors import Place, UnsatisfiableSchema, UnsupportedSchema
from toolhop_tools.strategies.formats import FORMATS, dates
from toolhop_tools.strategies.schema import Fits

MOST_INTEGER = 10**999
"""Largest integer that is generated; a call carries integers of at most 1000 digits."""
LONGEST_TEXT = 100_000
"""Maximum length of a text that a schema may require, in characters."""
NUMBER_RULES = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_USUAL = 2**63 - 1
_LONG_FROM = 50
_LARGEST = sys.float_info.max

_INTEGERS = (1, -1, 0, 2, 3, 10, 12, 100, 1900, 2000, 2024, 2**31 - 1, 2**31, -(2**31), 2**53 + 1)
_FLOATS = (0.5, -0.5, 1.5, 0.1, 2.5, 1.0, 3.14, -2.75, 99.99, 1e-6, 1e10, 1e21)
_READABLE = string.ascii_letters + string.digits + " .,:;-_'/()"
_TEXTS = (
    *("", "a", " ", "A", "0", "-1", "1.5", "é", "日本語", "😀", "ß", "a b", " a ", "a,b", "'", '"'),
    *("a\nb", "null", "%s", "{}", "\\", "a" * 64, "2024-02-29", "January 31, 2023", "31/12/1999"),
)


def whole_range(rules: Mapping[str, Any], unit: Fraction) -> tuple[int | None, int | None]:
    """Return the least and greatest factor of `unit` within the bounds; None if unbounded."""
    lows, highs = list[int](), list[int]()
    if "minimum" in rules:
        lows.append(math.ceil(Fraction(rules["minimum"]) / unit))
    if "exclusiveMinimum" in rules:
        lows.append(math.floor(Fraction(rules["exclusiveMinimum"]) / unit) + 1)
    if "maximum" in rules:
        highs.append(math.floor(Fraction(rules["maximum"]) / unit))
    if "exclusiveMaximum" in rules:
        highs.append(math.ceil(Fraction(rules["exclusiveMaximum"]) / unit) - 1)
    return max(lows, default=None), min(highs, default=None)


def integers(rules: Mapping[str, Any], place: Place) -> st.SearchStrategy[Any]:
    """Return a strategy for integers, never as floats.

    Raises:
        UnsatisfiableSchema: no integer is within the bounds.
    """
    step = Fraction(str(rules.get("multipleOf", 1))).numerator
    given_low, given_high = whole_range(rules, Fraction(step))
    most, usual = MOST_INTEGER // step, _USUAL // step or 1
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


def numbers(rules: Mapping[str, Any], fits: Fits, place: Place) -> st.SearchStrategy[Any]:
    """Return a strategy for integers and floats; `fits` checks a number against the bounds.

    Raises:
        UnsatisfiableSchema: no number is within the bounds.
    """
    parts: list[st.SearchStrategy[Any]] = []
    with contextlib.suppress(UnsatisfiableSchema):
        parts.append(integers(rules, place))
    parts += _multiples(rules, fits) if "multipleOf" in rules else _floats(rules, fits)
    if not parts:
        raise UnsatisfiableSchema(place, "no number is within its bounds")
    return st.one_of(parts)


def _floats(rules: Mapping[str, Any], fits: Fits) -> list[st.SearchStrategy[Any]]:
    lows = [rules[key] for key in ("minimum", "exclusiveMinimum") if key in rules]
    highs = [rules[key] for key in ("maximum", "exclusiveMaximum") if key in rules]
    low, high = max(lows, default=-_LARGEST), min(highs, default=_LARGEST)
    if low > _LARGEST or high < -_LARGEST or low > high:
        return []
    first, last = float(max(low, -_LARGEST)), float(min(high, _LARGEST))
    near = [first, math.nextafter(first, last), math.nextafter(last, first), last]
    edges = [edge for edge in (*_FLOATS, *near) if abs(edge) < 1e300 and fits(edge)]
    if low == high or not (edges or fits((first + last) / 2)):
        return [st.sampled_from(edges)] if edges else []
    # Hypothesis treats -0.0 as below zero; schemas treat it as zero.
    plain = st.floats(first + 0.0, last + 0.0, allow_nan=False, allow_infinity=False).filter(fits)
    return [plain | st.sampled_from(edges) if edges else plain]


def _multiples(rules: Mapping[str, Any], fits: Fits) -> list[st.SearchStrategy[Any]]:
    unit = Fraction(str(rules["multipleOf"]))
    if unit.denominator == 1:
        return []
    low, high = whole_range(rules, unit)
    low = (-(10**6) if high is None else high - 10**6) if low is None else low
    high = low + 2 * 10**6 if high is None else high
    if low > high:
        return []

    def clean(value: float) -> bool:
        # Validators differ in how they round quotients; generate only values they all accept.
        return fits(value) and (value / rules["multipleOf"]).is_integer()

    return [st.integers(low, high).map(lambda n: float(n * unit)).filter(clean)]


def texts(
    rules: Mapping[str, Any], fits: Fits, place: Place, *, day: bool = False
) -> st.SearchStrategy[Any]:
    """Return a strategy for texts.

    Args:
        rules: the keywords of the schema.
        fits: function that checks a text against the keywords, used if fit is not guaranteed.
        place: path of the schema, for messages.
        day: whether the parameter seems to expect a date.

    Raises:
        UnsatisfiableSchema: no length is within the bounds.
        UnsupportedSchema: the pattern is not supported, or the text is too long.
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
        return FORMATS[rules["format"]]().filter(fits)
    return _free_texts(low, high, fits, day)


def _free_texts(low: int, high: int | None, fits: Fits, day: bool) -> st.SearchStrategy[Any]:
    if low > _LONG_FROM:
        most = low + 20 if high is None else min(high, low + 20)
        start, sizes = st.text(_READABLE, max_size=20), st.integers(low, most)
        return st.builds(lambda text, n: text + "a" * (n - len(text)), start, sizes)
    parts = [st.text(_READABLE, min_size=low, max_size=high)]
    parts.append(st.text(patterns.LETTERS, min_size=low, max_size=high))
    edges = [text for text in _TEXTS if len(text) >= low and (high is None or len(text) <= high)]
    if edges:
        parts.append(st.sampled_from(edges))
    if high is None or high >= 100:
        longest = 300 if high is None else min(high, 300)
        long = st.integers(max(low, 50), longest).map(lambda n: "a" * n)
        # Mapped to keep the union a single branch, so that long texts, which are slow, stay rare.
        parts[1] = (parts[1] | (parts[1] | long).map(str)).map(str)
    if day and (high is None or high >= 10) and low <= 10:
        parts.append(dates().filter(fits))
    return st.one_of(parts)
