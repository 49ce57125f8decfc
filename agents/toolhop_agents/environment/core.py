"""Environments: successive episodes, many at a time, on one pool of sandboxes.

    async with Environments(RunSettings(data="builtin"), most=8) as pool:
        environment = pool.environment()
        observation = await environment.reset("geography-1")
        step = await environment.step(reply)

`plain` is the synchronous version. What a player receives, `Observation` and `Step`, contains no
gold answer; the trace does, and is only available from the environment.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias
from uuid import uuid4

from toolhop_agents.benchmarks import binding_of
from toolhop_agents.call_formats import shown
from toolhop_agents.environment.changes import changed, check_template
from toolhop_agents.environment.reward import Reward, only_failed
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
"""Agent name in traces if the settings name none."""


@dataclass(frozen=True, slots=True)
class CallOf:
    """An action that calls one tool by name."""

    tool: str
    arguments: Mapping[str, JSON]


Action: TypeAlias = Reply | CallOf | str
"""A whole reply, a single call, or text, which is read as a model's output: in the text format
it may contain calls; without calls it is the final answer."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What a player sees."""

    messages: tuple[Message, ...]
    """Messages since the last action, in the tool-call format: the prompt, or feedback."""
    tools: tuple[ToolSchema, ...]
    """Tools that can be called now; empty in the text format, where the prompt describes them."""


@dataclass(frozen=True, slots=True)
class Step:
    """The result of an action."""

    observation: Observation
    reward: float
    ending: Ending | None
    """Why the episode ended; None if it has not."""
    components: Mapping[str, float] = field(default_factory=dict)
    """What the reward is a weighted sum of; see `Reward.components`."""
    only_failed: bool = False
    """Whether the action had calls, and all of them failed."""

    @property
    def done(self) -> bool:
        """Whether the episode has ended."""
        return self.ending is not None

    @property
    def truncated(self) -> bool:
        """Whether a limit ended the episode, rather than the player."""
        return self.ending in TRUNCATED


TRUNCATED = frozenset(
    {Ending.OUT_OF_TURNS, Ending.OUT_OF_CALLS, Ending.OUT_OF_TOKENS, Ending.OUT_OF_TIME,
     Ending.OUT_OF_COST, Ending.OUT_OF_CONTEXT, Ending.CUT_IN_THOUGHT}
)  # fmt: skip


class EpisodeLost(Exception):
    """The sandbox failed. The episode is errored and has no reward; reset the environment."""


class NothingInPlay(Exception):
    """No episode is open. Reset the environment first."""


class Environments:
    """Items, settings and a sandbox shared by environments. Enter it with ``async with``."""

    def __init__(
        self,
        settings: RunSettings,
        *,
        reward: Mapping[str, float] | None = None,
        most: int = 2,
    ) -> None:
        """Read the data, without starting anything.

        Args:
            settings: settings of a run: data, mode, feedback, tool-call format, limits,
                perturbation, sandbox. The agent only determines the name in traces.
            reward: weights by measure; see `Reward.of`.
            most: maximum number of open episodes; each that calls programs occupies a worker.

        Raises:
            ToolsError: the data cannot be used as requested.
            BadChoice: a weight or setting does not exist or has an invalid value.
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
        # No agent is run; the settings only provide its name.
        unasked = {"model": None, "gguf": None, "agent": "do-nothing"}
        job = prepare(settings.model_copy(update=unasked))
        named = settings.model is not None or settings.agent is not None
        self.player = settings.agent_name if named else PLAYER
        self.settings = job.settings
        self.items: Mapping[str, Item] = by_id(job.items)
        """Items by id, in data order."""
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
            SandboxUnavailable: the requested isolation is not available here.
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
        """Create an environment, which uses no resources until it is reset."""
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
        """Open an episode. Close it with `leave`.

        Args:
            unit: the unit to play.
            changes: settings of this episode only.
            player: name of the player in the trace; the pool's if empty.
            sink: called with every event as it happens.
            approver: asked before each call, instead of the pool's approver.

        Raises:
            BadChoice: too many episodes are open, or `changes` has an invalid setting.
            SandboxUnavailable, EpisodeLost: no worker is available.
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
        """Close an episode and release its worker."""
        self.in_play -= 1
        await episode.__aexit__(None, None, None)


class Environment:
    """A player's environment, with one episode at a time. It can be reset any number of times."""

    def __init__(self, pool: Environments) -> None:
        """Create an environment of `pool`; see `Environments.environment`."""
        self._pool = pool
        self._episode: Episode | None = None
        self._held = False
        """Whether the episode still occupies a worker."""
        self._seen = 0

    @property
    def trace(self) -> Trace:
        """The complete trace of the episode, gold answer included: not for the player.

        Raises:
            NothingInPlay: the environment was never reset.
        """
        return self._current().trace

    @property
    def verdict(self) -> Verdict:
        """Score by all measures; errored until the episode has ended. Not for the player."""
        return score(self.trace)

    @property
    def conversation(self) -> tuple[Message, ...]:
        """All messages so far, in the player's tool-call format."""
        return self._shown()[0]

    async def reset(
        self,
        item: str,
        *,
        mode: str | None = None,
        seed: int | None = None,
        **changes: Any,  # noqa: ANN401 -- fields of RunSettings, which checks them
    ) -> Observation:
        """Start an episode. An episode in progress ends as stopped.

        Args:
            item: id of the item.
            mode: mode of the benchmark; by default the settings' mode or the benchmark's first.
            seed: seed of the episode's random choices.
            changes: settings of this episode only, such as ``feedback="minimal"``.

        Raises:
            BadChoice: the item, mode or setting does not exist, or too many episodes are open.
            EpisodeLost: the sandbox had no worker; try again.
            SandboxUnavailable: the sandbox cannot provide workers.
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
            BadChoice: `action` is not a valid action.
            EpisodeLost: the sandbox lost a call, and the episode with it.
            Unscored: the episode has ended, and the reward needs a judge's answer.
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
        reward, after = self._pool.reward, episode.trace
        parts = reward.components(before, after)
        failed = only_failed(after)
        return Step(self._observed(), reward.total(parts), episode.ending, parts, failed)

    async def close(self) -> None:
        """Stop and close the current episode, if any. The environment can be reset."""
        if self._episode is not None:
            self._episode.end(Ending.STOPPED)
            await self._leave()

    async def give_up(self, reason: str) -> None:
        """End the episode as errored and unscored because its player cannot continue."""
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
    """Convert an action to a reply.

    Raises:
        BadChoice: it is not an action, or has parts that are not valid in a reply.
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
