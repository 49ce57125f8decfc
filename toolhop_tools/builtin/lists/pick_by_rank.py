"""The label with the largest, second largest, ... value."""

import operator


def pick_by_rank(
    labels: list[str], values: list[float], rank: int = 1, order: str = "largest first"
) -> str | dict[str, str]:
    """Return the label whose value has a given rank among all values.

    The value at an index belongs to the label there; equal values keep the order of the list.
    """
    if len(labels) != len(values):
        return {"error": f"values: {len(values)} given for {len(labels)} labels; give one for each"}
    if rank > len(labels):
        return {"error": f"rank: there are only {len(labels)} labels; use 1 to {len(labels)}"}
    pairs = list(zip(labels, values, strict=True))
    # With reverse, sorted() still keeps the order of equal values.
    pairs = sorted(pairs, key=operator.itemgetter(1), reverse=order == "largest first")
    return pairs[int(rank) - 1][0]
