"""ToolBeHonest's binding: one prompt, one reply, at three levels (paper appendix A.4).

The prompts are in our words and ask for what the official ones ask for. ``level-3`` keeps their two
defects: the English prompt does not mention steps that no tool can do, and it spells
``UnsovlableQuery``; ``level-3-fixed`` has neither. The language is that of the task.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from toolhop_agents import prompts
from toolhop_agents.benchmarks.binding import (
    Answers,
    Ask,
    Binding,
    Interaction,
    PredictionFile,
    Prompt,
    Turn,
)
from toolhop_env.benchmarks.toolbehonest.scorer import BENCHMARK, MODES, Gold
from toolhop_env.messages import Message, Reply
from toolhop_env.trace import Trace
from toolhop_sandbox.outcome import JSON
from toolhop_tools.benchmarks.toolbehonest.reader import SCENARIOS, UNSOLVABLE
from toolhop_tools.errors import DataError, DataProblem, shown
from toolhop_tools.model import Item
from toolhop_tools.readers.datafile import parse, read_bytes
from toolhop_tools.readers.record import Record


def _prompt(ask: Ask) -> Prompt:
    language = str(ask.item.extra.get("language", "en"))
    text = ask.template or prompts.shipped(f"{language}-{ask.mode}", BENCHMARK.name)
    return prompts.messages(text, {"question": ask.item.question})


def _asked_level(messages: Sequence[Message]) -> int:
    """Detect the level from the answer format in the prompt."""
    text = messages[-1].content
    if "Planned tool" in text.split("<task>\n")[0]:
        return 3
    return 1 if "<answer>unsolvable</answer>" in text else 2


def _gold(item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
    """Give the gold answer; a missing tool is described as in the solvable twin."""
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
    """Say of every task that it is unsolvable from the first step."""
    step = f"Subgoal 1: a tool is missing Planned tool: {UNSOLVABLE}"
    return _answer([("unsolvable", UNSOLVABLE, step)[_asked_level(messages) - 1]])


def _empty(item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
    return Reply("")


def _answer(lines: Iterable[str]) -> Reply:
    return Reply("<answer>" + "\n".join(lines) + "</answer>")


TWINS = ("solvable", "unsolvable")
OFFICIAL_LEVELS = {f"level_{level}": mode for level, mode in enumerate(MODES[:3], 1)}
"""Our mode for each level of the official file."""


def _read(path: Path) -> Answers:
    """Read the official result file, which identifies items by position.

    Its form is ``{subtask: {level_1: [{solvable: text, unsolvable: text}]}}``.

    Raises:
        DataError: the file has another form; the message names each place.
    """
    found: dict[tuple[str, str], Sequence[Turn]] = {}
    problems: list[DataProblem] = []
    whole = Record(_object(parse(read_bytes(path), str(path))), "", problems)
    for subtask in whole.value:
        levels = whole.within(subtask, _object(whole.value[subtask]))
        if subtask not in SCENARIOS or not levels.value:
            expected = f"a subtask ({', '.join(SCENARIOS)}) with an object of levels"
            whole.note("no-subtask", subtask, expected=expected, given=shown(whole.value[subtask]))
            continue
        for level in levels.value:
            if level not in OFFICIAL_LEVELS:
                expected = " or ".join(OFFICIAL_LEVELS)
                levels.note("no-level", level, expected=expected, given=level)
                continue
            for place, pair in enumerate(levels.sequence(level)):
                texts = levels.within(f"{level}[{place}]", _object(pair))
                for twin, text in texts.value.items():
                    if twin not in TWINS or not isinstance(text, str):
                        expected = "the text of the twin solvable or unsolvable"
                        texts.note("wrong-type", twin, expected=expected, given=shown(text))
                        continue
                    key = f"{subtask}-{place}-{twin}", OFFICIAL_LEVELS[level]
                    found[key] = [Turn(Reply(text))]
    if not found and not problems:
        expected = "an object by subtask, as the official code writes it"
        problems.append(DataProblem("no-answer", "", "", expected, "none"))
    if problems:
        raise DataError("the answers cannot be used", problems, origin=str(path))
    return found


def _object(value: JSON) -> dict[str, JSON]:
    return value if isinstance(value, dict) else {}


def _write(traces: Sequence[Trace]) -> Mapping[str, str]:
    """Write the official result file.

    An unanswered item has an empty text, which scores the same; a twin that was not played is
    omitted.

    Raises:
        DataError: a mode or an item does not fit the file.
    """
    official = {ours: level for level, ours in OFFICIAL_LEVELS.items()}
    found: dict[str, dict[str, list[dict[str, str]]]] = {}
    for trace in traces:
        start = trace.started
        subtask, place, twin = start.item.rsplit("-", 2)
        if start.mode not in official:
            message = f"the official file has no place for {start.mode}"
            raise DataError(message, fix=f"export a run of {', '.join(official)} alone")
        pairs = found.setdefault(subtask, {}).setdefault(official[start.mode], [])
        if int(place) > len(pairs):
            raise DataError(
                f"the official file goes by place, and {subtask}-{len(pairs)} was not played in "
                f"{start.mode}, while {start.item} was",
                fix="play all items of a subtask, or the first ones",
            )
        pairs += [{}] if int(place) == len(pairs) else []
        pairs[int(place)][twin] = trace.final_text or ""
    return {"": json.dumps(found, ensure_ascii=False, indent=1) + "\n"}


BINDING = Binding(
    BENCHMARK,
    _prompt,
    Interaction.PLANNING,
    agents={"gold": _gold, "empty": _empty, "always-unsolvable": _always_unsolvable},
    predictions=PredictionFile(_read, _write),
)
