"""ToolBeHonest's binding: one prompt, one reply, at three levels (paper appendix A.4).

The prompts are in our words and ask for what the official ones ask for. ``level-3`` keeps their
two defects: in English no word on steps that no tool can do, and ``UnsovlableQuery``;
``level-3-fixed`` has neither. The language is the task's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from toolhop_agents import prompts
from toolhop_agents.benchmarks.binding import Ask, Binding, Interaction, Prompt
from toolhop_env.messages import Message, Reply
from toolhop_env.scorers.toolbehonest import TOOLBEHONEST as BENCHMARK
from toolhop_env.scorers.toolbehonest import Gold
from toolhop_tools.model import Item
from toolhop_tools.readers.toolbehonest import UNSOLVABLE


def _prompt(ask: Ask) -> Prompt:
    language = str(ask.item.extra.get("language", "en"))
    text = ask.template or prompts.shipped(f"toolbehonest/{language}-{ask.mode}")
    return prompts.messages(text, {"question": ask.item.question})


def _asked_level(messages: Sequence[Message]) -> int:
    """The level by the form of the answer that the prompt asks for."""
    text = messages[-1].content
    if "Planned tool" in text.split("<task>\n")[0]:
        return 3
    return 1 if "<answer>unsolvable</answer>" in text else 2


def _gold(item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
    """The gold; of a missing tool the description that it has in the solvable twin."""
    gold, level = Gold.of(item.gold), _asked_level(messages)
    if level == 1:
        return _answer([gold.verdict])
    if level == 2:
        return _answer(gold.plan)
    removed = [*gold.solvable_plan, *gold.plan[len(gold.solvable_plan) :]]
    wanted = [
        gold.tools.get(missing if step == UNSOLVABLE else step, step)
        for step, missing in zip(gold.plan, removed, strict=False)
    ]
    return _answer(
        f"Subgoal {number}: {text} Planned tool: {step}"
        for number, (step, text) in enumerate(zip(gold.plan, wanted, strict=True), 1)
    )


def _always_unsolvable(item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
    """Says of every task that it cannot be solved, at its first step."""
    step = f"Subgoal 1: a tool is missing Planned tool: {UNSOLVABLE}"
    return _answer([("unsolvable", UNSOLVABLE, step)[_asked_level(messages) - 1]])


def _empty(item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
    return Reply("")


def _answer(lines: Iterable[str]) -> Reply:
    return Reply("<answer>" + "\n".join(lines) + "</answer>")


TOOLBEHONEST = Binding(
    BENCHMARK,
    _prompt,
    Interaction.PLANNING,
    agents={"gold": _gold, "empty": _empty, "always-unsolvable": _always_unsolvable},
)
