"""Has `deepcopy` take a memo's word for what an object without attributes has for them.

So a `partial` got attributes of any name, `dataclass` took it for a class of the tool's, and its
fields were source text; and an object of the tool's own was given another class.

Contained: `deepcopy` takes no memo.
"""

import copy
import functools
from dataclasses import dataclass


class Own:
    pass


class Row(list):
    pass


class Fields(dict):
    def items(self):
        return [("any text", int)]


def attack():
    try:
        row = copy.deepcopy(Row([1]), {id(None): (None, {"__class__": Own})})
    except TypeError as error:
        return "escaped: another class was set" if "__class__" in str(error) else "held"
    facts = {"__bases__": (), "__mro__": (), "__annotations__": Fields(x=int), "__module__": "tool"}
    try:
        facts["<tool>"] = getattr(Own, "<tool>")
    except Exception:
        facts["<tool>"] = None
    made = copy.deepcopy(functools.partial(len), {id(None): facts})
    try:
        dataclass(made)
    except SyntaxError as error:
        return f"escaped: {error.text}"
    except Exception:
        return "escaped: it has attributes" if hasattr(made, "<tool>") else "held"
    return f"escaped: a dataclass that is no class, of {row}"
