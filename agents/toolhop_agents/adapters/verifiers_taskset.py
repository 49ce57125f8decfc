"""Items of any benchmark as a taskset of verifiers v1: ``vf-eval toolhop``. Needs verifiers.

The harness calls the model, keeps the conversation and finds the tools over MCP. Replies are
processed here: the episode receives each whole reply before the harness does, and the result of
each call is our feedback, even for malformed calls and unknown tools. Neither the harness's process
nor the tool server's has gold answers or tools' source code.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Self

import verifiers.v1 as vf
from pydantic import Field, model_validator

from toolhop_agents.adapters.options import settings_of
from toolhop_agents.adapters.shared import SharedPool, pool_of
from toolhop_agents.adapters.verifiers_tools import ItemTools, ToolsState
from toolhop_agents.environment.core import EpisodeLost
from toolhop_agents.environment.reward import Reward
from toolhop_agents.prompts import TemplateError
from toolhop_agents.react import play
from toolhop_agents.runs.unit import WorkUnit, setting
from toolhop_agents.scripted.choose import choose
from toolhop_agents.scripted.model import ScriptedModel
from toolhop_env import benchmarks
from toolhop_env.benchmarks import UnknownBenchmark
from toolhop_env.episode import Episode
from toolhop_env.guarded import BenchmarkFault
from toolhop_env.messages import RawCall, Reply, SystemMessage, Thoughts, Usage, UserMessage
from toolhop_env.reading import CallFormat
from toolhop_env.score import Errored
from toolhop_env.trace import Ending, Trace, from_lines, to_line
from toolhop_sandbox.errors import SandboxError
from toolhop_tools.errors import BadChoice, ToolsError

TRACE = "toolhop_trace"
"""Key in a trace's info with the episode's events, one JSON object each."""
_LEAVING: set[asyncio.Task[None]] = set()
"""Holds references to tasks, because event loops keep only weak ones."""


class ToolHopTaskConfig(vf.TaskConfig):
    """Options set by ``--env.taskset.task.*``.

    All options are here rather than on the taskset, because servers of verifiers create tasks only
    from their data and this configuration.
    """

    data: str = "builtin"
    """A data set of `toolhop data list`, or a file or folder."""
    mode: str | None = None
    """Mode of the benchmark; by default its first."""
    feedback: str = "detailed"
    """Feedback on failed calls: a level of `toolhop run --feedback`, or a template file."""
    tools: str | None = None
    """Perturbation of the tools, such as ``names=scrambled+distractors=5``; by default none."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Other settings of `toolhop run`, such as ``turn_limit``, ``sandbox`` or ``max_samples``."""
    weights: dict[str, float] = Field(default_factory=dict)
    """Weights of the reward by measure; by default the benchmark's leading measure."""

    @model_validator(mode="after")
    def _can_be_played(self) -> Self:
        """Raise errors here, where verifiers reports them like its own flags' errors, without a
        traceback.
        """
        try:
            shared_of(self)
        except (ToolsError, TemplateError, UnknownBenchmark, BenchmarkFault) as error:
            raise ValueError(str(error)) from error
        return self


class ToolHopConfig(vf.TasksetConfig):
    """Configuration of the taskset."""

    task: ToolHopTaskConfig = Field(default_factory=ToolHopTaskConfig)


class ToolHopData(vf.TaskData):
    """The part of an item stored in traces, without the gold answer."""

    mode: str


@dataclass
class Played:
    """A rollout's episode, and its feedback on the last reply's calls."""

    episode: Episode
    stack: AsyncExitStack
    """Releases the episode's resources."""
    rollout: asyncio.Task[Any] | None
    """The task that opened the episode and owns it."""
    feedback: dict[str, str] = field(default_factory=dict)
    """Feedback by call id."""


@dataclass(frozen=True)
class Shared:
    """State shared in a process by all tasks of one configuration."""

    pool: SharedPool
    reward: Reward
    mode: str
    played: dict[str, Played] = field(default_factory=dict)
    """Rollouts under way, by trace id."""


_SHARED: dict[str, Shared] = {}


