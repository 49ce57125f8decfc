"""Calendar date to Julian day number."""

import datetime
import re

# Python counts day 1 as 0001-01-01, whose Julian day number is 1721426.
OFFSET = 1721425


def julian_day_of(date: str) -> int | dict[str, str]:
    """Return the Julian day number that begins at noon of the given Gregorian date."""
    text = date.strip()
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return {"error": f"date: {date!r} is not written as YYYY-MM-DD, as in 1999-12-31"}
    try:
        return datetime.date.fromisoformat(text).toordinal() + OFFSET
    except ValueError:
        return {"error": f"date: {date!r} does not exist; give a real day of years 0001 to 9999"}
