"""The next Monday, Tuesday and so on."""

import datetime

NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def weekday_on_or_after(date: str, weekday: str, occurrence: int = 1) -> str | dict[str, str]:
    """Return the first date, or a later occurrence, of a weekday on or after a date."""
    try:
        start = datetime.date.fromisoformat(date.strip())
    except ValueError:
        return {"error": f"date: {date!r} is no calendar date; write it as YYYY-MM-DD"}
    wait = (NAMES.index(weekday.lower()) - start.weekday()) % 7 + 7 * (int(occurrence) - 1)
    ordinal = start.toordinal() + wait
    if ordinal > datetime.date.max.toordinal():
        return {"error": f"date: that {weekday} lies after the year 9999; give an earlier date"}
    return datetime.date.fromordinal(ordinal).isoformat()
