"""Reads what is installed beside the standard library: this project's own data, with answers.

Contained: of the interpreter's folder only the standard library can be read.
"""

import os
import sys


def attack():
    own, opened = os.path.dirname(os.__file__), []
    for folder in (
        f"{own}/site-packages",
        f"{own}/dist-packages",
        "/usr/lib/python3/dist-packages",
    ):
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            for path in (f"{folder}/{name}", f"{folder}/{name}/__init__.py"):
                try:
                    with open(path, "rb") as file:
                        file.read(1)
                except OSError:
                    continue
                opened.append(path)
    import colorsys  # the standard library must still be there

    return f"breach: {opened[:5]}" if opened else f"held: {bool(colorsys) and bool(sys.path)}"
