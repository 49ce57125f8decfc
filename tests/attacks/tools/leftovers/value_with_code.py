"""Returns objects whose conversion to JSON runs code: to lie, to exit, to last.

Contained: what runs, runs within the call and its limits.
"""


class Text(str):
    def __str__(self):
        raise SystemExit

    def __len__(self):
        return -5


class Items(dict):
    def items(self):
        return iter([("a", Text("b")), ("c", self)])


def attack():
    return Items(a=1)
