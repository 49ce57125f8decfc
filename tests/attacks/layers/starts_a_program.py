"""Has its process run another program, one that it may read: the loader of shared libraries.

Contained: refused.
"""

import os


def attack():
    for path in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"):
        try:
            os.execv(path, [path, "--version"])
        except OSError:
            continue
    return "held"
