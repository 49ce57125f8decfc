"""Faults as a person at the terminal reads them: one message, an exit code, no traceback."""

from __future__ import annotations

from agents.ablate.design import DesignError
from agents.cli import EXIT_EPISODES, EXIT_MISSING, EXIT_USAGE
from agents.compare.sides import NotComparable
from agents.export.files import ExportError, MissingExtra
from agents.models.base import ModelFault, NoKey, NoSuchModel
from agents.models.cache import CacheUnusable
from agents.models.prices import UnknownPrice
from agents.players.choose import UnknownAgent
from agents.prompts import TemplateError
from agents.runs.estimate import NothingToGoBy
from agents.runs.replay import NotReplayable
from agents.runs.store import StoreError
from env.levels import LevelError
from env.trace import TraceError
from sandbox.errors import SandboxFault, SandboxUnavailable
from toolhop_tools.errors import ToolsError

_CODES: tuple[tuple[type[Exception], int], ...] = (
    (ToolsError, EXIT_USAGE),
    (UnknownAgent, EXIT_USAGE),
    (TemplateError, EXIT_USAGE),
    (StoreError, EXIT_USAGE),
    (NotComparable, EXIT_USAGE),
    (CacheUnusable, EXIT_USAGE),
    (UnknownPrice, EXIT_USAGE),
    (LevelError, EXIT_USAGE),
    (DesignError, EXIT_USAGE),
    (TraceError, EXIT_USAGE),
    (ExportError, EXIT_USAGE),
    (MissingExtra, EXIT_MISSING),
    (NotReplayable, EXIT_EPISODES),
    (SandboxUnavailable, EXIT_MISSING),
    (SandboxFault, EXIT_EPISODES),
    (NoSuchModel, EXIT_USAGE),
    (NoKey, EXIT_MISSING),
    (ModelFault, EXIT_EPISODES),
    (NothingToGoBy, EXIT_EPISODES),
)


def exit_code(error: Exception) -> int | None:
    """The exit code for a fault that has a message for the user; None for a bug of ours."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), None)
