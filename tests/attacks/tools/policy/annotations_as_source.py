"""Leaves source in annotations and forward references for `typing` to evaluate.

Contained: nothing that evaluates them can be imported, and their inner names do not compile.
"""

import typing


def attack():
    def annotated(x: "__import__('os').getpid()"):
        return x

    return f"escaped: {typing.get_type_hints(annotated)}"
