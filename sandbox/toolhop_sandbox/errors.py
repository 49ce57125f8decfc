"""Faults of ours, never of the code that was called.

SandboxError
├── SandboxUnavailable   nothing can be run on this machine as asked; carries the fix
└── SandboxFault         a call was under way and its container or worker was lost
"""

from __future__ import annotations

from functools import partial


class SandboxError(Exception):
    """Base of this layer's faults."""


class SandboxUnavailable(SandboxError):
    """The sandbox cannot be started here. Nothing ran.

    `fix` is the command or step that fixes it, written for the person at the terminal.
    """

    def __init__(self, message: str, *, fix: str) -> None:
        super().__init__(f"{message}\n  fix: {fix}")
        self.message = message
        self.fix = fix

    def __reduce__(self) -> tuple[object, ...]:
        return partial(SandboxUnavailable, fix=self.fix), (self.message,)


class SandboxFault(SandboxError):
    """The isolation broke under a call: the container vanished, the worker stopped answering.

    Whether the code ran is unknown; the episode is errored and may be played again.
    """
