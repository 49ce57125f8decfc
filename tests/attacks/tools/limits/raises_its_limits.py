"""Lifts its own limits of memory, processor time, files and file size.

Contained: hard limits can only be lowered; as root it has given up the capability for more.
"""

import resource

NAMES = ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_NOFILE", "RLIMIT_FSIZE", "RLIMIT_CORE")


def attack():
    lifted = []
    for name in NAMES:
        soft, hard = resource.getrlimit(getattr(resource, name))
        try:
            resource.setrlimit(getattr(resource, name), (-1, -1))
        except (OSError, ValueError):
            continue
        lifted.append(name)
    return f"breach: {lifted}" if lifted else "held"
