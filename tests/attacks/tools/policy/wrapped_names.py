"""Has `functools` hand over inner attributes of a function, by lists of names and by wrapping.

Contained: they come without lists of names, and `singledispatch` not at all.
"""

import functools
import json


def attack():
    class Holder:
        pass

    found = []
    for take in (
        lambda: functools.update_wrapper(Holder(), json.dumps, assigned=["__globals__"]),
        lambda: functools.wraps(json.dumps, updated=["__globals__"])(lambda: 0),
        lambda: functools.singledispatch(json.dumps),
    ):
        try:
            found.append(take())
        except Exception:
            continue
    return f"escaped: {found}" if found else "held"
