"""Looks through every object that the interpreter keeps for another tool's code or arguments.

Contained: the process was forked from one that never knew another program, nor its arguments.
"""

import gc
import re
import sys


def attack():
    pattern = re.compile("canary" + "-[0-9a-f]{16}")
    seen, queue, found = set(), [*gc.get_objects(), *sys.modules.values()], set()
    while queue and len(seen) < 400_000:
        value = queue.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, str):
            found.update(pattern.findall(value))
        elif isinstance(value, (bytes, bytearray)):
            found.update(pattern.findall(bytes(value).decode("latin-1")))
        else:
            queue.extend(gc.get_referents(value))
    return f"breach: {sorted(found)}" if found else f"held: {len(seen) > 10_000}"
