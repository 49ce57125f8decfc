"""One unit of work, pure but for its means: it writes no file and knows no run folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from toolhop_agents.models.base import Model
from toolhop_agents.react import play as play_episode
from toolhop_agents.runs.resume import Prefix, PrimedModel
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.runs.unit import WorkUnit, setting
from toolhop_env.episode import Episode, Sink
from toolhop_env.responders import StandIns
from toolhop_env.trace import Trace, without_thoughts
from toolhop_sandbox.base import Sandbox
from toolhop_sandbox.errors import SandboxFault

AgentSource: TypeAlias = Callable[[WorkUnit], Model]
"""Who plays a unit: a shared client, or a scripted agent made for the item."""


@dataclass(frozen=True, slots=True)
class Means:
    """What playing needs and a value cannot hold."""

    sandbox: Sandbox
    agents: AgentSource
    stand_ins: StandIns = field(default_factory=StandIns)
    own_stand_ins: Callable[[WorkUnit, int], StandIns] | None = None
    """Those of a unit, given the turns that it begins with, where each has its own."""


async def play(
    unit: WorkUnit, settings: RunSettings, means: Means, sink: Sink, prefix: Prefix | None = None
) -> Trace:
    """Play one unit to its end; the trace tells all, an errored end included.

    Args:
        unit: what to play.
        settings: the run's.
        means: who plays, and what isolates calls.
        sink: gets every event as it happens.
        prefix: what it begins with, of an earlier attempt or of a fork.

    Raises:
        ModelFault: the model could not be asked (`react.play`).
        RunLimitReached: a limit of the run stops it; the trace was cut off.
        SandboxUnavailable: no worker can be started any more.
    """
    begun, stand_ins = prefix or Prefix(), means.stand_ins
    if means.own_stand_ins is not None:
        stand_ins = means.own_stand_ins(unit, len(begun.turns.replies) if begun.turns else 0)
    episode = Episode(
        unit.item,
        means.sandbox,
        setting(settings, unit),
        sink=sink if settings.keep_thoughts == "on" else lambda one: sink(without_thoughts(one)),
        name=unit.name,
        resume_from=begun.turns,
        stand_ins=stand_ins,
    )
    try:
        async with episode:
            await play_episode(episode, PrimedModel(means.agents(unit), begun.reply))
    except SandboxFault:
        # No worker could be leased; the trace says so, and the unit may come again.
        pass
    return episode.trace
