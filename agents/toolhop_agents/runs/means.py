"""Play one unit of work with its resources: sandbox, agents, and stand-ins for tools and users.

Used both locally and on the nodes of a cluster, so nothing here depends on a run folder.
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
from toolhop_agents.models.clients import open_model
from toolhop_agents.models.exchange import ModelOptions
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
"""Returns the player of a unit: a shared client, or a scripted agent made for the item."""


@dataclass(frozen=True, slots=True)
class Means:
    """Open resources for playing, which cannot be sent to another process."""

    sandbox: Sandbox
    agents: AgentSource
    stand_ins: StandIns = field(default_factory=StandIns)
    own_stand_ins: Callable[[WorkUnit, int], StandIns] | None = None
    """Returns the stand-ins of a unit, given the number of turns copied into it. None if all
    share `stand_ins`."""


async def play(
    unit: WorkUnit, settings: RunSettings, means: Means, sink: Sink, prefix: Prefix | None = None
) -> Trace:
    """Play one unit to its end. The trace records everything, including an errored end.

    Args:
        unit: the unit to play.
        settings: the run's settings.
        means: agents and sandbox.
        sink: receives every event as it happens.
        prefix: the beginning, from an earlier attempt or a fork.

    Raises:
        ModelFault: the model could not be used (`react.play`).
        RunLimitReached: a limit of the run was reached; the trace is cut off.
        SandboxUnavailable: no more workers can be started.
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
        # No worker could be leased. The trace records it, and the unit may be repeated.
        pass
    return episode.trace


@dataclass(frozen=True, slots=True)
class Given:
    """The plain data from which `Means` are opened, which can be sent to a node."""

    settings: RunSettings
    items: tuple[Item, ...]
    answers: Answers | None = None
    """Recorded answers to play from a file, if any."""
    earlier: dict[str, Outcome] = field(default_factory=dict)
    """The simulator's answers in earlier sessions (`StandIns.earlier`)."""

    @property
    def binding(self) -> Binding:
        """Binding of the items' benchmark."""
        return binding_of(self.items[0].benchmark)


@asynccontextmanager
async def open_means(
    given: Given, workers: int, connections: Gate, base_url: str | None
) -> AsyncIterator[Means]:
    """Open the resources for playing.

    Args:
        given: what is played, and how.
        workers: number of concurrent episodes.
        connections: admits each request to the model.
        base_url: URL of the model's server; None for the provider's own.

    Raises:
        SandboxUnavailable: no sandbox is available here.
        ModelFault: a requested model is not available.
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
    """Open the stand-ins of the settings, for tools without programs and for the user.

    Args:
        settings: the run's settings.
        binding: binding of the benchmark.
        stack: closes the models that are opened.

    Raises:
        ModelFault: a requested model is not available.
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
    """Return the sandbox of the settings, not yet entered.

    Raises:
        SandboxUnavailable: it is not available here.
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
    """Open a model's clients, or choose a scripted agent or a file's answers for each item."""
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
