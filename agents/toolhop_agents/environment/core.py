"""Environments: one episode after another, many at a time, over one pool of sandboxes.

    async with Environments(RunSettings(data="builtin"), most=8) as pool:
        environment = pool.environment()
        observation = await environment.reset("geography-1")
        step = await environment.step(reply)

`plain` has the same without ``await``. What a player gets, `Observation` and `Step`, holds no gold
answer; the trace, which does, stays with whoever holds the environment.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any, TypeAlias
from uuid import uuid4

from toolhop_agents.benchmarks import binding_of
from toolhop_agents.call_formats import shown
from toolhop_agents.environment.changes import changed, check_template
from toolhop_agents.environment.reward import Reward
from toolhop_agents.runs.job import prepare
from toolhop_agents.runs.means import open_stand_ins, sandbox_of
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.runs.unit import WorkUnit, setting
from toolhop_env.benchmarks import score
from toolhop_env.episode import Episode, Sink
from toolhop_env.messages import AssistantMessage, Message, RawCall, Reply
from toolhop_env.responders import Approver, StandIns
from toolhop_env.score import Verdict
from toolhop_env.trace import Ending, Trace
from toolhop_sandbox.errors import SandboxError, SandboxFault
from toolhop_sandbox.outcome import JSON
from toolhop_sandbox.pool import PooledSandbox
from toolhop_tools.errors import BadChoice
from toolhop_tools.model import Item, ToolSchema, by_id

PLAYER = "environment"
"""The agent that traces name where the settings name none."""


@dataclass(frozen=True, slots=True)
class CallOf:
    """A call by name, as an action."""

    tool: str
    arguments: Mapping[str, JSON]


Action: TypeAlias = Reply | CallOf | str
"""A whole reply; one call; or a text, which is read as a model's: in the text format it may hold
calls, and what holds none is the final answer."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What a player gets to see."""

    messages: tuple[Message, ...]
    """New since its last action, as its tool-call format shows them: the prompt, or feedback."""
    tools: tuple[ToolSchema, ...]
    """That can be called now; none in the text format, whose prompt describes them."""


@dataclass(frozen=True, slots=True)
class Step:
    """What an action led to."""

    observation: Observation
    reward: float
    ending: Ending | None
    """Why the episode is over; None while it goes on."""

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return self.ending is not None

    @property
    def truncated(self) -> bool:
        """Whether a limit ended it, and not the player."""
        return self.ending in TRUNCATED


TRUNCATED = frozenset(
    {Ending.OUT_OF_TURNS, Ending.OUT_OF_CALLS, Ending.OUT_OF_TOKENS, Ending.OUT_OF_TIME,
     Ending.OUT_OF_COST, Ending.OUT_OF_CONTEXT, Ending.CUT_IN_THOUGHT}
)  # fmt: skip


class EpisodeLost(Exception):
    """The sandbox lost a call: the episode is errored, and worth no reward. Reset."""


class NothingInPlay(Exception):
    """No episode is open: reset first."""


