"""Sets the state of random numbers, to know those of the next call; reports what it drew.

Contained: each process is seeded for itself.
"""

import random


def attack():
    drawn = random.random()
    random.seed(1)
    random.Random.random = lambda self: 0.5
    return f"held: {0 <= drawn < 1}"
