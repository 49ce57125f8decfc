"""Changes functions and classes of the library, by every form of assignment.

Contained: attributes of the library's modules, classes and functions cannot be set.
"""

import json
import math
from fractions import Fraction


def attack():
    done = []

    def loop():
        for math.pi in (3,):
            done.append("loop")

    def unpack():
        _, json.dumps.left = 1, 2
        done.append("unpack")

    def named():
        setattr(Fraction, "limit_denominator", None)
        done.append("named")

    def updated():
        math.pi += 1
        done.append("updated")

    for change in (loop, unpack, named, updated):
        try:
            change()
        except Exception:
            continue
    return f"escaped: {done}" if done else "held"