class Environments:
    """Items, settings and a sandbox that environments share. Enter it with ``async with``."""

    def __init__(
        self,
        settings: RunSettings,
        *,
        reward: Mapping[str, float] | None = None,
        most: int = 2,
    ) -> None:
        """Read the data; nothing is started.

        Args:
            settings: as of a run: data, mode, feedback, tool-call format, limits, perturbation,
                sandbox. Its agent is named in traces and not asked.
            reward: weights by measure; see `Reward.of`.
            most: episodes that may be in play at a time; each that calls programs holds a worker.

        Raises:
            ToolsError: the data cannot be used as asked.
            BadChoice: a weight or setting that is not there, or cannot have this value.
        """
        if isinstance(most, bool) or not isinstance(most, int) or most < 1:
            raise BadChoice(
                f"{most!r} episodes cannot be in play at a time", fix="give a whole number from 1"
            )
        if settings.into:
            raise BadChoice(
                "environments play items as they are, and `into` was given",
                fix="make the scenarios with `toolhop perturb`, and give its file as data",
            )
        check_template(settings)
        # Nobody is asked: what the settings say of an agent is its name alone.
        unasked = {"model": None, "gguf": None, "agent": "do-nothing"}
        job = prepare(settings.model_copy(update=unasked))
        named = settings.model is not None or settings.agent is not None
        self.player = settings.agent_name if named else PLAYER
        self.settings = job.settings
        self.items: Mapping[str, Item] = by_id(job.items)
        """By id, in the order of the data."""
        self.binding = binding_of(job.items[0].benchmark)
        self.reward = Reward.of(self.binding.benchmark, reward)
        self.most = most
        self.in_play = 0
        self._stack = AsyncExitStack()
        self._sandbox: PooledSandbox | None = None
        self._stand_ins = StandIns()

    async def __aenter__(self) -> Environments:
        """Start the sandbox.

        Raises:
            SandboxUnavailable: nothing can isolate calls here as asked.
        """
        try:
            self._stand_ins = await open_stand_ins(self.settings, self.binding, self._stack)
            opening = await sandbox_of(self.settings, self.most)
            self._sandbox = await self._stack.enter_async_context(opening)
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._sandbox = None
        await self._stack.aclose()

    def environment(self) -> Environment:
        """One more environment; it costs nothing until it is reset."""
        return Environment(self)

    async def open(
        self,
        unit: WorkUnit,
        changes: Mapping[str, Any],
        *,
        player: str = "",
        sink: Sink | None = None,
        approver: Approver | None = None,
    ) -> Episode:
        """An entered episode; `leave` it.

        Args:
            unit: what to play.
            changes: settings of this episode alone.
            player: who plays, for the trace; as for all episodes if empty.
            sink: called with every event as it happens.
            approver: asked before each call, in the place of whom the settings name.

        Raises:
            BadChoice: as many are in play as may be, or `changes` has what no setting is.
            SandboxUnavailable, EpisodeLost: no worker could be had.
        """
        if self._sandbox is None:
            raise NothingInPlay("the environments are not open: enter them first")
        if self.in_play >= self.most:
            raise BadChoice(
                f"{self.in_play} episodes are in play, as many as may be",
                fix="close one, play one to its end, or allow more with `most`",
            )
        episode = Episode(
            unit.item,
            self._sandbox,
            replace(setting(changed(self.settings, changes), unit), agent=player or self.player),
            name=f"{unit.item.id}_{unit.mode}_{uuid4().hex[:8]}",
            stand_ins=replace(self._stand_ins, approver=approver or self._stand_ins.approver),
            sink=sink,
        )
        self.in_play += 1
        try:
            await episode.__aenter__()
        except BaseException as error:
            self.in_play -= 1
            if isinstance(error, SandboxFault):
                raise EpisodeLost(f"no worker could be had: {error}") from error
            raise
        return episode

    async def leave(self, episode: Episode) -> None:
        """Give back what an episode holds."""
        self.in_play -= 1
        await episode.__aexit__(None, None, None)


