"""Completed years of life."""

import datetime


def age_in_years(born: str, on: str) -> int | dict[str, str]:
    """Return how many full years have passed from the day of birth up to another day.

    Who is born on 29 February completes a year on 1 March where the year is no leap year.
    """
    birth, day = parsed(born), parsed(on)
    if birth is None:
        return {"error": f"born: {born!r} is no calendar date; write it as YYYY-MM-DD"}
    if day is None:
        return {"error": f"on: {on!r} is no calendar date; write it as YYYY-MM-DD"}
    if day < birth:
        return {"error": f"on: {on!r} lies before the birth on {born!r}; give a later day"}
    before_birthday = (day.month, day.day) < (birth.month, birth.day)
    return day.year - birth.year - int(before_birthday)


def parsed(text: str) -> datetime.date | None:
    """The date that ISO text stands for, or None."""
    try:
        return datetime.date.fromisoformat(text.strip())
    except ValueError:
        return None
