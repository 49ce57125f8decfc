"""Returns half a surrogate pair, which no UTF-8 file can hold.

Contained: it comes out as the escape that JSON has for it.
"""


def attack():
    return "\ud800"
