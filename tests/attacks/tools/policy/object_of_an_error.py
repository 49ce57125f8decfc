"""Takes the object that a library was looking at from the error that it raised.

CVE-2024-47532.

Contained: `obj` of an exception of the library is refused.
"""

import json
import re


def attack():
    for look in (lambda: json.nothing, lambda: re.compile("x").nothing, lambda: [].nothing):
        try:
            look()
        except AttributeError as error:
            return f"escaped: {error.obj}"
    return "held"
