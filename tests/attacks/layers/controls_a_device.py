"""Opens a device neither to read nor to write, which needs no right to either, and commands it.

Contained: the command is refused before the device sees it.
"""

import fcntl
import os


def attack():
    try:
        fcntl.ioctl(os.open("/dev/full", 3), 0x1234)
    except PermissionError:
        return "held"
    except OSError as error:
        return f"breach: the device says {error.strerror}"
    return "breach: it obeyed"
