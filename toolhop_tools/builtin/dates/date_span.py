"""How far apart dates lie."""

import datetime
import itertools


def date_span(dates: list[str], part: str = "total", unit: str = "days") -> int | dict[str, str]:
    """Return the time from the earliest to the latest of some dates, or a gap between neighbours.

    The dates may be in any order. Weeks and years count when they are complete.
    """
    days: list[datetime.date] = []
    for text in dates:
        try:
            days.append(datetime.date.fromisoformat(text.strip()))
        except ValueError:
            return {"error": f"dates: {text!r} is no calendar date; write it as YYYY-MM-DD"}
    days.sort()
    pairs = [(days[0], days[-1])]
    if part != "total":
        pairs = list(itertools.pairwise(days))
    lengths = [length(early, late, unit) for early, late in pairs]
    return min(lengths) if part == "shortest gap" else max(lengths)


def length(early: datetime.date, late: datetime.date, unit: str) -> int:
    """Complete units between two dates in order."""
    if unit == "years":
        return late.year - early.year - int((late.month, late.day) < (early.month, early.day))
    return (late - early).days // (7 if unit == "weeks" else 1)
