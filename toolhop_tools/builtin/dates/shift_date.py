"""Calendar arithmetic with days, weeks, months and years."""

import calendar
import datetime

MONTHS = {"months": 1, "years": 12}
DAYS = {"days": 1, "weeks": 7}


def shift_date(date: str, amount: int, unit: str = "days") -> str | dict[str, str]:
    """Return the date that lies a number of days, weeks, months or years after a date.

    A negative amount goes back. Where the target month is too short, its last day is taken.
    """
    try:
        start = datetime.date.fromisoformat(date.strip())
    except ValueError:
        return {"error": f"date: {date!r} is no calendar date; write it as YYYY-MM-DD"}
    ordinal = start.toordinal() + int(amount) * DAYS.get(unit, 0)
    month = start.year * 12 + start.month - 1 + int(amount) * MONTHS.get(unit, 0)
    year = month // 12
    if not (1 <= ordinal <= datetime.date.max.toordinal() and 1 <= year <= 9999):
        return {
            "error": f"amount: {int(amount)} {unit} from {date} leave the years 1 to 9999; "
            "use a smaller amount"
        }
    if unit in DAYS:
        return datetime.date.fromordinal(ordinal).isoformat()
    length = calendar.monthrange(year, month % 12 + 1)[1]
    return datetime.date(year, month % 12 + 1, min(start.day, length)).isoformat()
