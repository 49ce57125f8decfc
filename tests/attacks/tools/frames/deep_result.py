"""Returns a value nested nearly as deep as Python allows, for whoever reads it later to fall over.

Contained: the same outcome at every depth of the host's own stack.
"""


def attack():
    value = "deep"
    for _ in range(900):
        value = [value]
    return value
