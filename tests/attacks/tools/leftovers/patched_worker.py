"""Walks up to the worker's own functions and replaces those that make and judge replies.

Contained: it speaks for itself alone, as a forged reply would; the next call has others.
"""

import sys


def attack():
    frame = sys._getframe(1)
    while frame is not None:
        for name in ("_result_frame", "_raised", "call", "outcome"):
            if name in frame.f_globals:
                frame.f_globals[name] = lambda *args, **kwargs: b'\0\0\0\6r"own"'
        frame = frame.f_back
    return "breach: the worker's reply was used"
