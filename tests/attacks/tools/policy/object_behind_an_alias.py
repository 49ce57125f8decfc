"""Asks an alias that stands for an error for the error's object, as aliases hand questions on.

Contained: `type` does not hand out the classes of aliases.
"""

import json
from typing import List


def attack():
    for make in (
        lambda error: type(list[int])(error, ()),
        lambda error: type(List[int])(error, ()),
    ):
        try:
            json.nothing
        except AttributeError as error:
            try:
                alias = make(error)
            except AttributeError:
                continue
            return f"escaped: {alias.obj}"
    return "held"
