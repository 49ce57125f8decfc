"""Faults as a person at the terminal reads them: one message, an exit code, no traceback."""

from __future__ import annotations

from agents.cli import EXIT_EPISODES, EXIT_MISSING, EXIT_USAGE
from agents.models.base import ModelFault
from agents.players.choose import UnknownAgent
from agents.prompts import TemplateError
from agents.store import StoreError
from env.trace import TraceError
from sandbox.errors import SandboxFault, SandboxUnavailable
from toolhop_tools.errors import ToolsError

_CODES: tuple[tuple[type[Exception], int], ...] = (
    (ToolsError, EXIT_USAGE),
    (UnknownAgent, EXIT_USAGE),
    (TemplateError, EXIT_USAGE),
    (StoreError, EXIT_USAGE),
    (TraceError, EXIT_USAGE),
    (SandboxUnavailable, EXIT_MISSING),
    (SandboxFault, EXIT_EPISODES),
    (ModelFault, EXIT_EPISODES),
)


def exit_code(error: Exception) -> int | None:
    """The exit code for a fault that has a message for the user; None for a bug of ours."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), None)
