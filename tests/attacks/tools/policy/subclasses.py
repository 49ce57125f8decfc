"""Lists every class of the interpreter below `object`, to pick one that opens files.

Contained: the names do not compile, nor can they be had by `getattr`, `map` or `attrgetter`.
"""

from operator import attrgetter, methodcaller


def attack():
    found = []
    for look in (
        lambda: getattr(object, "__sub" + "classes__")(),
        lambda: list(map(getattr, [object], ["__sub" + "classes__"])),
        lambda: attrgetter("__class__.__sub" + "classes__")(1),
        lambda: methodcaller("__sub" + "classes__")(object),
        lambda: methodcaller("m" + "ro")(int),
    ):
        try:
            found.append(look())
        except Exception:
            continue
    return f"escaped: {len(found)}" if found else "held"
