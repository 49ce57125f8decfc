"""Never returns.

Contained: killed at the time limit.
"""


def attack():
    while True:
        pass
