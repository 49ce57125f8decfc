"""Renames a method of its own, binds it to a function of the library by its type, and copies it.

A method is copied as `getattr(owner, name)`: the whole way out.

Contained: `type` does not hand out the class of bound methods, and `types` comes without it.
"""

import copy
import json


class Tool:
    def method(self):
        return None


def attack():
    Tool.method.__name__ = "__glo" + "bals__"
    reached = copy.copy(type(Tool().method)(Tool.method, json.dumps))
    return f"escaped: {reached['__builtins__']['__import__']('os').getpid() > 0}"
