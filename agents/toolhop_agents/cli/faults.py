"""Report faults to the person at the terminal: one message, an exit code, no traceback."""

from __future__ import annotations

from collections.abc import Mapping

from toolhop_agents.ablate.design import DesignError
from toolhop_agents.cli import EXIT_EPISODES, EXIT_MISSING, EXIT_USAGE
from toolhop_agents.cluster.connect import ClusterFault
from toolhop_agents.export.files import ExportError
from toolhop_agents.judge.judges import JudgeError
from toolhop_agents.models.base import ModelFault, NoKey, NoSuchModel, NotTogether
from toolhop_agents.models.cache import CacheUnusable
from toolhop_agents.models.prices import UnknownPrice
from toolhop_agents.prompts import TemplateError
from toolhop_agents.runs.estimate import NothingToGoBy
from toolhop_agents.runs.replay import NotReplayable
from toolhop_agents.runs.spans import TelemetryMissing
from toolhop_agents.scripted.choose import UnknownAgent
from toolhop_env.benchmarks import UnknownBenchmark
from toolhop_env.extras import MissingExtra
from toolhop_env.facets import UnknownFacet
from toolhop_env.guarded import BenchmarkFault
from toolhop_env.levels import LevelError
from toolhop_env.runs.files import StoreError
from toolhop_env.runs.sides import NotComparable
from toolhop_env.trace import TraceError
from toolhop_sandbox.errors import SandboxFault, SandboxUnavailable
from toolhop_tools.errors import DataNotFetched, FetchError, ToolsError

_CODES: Mapping[int, tuple[type[Exception], ...]] = {
    EXIT_MISSING: (
        ClusterFault, DataNotFetched, FetchError, MissingExtra, NoKey, SandboxUnavailable,
        TelemetryMissing,
    ),
    EXIT_USAGE: (
        BenchmarkFault, CacheUnusable, DesignError, ExportError, JudgeError, LevelError,
        NoSuchModel, NotComparable, NotTogether, StoreError, TemplateError, ToolsError, TraceError,
        UnknownAgent, UnknownBenchmark, UnknownFacet, UnknownPrice,
    ),
    EXIT_EPISODES: (ModelFault, NotReplayable, NothingToGoBy, SandboxFault),
}  # fmt: skip


def exit_code(error: Exception) -> int | None:
    """Return the exit code of a fault that has a message for the user; None for an internal bug.

    If the error matches several types in the table, the first one decides.
    """
    return next((code for code, kinds in _CODES.items() if isinstance(error, kinds)), None)