def shared_of(config: ToolHopTaskConfig) -> Shared:
    """Return the shared state of a configuration.

    Raises:
        BadChoice: a setting is not available here or has an invalid value.
        ToolsError: the data cannot be used as requested.
    """
    key = config.model_dump_json()
    if key not in _SHARED:
        named = {"data": config.data, "mode": config.mode, "feedback": config.feedback}
        named["tools"] = config.tools
        if doubled := sorted(named.keys() & config.settings.keys()):
            raise BadChoice(
                f"{doubled[0]} is among the settings, and is an option of its own",
                fix=f"give it as --env.taskset.task.{doubled[0]}",
            )
        pool = pool_of(settings_of({**named, **config.settings}, "verifiers"))
        ours = pool.environments.settings
        if judging := sorted({"judge", "judge_base_url", "judge_votes"} & config.settings.keys()):
            raise BadChoice(
                f"the setting {judging[0]} is of no use: a taskset asks no judge",
                fix="leave it out, and weigh measures that need none",
            )
        if len(ours.modes) > 1:
            raise BadChoice(
                f"the modes {', '.join(ours.modes)} were given, and a taskset is of one",
                fix="give one",
            )
        if ours.call_format is not CallFormat.NATIVE:
            raise BadChoice(
                "harnesses of verifiers call tools natively, and the text format was asked for",
                fix="leave call_format out, or play in `toolhop run`",
            )
        weighed = Reward.of(pool.environments.binding.benchmark, config.weights or None)
        _SHARED[key] = Shared(pool, weighed, ours.modes[0])
    return _SHARED[key]


class ToolHopTask(vf.Task[ToolHopData, ToolsState, ToolHopTaskConfig]):
    """An item. A rollout's episode is open from `setup` to `finalize`."""

    @property
    def shared(self) -> Shared:
        """State shared with the configuration's other tasks."""
        return shared_of(self.config)

    async def setup(self, trace: vf.Trace) -> None:
        """Open the rollout's episode as soon as there is a worker.

        Raises:
            SandboxUnavailable, EpisodeLost: no worker is available; the rollout is an error.
        """
        shared, stack = self.shared, AsyncExitStack()
        environments = await stack.enter_async_context(shared.pool.held())
        try:
            item = environments.items[str(self.data.id)]
            unit = WorkUnit(item, shared.mode, 1)
            opened = await environments.open(unit, {}, player=str(_model(trace)))
        except BaseException:
            await stack.aclose()
            raise
        stack.push_async_callback(environments.leave, opened)
        self.shared.played[trace.id] = Played(opened, stack, asyncio.current_task())
        trace.state.tools = [
            {"name": one.schema.name, "description": one.schema.description,
             "parameters": dict(one.schema.parameters)}
            for one in opened.tools
        ]  # fmt: skip
        self._leave_at_the_latest(trace.id)

    @vf.intercept
    async def reply_taken(self, response: vf.Response, trace: vf.Trace) -> None:
        """Pass the whole reply to the episode before the harness receives it.

        Raises:
            EpisodeLost: the sandbox lost a call; the rollout is an error.
        """
        played = self.shared.played[trace.id]
        reply = as_reply(response)
        try:
            step = await played.episode.step(reply)
        except SandboxError as error:
            played.episode.end(Ending.ERRORED, f"the sandbox broke: {error}")
            raise EpisodeLost(f"the sandbox lost a call, and the episode: {error}") from error
        played.feedback = {
            call.id: called.feedback for call, called in zip(reply.calls, step.calls, strict=False)
        }

    @vf.intercept
    async def feedback_given(self, request: vf.Request, trace: vf.Trace) -> vf.Request | None:
        """Replace the harness's result of a call with our feedback."""
        last, said = request.messages[-1], self.shared.played[trace.id].feedback
        if not isinstance(last, vf.ToolMessage) or last.tool_call_id not in said:
            return None
        last.content = said[last.tool_call_id]
        return request

    @vf.stop
    async def episode_over(self, trace: vf.Trace) -> bool:
        """Whether the episode has ended, by a limit or an action, so that the model is not
        called again.
        """
        return self.shared.played[trace.id].episode.ending is not None

    async def finalize(self, trace: vf.Trace) -> None:
        """End a cut-off episode, store our trace, and release the worker.

        Raises:
            EpisodeLost: the episode errored; the rollout is an error without a reward.
        """
        episode = self.shared.played[trace.id].episode
        episode.end(Ending.OUT_OF_TIME if trace.is_timeout else Ending.STOPPED)
        trace.info[TRACE] = [json.loads(to_line(event)) for event in episode.trace.events]
        await self._leave(trace.id)
        ended = episode.trace.ended
        if ended is not None and ended.ending is Ending.ERRORED:
            raise EpisodeLost(ended.reason)

    async def validate(self, runtime: vf.Runtime) -> bool | None:
        """Whether the scripted oracle's episode satisfies the leading measure. None if the item
        has hops without gold calls, or the measure needs a judge.
        """
        mine = asyncio.current_task()
        for name in [one for one, held in self.shared.played.items() if held.rollout is mine]:
            # One place per item: holding one while waiting for another could deadlock.
            await self._leave(name)
        async with self.shared.pool.held() as environments:
            item, binding = environments.items[str(self.data.id)], environments.binding
            unit = WorkUnit(item, self.shared.mode, 1)
            opened = await environments.open(unit, {}, player="oracle")
            try:
                oracle = choose("oracle", binding.agents)
                await play(opened, ScriptedModel("oracle", oracle, item))
            finally:
                await environments.leave(opened)
        verdict, lead = benchmarks.score(opened.trace), binding.benchmark.lead
        if isinstance(verdict, Errored):
            raise EpisodeLost(verdict.reason)
        if lead.of(verdict) is None:
            return None
        known = all(hop.gold is not None for hop in item.hops)
        return lead.holds(verdict) or (False if known else None)

    @vf.reward
    async def toolhop(self, trace: vf.Trace) -> float:
        """Return the weighted sum of the measures.

        Raises:
            Unscored: a measure needs a judge.
        """
        return self.shared.reward.of_episode(trace_of(trace))

    @vf.metric
    async def measures(self, trace: vf.Trace) -> dict[str, float]:
        """Return every component of the reward that has a figure. Measures that are not binary
        have two entries, the second named ``..._of``: verifiers averages each metric, and the
        ratio of these two means is our figure, a ratio of sums.
        """
        whole = trace_of(trace)
        verdict, reward = benchmarks.score(whole), self.shared.reward
        if isinstance(verdict, Errored):
            return {}
        asked = dict.fromkeys((*reward.benchmark.measures, *(one for one, _ in reward.measures)))
        found = reward.along(whole)
        for one in asked:
            if (parts := one.of(verdict)) is not None:
                found[one.name] = parts[0]
                if not one.binary:
                    found[f"{one.name}_of"] = parts[1]
        return found

    async def _leave(self, name: str) -> None:
        if (played := self.shared.played.pop(name, None)) is not None:
            await played.stack.aclose()

    def _leave_at_the_latest(self, name: str) -> None:
        """Leave when the rollout's task ends, since no hook is called if the rollout fails or is
        cancelled.
        """
        loop, rollout = asyncio.get_running_loop(), asyncio.current_task()

        def leave(_: object) -> None:
            if name in self.shared.played and not loop.is_closed():
                leaving = loop.create_task(self._leave(name))
                _LEAVING.add(leaving)
                leaving.add_done_callback(_LEAVING.discard)

        if rollout is not None:
            rollout.add_done_callback(leave)


