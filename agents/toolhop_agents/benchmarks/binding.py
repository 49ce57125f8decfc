"""How a benchmark is played by agents: the counterpart of `toolhop_env.benchmark.Benchmark`."""

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


USUAL = "usual"
"""Name of the default phrasing, which every benchmark has."""


class Interaction(StrEnum):
    """The two kinds of interaction. Both leave traces in the same run folder."""

    EPISODES = "episodes"
    """Many turns: calls are run and their results returned until the agent answers."""
    PLANNING = "planning"
    """One prompt and one reply, which the benchmark's scorer parses. Nothing is run."""


@dataclass(frozen=True, slots=True)
class Ask:
    """The data from which a prompt is built."""

    item: Item
    mode: str
    call_format: CallFormat
    schemas: Sequence[ToolSchema]
    """Schemas of the available tools; in planning, of the tools that the prompt describes."""
    template: str | None = None
    """The user's template, which replaces the shipped template of the mode."""
    single_shot: bool = False
    """Whether each action ends the episode."""
    phrasing: str = USUAL
    """Phrasing of the prompt, one of `Binding.phrasings`."""


ANY_MODE = ""
"""Mode of answers in a file that does not record their mode."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A reply from an answer file, with the results of its calls."""

    reply: Reply
    results: tuple[str, ...] = ()
    """Result of each call in the reply, in order."""


Answers: TypeAlias = Mapping[tuple[str, str], Sequence[Turn]]
"""Turns in order, by item id and mode; empty if the request failed."""


@dataclass(frozen=True, slots=True)
class PredictionFile:
    """The answer file, or folder of files, of a benchmark's official code."""

    read: Callable[[Path], Answers]
    """Reads answers. Raises a `DataError` that says what cannot be read."""
    write: Callable[[Sequence[Trace]], Mapping[str, str]]
    """Converts a run's traces, in item order, to texts by file name; a single file has an empty
    name. Raises a `DataError` for traces that the file cannot represent."""


def _always(_: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Binding:
    """How a benchmark is played."""

    benchmark: Benchmark
    prompt: Callable[[Ask], Prompt]
    """Builds the messages that begin an episode."""
    asked: Interaction = Interaction.EPISODES
    offers_tools: Callable[[str], bool] = _always
    """Whether a mode allows tool calls; never true in planning."""
    agents: Mapping[str, Play] = field(default_factory=dict)
    """Scripted agents for this benchmark only, by name."""
    predictions: PredictionFile | None = None
    """The official answer file; None if the benchmark has none."""
    turn_limit: int | None = None
    """Default limit of replies per episode; None for the default of all runs."""

    phrasings: tuple[str, ...] = ()
    """Other phrasings of the prompt, by name."""
    episode_modes: frozenset[str] = frozenset()
    """Modes of a planning benchmark that are nevertheless played as episodes."""
    described: Responder | None = None
    """Answers calls of tools that are only described; None if no mode has such calls."""

    def way(self, mode: str) -> Interaction:
        """Return the kind of interaction in a mode."""
        return Interaction.EPISODES if mode in self.episode_modes else self.asked

    def tools_of(self, item: Item, mode: str) -> list[ToolSchema]:
        """Return the schemas that a prompt may describe; empty for a mode without tools."""
        return [tool.schema for tool in item.tools.values()] if self.offers_tools(mode) else []

    def can_call(self, mode: str) -> bool:
        """Whether calls are read and run in a mode."""
        return self.way(mode) is Interaction.EPISODES and self.offers_tools(mode)
