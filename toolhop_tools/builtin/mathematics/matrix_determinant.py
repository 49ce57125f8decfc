"""Determinants of small integer matrices."""


def matrix_determinant(rows: list[list[int]]) -> int | dict[str, str]:
    """Return the exact determinant, by expansion along the first row."""
    if any(len(row) != len(rows) for row in rows):
        return {
            "error": f"rows: a determinant needs a square matrix; give {len(rows)} numbers "
            f"in each of the {len(rows)} rows"
        }
    if len(rows) == 1:
        return int(rows[0][0])
    total = 0
    for place, entry in enumerate(rows[0]):
        minor = [row[:place] + row[place + 1 :] for row in rows[1:]]
        below = matrix_determinant(minor)
        if isinstance(below, int):
            total += (-1) ** place * int(entry) * below
    return total
