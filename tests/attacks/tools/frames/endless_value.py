"""Returns a mapping that gives another item whenever it is asked for the next.

Contained: out of memory, or of time, as if the function had gone on.
"""


class Endless(dict):
    def items(self):
        number = 0
        while True:
            number += 1
            yield str(number), number


def attack():
    return Endless(a=1)
