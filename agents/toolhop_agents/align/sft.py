"""`toolhop align sft`: play scenario items with agents that know the solution, as chats."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from toolhop_agents import react
from toolhop_agents.align import executed
from toolhop_agents.align.leaks import Print
from toolhop_agents.align.line import (
    AlignError,
    Chat,
    Conditions,
    Kind,
    Result,
    Tokens,
    Verdict,
    Wire,
)
from toolhop_agents.benchmarks.scenarios.agents import asks_when_missing
from toolhop_agents.export.chat import listing
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.runs.unit import WorkUnit, setting
from toolhop_agents.scripted.model import Faulty, Play, ScriptedModel
from toolhop_env.episode import Episode
from toolhop_env.messages import Message, Reply
from toolhop_env.reading import CallFormat
from toolhop_env.trace import Replied, ToolsChanged, Trace
from toolhop_sandbox.base import Sandbox
from toolhop_tools.model import EpisodeAction, Item
from toolhop_tools.scenarios.label import Scenario, label_of
from toolhop_tools.several import each

MIX = {Kind.ORIGINAL: 0.4, Kind.UNMATCHED: 0.3, Kind.MISSING: 0.3}
"""Shares of the paper (section 5.1): 4,000, 3,000 and 3,000 of 10,000 rows."""
KINDS = {EpisodeAction.CHANGE_TOOLS: Kind.UNMATCHED, EpisodeAction.ASK_USER: Kind.MISSING}


@dataclass(frozen=True, slots=True)
class Task:
    """A chat to make."""

    item: Item
    kind: Kind
    origin: str
    """Data set that the item is from."""
    licence: str
    split: str


def kind_of(item: Item) -> Kind | None:
    """Return the kind of chat that an item gives; None for scenarios that are not trained."""
    label = label_of(item.gold)
    if label.scenario is Scenario.PLAIN:
        return Kind.ORIGINAL
    return None if label.solvable or label.needs is None else KINDS.get(label.needs)


def mixed(
    tasks: Sequence[Task],
    mix: Mapping[Kind, float],
    repaired: float,
    seed: int,
    most: int | None = None,
) -> list[Task]:
    """Draw the most tasks whose kinds have the shares of `mix`.

    Args:
        tasks: every task that there is; families stay together as far as the shares allow.
        mix: shares by kind, which add up to 1.
        repaired: share of the originals that are played with a failed call first.
        seed: seed of the draw.
        most: maximum number of tasks; None for any.

    Raises:
        AlignError: a kind with a share has no task.
    """
    by_kind: dict[Kind, list[Task]] = defaultdict(list)
    for task in tasks:
        by_kind[task.kind].append(task)
    lacking = [kind for kind, share in mix.items() if share > 0 and not by_kind[kind]]
    if lacking:
        raise AlignError(
            f"no item is of the kind {lacking[0]}, and --mix asks for {mix[lacking[0]]:g}",
            fix="give a file of `toolhop perturb --into unmatched,reserve,missing-parameter`, or "
            "another --mix (original,unmatched,missing)",
        )
    total = min(len(by_kind[kind]) / share for kind, share in mix.items() if share > 0)
    total = min(total, most or total)
    drawn: list[Task] = []
    for kind, share in mix.items():
        ranked = sorted(
            by_kind[kind], key=lambda task: random.Random(f"{seed}/{task.item.id}").random()
        )
        chosen = ranked[: round(total * share)]
        count = round(len(chosen) * repaired) if kind is Kind.ORIGINAL else 0
        drawn += [replace(task, kind=Kind.REPAIRED) for task in chosen[:count]] + chosen[count:]
    return drawn


async def chats(
    tasks: Sequence[Task],
    sandbox: Sandbox,
    *,
    settings: RunSettings,
    at_a_time: int,
    on_chat: Callable[[], None],
) -> tuple[list[Chat], Counter[str]]:
    """Play the tasks.

    Returns:
        The chats of episodes with the right outcome, in task order, and counts of the others by
        reason.

    Raises:
        SandboxError: the sandbox cannot run the calls.
    """
    made: dict[int, list[Chat]] = {}
    dropped: Counter[str] = Counter()

    async def one(numbered: tuple[int, Task]) -> None:
        number, task = numbered
        trace = await _played(task, settings, sandbox)
        if not executed.successful(trace):
            dropped["its scripted episode does not end as the label says"] += 1
        elif task.kind is Kind.REPAIRED and all(call.error is None for call in trace.calls):
            dropped["no call of it could be broken"] += 1
        else:
            made[number] = chats_of(task, trace)
        on_chat()

    await each(enumerate(tasks), one, at_a_time=at_a_time)
    return [chat for number in sorted(made) for chat in made[number]], dropped


async def _played(task: Task, settings: RunSettings, sandbox: Sandbox) -> Trace:
    item, seed = task.item, settings.seed
    play: Play = Faulty(1.0, repairs=True) if task.kind is Kind.REPAIRED else asks_when_missing
    name = "repairing" if task.kind is Kind.REPAIRED else "asks-when-missing"
    unit = WorkUnit(item, settings.modes[0], 1)
    how = replace(setting(settings, unit), agent=name)
    model = ScriptedModel(name, explained(play), item, seed, settings.call_format)
    async with Episode(item, sandbox, how, name=f"{item.id}~{task.kind}") as episode:
        await react.play(episode, model)
    return episode.trace


def explained(play: Play) -> Play:
    """Return the agent with the sub-question of the called hop as its thought.

    A sub-question names the answers of earlier hops at most.
    """

    def explaining(item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
        return thought(item, play(item, seed, messages, tools))

    return explaining


def thought(item: Item, reply: Reply) -> Reply:
    """Return a reply with calls with the sub-question of the first as its text; empty if none."""
    if not reply.calls:
        return reply
    asked = {hop.tool.name: hop.question for hop in reversed(item.hops)}
    name = reply.calls[0].name
    return replace(reply, content=asked.get(name) or asked.get(name.removesuffix("_v2"), ""))


def chats_of(task: Task, trace: Trace, tokens: Tokens | None = None) -> list[Chat]:
    """Return the chats of an episode: one, or one for each set of tools on offer.

    A trainer shows one list of tools for a whole chat. If the tools change on the way, the first
    chat ends there, and the second trains only what follows: with the later tools shown from the
    start, asking for them would be trained in a state that does not need it.
    """
    item, start = task.item, trace.started
    ends = [len(trace.replies)]
    if start.call_format is CallFormat.NATIVE:
        turns = _turns_before_changes(trace)
        ends = [*turns, len(trace.replies)]
    found, first = list[Chat](), 0
    for number, end in enumerate(ends):
        tools, texts = listing(start, trace.before_turn(end).tools, item)
        messages = executed.wired(trace, texts)
        messages = messages[: _until(messages, end)]
        at = [n for n, one in enumerate(messages) if one["role"] == "assistant"]
        verdicts = [executed.classified(trace, item, turn + 1).verdict for turn in range(len(at))]
        trained = [
            place
            for turn, (place, verdict) in enumerate(zip(at, verdicts, strict=True))
            if turn >= first and verdict is not Verdict.HALLUCINATED
        ]
        found.append(
            Chat(
                id=f"{start.episode}~{number + 1}" if len(ends) > 1 else start.episode,
                item=item.id,
                item_digest=item.digest,
                family=Print.of(item).family,
                domain=item.domain,
                split=task.split,
                licence=task.licence,
                origin=task.origin,
                conditions=Conditions.of(start),
                tools=tuple(tools),
                kind=task.kind,
                agent=start.agent,
                messages=messages,
                trained=tuple(trained),
                result=_result(trace, item, end),
                tokens=tokens if len(ends) == 1 else None,
            )
        )
        first = end
    return found


def _turns_before_changes(trace: Trace) -> list[int]:
    """Return the turns after which other tools are on offer."""
    turn, found = 0, list[int]()
    for event in trace.events:
        turn = event.turn if isinstance(event, Replied) else turn
        if isinstance(event, ToolsChanged):
            found.append(turn)
    return found


def _until(messages: Sequence[Wire], turns: int) -> int:
    """Return the number of messages up to the reply of the last of `turns`, without feedback."""
    at = [n for n, one in enumerate(messages) if one["role"] == "assistant"]
    return at[turns - 1] + 1


def _result(trace: Trace, item: Item, end: int) -> Result:
    """Return what came of the whole episode, or of the last reply of a chat that ends before."""
    if end == len(trace.replies):
        return executed.trajectory(trace, item)
    return executed.classified(trace, item, end)
