"""The middle of a stretch of time."""

import datetime


def date_midpoint(first: str, second: str, round_up: bool = False) -> str | dict[str, str]:
    """Return the date halfway between two dates, given in either order.

    Between two middle days the earlier one is taken, or the later one with ``round_up``.
    """
    ordinals: list[int] = []
    for name, text in (("first", first), ("second", second)):
        try:
            ordinals.append(datetime.date.fromisoformat(text.strip()).toordinal())
        except ValueError:
            return {"error": f"{name}: {text!r} is no calendar date; write it as YYYY-MM-DD"}
    return datetime.date.fromordinal((sum(ordinals) + int(round_up)) // 2).isoformat()