class Environment:
    """One seat for a player: an episode at a time, reset as often as wanted."""

    def __init__(self, pool: Environments) -> None:
        """Take a seat in `pool`; see `Environments.environment`."""
        self._pool = pool
        self._episode: Episode | None = None
        self._held = False
        """Whether the episode still holds a worker."""
        self._seen = 0

    @property
    def trace(self) -> Trace:
        """Everything of the episode, gold answer included: not for the player.

        Raises:
            NothingInPlay: it was never reset.
        """
        return self._current().trace

    @property
    def verdict(self) -> Verdict:
        """The score, by every measure; errored while the episode goes on. Not for the player."""
        return score(self.trace)

    @property
    def conversation(self) -> tuple[Message, ...]:
        """All messages so far, as the player's tool-call format shows them."""
        return self._shown()[0]

    async def reset(
        self,
        item: str,
        *,
        mode: str | None = None,
        seed: int | None = None,
        **changes: Any,  # noqa: ANN401 -- fields of RunSettings, which checks them
    ) -> Observation:
        """Begin an episode; one that is in play ends as stopped.

        Args:
            item: its id.
            mode: of the benchmark; that of the settings, or its first.
            seed: of what is drawn in the episode.
            changes: settings of this episode alone, such as ``feedback="minimal"``.

        Raises:
            BadChoice: there is no such item, mode or setting, or too many are in play.
            EpisodeLost: the sandbox could give no worker; try again.
            SandboxUnavailable: it cannot give any.
        """
        await self.close()
        pool = self._pool
        if not isinstance(item, str) or item not in pool.items:
            raise BadChoice(
                f"there is no item {item!r} in {pool.settings.data}",
                fix=f"give one of its {len(pool.items)}, such as {next(iter(pool.items))!r}",
            )
        modes = pool.binding.benchmark.modes
        mode = pool.settings.modes[0] if mode is None else mode
        if mode not in modes:
            raise BadChoice(
                f"{mode!r} is no mode of {pool.binding.benchmark.title}",
                fix=f"give one of {', '.join(modes)}",
            )
        if seed is not None:
            changes["seed"] = seed
        self._episode = await pool.open(WorkUnit(pool.items[item], mode, 1), changes)
        self._held, self._seen = True, 0
        return self._observed()

    async def step(self, action: Action) -> Step:
        """Take a turn.

        Raises:
            NothingInPlay: there is no episode, or it has ended.
            BadChoice: it is no action.
            EpisodeLost: the sandbox lost a call, and the episode with it.
            Unscored: the episode is over, and the reward needs a judge's answer.
        """
        episode = self._current()
        if episode.ending is not None:
            raise NothingInPlay(f"the episode has ended ({episode.ending}): reset to play another")
        before = episode.trace
        try:
            await episode.step(as_reply(action))
        except SandboxError as error:
            episode.end(Ending.ERRORED, f"the sandbox broke: {error}")
            await self._leave()
            raise EpisodeLost(
                f"the sandbox lost a call, and the episode with it: {error}"
            ) from error
        if episode.ending is not None:
            await self._leave()
        reward = self._pool.reward.of_step(before, episode.trace)
        return Step(self._observed(), reward, episode.ending)

    async def close(self) -> None:
        """Leave the episode, if one is in play; the environment can be reset."""
        if self._episode is not None:
            self._episode.end(Ending.STOPPED)
            await self._leave()

    async def give_up(self, reason: str) -> None:
        """End the episode as errored, where whoever plays it cannot go on; it has no score."""
        self._current().end(Ending.ERRORED, reason)
        await self._leave()

    async def _leave(self) -> None:
        if self._held and self._episode is not None:
            self._held = False
            await self._pool.leave(self._episode)

    def _current(self) -> Episode:
        if self._episode is None:
            raise NothingInPlay("no episode is in play: reset first")
        return self._episode

    def _shown(self) -> tuple[tuple[Message, ...], tuple[ToolSchema, ...]]:
        episode = self._current()
        schemas = [tool.schema for tool in episode.tools]
        return shown(episode.setting.call_format, episode.conversation, schemas)

    def _observed(self) -> Observation:
        messages, tools = self._shown()
        new = tuple(one for one in messages[self._seen :] if not isinstance(one, AssistantMessage))
        self._seen = len(messages)
        return Observation(new, tools)


def as_reply(action: Action) -> Reply:
    """An action as the reply that an agent would have given.

    Raises:
        BadChoice: it is none, or holds what no reply can hold.
    """
    match action:
        case Reply(str(), tuple(calls)) if all(isinstance(one, RawCall) for one in calls):
            return action
        case CallOf(str(tool), Mapping() as arguments):
            try:
                text = json.dumps(dict(arguments))
            except (TypeError, ValueError) as error:
                raise BadChoice(
                    f"the arguments {arguments!r} of {tool} are no JSON: {error}",
                    fix="give JSON values, or a Reply whose RawCall has them as text",
                ) from error
            return Reply(calls=(RawCall(f"call_{uuid4().hex[:8]}", tool, text),))
        case str():
            return Reply(action)
        case _:
            raise BadChoice(f"{action!r} is no action", fix="give a Reply, a CallOf or a text")
