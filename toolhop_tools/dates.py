"""Dates in the notations that questions, answers and tools write."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator

MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_MONTH = "(?P<month>" + "|".join(f"{name}|{name[:3]}\\.?" for name in MONTHS) + "|sept\\.?)"
_DAY, _YEAR = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?", r"(?P<year>\d{4})"
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<!\d){_YEAR}-(?P<month>\d{{1,2}})-(?P<day>\d{{1,2}})(?!\d)",
        rf"(?<!\d){_YEAR}/(?P<month>\d{{1,2}})/(?P<day>\d{{1,2}})(?!\d)",
        rf"\b{_MONTH}\s+{_DAY}\s*,?\s+{_YEAR}\b",
        rf"(?<!\d){_DAY}\s+(?:of\s+)?{_MONTH}\s*,?\s+{_YEAR}\b",
        # 31/01/1912 is a date where only one reading of it is.
        r"(?<!\d)(?P<day>1[3-9]|2\d|3[01])[/.](?P<month>0?\d|1[0-2])[/.](?P<year>\d{4})(?!\d)",
        r"(?<!\d)(?P<month>0?\d|1[0-2])/(?P<day>1[3-9]|2\d|3[01])/(?P<year>\d{4})(?!\d)",
    )
)
NOTATIONS = ("%Y-%m-%d", "%B %d, %Y", "%d %B %Y", "%Y/%m/%d", "%b %d, %Y", "%d %b %Y")
"""Notations in which a date is written anew; a leading zero of the day may be left out."""


def dates_in(text: str) -> Iterator[tuple[str, dt.date]]:
    """Every date in a text, as written and as a date; no other reading of it is tried."""
    for pattern in _PATTERNS:
        for found in pattern.finditer(text):
            if (date := _date(found)) is not None:
                yield found.group(), date


def whole_date(text: str) -> dt.date | None:
    """The date that a text is, with nothing beside it."""
    text = text.strip()
    if len(text) > 40:
        return None
    for pattern in _PATTERNS:
        if found := pattern.fullmatch(text):
            return _date(found)
    return None


def _date(found: re.Match[str]) -> dt.date | None:
    month = found["month"].lower().rstrip(".")
    number = int(month) if month.isdigit() else _month(month)
    try:
        return dt.date(int(found["year"]), number, int(found["day"]))
    except ValueError:
        return None


def _month(name: str) -> int:
    return next(index for index, full in enumerate(MONTHS, 1) if full.startswith(name[:3]))


def notation(text: str) -> str:
    """The notation that a date is written in; ISO where it is in none of `NOTATIONS`."""
    date = whole_date(text)
    return next((one for one in NOTATIONS if date and in_notation(date, one) == text.strip()), "")


def in_notation(date: dt.date, form: str) -> str:
    """A date written in a notation, the day without a leading zero where the month is a word."""
    form = form or NOTATIONS[0]
    return date.strftime(form.replace("%d", str(date.day)) if "%m" not in form else form)


_UNIT = "YYYY|MMMM|MMM|MM|DD|Month|YY"
_FORM = re.compile(
    rf"\b(?:{_UNIT})(?:[-/., ]{{1,2}}(?:{_UNIT})){{2}}\b|\bYYYYMMDD\b|\bDDMMYYYY\b", re.IGNORECASE
)
_CODE = re.compile(r"%[dmYbBy](?:[-/., ]{0,2}%[dmYbBy]){2}")
_CODES = {"YYYY": "%Y", "MMMM": "%B", "MONTH": "%B", "MMM": "%b", "MM": "%m", "DD": "%d"}


def notations_named(about: str) -> list[str]:
    """The date notations that a description names (``DD/MM/YYYY``), as `strftime` has them."""
    unit = re.compile(_UNIT, re.IGNORECASE)
    found = [unit.sub(lambda part: _CODES.get(part[0].upper(), "%y"), form)
             for form in _FORM.findall(about)]  # fmt: skip
    return list(dict.fromkeys([*found, *_CODE.findall(about)]))
