"""Values in texts, and what stands there once they are taken out: ``a certain city``."""

from __future__ import annotations

import re
from decimal import Decimal

from toolhop_tools.answers import plain_number, plain_text
from toolhop_tools.dates import dates_in, whole_date
from toolhop_tools.english import COUNTS, FUNCTION_WORDS, ORDINALS, TIMES, is_plural, singular
from toolhop_tools.words import ARTICLES, as_text


def without(text: str, value: str | int | float, instead: str) -> str | None:
    """The text with something else wherever it says a value; None where it does not say it.

    Articles before it and quotes around it go with it.
    """
    found = masked(text, value, instead, "")
    return found[0] if found else None


_APPOSED = re.compile(
    r"(?:\b(?:of|by|in|with|from|for|at|on|to)\s+|(?=\b(?:the|an?)\s))"
    r"(?P<cut>(?:(?:the|an?)\s+)?)(?P<more>(?:[\w-]+\s+)?)(?P<noun>[a-z][\w-]*)\s+$",
    re.IGNORECASE,
)
"""A noun, with a word before it, that stands beside a name: ``the moon``, ``by writer``."""
_CLASS = r"\b(?P<cut>the|an?)\s+(?P<more>(?:(?!(?:the|of|in|at|on|by)\b)[\w.'’-]+\s+){0,3})"
"""An article and what stands before a noun."""
_COUNTED = re.compile(r" ([a-z][\w-]*)")
_NEXT = re.compile(r"(?: [A-Z][\w'’-]*)*(?: [a-z][\w-]*)?")
_ORDINAL = re.compile(
    rf"(?:(?:the|an?)\s+)?(?:{'|'.join(ORDINALS)}|\d+(?:st|nd|rd|th))", re.IGNORECASE
)
_PLURAL = {"a certain": "certain", "another": "other"}
"""Before nouns in the plural."""


def masked(text: str, value: str | int | float, article: str, kind: str) -> tuple[str, str] | None:
    """The text with what a value is in its place, and what stands there at the first place.

    ``the moon Triton`` becomes ``a certain moon``, ``2000 feet`` ``a certain number of feet``,
    ``the 82nd games`` ``certain games``. None where the text does not say the value.
    """
    pieces, end, first = list[str](), 0, ""
    for start, stop in spans(text, value):
        instead, cut = _instead(text[end:start], text[start:stop], text[stop:], article, kind)
        start -= cut
        before = text[:start].rstrip()
        # "U.S." ends no sentence.
        opens = not before or (before[-1] in ".?!" and not re.search(r"\b[A-Z]\.$", before))
        pieces += [text[end:start], instead[:1].upper() + instead[1:] if opens else instead]
        cut_short = instead in {article, _PLURAL.get(article)} or instead.endswith(" of")
        first, end = first or instead + (_noun_after(text[stop:]) if cut_short else ""), stop
    return ("".join([*pieces, text[end:]]), first) if pieces else None


def _noun_after(after: str) -> str:
    """The noun that follows, with its capitalised words, and the space before it."""
    found = _NEXT.match(after)
    *said, last = found[0].split(" ") if found else [""]
    return " ".join([*said, last] if last.lower() not in FUNCTION_WORDS else said)


def _instead(before: str, said: str, after: str, article: str, kind: str) -> tuple[str, int]:
    """What stands in a value's place, and how many letters before it go with the value."""
    plain = f"{article} {kind}".strip()
    if not kind:
        return plain, 0
    follows = _COUNTED.match(after)
    # A verb of a clause without "that" ("the day Oslo fell"), or a thing that is counted.
    goes_on = follows is not None and follows[1] not in FUNCTION_WORDS
    noun = _noun_after(after)
    if _ORDINAL.fullmatch(said.strip()) and noun:
        plural = is_plural(noun.split()[-1])
        return (_PLURAL.get(article, article) if plural else article), 0
    head = kind.split(" of ")[0].split()[-1]
    if follows and singular(follows[1]) == head:
        # "the pink ball"
        return (_PLURAL.get(article, article) if is_plural(follows[1]) else article), 0
    counted = plain_number(said) is not None or said.split()[-1].lower() in COUNTS
    if goes_on and counted:
        return f"{article} number of", 0
    named = re.search(rf"{_CLASS}(?P<noun>{re.escape(head)})\s+of\s+$", before, re.IGNORECASE)
    if named and not said[:1].islower():
        # "the U.S. state of Georgia"
        return f"{article} {named['more']}{named['noun']}", len(before) - named.start("cut")
    beside = _APPOSED.search(before)
    if beside is None or said[:1].islower():
        return plain, 0
    more, one = beside["more"], beside["noun"]
    if not one.islower() or one in TIMES or one.endswith(("ing", "ed")) or is_plural(one):
        return plain, 0
    if not FUNCTION_WORDS.isdisjoint((more + one).lower().split()):
        return plain, 0
    if goes_on and one not in kind.split():
        return plain, 0
    return f"{article} {more}{one}", len(before) - beside.start("cut")


def in_name(text: str, span: tuple[int, int]) -> bool:
    """Whether a name in a text is a part of a longer one."""
    before, said, after = text[: span[0]], text[slice(*span)], text[span[1] :]
    if said[:1].islower() or plain_number(said) is not None or said[:1] in "\"'“‘":
        return False
    last = re.search(r"(?:^|[\s(])([A-Z][\w.'-]*) $", before)
    opens = last is not None and not before[: last.start(1)].strip()
    return (last is not None and not opens) or re.match(r" [A-Z]\w", after) is not None


_BEFORE = r"(?:\b(?:the|a|an)\s+)?[\"'“‘]?"
_AFTER = r"[\"”]?(?:['’](?!s\b|\w))?"


def _in_words(number: Decimal) -> list[str]:
    """A small number as a word: ``two``, ``second``."""
    return [word for word, digits in {**COUNTS, **ORDINALS}.items() if Decimal(digits) == number]


def spans(text: str, value: str | int | float) -> list[tuple[int, int]]:
    """Where a text says a value, in whatever notation; articles and quotes go with it."""
    day = whole_date(as_text(value)) if isinstance(value, str) else None
    written = [found for found, one in dates_in(text) if day is not None and one == day]
    patterns = [re.escape(found) for found in written]
    number = plain_number(plain_text(as_text(value)))
    if number is not None:
        found = (
            part[0]
            for part in re.finditer(r"(?<![\w.,])-?\d[\d,]*(?:\.\d+)?(?![\w,.]*\d)", text)
            if plain_number(part[0].rstrip(",")) in {number, abs(number)}
        )
        patterns += [re.escape(part.rstrip(",")) + r"(?:st|nd|rd|th)?" for part in found]
        patterns += [f"{word}(?! names?\\b)" for word in _in_words(number)]
    elif parts := re.findall(r"\w+", as_text(value).replace("_", " ")):
        if len(parts) > 1 and parts[0].casefold() in ARTICLES:
            parts = parts[1:]
        dot = r"\.?" if as_text(value).endswith(".") else ""
        patterns.append(r"[\W_]+".join(map(re.escape, parts)) + dot)
    spans: list[tuple[int, int]] = []
    for pattern in dict.fromkeys(patterns):
        whole = rf"{_BEFORE}(?<!\w)(?<!\w[-'’]){pattern}(?!\w|[-'’](?!s\b)\w){_AFTER}"
        spans += [found.span() for found in re.finditer(whole, text, re.IGNORECASE)]
    return sorted(set(spans))
