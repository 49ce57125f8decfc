"""Fills its memory to the last byte and raises then, so that nothing is left to tell it with.

Contained: it raised, or was out of memory; the worker is not said to be at fault.
"""

KEPT = []


class Full(Exception):
    pass


ERROR = Full("x" * 3900)


def attack():
    size, chain = 1 << 24, None
    while size > 64:
        try:
            KEPT.append(bytearray(size))
        except MemoryError:
            size //= 2
    try:
        while True:
            chain = (chain, 0.5)
    except MemoryError:
        KEPT[0] = chain
    raise ERROR
