"""Makes classes past the class statement: a metaclass, `type` with three arguments, `Enum` by call.

Contained: the policy is left, by `Enum` alone: `type` is a stand-in that makes no classes. What
such a class can do, `leaves_and_goes_on` does.
"""

from enum import Enum


def attack():
    made = []
    for make in (
        lambda: type("C", (), {"__reduce_ex__": 1}),
        lambda: type(type(1))("C", (), {}),
        lambda: type.__call__("C", (), {}),
        lambda: Enum("C", {"__reduce_ex__": 1}),
        lambda: Enum.__call__("C", "A", type=int),
    ):
        try:
            made.append(make())
        except Exception:
            continue
    return f"escaped: {made}" if made else "held"
