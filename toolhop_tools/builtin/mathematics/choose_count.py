"""Counting selections."""

import math


def choose_count(total: int, chosen: int, ordered: bool = False, repetition: bool = False) -> int:
    """Return in how many ways ``chosen`` things can be taken out of ``total`` different ones."""
    pool, size = int(total), int(chosen)
    if repetition:
        # With nothing to draw from, only the empty selection remains.
        if pool == 0:
            return 1 if size == 0 else 0
        return pool**size if ordered else math.comb(pool + size - 1, size)
    return math.perm(pool, size) if ordered else math.comb(pool, size)
