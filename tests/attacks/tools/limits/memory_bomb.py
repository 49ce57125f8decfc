"""Takes memory in small pieces until there is none.

Contained: out of memory; the worker and the next call have theirs.
"""


def attack():
    kept = []
    while True:
        kept.append(list(range(10_000)))
