"""Whether a text gives a value away, in whatever form people write it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

from toolhop_tools.construct.text import says
from toolhop_tools.dates import dates_in, whole_date
from toolhop_tools.words import letters, number_of, words

LEAST_IN_WORDS, MOST_IN_WORDS = 13, 999_999
"""Whole numbers that are looked for in words; smaller ones are words of everyday."""
LEAST_APART = 6
"""Letters and digits of an answer that is looked for with marks or spaces within it."""
_GROUPS = re.compile(r"(?<=\d)[,.'\u2019\u00a0\u202f ](?=\d{3}(?!\d))")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")
_ODD_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth",
    "nine": "ninth", "twelve": "twelfth",
}  # fmt: skip
_ROMAN = (
    *((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L")),
    *((40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")),
)
_ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    "nineteen",
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def gives_away(text: str, value: str) -> bool:
    """Whether a text says a value, or the same in another form.

    Other forms are a number in English words, as an ordinal, in Roman numerals, or with its digits
    in groups; a date in another notation; an answer of some length with marks or spaces within it;
    and any of them with signs written as HTML does.
    """
    text = unescape(text)
    if says(text, value) or says(_ORDINAL.sub("", _GROUPS.sub("", text)), value):
        return True
    number = number_of(value)
    if number is not None and LEAST_IN_WORDS <= number < 4000 and number == int(number):
        numeral = rf"(?<!\w){in_roman(int(number))}(?!\w)"
        if re.search(numeral, text):
            return True
    day = whole_date(value)
    if day is not None:
        return any(found == day for _, found in dates_in(text))
    said = [word for word in words(text.replace("-", " ")) if word != "and"]
    return any(_stands(form, said) for form in _forms(value)) or _apart(text, value)


def _forms(value: str) -> Iterator[list[str]]:
    number = number_of(value)
    if number is None or not LEAST_IN_WORDS <= number <= MOST_IN_WORDS or number != int(number):
        return
    whole = in_words(int(number))
    yield whole
    yield [*whole[:-1], _ordinal(whole[-1])]
    before, after = divmod(int(number), 100)
    if 10 < before < 100:
        # As a year is said.
        yield [*in_words(before), *(in_words(after) if after else ("hundred",))]


def in_words(number: int) -> list[str]:
    """A whole number from 0 to 999,999 in English words, without ``and``."""
    if number < len(_ONES):
        return [_ONES[number]]
    if number < 100:
        tens, ones = divmod(number, 10)
        return [_TENS[tens - 2], *(in_words(ones) if ones else ())]
    unit, name = (100, "hundred") if number < 1000 else (1000, "thousand")
    many, rest = divmod(number, unit)
    return [*in_words(many), name, *(in_words(rest) if rest else ())]


def _ordinal(word: str) -> str:
    if word.endswith("y"):
        return f"{word[:-1]}ieth"
    return _ODD_ORDINALS.get(word, f"{word}th")


def in_roman(number: int) -> str:
    """A whole number from 1 to 3,999 in Roman numerals."""
    text = ""
    for value, sign in _ROMAN:
        many, number = divmod(number, value)
        text += many * sign
    return text


def _stands(part: list[str], whole: list[str]) -> bool:
    return any(whole[at : at + len(part)] == part for at in range(len(whole) - len(part) + 1))


def _apart(text: str, value: str) -> bool:
    """Whether neighbouring pieces of the text make the value: ``Vel-mora``, ``1 984 013``."""
    wanted = letters(value)
    if len(wanted) < LEAST_APART:
        return False
    pieces = [one for one in map(letters, _pieces(text)) if one]
    for at in range(len(pieces)):
        joined = ""
        for piece in pieces[at:]:
            joined += piece
            if joined == wanted:
                return True
            if len(joined) >= len(wanted):
                break
    return False


def _pieces(text: str) -> list[str]:
    return "".join(sign if sign.isalnum() else " " for sign in text).split()
