"""Renames, links, removes, touches and re-owns files by their names, without opening them.

Contained: each of these calls is refused.
"""

import os


def attack(paths):
    done = []
    for path in [*paths, "/tmp", os.__file__, "/etc/passwd"]:
        for name, change in {
            "chmod": lambda: os.chmod(path, 0o777),
            "chown": lambda: os.chown(path, 0, 0),
            "utime": lambda: os.utime(path, (0, 0)),
            "rename": lambda: os.rename(path, path + ".left"),
            "unlink": lambda: os.unlink(path),
            "link": lambda: os.link(path, "/tmp/toolhop-left-hard"),
            "attribute": lambda: os.setxattr(path, "user.left", b"1"),
            "truncate": lambda: os.truncate(path, 0),
            "chdir": lambda: os.chdir(path),
            "chroot": lambda: os.chroot(path),
        }.items():
            try:
                change()
            except OSError:
                continue
            done.append(f"{name} {path}")
    return f"breach: {done}" if done else "held"
