"""Text that matches a pattern: ECMA 262 regular expressions, as in JSON Schema."""

from __future__ import annotations

import re
import warnings

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from toolhop_tools.strategies.errors import Place, UnsupportedSchema

LETTERS = st.characters(codec="utf-8", exclude_categories=["Cs"])
"""Strategy for every character that a call can carry."""

_TOKEN = re.compile(r"\\.|\[(?:[^\]\\]|\\.)*\]|\(\?<(?![=!])|.", re.DOTALL)
_SPELLED = {"$": r"\Z", "(?<": "(?P<"}
"""Syntax that Python writes differently, outside character classes."""
_REPEATED = re.compile(
    r"\^(?P<part>\[(?:[^\]\\]|\\.)+\]|\\[dws]|[\w.])"
    r"(?:(?P<sign>[*+])|\{(?P<least>\d+)(?P<comma>,)?(?P<most>\d+)?\})\$"
)
"""A pattern of one repeated part, whose length can be limited within the pattern."""


def matching(pattern: str, least: int, most: int | None, place: Place) -> st.SearchStrategy[str]:
    """Return a strategy for texts that contain the pattern, within the lengths if expressible.

    The caller validates each text, since Python's interpretation differs in edge cases.

    Raises:
        UnsupportedSchema: the pattern is not valid in Python.
    """
    shaped = _REPEATED.fullmatch(pattern)
    if shaped and (least or most is not None):
        pattern = _bounded(shaped, least, most)
    spelled = "".join(_SPELLED.get(token, token) for token in _TOKEN.findall(pattern))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = st.from_regex(re.compile(spelled, re.ASCII), alphabet=LETTERS)
            found.validate()
        except (re.error, RecursionError, OverflowError, InvalidArgument) as error:
            reason = f"Python does not understand {pattern!r} ({error})"
            raise UnsupportedSchema(place, "pattern", reason) from None
    return found


def _bounded(shaped: re.Match[str], least: int, most: int | None) -> str:
    low = {"*": 0, "+": 1}.get(shaped["sign"], int(shaped["least"] or 0))
    exact = bool(shaped["least"]) and not shaped["comma"]
    high = low if exact else int(shaped["most"]) if shaped["most"] else None
    ends = [end for end in (high, most) if end is not None]
    low, high = max(low, least), min(ends, default=None)
    if high is not None and low > high:
        return shaped.string
    return f"^{shaped['part']}{{{low},{'' if high is None else high}}}$"
