"""Has the keys of a cache compared that holds types beside arguments: one of each kind.

A key of three arguments and one of an argument and a keyword are of one length, and the type of
the first one's class stands where the second has the keyword's value. Their hashes are the tool's
but for two, which follow from addresses and are tried out. Its `__eq__` had the real `type` then.

Contained: the policy is left. What such a class can do, `leaves_and_goes_on` does.
"""

from functools import lru_cache, partial

CAUGHT = []
NEAR = 1 << 20


class Chosen:
    def __init__(self, number, *, keeps=False):
        self.number = number
        self.keeps = keeps

    def __hash__(self):
        return self.number

    def __eq__(self, other):
        if self.keeps:
            CAUGHT.append(other)
        return True


@lru_cache(maxsize=None, typed=True)
def cached(*args, **options):
    return None


def hash_at(address):
    """The hash of what has no other, by its address."""
    number = (address >> 4) | ((address & 15) << 60)
    return number - (1 << 64) if number >> 63 else number


def mark_of_keywords():
    """What has the hash of the library's mark, and what follows it in a key."""
    key = Chosen(hash("k"))
    one = Chosen(1)
    mark = Chosen(0)
    cached(one, k=Chosen(hash(Chosen), keeps=True))
    for beside in (id(partial.func), id(lru_cache), id(object())):
        start = beside // NEAR * NEAR
        for address in range(start, start + NEAR, 16):
            mark.number = hash_at(address)
            cached(one, mark, key)
            if CAUGHT:
                return mark, key
    return None


def attack():
    found = mark_of_keywords()
    if found is None:
        return "held"
    del CAUGHT[:]
    for address in range(id(int) - NEAR // 4, id(int) + NEAR // 4, 16):
        cached(Chosen(hash(int)), k=Chosen(hash_at(address), keeps=True))
        cached(int, *found)
        if CAUGHT:
            return f"escaped: {CAUGHT[0]('Made', (), {'__getattribute__': len})}"
    return "held: no type"
