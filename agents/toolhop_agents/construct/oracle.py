"""An item played by scripted agents: right by its gold calls, and by nothing less."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toolhop_agents.react import play as play_episode
from toolhop_agents.scripted.model import Play, ScriptedModel, constant, do_nothing, oracle
from toolhop_env.benchmarks import named, score
from toolhop_env.episode import Episode
from toolhop_env.measures import Measure, Scorer
from toolhop_env.messages import Message, Reply, SystemMessage, UserMessage
from toolhop_env.score import Score
from toolhop_env.setting import Setting
from toolhop_env.trace import Trace
from toolhop_sandbox.base import Sandbox
from toolhop_sandbox.outcome import OUTCOME
from toolhop_tools.construct.accept import CONSTANTS
from toolhop_tools.model import Item


@dataclass(frozen=True, slots=True)
class Played:
    """What scripted agents make of an item."""

    oracle: Mapping[str, bool]
    """By sandbox: whether the oracle is right under the strict rule."""
    replayed: bool
    """Whether the oracle's calls gave the same, byte by byte, in each of them and once more."""
    by_luck: tuple[str, ...]
    """Agents that know nothing and are right."""


async def played(item: Item, sandboxes: Mapping[str, Sandbox]) -> Played:
    """Play an item with the oracle in each sandbox, and without tools by those who know nothing.

    Raises:
        SandboxFault, SandboxUnavailable: as `Session.call`.
    """
    right, results = dict[str, bool](), list[tuple[object, ...]]()
    for name, sandbox in sandboxes.items():
        for _ in range(2):
            trace = await _play(item, sandbox, oracle, "oracle")
            right[name] = right.get(name, True) and _right(item, trace)
            results.append(
                tuple(OUTCOME.dump_json(c.outcome) for c in trace.tool_calls if c.outcome)
            )
    sandbox = next(iter(sandboxes.values()))
    agents = {"do-nothing": do_nothing, **{f"constant:{one}": constant(one) for one in CONSTANTS}}
    lucky = [
        name
        for name, play in agents.items()
        if _right(item, await _play(item, sandbox, play, name))
    ]
    return Played(right, len(set(results)) == 1, tuple(lucky))


async def right_without_tools(
    item: Item, sandbox: Sandbox, text: str, messages: tuple[SystemMessage | UserMessage, ...]
) -> bool:
    """Whether a reply in direct mode is right under the strict rule.

    Args:
        item: the whole item.
        sandbox: an entered one; nothing runs in it.
        text: the reply.
        messages: what was asked.
    """
    setting = Setting(agent="direct", mode="direct", messages=messages, offer_tools=False)

    def says(item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
        return Reply(text)

    return _right(item, await _play(item, sandbox, says, "direct", setting))


async def _play(
    item: Item, sandbox: Sandbox, play: Play, name: str, setting: Setting | None = None
) -> Trace:
    async with Episode(item, sandbox, setting or Setting(agent=name)) as episode:
        await play_episode(episode, ScriptedModel(name, play, item))
    return episode.trace


def _right(item: Item, trace: Trace) -> bool:
    found = score(trace)
    return isinstance(found, Score) and all(m.holds(found) for m in _strict(item.benchmark))


def _strict(benchmark: str) -> Sequence[Measure]:
    measures = named(benchmark).measures
    return [one for one in measures if one.scorer is Scorer.STRICT and one.leads]
