"""Sets the processor time of the worker and its neighbours to nothing, which kills them.

Contained: `prlimit64` is allowed for the caller only.
"""

import os
import resource


def attack():
    done = []
    for pid in {1, os.getppid(), *range(os.getpid() - 5, os.getpid() + 5)} - {os.getpid()}:
        try:
            resource.prlimit(pid, resource.RLIMIT_CPU, (0, 0))
        except OSError:
            continue
        done.append(pid)
    return f"breach: {done}" if done else "held"
