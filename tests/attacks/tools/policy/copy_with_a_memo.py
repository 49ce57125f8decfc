"""Copies a bound method with a memo that swaps the method's name for another.

`copy` then called the real `getattr` with a name of the tool's choice: the whole way out.

Contained: `deepcopy` takes no memo.
"""

import copy
import json


def attack():
    reached = copy.deepcopy(json.dumps.__call__, {id("__call__"): "__globals__"})
    return f"escaped: {reached['__builtins__']['__import__']('os').getpid() > 0}"
