"""Errors that are our fault, never that of the code that was called.

SandboxError
├── SandboxUnavailable   the sandbox cannot run on this machine as requested; has the fix
└── SandboxFault         the container or worker was lost during a call
"""

from __future__ import annotations

from functools import partial


class SandboxError(Exception):
    """Base class of this layer's errors."""


class SandboxUnavailable(SandboxError):
    """The sandbox cannot be started here. Nothing ran.

    `fix` is the command or step that fixes it, written for the user at the terminal.
    """

    def __init__(self, message: str, *, fix: str) -> None:
        super().__init__(f"{message}\n  fix: {fix}")
        self.message = message
        self.fix = fix

    def __reduce__(self) -> tuple[object, ...]:
        return partial(SandboxUnavailable, fix=self.fix), (self.message,)


class SandboxFault(SandboxError):
    """The isolation failed during a call: the container vanished or the worker stopped answering.

    Whether the code ran is unknown; the episode is errored and may be played again.
    """
