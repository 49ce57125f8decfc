"""Text that matches a pattern: ECMA 262 regular expressions, as JSON Schema has them."""

from __future__ import annotations

import re
import warnings

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from toolhop_tools.strategies.errors import Place, UnsupportedSchema

LETTERS = st.characters(codec="utf-8", exclude_categories=["Cs"])
"""Every character that a call can carry."""

_TOKEN = re.compile(r"\\.|\[(?:[^\]\\]|\\.)*\]|\(\?<(?![=!])|.", re.DOTALL)
_SPELLED = {"$": r"\Z", "(?<": "(?P<"}
"""What Python writes in another way, outside of a class of characters."""
_REPEATED = re.compile(
    r"\^(?P<part>\[(?:[^\]\\]|\\.)+\]|\\[dws]|[\w.])"
    r"(?:(?P<sign>[*+])|\{(?P<least>\d+)(?P<comma>,)?(?P<most>\d+)?\})\$"
)
"""A whole text of one repeated part: its length can be said in the pattern."""


def matching(pattern: str, least: int, most: int | None, place: Place) -> st.SearchStrategy[str]:
    """Texts in which the pattern is found, of a length between the two if that can be said.

    The caller tries each against a validator: Python's reading differs at the edges.

    Raises:
        UnsupportedSchema: Python has no such pattern.
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
