"""Takes a field of a template apart with `string.Formatter`, which uses no method of `str`.

CVE-2024-47532, CVE-2026-76825.

Contained: `string` comes without it.
"""

import string


def attack():
    found = string.Formatter().get_field("a.__class__.__base__", (), {"a": 1})
    return f"escaped: {found}"
