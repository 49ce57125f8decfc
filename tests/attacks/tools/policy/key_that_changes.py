"""Gives a class statement a keyword that is not `metaclass` when asked, and later is.

Contained: keywords of a class statement must be plain texts.
"""

ASKED = []


class Key(str):
    def __hash__(self):
        ASKED.append(1)
        return str.__hash__(self) if len(ASKED) > ASKED[0] else 1

    def __eq__(self, other):
        return str.__eq__(self, other)


def metaclass(name, bases, body):
    return "escaped"


def attack():
    for patience in range(1, 8):
        ASKED[:] = [patience]
        try:

            class Made(**{Key("metaclass"): metaclass}):
                pass

        except Exception:
            continue
        if Made == "escaped":
            return "escaped: a class chose its metaclass"
    return "held"
