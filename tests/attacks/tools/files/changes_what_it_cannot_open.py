"""Renames, links, removes, touches and re-owns files by their names, without opening them.

The files were made to be attacked; no other is touched where this gets through.

Contained: each of these calls is refused.
"""

import os


def attack(paths):
    done, path = [], paths[0]
    for name, change in {
        "chmod": lambda: os.chmod(path, 0o777),
        "chown": lambda: os.chown(path, 0, 0),
        "utime": lambda: os.utime(path, (0, 0)),
        "link": lambda: os.link(path, path + ".hard"),
        "symlink": lambda: os.symlink(path, path + ".soft"),
        "attribute": lambda: os.setxattr(path, "user.left", b"1"),
        "truncate": lambda: os.truncate(path, 1000),
        "rename": lambda: os.rename(path, path + ".left"),
        "unlink": lambda: os.unlink(path),
        "folder": lambda: os.mkdir(path + ".folder"),
        "chdir": lambda: os.chdir("/"),
        "chroot": lambda: os.chroot("/"),
    }.items():
        try:
            change()
        except PermissionError:
            continue
        except OSError:
            # Not permitted comes first: the path does not exist in a container.
            pass
        done.append(name)
    return f"breach: {done}" if done else "held"
