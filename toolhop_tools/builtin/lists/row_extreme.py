"""The row of a table with the largest or smallest number in a column."""


def row_extreme(
    rows: list[dict[str, object]], by: str, give: str, smallest: bool = False
) -> object:
    """Return a field of the row whose number in the column ``by`` is largest, or smallest.

    Rows without a number there are passed over; of equal rows the first one counts.
    """
    best: dict[str, object] | None = None
    record = 0.0
    for row in rows:
        number = row.get(by)
        if not isinstance(number, int | float) or isinstance(number, bool):
            continue
        if best is None or (number < record if smallest else number > record):
            best, record = row, number
    if best is None:
        return {"error": f"by: no row has a number in a field {by!r}; use a numeric field"}
    if give not in best:
        fields = ", ".join(sorted(best))
        return {"error": f"give: the row found has no field {give!r}; it has {fields}"}
    return best[give]
