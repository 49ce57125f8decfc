"""Birthdays and other yearly days around a date."""

import calendar
import datetime


def anniversary_near(
    origin: str, reference: str, direction: str = "before"
) -> str | dict[str, str]:
    """Return the last anniversary of a date on or before a reference, or the next one after it.

    The anniversary of 29 February is 28 February in common years. No anniversary lies before
    the origin itself.
    """
    start, near = parsed(origin), parsed(reference)
    if start is None:
        return {"error": f"origin: {origin!r} is no calendar date; write it as YYYY-MM-DD"}
    if near is None:
        return {"error": f"reference: {reference!r} is no calendar date; write it as YYYY-MM-DD"}
    if near < start:
        return {"error": f"reference: {reference} is before {origin}; give that day or a later one"}
    year = near.year
    if direction == "before" and in_year(start, year) > near:
        year -= 1
    elif direction == "after" and in_year(start, year) <= near:
        year += 1
    if year > datetime.MAXYEAR:
        return {"error": f"reference: no anniversary after {reference} within the years 1 to 9999"}
    return in_year(start, year).isoformat()


def parsed(text: str) -> datetime.date | None:
    """The date that ISO text stands for, or None."""
    try:
        return datetime.date.fromisoformat(text.strip())
    except ValueError:
        return None


def in_year(start: datetime.date, year: int) -> datetime.date:
    """The anniversary within a year."""
    if year > datetime.MAXYEAR:
        return datetime.date.max
    last = calendar.monthrange(year, start.month)[1]
    return start.replace(year=year, day=min(start.day, last))
