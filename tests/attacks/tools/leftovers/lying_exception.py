"""Raises an exception whose class lies about its name, its text and its traceback.

Contained: it is reported by what no class can replace.
"""


class Meta(type):
    __name__ = property(lambda cls: 1 / 0)

    def __instancecheck__(cls, instance):
        raise SystemExit

    def __eq__(cls, other):
        return True

    __hash__ = type.__hash__


class Odd(BaseException, metaclass=Meta):
    __traceback__ = property(lambda self: 1 / 0)

    def __str__(self):
        raise KeyboardInterrupt


def attack():
    raise Odd
