"""Days of the week."""

import datetime

NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def weekday_name(date: str, letters: int = 9) -> str | dict[str, str]:
    """Return the English name of a date's day of the week, cut to a number of letters.

    Dates before 1582 are read in the Gregorian calendar too, extended backwards.
    """
    try:
        day = datetime.date.fromisoformat(date.strip())
    except ValueError:
        return {"error": f"date: {date!r} is no calendar date; write it as YYYY-MM-DD"}
    return NAMES[day.weekday()][: int(letters)]
