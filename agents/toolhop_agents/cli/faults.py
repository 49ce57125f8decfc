"""Report faults to the person at the terminal: one message, an exit code, no traceback."""

from __future__ import annotations

from toolhop_agents.ablate.varied import DesignError
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

_CODES: tuple[tuple[type[Exception], int], ...] = (
    (DataNotFetched, EXIT_MISSING),
    (FetchError, EXIT_MISSING),
    (ToolsError, EXIT_USAGE),
    (UnknownAgent, EXIT_USAGE),
    (TemplateError, EXIT_USAGE),
    (StoreError, EXIT_USAGE),
    (NotComparable, EXIT_USAGE),
    (UnknownFacet, EXIT_USAGE),
    (CacheUnusable, EXIT_USAGE),
    (UnknownPrice, EXIT_USAGE),
    (LevelError, EXIT_USAGE),
    (UnknownBenchmark, EXIT_USAGE),
    (BenchmarkFault, EXIT_USAGE),
    (JudgeError, EXIT_USAGE),
    (DesignError, EXIT_USAGE),
    (TraceError, EXIT_USAGE),
    (ExportError, EXIT_USAGE),
    (ClusterFault, EXIT_MISSING),
    (MissingExtra, EXIT_MISSING),
    (TelemetryMissing, EXIT_MISSING),
    (NotReplayable, EXIT_EPISODES),
    (SandboxUnavailable, EXIT_MISSING),
    (SandboxFault, EXIT_EPISODES),
    (NoSuchModel, EXIT_USAGE),
    (NotTogether, EXIT_USAGE),
    (NoKey, EXIT_MISSING),
    (ModelFault, EXIT_EPISODES),
    (NothingToGoBy, EXIT_EPISODES),
)


def exit_code(error: Exception) -> int | None:
    """Return the exit code of a fault that has a message for the user; None for an internal bug.

    If the error matches several types in the table, the first one decides.
    """
    return next((code for kind, code in _CODES if isinstance(error, kind)), None)
