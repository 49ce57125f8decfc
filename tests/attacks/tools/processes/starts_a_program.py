"""Starts a shell, then Python, then the loader, in every way that Python offers.

Contained: refused.
"""

import os
import subprocess
import sys


def attack():
    found = []
    for path in ("/bin/sh", sys.executable, "/proc/self/exe", "/lib64/ld-linux-x86-64.so.2"):
        for start in (
            lambda: subprocess.run([path, "-c", "1"], check=False),
            lambda: os.posix_spawn(path, [path], {}),
            lambda: os.execv(path, [path, "-c", "import os; os._exit(99)"]),
        ):
            try:
                start()
            except (OSError, ValueError):
                continue
            found.append(path)
    return f"breach: {found}" if found else "held"
