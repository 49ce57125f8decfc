"""Evaluate how language models use chained tools.

    import toolhop

    results = toolhop.run(model="openai/gpt-4o", limit=10)
    results                                   # the table of `toolhop run`
    results.value("strict")                   # a mean, 0 to 1

    with toolhop.play("geography-1") as episode:
        step = episode.call("country_capital", country="France")
        print(step.feedback)

The names in `__all__` are the public interface, whose changes are noted in the CHANGELOG.
Everything else in the packages `toolhop_*` is internal. A name is imported on first use.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolhop_agents.benchmarks.binding import Binding as Binding
    from toolhop_agents.environment.core import CallOf as CallOf
    from toolhop_agents.environment.core import Environments as Environments
    from toolhop_agents.environment.core import Observation as Observation
    from toolhop_agents.environment.plain import PlainEnvironments as PlainEnvironments
    from toolhop_agents.facade import Results as Results
    from toolhop_agents.facade import opened as opened
    from toolhop_agents.facade import play as play
    from toolhop_agents.facade import run as run
    from toolhop_agents.models.base import Agent as Agent
    from toolhop_agents.models.base import ModelFault as ModelFault
    from toolhop_agents.runs.execute import execute as execute
    from toolhop_agents.runs.settings import RunSettings as RunSettings
    from toolhop_env.attempt import Attempt as Attempt
    from toolhop_env.benchmark import Benchmark as Benchmark
    from toolhop_env.benchmark import Milestone as Milestone
    from toolhop_env.benchmarks import score as score
    from toolhop_env.episode import Episode as Episode
    from toolhop_env.measures import Measure as Measure
    from toolhop_env.messages import Message as Message
    from toolhop_env.messages import RawCall as RawCall
    from toolhop_env.messages import Reply as Reply
    from toolhop_env.notebook import PlainEpisode as PlainEpisode
    from toolhop_env.runs.files import StoreError as StoreError
    from toolhop_env.runs.store import RunStore as RunStore
    from toolhop_env.score import Errored as Errored
    from toolhop_env.score import Score as Score
    from toolhop_env.setting import Setting as Setting
    from toolhop_env.summary import Summary as Summary
    from toolhop_env.trace import Ending as Ending
    from toolhop_env.trace import Trace as Trace
    from toolhop_sandbox.choose import open_sandbox as open_sandbox
    from toolhop_sandbox.errors import SandboxError as SandboxError
    from toolhop_sandbox.outcome import Outcome as Outcome
    from toolhop_tools.errors import ToolsError as ToolsError
    from toolhop_tools.load import load as load
    from toolhop_tools.model import DataSet as DataSet
    from toolhop_tools.model import GoldCall as GoldCall
    from toolhop_tools.model import Hop as Hop
    from toolhop_tools.model import Item as Item
    from toolhop_tools.model import Tool as Tool
    from toolhop_tools.model import ToolSchema as ToolSchema

_NAMES = {
    "toolhop_agents.benchmarks.binding": ("Binding",),
    "toolhop_agents.environment.core": ("CallOf", "Environments", "Observation"),
    "toolhop_agents.environment.plain": ("PlainEnvironments",),
    "toolhop_agents.facade": ("Results", "opened", "play", "run"),
    "toolhop_agents.models.base": ("Agent", "ModelFault"),
    "toolhop_agents.runs.execute": ("execute",),
    "toolhop_agents.runs.settings": ("RunSettings",),
    "toolhop_env.attempt": ("Attempt",),
    "toolhop_env.benchmark": ("Benchmark", "Milestone"),
    "toolhop_env.benchmarks": ("score",),
    "toolhop_env.episode": ("Episode",),
    "toolhop_env.measures": ("Measure",),
    "toolhop_env.messages": ("Message", "RawCall", "Reply"),
    "toolhop_env.notebook": ("PlainEpisode",),
    "toolhop_env.runs.files": ("StoreError",),
    "toolhop_env.runs.store": ("RunStore",),
    "toolhop_env.score": ("Errored", "Score"),
    "toolhop_env.setting": ("Setting",),
    "toolhop_env.summary": ("Summary",),
    "toolhop_env.trace": ("Ending", "Trace"),
    "toolhop_sandbox.choose": ("open_sandbox",),
    "toolhop_sandbox.errors": ("SandboxError",),
    "toolhop_sandbox.outcome": ("Outcome",),
    "toolhop_tools.errors": ("ToolsError",),
    "toolhop_tools.load": ("load",),
    "toolhop_tools.model": ("DataSet", "GoldCall", "Hop", "Item", "Tool", "ToolSchema"),
}
_ADAPTER = {"toolhop_agents.adapters.verifiers_taskset": ("ToolHopTaskset",)}
"""Taskset that `vf-eval toolhop` looks for in this module's `__all__`; needs verifiers."""
_HAS_VERIFIERS = importlib.util.find_spec("verifiers") is not None
_MODULES = {
    name: module
    for module, names in (_NAMES | (_ADAPTER if _HAS_VERIFIERS else {})).items()
    for name in names
}

__all__ = sorted(_MODULES)  # noqa: PLE0605 -- names of a table, so that importing stays lazy


def __getattr__(name: str) -> Any:  # noqa: ANN401 -- each name has a type of its own
    if name not in _MODULES:
        raise AttributeError(f"module 'toolhop' has no attribute {name!r}; it has {__all__}")
    value = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
