"""The end of a row of doses."""

import datetime
import re


def last_dose_day(
    start_date: str, start_time: str, interval_hours: int, doses: int
) -> str | dict[str, str]:
    """Return the ISO date on which the last of some evenly spaced doses falls.

    The first dose is given at the start; days of 24 hours are assumed throughout.
    """
    try:
        day = datetime.date.fromisoformat(start_date.strip())
    except ValueError:
        return {"error": f"start_date: {start_date!r} is no date; write it as YYYY-MM-DD"}
    clock = re.fullmatch(r"([01]?[0-9]|2[0-3]):[0-5][0-9]", start_time.strip())
    if clock is None:
        return {"error": f"start_time: {start_time!r} is no time; write it as 07:45"}
    hours = int(clock.group(1)) + int(interval_hours) * (int(doses) - 1)
    # Minutes cannot carry over, as intervals are whole hours.
    ordinal = day.toordinal() + hours // 24
    if ordinal > datetime.date.max.toordinal():
        return {"error": "start_date: the last dose falls after the year 9999; start earlier"}
    return datetime.date.fromordinal(ordinal).isoformat()
