"""Points of the balls in snooker."""

VALUES = {
    "red": 1,
    "yellow": 2,
    "green": 3,
    "brown": 4,
    "blue": 5,
    "pink": 6,
    "black": 7,
}


def snooker_ball_value(colour: str, foul: bool = False) -> int | dict[str, str]:
    """Return the points for potting the ball, or those given away by a foul on it."""
    value = VALUES.get(colour.strip().casefold())
    if value is None:
        return {"error": f"colour: {colour!r} scores nothing; the balls are {', '.join(VALUES)}"}
    return max(4, value) if foul else value
