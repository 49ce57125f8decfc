"""Walks the frames that called it, and the modules of the worker, for what they know.

Contained: they know this call.
"""

import re
import sys


def attack():
    pattern = re.compile("canary" + "-[0-9a-f]{16}")
    text, frame = [], sys._getframe()
    while frame is not None:
        text += [repr(frame.f_locals), repr(frame.f_globals), repr(frame.f_code.co_consts)]
        frame = frame.f_back
    for name, module in list(sys.modules.items()):
        if name.startswith("sandbox") or name == "__main__":
            text.append(repr(vars(module)))
    found = set(pattern.findall("".join(text)))
    return f"breach: {sorted(found)}" if found else "held"
