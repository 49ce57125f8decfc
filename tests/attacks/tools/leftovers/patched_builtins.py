"""Replaces built-in functions, and the method that makes classes and imports modules.

Contained: the next process has its own.
"""

import builtins


def attack():
    builtins.len = lambda _: 42
    builtins.sorted = lambda *_, **__: ["breach"]
    builtins.__import__ = builtins.__build_class__ = lambda *_, **__: None
    builtins.canary = 1
    return "held"
