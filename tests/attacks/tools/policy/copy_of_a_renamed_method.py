"""Renames a method of its own, binds it to a function of the library by copying, copies again.

A method is copied as `getattr(owner, name)`: the whole way out.

Contained: as above.
"""

import copy
import json


class Tool:
    def method(self):
        return None

    def __deepcopy__(self, memo):
        return json.dumps


def attack():
    Tool.method.__name__ = "__glo" + "bals__"
    reached = copy.copy(copy.deepcopy(Tool().method))
    return f"escaped: {reached['__builtins__']['__import__']('os').getpid() > 0}"
