"""Returns numbers, texts and mappings of classes that give themselves out for something else.

Contained: what they are counts and not what they say; it is one JSON value.
"""


class Number(int):
    def __repr__(self):
        return "1], [2"

    __str__ = __format__ = __repr__

    def __index__(self):
        return 7


class Share(float):
    def __repr__(self):
        return "NaN"


class Text(str):
    def __iter__(self):
        return iter("other")

    def __len__(self):
        return 10**9

    def __str__(self):
        return '", "other'


class Row(dict):
    def __iter__(self):
        return iter(("x", "y"))

    def keys(self):
        return ["x", "y"]

    def __len__(self):
        return 1


def attack():
    return [Number(5), Share(0.5), Text("told"), Row(a=Number(1)), {Number(2): 3, "2": 4}]
