"""How agents are asked in a benchmark: the other half of `toolhop_env.benchmark.Benchmark`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

from toolhop_agents.scripted.model import Play
from toolhop_env.benchmark import Benchmark
from toolhop_env.messages import Reply, SystemMessage, UserMessage
from toolhop_env.reading import CallFormat
from toolhop_env.responders import Responder
from toolhop_env.trace import Trace
from toolhop_tools.model import Item, ToolSchema

Prompt: TypeAlias = tuple[SystemMessage | UserMessage, ...]


class Interaction(StrEnum):
    """The two ways to be asked. Both leave traces in the same run folder."""

    EPISODES = "episodes"
    """Many turns: calls are run and answered, until the agent answers."""
    PLANNING = "planning"
    """One prompt, one reply, which the benchmark's scorer parses. Nothing is run."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What a prompt is made from."""

    item: Item
    mode: str
    call_format: CallFormat
    schemas: Sequence[ToolSchema]
    """Of the tools on offer; in planning those of the item, which the prompt describes."""
    template: str | None = None
    """A text of the user's that replaces the shipped template of the mode."""
    single_shot: bool = False
    """Whether each action ends the episode."""


ANY_MODE = ""
"""The mode of answers in a file that does not say in which mode they were asked for."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A reply that a file of answers holds, and what its calls gave."""

    reply: Reply
    results: tuple[str, ...] = ()
    """The text that each call of the reply gave, in their order."""


Answers: TypeAlias = Mapping[tuple[str, str], Sequence[Turn]]
"""By item id and mode the replies in order; none where the request failed."""


@dataclass(frozen=True, slots=True)
class PredictionFile:
    """The file, or folder of files, in which a benchmark's official code keeps answers."""

    read: Callable[[Path], Answers]
    """Raises a `DataError` that says what in the file cannot be read."""
    write: Callable[[Sequence[Trace]], Mapping[str, str]]
    """From the traces of a run in the order of its items the texts by file name; that of a single
    file under an empty name. Raises a `DataError` for traces that they cannot hold."""


def _always(_: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Binding:
    """How a benchmark is played."""

    benchmark: Benchmark
    prompt: Callable[[Ask], Prompt]
    """The messages that an episode begins with."""
    asked: Interaction = Interaction.EPISODES
    offers_tools: Callable[[str], bool] = _always
    """Whether tools can be called in a mode; never so in planning."""
    agents: Mapping[str, Play] = field(default_factory=dict)
    """Scripted agents of its own, beside those of any benchmark, by name."""
    predictions: PredictionFile | None = None
    """The official file of answers, where there is one."""
    turn_limit: int | None = None
    """Replies an episode has, unless a run says otherwise; None for the limit of any run."""

    episode_modes: frozenset[str] = frozenset()
    """Modes of a benchmark by planning that are played by episodes all the same."""
    described: Responder | None = None
    """Who answers calls of tools that are only described; None where no mode has such calls."""

    def way(self, mode: str) -> Interaction:
        """How agents are asked in a mode."""
        return Interaction.EPISODES if mode in self.episode_modes else self.asked

    def tools_of(self, item: Item, mode: str) -> list[ToolSchema]:
        """The schemas that a prompt may describe; none where a mode has no tools."""
        return [tool.schema for tool in item.tools.values()] if self.offers_tools(mode) else []

    def can_call(self, mode: str) -> bool:
        """Whether calls are read and run."""
        return self.way(mode) is Interaction.EPISODES and self.offers_tools(mode)
