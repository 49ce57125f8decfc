"""Asks for a string of 100 GB at once.

Contained: out of memory; the kernel gives no such address space.
"""


def attack():
    return len("a" * 10**11)
