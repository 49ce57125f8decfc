"""Formats with a template that walks from a function to its module's globals.

Contained: the template is checked where `format` is called, or when it stands in the source.
"""


def peek():
    return "canary"


def attack():
    template = "{0.__" + "globals__[__builtins__]}"
    return "escaped: " + template.format(peek)
