"""Times of day on a 24-hour clock."""

import re

DAY_MINUTES = 24 * 60


def clock_shift(time: str, minutes: int, backwards: bool = False) -> str | dict[str, str]:
    """Return what a 24-hour clock shows some minutes after a time, or before it.

    The clock starts again at 00:00 after 23:59; how many days pass is not told.
    """
    match = re.fullmatch(r"\s*([01]?[0-9]|2[0-3]):([0-5][0-9])\s*", time)
    if match is None:
        return {"error": f"time: {time!r} is no time of day; write hours and minutes as in 07:45"}
    start = int(match.group(1)) * 60 + int(match.group(2))
    shown = (start + (-int(minutes) if backwards else int(minutes))) % DAY_MINUTES
    return f"{shown // 60:02d}:{shown % 60:02d}"
