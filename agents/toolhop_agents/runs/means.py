"""One unit of work, and the means of playing it: sandbox, agents, and who stands in for tools and
users.

The same for a run on this machine and for the nodes of a cluster: nothing here knows a run folder.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

import anyio

from toolhop_agents import react
from toolhop_agents.benchmarks import binding_of
from toolhop_agents.benchmarks.binding import Answers, Binding
from toolhop_agents.benchmarks.predictions import (
    Predicted,
    file_results,
    turns_of,
)
from toolhop_agents.models.base import Model
from toolhop_agents.models.exchange import ModelOptions, open_model
from toolhop_agents.models.rate import Gate
from toolhop_agents.models.reach import reach
from toolhop_agents.runs.resume import Prefix, PrimedModel
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.runs.unit import WorkUnit, setting, unit_seed
from toolhop_agents.scripted.choose import choose, own_agent
from toolhop_agents.scripted.model import ScriptedModel
from toolhop_agents.simulator import ModelSimulator, ModelWording
from toolhop_env.episode import Episode, Sink
from toolhop_env.responders import StandIns
from toolhop_env.trace import Trace, without_thoughts
from toolhop_sandbox.base import Sandbox
from toolhop_sandbox.choose import open_sandbox
from toolhop_sandbox.errors import SandboxFault
from toolhop_sandbox.outcome import Outcome
from toolhop_sandbox.pool import PooledSandbox
from toolhop_tools.model import Item

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
            await react.play(episode, PrimedModel(means.agents(unit), begun.reply))
    except SandboxFault:
        # No worker could be leased; the trace says so, and the unit may come again.
        pass
    return episode.trace


@dataclass(frozen=True, slots=True)
class Given:
    """What the means are made of; a value, so that it can be sent to a node."""

    settings: RunSettings
    items: tuple[Item, ...]
    answers: Answers | None = None
    """Those of the file that is played; None where no file is."""
    earlier: dict[str, Outcome] = field(default_factory=dict)
    """What the simulator answered in earlier sessions (`StandIns.earlier`)."""

    @property
    def binding(self) -> Binding:
        """How the items are asked."""
        return binding_of(self.items[0].benchmark)


@asynccontextmanager
async def open_means(
    given: Given, workers: int, connections: Gate, base_url: str | None
) -> AsyncIterator[Means]:
    """Open what playing needs.

    Args:
        given: what is played, and how.
        workers: episodes at a time.
        connections: has to let each request to the model in.
        base_url: where the model is asked; None for its provider's own address.

    Raises:
        SandboxUnavailable: no sandbox can be had here.
        ModelFault: a model that is asked for cannot be had.
        CacheUnusable: the cache's folder cannot be written.
    """
    settings = given.settings
    for name, place in (
        (settings.model, settings.base_url),
        (settings.simulator, settings.simulator_base_url),
        (settings.user_model, settings.user_model_base_url),
    ):
        if name and place:
            await reach(name, place)
    async with AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(await sandbox_of(settings, workers))
        agents = await stack.enter_async_context(_agents(given, connections, base_url))
        stand_ins = await open_stand_ins(settings, given.binding, stack)
        stand_ins = replace(stand_ins, earlier=given.earlier)
        own = None
        if given.answers is not None:
            own = partial(_from_file, given.answers, stand_ins)
        yield Means(sandbox, agents, stand_ins, own)


def _from_file(answers: Answers, stand_ins: StandIns, unit: WorkUnit, begun: int) -> StandIns:
    turns = turns_of(answers, unit.item.id, unit.mode) or ()
    return replace(stand_ins, others=file_results(turns[begun:]))


async def open_stand_ins(
    settings: RunSettings, binding: Binding, stack: AsyncExitStack
) -> StandIns:
    """Who answers tools that are no programs, and questions to the user, as the settings say.

    Args:
        settings: the run's.
        binding: of the benchmark that is played.
        stack: keeps open whom is asked.

    Raises:
        ModelFault: a model that is asked for cannot be had.
    """

    async def opened(model: str, base_url: str | None) -> Model:
        options = ModelOptions(base_url=base_url, temperature_optional=True)
        return await stack.enter_async_context(open_model(model, options))

    found = StandIns(described=binding.described)
    if settings.simulator is not None:
        model = await opened(settings.simulator, settings.simulator_base_url)
        found = replace(found, simulator=ModelSimulator(model))
    if settings.user_model is not None:
        model = await opened(settings.user_model, settings.user_model_base_url)
        found = replace(found, wording=ModelWording(model))
    return found


async def sandbox_of(settings: RunSettings, workers: int) -> PooledSandbox:
    """The sandbox that the settings ask for, not entered.

    Raises:
        SandboxUnavailable: it cannot be had here.
    """
    return await open_sandbox(
        settings.sandbox,
        limits=settings.tool_limits,
        policy=settings.policy,
        max_workers=workers,
        base=settings.sandbox_base,
        runtime=settings.runtime,
        transport=settings.transport,
    )


@asynccontextmanager
async def _agents(
    given: Given, connections: Gate, base_url: str | None
) -> AsyncIterator[AgentSource]:
    """Clients of a model, or a scripted agent or a file's answer for each item."""
    settings, binding, answers = given.settings, given.binding, given.answers
    name = settings.agent_name
    if answers is not None:
        yield lambda unit: Predicted(name, turns_of(answers, unit.item.id, unit.mode))
        return
    if settings.model is None and (make := own_agent(name, binding.agents)) is not None:
        yield lambda _: make()
        return
    if settings.model is None:
        scripted = choose(settings.agent_name, binding.agents)
        yield lambda unit: ScriptedModel(
            settings.agent_name,
            scripted,
            unit.item,
            unit_seed(settings, unit),
            settings.call_format,
            binding.can_call(unit.mode),
        )
        return
    from toolhop_agents.runs.served import Served

    served = Served(settings, settings.model, connections, base_url)
    try:
        yield served.agent
    finally:
        with anyio.CancelScope(shield=True):
            await served.aclose()
