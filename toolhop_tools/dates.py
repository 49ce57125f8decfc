"""Find and format dates in the notations of questions, answers and tools."""

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
        # Day and month in either order, if only one order is a valid date.
        r"(?<!\d)(?P<day>1[3-9]|2\d|3[01])[/.](?P<month>0?\d|1[0-2])[/.](?P<year>\d{4})(?!\d)",
        r"(?<!\d)(?P<month>0?\d|1[0-2])/(?P<day>1[3-9]|2\d|3[01])/(?P<year>\d{4})(?!\d)",
    )
)
NOTATIONS = ("%Y-%m-%d", "%B %d, %Y", "%d %B %Y", "%Y/%m/%d", "%b %d, %Y", "%d %b %Y")
"""Notations for rewriting a date; the day may lack its leading zero."""


def dates_in(text: str) -> Iterator[tuple[str, dt.date]]:
    """Yield every date in a text, as written and parsed. Ambiguous dates are skipped."""
    for pattern in _PATTERNS:
        for found in pattern.finditer(text):
            if (date := _date(found)) is not None:
                yield found.group(), date


def whole_date(text: str) -> dt.date | None:
    """Return the date if the whole text is one; else None."""
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
    """Return the notation of a date; empty if it is in none of `NOTATIONS`."""
    date = whole_date(text)
    return next((one for one in NOTATIONS if date and in_notation(date, one) == text.strip()), "")


def in_notation(date: dt.date, form: str) -> str:
    """Format a date, with no leading zero if the month is a word. An empty form means ISO."""
    form = form or NOTATIONS[0]
    return date.strftime(form.replace("%d", str(date.day)) if "%m" not in form else form)


_UNIT = "YYYY|MMMM|MMM|MM|DD|Month|YY"
_FORM = re.compile(
    rf"\b(?:{_UNIT})(?:[-/., ]{{1,2}}(?:{_UNIT})){{2}}\b|\bYYYYMMDD\b|\bDDMMYYYY\b", re.IGNORECASE
)
_CODE = re.compile(r"%[dmYbBy](?:[-/., ]{0,2}%[dmYbBy]){2}")
_CODES = {"YYYY": "%Y", "MMMM": "%B", "MONTH": "%B", "MMM": "%b", "MM": "%m", "DD": "%d"}


def notations_named(about: str) -> list[str]:
    """Return the date notations named in a description (``DD/MM/YYYY``), as `strftime` formats."""
    unit = re.compile(_UNIT, re.IGNORECASE)
    found = [unit.sub(lambda part: _CODES.get(part[0].upper(), "%y"), form)
             for form in _FORM.findall(about)]  # fmt: skip
    return list(dict.fromkeys([*found, *_CODE.findall(about)]))
