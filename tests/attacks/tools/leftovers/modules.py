"""Plants modules, removes the library's, and points the search path elsewhere.

Contained: the next process has the worker's.
"""

import sys
import types


def attack():
    for name in ("math", "re", "canary_left", "colorsys"):
        sys.modules[name] = types.ModuleType(name)
    sys.path[:] = ["/tmp"]
    for name in list(sys.modules):
        if name.startswith(("encodings", "collections")):
            del sys.modules[name]
    return "held"
