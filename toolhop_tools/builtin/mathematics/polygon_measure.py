"""Counts and angles of convex polygons."""


def polygon_measure(sides: int, measure: str) -> int | float:
    """Return the number of diagonals, the sum of the angles, or one angle of a regular polygon."""
    count = int(sides)
    if measure == "diagonals":
        return count * (count - 3) // 2
    angles = 180 * (count - 2)
    return angles if measure == "angle_sum" else round(angles / count, 6)
