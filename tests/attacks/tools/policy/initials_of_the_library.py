"""Has `__init__` of classes that it may derive from set attributes of functions and classes.

Contained: the policy is left. The names are the library's and not the tool's, and the change ends
with the process.
"""

import calendar
import json
import random
from collections import UserDict


class Encoder(json.JSONEncoder):
    pass


INITIALS = (
    ("month", lambda target: calendar.IllegalMonthError.__init__(target, "set")),
    ("indent", lambda target: json.JSONEncoder.__init__(target, indent="set")),
    ("indent", lambda target: super(Encoder, Encoder).__init__(target, indent="set")),
    ("data", lambda target: UserDict.__init__(target)),
)


def attack():
    for name, initial in INITIALS:
        for target in (random.Random, json.loads, json.JSONDecoder, json):
            try:
                initial(target)
            except Exception:
                pass
            if hasattr(target, name):
                return f"escaped: {name}"
    return "held"
