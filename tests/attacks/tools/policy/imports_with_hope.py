"""Imports what it may not inside a `try` that expects to fail, in every form.

Contained: it compiles, and fails when it runs.
"""


def attack():
    try:
        import os

        return f"escaped: {os}"
    except ImportError:
        pass
    try:
        from random import _os

        return f"escaped: {_os}"
    except ImportError:
        pass
    try:
        from json import codecs

        return f"escaped: {codecs}"
    except ImportError:
        return "held"
