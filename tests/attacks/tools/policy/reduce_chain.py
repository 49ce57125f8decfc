"""Folds a list of names with `getattr`, from a function to the built-ins.

Contained: `getattr` is the guard wherever it is called from.
"""

import functools
import json


def attack():
    names = ["__glo" + "bals__", "__getitem__"]
    reached = functools.reduce(getattr, names, json.dumps)
    return f"escaped: {reached('__builtins__')['eval']('1+1')}"
