"""Dates from their three numbers."""

import calendar


def compose_date(year: int, month: int, day: int, clip: bool = False) -> str | dict[str, str]:
    """Return the ISO date of a year, a month and a day in the Gregorian calendar.

    With ``clip``, a day past the end of its month is taken as the month's last day.
    """
    last = calendar.monthrange(int(year), int(month))[1]
    if day > last and not clip:
        return {
            "error": f"day: month {int(month)} of {int(year)} has {last} days, {int(day)} is too "
            f"high; use 1 to {last}, or set clip to true"
        }
    return f"{int(year):04d}-{int(month):02d}-{min(int(day), last):02d}"
