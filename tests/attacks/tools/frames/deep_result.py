"""Returns a value nested nearly as deep as Python allows, for whoever reads it later to fall over.

Contained: it is a result like another; those who read it do not recurse (`toolhop_env.score.leaves`).
"""


def attack():
    value = "deep"
    for _ in range(900):
        value = [value]
    return value
