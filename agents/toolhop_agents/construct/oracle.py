"""An item played by scripted agents and by a model without tools: right by its gold calls alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from toolhop_agents.construct.ask import Asker
from toolhop_agents.prompts import Mode, prompt, shipped
from toolhop_agents.react import play as play_episode
from toolhop_agents.scripted.model import Play, ScriptedModel, constant, do_nothing, oracle
from toolhop_env.benchmarks import named, score
from toolhop_env.episode import Episode
from toolhop_env.measures import Scorer
from toolhop_env.messages import Reply
from toolhop_env.reading import CallFormat
from toolhop_env.score import Score
from toolhop_env.setting import Setting
from toolhop_env.trace import Trace
from toolhop_sandbox.base import Sandbox
from toolhop_sandbox.outcome import JSON, OUTCOME
from toolhop_tools.construct.accept import CONSTANTS
from toolhop_tools.construct.seeds import Seed, World
from toolhop_tools.construct.stages import Place, Stage
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
    agents = {f"constant:{text}": constant(text) for text in CONSTANTS} | {"do-nothing": do_nothing}
    lucky = [
        name
        for name, play in agents.items()
        if _right(item, await _play(item, sandbox, play, name))
    ]
    return Played(right, len(set(results)) == 1, tuple(lucky))


async def closed_book(
    asker: Asker, samples: int, seed: Seed, item: Item, number: Callable[[], int], sandbox: Sandbox
) -> tuple[bool, dict[str, JSON]]:
    """Ask a model in ToolHop's direct mode: whether the criterion holds, and its figure.

    In a closed world no reply may be right: there is nothing to know; of the real world the share
    is recorded.

    Args:
        asker: the model that is asked without tools.
        samples: how often.
        seed: what the item is made from.
        item: the whole item.
        number: of the next reply within the item.
        sandbox: an entered one; nothing runs in it.

    Raises:
        RunLimitReached, ItemLimitReached, ModelFault, LedgerError: as `Asker.ask`.
    """
    messages = prompt(Mode.DIRECT, CallFormat.NATIVE, item.question, ())
    version = hashlib.sha256(shipped(Mode.DIRECT.value).encode()).hexdigest()[:12]
    setting = Setting(agent="direct", mode="direct", messages=messages, offer_tools=False)
    right = 0
    for _ in range(samples):
        text = await asker.ask(seed, Place(Stage.ACCEPT), number(), version, messages)
        trace = await _play(item, sandbox, lambda *_: Reply(text), "direct", setting)  # noqa: B023 -- played before the next is asked
        right += _right(item, trace)
    figure: dict[str, JSON] = {
        "model": asker.model.name, "asked": samples, "right": right, "share": right / samples,
    }  # fmt: skip
    return not right or seed.world is not World.CLOSED, figure


async def _play(
    item: Item, sandbox: Sandbox, play: Play, name: str, setting: Setting | None = None
) -> Trace:
    async with Episode(item, sandbox, setting or Setting(agent=name)) as episode:
        await play_episode(episode, ScriptedModel(name, play, item))
    return episode.trace


def _right(item: Item, trace: Trace) -> bool:
    own = score(trace)
    measures = [m for m in named(item.benchmark).measures if m.scorer is Scorer.STRICT and m.leads]
    return isinstance(own, Score) and all(measure.holds(own) for measure in measures)