class ToolHopTaskset(vf.Taskset[ToolHopTask, ToolHopConfig]):
    """The items of a data set, one task each."""

    def load(self) -> Iterator[ToolHopTask]:
        """Read the data.

        Raises:
            BadChoice: a setting is not available here or has an invalid value.
            ToolsError: the data cannot be used as requested.
        """
        shared = shared_of(self.config.task)
        environments = shared.pool.environments
        for item in environments.items.values():
            unit = WorkUnit(item, shared.mode, 1)
            prompt = setting(environments.settings, unit).messages
            standing = [one.content for one in prompt if isinstance(one, SystemMessage)]
            asked = [one.content for one in prompt if isinstance(one, UserMessage)]
            data = ToolHopData(
                id=item.id,
                mode=shared.mode,
                system_prompt="\n\n".join(standing) or None,
                # Some harnesses only accept a string.
                prompt=asked[0]
                if len(asked) == 1
                else [vf.UserMessage(content=one) for one in asked],
            )
            yield ToolHopTask(data, self.config.task)

    @classmethod
    def toolsets(cls, config: ToolHopConfig) -> list[vf.Toolset]:
        """Return one tool server for all rollouts."""
        return [ItemTools(vf.SharedToolsetConfig())]


def trace_of(trace: vf.Trace) -> Trace:
    """Return our trace of a rollout."""
    return from_lines(json.dumps(one).encode() for one in trace.info[TRACE])


def as_reply(response: vf.Response) -> Reply:
    """Convert a model's response to a reply, with the arguments verbatim."""
    message, used = response.message, response.usage
    usage = Usage()
    if used is not None:
        at_hand = used.cached_input_tokens or 0
        thought = used.reasoning_tokens or 0
        usage = Usage(used.input_tokens, used.completion_tokens, used.cost, at_hand, thought)
    return Reply(
        message.content or "",
        tuple(RawCall(one.id, one.name, one.arguments) for one in message.tool_calls or []),
        usage,
        model=response.model,
        finish_reason=response.finish_reason or "",
        # For readers only: the harness sends its own message back to the model.
        thoughts=Thoughts(message.reasoning_content) if message.reasoning_content else None,
    )


def _model(trace: vf.Trace) -> str:
    agent = trace.agent
    return (agent.config.model if agent is not None else None) or "verifiers"


__all__ = ["ToolHopTaskset"]
