"""Has the methods that a dataclass was given read private attributes of the library's objects.

Contained: the policy is left. What is read so is of the call's own process, which holds no secret.
"""

import json
import random
from dataclasses import dataclass


@dataclass(order=True, frozen=True)
class Reader:
    _inst: object


def attack():
    found = []
    for read in (Reader.__repr__, Reader.__hash__, lambda one: Reader.__eq__(one, one)):
        for foreign in (random.Random(1), json.JSONDecoder(), list[int], attack):
            try:
                found.append(read(foreign))
            except AttributeError:
                found.append("looked")
            except Exception as error:
                if type(error).__name__ != "PolicyViolation":
                    found.append(type(error).__name__)
    return f"escaped: {len(found)}" if found else "held"
