"""Whole years in a number of days."""


def full_years(days: int) -> int | dict[str, str]:
    """Counts the full years of 365 days that fit into a number of days.

    Args:
        days: The number of days, 0 or more.
    """
    if days < 0:
        return {"error": f"days: {days} is below 0; give 0 or more"}
    return days // 365
