"""Asks for 400 MiB, and touches none of it.

Contained: out of memory; a call has 256 MiB.
"""


def attack():
    return f"breach: {len(bytearray(400 << 20))}"
