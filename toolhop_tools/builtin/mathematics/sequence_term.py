"""Terms of well-known integer sequences, counted from 1."""

import math


def sequence_term(sequence: str, n: int) -> int:
    """Return the n-th term of the named sequence; the first term has n = 1."""
    index = int(n)
    if sequence == "fibonacci":
        return add_up(1, 1, index)
    if sequence == "lucas":
        return add_up(1, 3, index)
    if sequence == "triangular":
        return index * (index + 1) // 2
    if sequence == "pentagonal":
        return index * (3 * index - 1) // 2
    if sequence == "tetrahedral":
        return index * (index + 1) * (index + 2) // 6
    return math.comb(2 * index, index) // (index + 1)


def add_up(first: int, second: int, n: int) -> int:
    """Return term n of the sequence in which each term is the sum of the two before it."""
    while n > 1:
        first, second, n = second, first + second, n - 1
    return first
