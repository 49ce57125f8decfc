"""Has a deep copy bind a method of the library to another object, by what its memo says.

The call of an enumeration that has members looks one up; bound to an empty one, it makes a class
from a list of names, special ones too. An `__init__` was bound to a function of the library.

Contained: `deepcopy` takes no memo.
"""

import copy
import json
import re
from enum import Enum


class Empty(Enum):
    pass


class Encoder(json.JSONEncoder):
    def initial(self):
        return super().__init__


def attack():
    encoder = Encoder()
    try:
        copy.deepcopy(encoder.initial(), {id(encoder): json.loads})(indent="set")
        if hasattr(json.loads, "indent"):
            return "escaped: a function of the library has another attribute"
        call = copy.deepcopy(re.RegexFlag.__call__, {id(re.RegexFlag): Empty})
        return f"escaped: {call('Made', {'__getattribute__': len, 'A': 1})}"
    except (TypeError, ValueError):
        return "held"
