"""`toolhop align sft`: play scenario items with agents that know the solution, as chats."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from toolhop_agents import react
from toolhop_agents.align import executed
from toolhop_agents.align.kinds import AlignError, Kind, Verdict
from toolhop_agents.align.line import Chat, turns_in
from toolhop_agents.benchmarks.scenarios.agents import asks_when_missing
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
        tasks: every task that there is.
        mix: shares by kind, which add up to 1.
        repaired: share of the originals that are played with a failed call first.
        seed: seed of the draw.
        most: maximum number of tasks; None for any.

    Raises:
        AlignError: a kind with a share has no task.
    """
    ranked: dict[Kind, list[Task]] = defaultdict(list)
    for task in sorted(tasks, key=lambda one: random.Random(f"{seed}/{one.item.id}").random()):
        ranked[task.kind].append(task)
    wanted = {kind: share for kind, share in mix.items() if share > 0}
    lacking = [kind for kind in wanted if not ranked[kind]]
    if lacking:
        raise AlignError(
            f"no item is of the kind {lacking[0]}, and --mix asks for {mix[lacking[0]]:g}",
            fix="give a file of `toolhop perturb --into unmatched,reserve,missing-parameter`, or "
            "another --mix (original,unmatched,missing)",
        )
    total = min(len(ranked[kind]) / share for kind, share in wanted.items())
    total = min(total, most or total)
    drawn: list[Task] = []
    for kind, share in wanted.items():
        chosen = ranked[kind][: round(total * share)]
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
    item, repairing = task.item, task.kind is Kind.REPAIRED
    play: Play = Faulty(1.0, repairs=True) if repairing else asks_when_missing
    name = "repairing" if repairing else "asks-when-missing"

    def explaining(item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
        return thought(item, play(item, seed, messages, tools))

    how = replace(setting(settings, WorkUnit(item, settings.modes[0], 1)), agent=name)
    model = ScriptedModel(name, explaining, item, settings.seed, settings.call_format)
    async with Episode(item, sandbox, how, name=f"{item.id}~{task.kind}") as episode:
        await react.play(episode, model)
    return episode.trace


def thought(item: Item, reply: Reply) -> Reply:
    """Return a reply with calls with the sub-question of the first as its text; empty if none.

    A sub-question names the answers of earlier hops at most.
    """
    if not reply.calls:
        return reply
    asked = {hop.tool.name: hop.question for hop in reversed(item.hops)}
    name = reply.calls[0].name
    return replace(reply, content=asked.get(name) or asked.get(name.removesuffix("_v2"), ""))


def chats_of(task: Task, trace: Trace) -> list[Chat]:
    """Return the chats of an episode: one, or one for each set of tools on offer.

    A trainer shows one list of tools for a whole chat. If the tools change on the way, the first
    chat ends there, and the second trains only what follows: with the later tools shown from the
    start, asking for them would be trained in a state that does not need it.
    """
    item, start, whole = task.item, trace.started, len(trace.replies)
    native = start.call_format is CallFormat.NATIVE
    ends = [*(_turns_before_changes(trace) if native else ()), whole]
    found, first = list[Chat](), 0
    for number, end in enumerate(ends, start=1):
        line, texts = executed.head(trace, item, end, task.origin, task.licence)
        messages = executed.wired(trace, texts)
        agent = turns_in(messages)[:end]
        results = [executed.classified(trace, item, turn + 1) for turn in range(end)]
        chat = Chat(
            **dict(line),
            id=f"{start.episode}~{number}" if len(ends) > 1 else start.episode,
            split=task.split,
            kind=task.kind,
            agent=start.agent,
            messages=messages[: agent[-1] + 1],
            trained=tuple(
                agent[turn]
                for turn in range(first, end)
                if results[turn].verdict is not Verdict.HALLUCINATED
            ),
            result=executed.trajectory(trace, item) if end == whole else results[-1],
        )
        found.append(chat)
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
