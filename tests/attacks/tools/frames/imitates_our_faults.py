"""Raises an exception that bears the name of the host's own, with a false place and a false text.

Contained: it is an exception of the tool's, whatever its name; the call counts.
"""


class SandboxFault(Exception):
    """The worker was lost."""


SandboxFault.__qualname__ = "toolhop_sandbox.errors.SandboxFault"


def attack():
    raise SandboxFault('File "toolhop_sandbox/link.py", line 1, in call: the worker was lost')
