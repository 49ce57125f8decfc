"""Oven temperatures on other scales."""

FIRST_MARK_F = 275
STEP_F = 25


def oven_scale(celsius: float, scale: str) -> int | dict[str, str]:
    """Return an oven temperature as whole degrees Fahrenheit or as the nearest gas mark.

    Gas mark 1 stands for 275 degrees Fahrenheit and every further mark for 25 more, up to 10.
    """
    fahrenheit = celsius * 9 / 5 + 32
    if scale == "fahrenheit":
        return round(fahrenheit)
    mark = round((fahrenheit - FIRST_MARK_F) / STEP_F) + 1
    if not 1 <= mark <= 10:
        return {"error": f"celsius: {celsius} has no gas mark from 1 to 10; use 130 to 260 degrees"}
    return mark
