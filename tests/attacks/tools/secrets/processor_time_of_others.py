"""Reads how much processor time other processes have used, by clocks with their ids in them.

Contained: a call has the machine's clocks and its own.
"""

import time


def attack():
    found = []
    for pid in range(1, 3000):
        for kind in (0, 1, 2):
            for ask in (time.clock_gettime_ns, time.clock_getres):
                try:
                    found.append(ask((~pid << 3) | kind))
                except OSError:
                    continue
    own = [time.clock_gettime(clock) for clock in (0, 1, 2, 3, 4, 5, 6, 7)]
    return f"breach: {found[:5]}" if found else f"held: {len(own)}"
