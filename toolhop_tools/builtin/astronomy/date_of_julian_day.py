"""Julian day number to calendar date."""

import datetime

FIRST_DAY = datetime.date(1, 1, 1)
FIRST_NUMBER = 1721426


def date_of_julian_day(julian_day: int) -> str:
    """Return the Gregorian date on whose noon the given Julian day begins."""
    return (FIRST_DAY + datetime.timedelta(days=int(julian_day) - FIRST_NUMBER)).isoformat()
