"""Days of the Academy Awards ceremonies."""

FIRST = 59
# Month and day of each ceremony, one a year from 1987 on.
FIRST_YEAR = 1987
DAYS = (
    "03-30 04-11 03-29 03-26 03-25 03-30 03-29 03-21 03-27 03-25 03-24 03-23 03-21 03-26 03-25 "
    "03-24 03-23 02-29 02-27 03-05 02-25 02-24 02-22 03-07 02-27 02-26 02-24 03-02 02-22 02-28 "
    "02-26 03-04 02-24 02-09"
)


def oscar_ceremony_day(ceremony: int) -> str:
    """Return the ISO date of a ceremony of the Academy Awards, from the 59th to the 92nd."""
    index = int(ceremony) - FIRST
    return f"{FIRST_YEAR + index}-{DAYS.split()[index]}"
