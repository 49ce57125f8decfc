"""Has `collections.UserString` format a template in the library, out of the guard's sight.

Contained: `collections` comes without it.
"""

import collections


def attack():
    return "escaped: " + collections.UserString("{0.__" + "class__}").format(1)
