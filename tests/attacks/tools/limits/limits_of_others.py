"""Asks for the limits of the worker and its neighbours, as one does who sets them.

To set the processor time of another to nothing kills it.

Contained: `prlimit64` is allowed for the caller only.
"""

import os
import resource


def attack():
    done = []
    for pid in {1, os.getppid(), *range(os.getpid() - 5, os.getpid() + 5)} - {os.getpid()}:
        try:
            resource.prlimit(pid, resource.RLIMIT_CPU)
        except ProcessLookupError:
            pass
        except OSError:
            continue
        done.append(pid)
    return f"breach: {done}" if done else "held"
