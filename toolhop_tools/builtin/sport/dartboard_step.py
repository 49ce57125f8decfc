"""The order of the numbers on a standard dartboard."""

# Clockwise, beginning at the top.
CLOCKWISE = (20, 1, 18, 4, 13, 6, 10, 15, 2, 17, 3, 19, 7, 16, 8, 11, 14, 9, 12, 5)


def dartboard_step(start: int, steps: int, direction: str = "clockwise") -> int:
    """Return the number that lies ``steps`` sectors further round the board from ``start``."""
    offset = int(steps) if direction == "clockwise" else -int(steps)
    return CLOCKWISE[(CLOCKWISE.index(int(start)) + offset) % 20]
