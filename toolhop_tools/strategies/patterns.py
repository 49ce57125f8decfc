"""Text that matches a pattern: ECMA 262 regular expressions, as JSON Schema has them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from toolhop_tools.strategies.errors import Place, UnsupportedSchema

LETTERS = st.characters(codec="utf-8", exclude_categories=["Cs"])
"""Every character that a call can carry."""

_PROPERTIES = {
    **dict.fromkeys(("L", "Letter", "Alphabetic", "Latin"), "A-Za-z"),
    **dict.fromkeys(("Lu", "Uppercase_Letter", "Uppercase"), "A-Z"),
    **dict.fromkeys(("Ll", "Lowercase_Letter", "Lowercase"), "a-z"),
    **dict.fromkeys(("N", "Nd", "Number"), "0-9"),
    **dict.fromkeys(("P", "Punctuation"), "!,.:;?"),
    **dict.fromkeys(("S", "Symbol"), "+<=>"),
    **dict.fromkeys(("Z", "Zs", "White_Space"), " "),
}
"""Of every Unicode property the characters that texts are made of: a part of it is enough."""
_TOKEN = re.compile(
    r"""(?P<property>\\[pP]\{(?:\w+=)?(?P<name>\w+)\})
      | (?P<wide>\\u\{(?P<hex>[0-9a-fA-F]+)\})
      | (?P<control>\\c(?P<letter>[A-Za-z]))
      | (?P<escape>\\.)
      | (?P<group>\(\?<(?![=!]))
      | (?P<back>\\k<(?P<to>\w+)>)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compiled = re.compile("".join(_translated(pattern, place)), re.ASCII)
            found = st.from_regex(compiled, alphabet=LETTERS)
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


def _translated(pattern: str, place: Place) -> Iterator[str]:
    inside = False
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        match token.lastgroup:
            case "property":
                yield _property(token, inside, place)
            case "wide":
                yield f"\\U{int(token['hex'], 16):08x}"
            case "control":
                yield f"\\x{ord(token['letter'].upper()) - 64:02x}"
            case "group":
                yield text if inside else "(?P<"
            case "back":
                yield f"(?P={token['to']})"
            case "escape":
                yield text
            case _:
                if text in "[]":
                    inside = text == "[" or (inside and text != "]")
                yield r"\Z" if text == "$" and not inside else text


def _property(token: re.Match[str], inside: bool, place: Place) -> str:
    known = _PROPERTIES.get(token["name"])
    if known is None or (inside and token[0].startswith("\\P")):
        raise UnsupportedSchema(place, "pattern", f"the property {token[0]} is not known here")
    if inside:
        return known
    return f"[^{known}]" if token[0].startswith("\\P") else f"[{known}]"
