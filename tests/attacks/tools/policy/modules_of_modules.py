"""Goes from an allowed module to one that it imported: `random._os`, `statistics.sys`.

Contained: tools get modules that hold the listed names and nothing else.
"""

import json
import random
import statistics
import typing


def attack():
    found = []
    for module, name in (
        (random, "_" + "os"), (statistics, "sys"), (json, "codecs"), (typing, "sys"),
        (json.decoder, "scanner"), (random, "_" + "inst"), (typing, "types"),
    ):  # fmt: skip
        try:
            found.append(getattr(module, name))
        except Exception:
            continue
    return f"escaped: {found}" if found else "held"
