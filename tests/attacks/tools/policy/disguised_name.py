"""Asks by a text whose own methods lie about how it begins and what it equals.

Contained: a name must be exactly a `str`.
"""


class Name(str):
    def startswith(self, *_):
        return False

    def __eq__(self, other):
        return False

    def __contains__(self, other):
        return False

    __hash__ = str.__hash__


def attack():
    return f"escaped: {getattr(attack, Name('__glo' + 'bals__')).keys()}"
