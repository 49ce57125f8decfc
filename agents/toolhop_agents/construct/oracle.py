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
from toolhop_tools.construct.accept import CONSTANTS, Criterion, Judged
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


@dataclass(frozen=True)
class ClosedBook:
    """A model that is asked in ToolHop's direct mode."""

    name: str
    asker: Asker
    samples: int

    async def judge(
        self, item: Item, seed: Seed, number: Callable[[], int], sandbox: Sandbox
    ) -> Judged:
        """The share of replies that are right. In a closed world it has to be 0: there is nothing
        to know; of the real world it is recorded.

        Args:
            item: the whole item.
            seed: what it is made from.
            number: of the next reply within the item.
            sandbox: an entered one; nothing runs in it.

        Raises:
            RunLimitReached, ItemLimitReached, ModelFault, LedgerError: as `Asker.ask`.
        """
        messages = prompt(Mode.DIRECT, CallFormat.NATIVE, item.question, ())
        version = hashlib.sha256(shipped(Mode.DIRECT.value).encode()).hexdigest()[:12]
        right = 0
        setting = Setting(agent="direct", mode="direct", messages=messages, offer_tools=False)
        for _ in range(self.samples):
            place = Place(Stage.ACCEPT)
            text = await self.asker.ask(seed, place, number(), version, messages)
            trace = await _play(item, sandbox, lambda *_: Reply(text), "direct", setting)  # noqa: B023 -- played before the next is asked
            right += _right(item, trace)
        figure: dict[str, JSON] = {
            "model": self.name, "asked": self.samples, "right": right,
            "share": right / self.samples,
        }  # fmt: skip
        holds = not right or seed.world is not World.CLOSED
        return Judged(Criterion.CLOSED_BOOK, holds, figure)


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
