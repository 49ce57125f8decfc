"""Opens files as mere handles, which a sandbox may not look at, and makes more of them.

Contained: a handle can be had and nothing be done with it.
"""

import os


def attack(paths):
    done = []
    for path in [*paths, "/", "/etc/passwd", "/proc/1/root", "/proc/self/cwd"]:
        try:
            handle = os.open(path, os.O_PATH)
        except OSError:
            continue
        for name, use in {
            "read": lambda: os.read(handle, 1),
            "list": lambda: os.listdir(handle),
            "again": lambda: os.open(f"/proc/self/fd/{handle}", os.O_RDONLY),
            "below": lambda: os.open("etc/passwd", os.O_RDONLY, dir_fd=handle),
            "enter": lambda: os.fchdir(handle),
            "change": lambda: os.fchmod(handle, 0o777),
            "execute": lambda: os.execve(handle, ["x"], {}),
        }.items():
            try:
                use()
            except OSError:
                continue
            done.append(f"{name} {path}")
        os.close(handle)
    return f"breach: {done}" if done else "held"
