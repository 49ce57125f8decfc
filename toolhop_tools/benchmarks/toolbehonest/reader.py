"""ToolBeHonest's data files (`test_en.json`, `test_zh.json`): one list of objects, each a task in a
solvable and an unsolvable version.

An object becomes two items, called twins, which share a family: ``os-3-solvable`` and
``os-3-unsolvable`` of the family ``os-3``. The number is the object's index (from 0) within its
subtask, as in the official result files. Tools are text: they are shown and never called, so an
item has none; its question contains the task and the list of tools in the form of the paper's
prompts (appendix A.4).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from toolhop_sandbox.outcome import JSON
from toolhop_tools.errors import DataProblem, counted, shown
from toolhop_tools.model import DataSet, Item
from toolhop_tools.readers.datafile import fields_of, parse_list
from toolhop_tools.readers.fetch import Pin, Source
from toolhop_tools.readers.reader import Reader
from toolhop_tools.readers.record import Record, Survey

NAME = "toolbehonest"
UNSOLVABLE = "UnsolvableQuery"
"""The tool that reports that no other tool fits; every official tool table has it, listed or
not."""
SCENARIOS: Mapping[str, str] = {
    "single_step": "MNT", "multi_step_wo_rep": "MNT", "multi_step_w_rep": "MNT",
    "os": "PT", "web": "PT", "iter": "LFT", "best": "LFT",
}  # fmt: skip
"""The paper's scenario by subtask: missing necessary tools, potential tools, limited
functionality tools (section 3.3)."""
TEXTS = ("task", "tools", "unsolvable_task", "unsolvable_tools")
PLANS = ("planning_tools", "planning_tools_unsolvable")

_TOOL = re.compile(r"\d+\. ?([^:：\n]+)[:：] ?(.*)")
_HAN = re.compile(r"[\u4e00-\u9fff]")


def tool_table(text: str) -> dict[str, str]:
    """Parse a list of tools with lines ``1. Name: description`` into descriptions by name.

    As in the official code, the last of two tools with the same name counts.
    """
    return dict(_TOOL.findall(text))


def without_finish(plan: Sequence[str]) -> list[str]:
    """Return a plan without its final ``Finish``."""
    return [*plan[:-1]] if plan and plan[-1].lower() == "finish" else [*plan]


@dataclass(frozen=True, slots=True)
class _Pair:
    """The twins made from one object."""

    family: str
    subtask: str
    texts: Mapping[str, str]
    plans: Mapping[str, Sequence[str]]
    extra: Mapping[str, JSON]


def survey(path: Path, *, name: str = "") -> Survey:
    """Read a file in the published format, broken rows included.

    Raises:
        DataError: no rows could be read from the file.
    """
    origin = str(path)
    rows = parse_list(path, _mistaken)
    pairs: list[_Pair] = []
    problems: list[DataProblem] = []
    places: Counter[str] = Counter()
    seen: dict[str, str] = {}
    for where, row in rows:
        record = Record(row if isinstance(row, dict) else {}, where)
        if isinstance(row, dict):
            pair = _pair(record, places)
            first = seen.setdefault(json.dumps(row, sort_keys=True), where)
            if first != where:
                given = f"the same as {first}: the official code scores {first} in its place"
                _find(record, "same-row", "", "a task of its own", given)
            pairs += [pair] if not record.errors else []
        else:
            record.note("wrong-type", "", expected="an object", given=shown(row))
        problems += record.notes
    problems += _whole_file(path, pairs)
    known = _subtask_tools(pairs)
    items = [item for pair in pairs for item in _twins(pair, known[pair.subtask])]
    return Survey(DataSet(name or path.stem, origin, tuple(items)), tuple(problems))


PUBLISHED_PAIRS = 50
"""Pairs per subtask in the published files."""


def _mistaken(whole: dict[str, JSON]) -> str:
    found = whole.keys() & SCENARIOS.keys()
    return "results by subtask: play them by --agent predictions:FILE" if found else ""


def _language(text: str) -> str:
    return "zh" if _HAN.search(text) else "en"


def _whole_file(path: Path, pairs: Sequence[_Pair]) -> list[DataProblem]:
    """Report how a file with a published name differs from the published one."""
    found = []
    named = path.stem.removeprefix("test_")
    if path.stem not in {"test_en", "test_zh"}:
        return []
    other = [one.family for one in pairs if _language(one.texts["task"]) != named]
    if other:
        given = f"{counted(len(other), 'task')} in the other language, such as {other[0]}"
        expected = f"tasks in the language of the file's name ({named})"
        found.append(DataProblem("other-language", "", "task", expected, given, "finding"))
    counts = {name: sum(one.subtask == name for one in pairs) for name in SCENARIOS}
    if any(count != PUBLISHED_PAIRS for count in counts.values()):
        given = ", ".join(f"{name} {count}" for name, count in counts.items())
        expected = f"{PUBLISHED_PAIRS} pairs of each subtask, as published"
        found.append(DataProblem("not-the-whole", "", "subtask", expected, given, "finding"))
    return found


def _pair(row: Record, places: Counter[str]) -> _Pair:
    subtask = row.text("subtask")
    if subtask and subtask not in SCENARIOS:
        expected = f"one of {', '.join(SCENARIOS)}"
        row.note("unknown-subtask", "subtask", expected=expected, given=shown(subtask))
    family = f"{subtask}-{places[subtask]}"
    places[subtask] += 1
    texts = {name: row.text(name) for name in TEXTS}
    plans = {name: _plan(row, name) for name in PLANS}
    for name in ("tools", "unsolvable_tools"):
        if texts[name] and not tool_table(texts[name]):
            expected = "lines as `1. Name: description`"
            row.note("no-tool", name, expected=expected, given=shown(texts[name]))
    if not row.errors:
        _check_golds(replace(row, where=f"{row.where} ({family})"), texts, plans)
    used = {"subtask", *TEXTS, *PLANS}
    extra = {key: value for key, value in row.value.items() if key not in used}
    return _Pair(family, subtask, texts, plans, extra)


def _plan(row: Record, name: str) -> Sequence[str]:
    steps = row.sequence(name)
    for number, step in enumerate(steps):
        if not isinstance(step, str) or not step.strip():
            row.note("wrong-type", f"{name}[{number}]", expected="a tool's name", given=shown(step))
    plan = [step for step in steps if isinstance(step, str)]
    if plan and not without_finish(plan):
        row.note("empty-plan", name, expected="a step beside Finish", given=shown(plan[0]))
    return plan


def _check_golds(row: Record, texts: Mapping[str, str], plans: Mapping[str, Sequence[str]]) -> None:
    """Note golds that no plan can reach, and those on which the official code raises."""
    tables = {name: tool_table(texts[name]) for name in ("tools", "unsolvable_tools")}
    for name, tools in zip(PLANS, tables, strict=True):
        for number, step in enumerate(without_finish(plans[name])):
            if step != UNSOLVABLE and step not in tables[tools]:
                expected = f"a tool that {tools!r} lists"
                _find(row, "unknown-tool", f"{name}[{number}]", expected, shown(step))
    solvable, unsolvable = (without_finish(plans[name]) for name in PLANS)
    if UNSOLVABLE not in unsolvable:
        _find(row, "never-unsolvable", PLANS[1], f"a step {UNSOLVABLE}", "none")
    for number, step in enumerate(unsolvable):
        removed = solvable[number] if number < len(solvable) else None
        if step == UNSOLVABLE and removed not in tables["tools"]:
            given = shown(removed) if removed else "no such step"
            expected = f"a tool of 'tools' at the same place of {PLANS[0]!r}"
            _find(row, "no-missing-tool", f"{PLANS[1]}[{number}]", expected, given)


def _find(row: Record, rule: str, place: str, expected: str, given: str) -> None:
    row.note(rule, place, expected=expected, given=given, level="finding")


def _subtask_tools(pairs: Sequence[_Pair]) -> dict[str, list[JSON]]:
    """Return by subtask the tools of all its solvable versions, without duplicate descriptions."""
    found: dict[str, dict[str, str]] = {}
    for pair in pairs:
        for name, description in _TOOL.findall(pair.texts["tools"]):
            found.setdefault(pair.subtask, {}).setdefault(description, name)
    return {
        subtask: [[name, description] for description, name in tools.items()]
        for subtask, tools in found.items()
    }


def _twins(pair: _Pair, subtask_tools: list[JSON]) -> list[Item]:
    shared: dict[str, Any] = {
        "family": pair.family,
        "subtask": pair.subtask,
        "solvable_plan": without_finish(pair.plans["planning_tools"]),
        "tools": tool_table(pair.texts["tools"]),
    }
    twins = []
    for twin, prefix, plan in (("solvable", "", PLANS[0]), ("unsolvable", "unsolvable_", PLANS[1])):
        task, tools = pair.texts[f"{prefix}task"], pair.texts[f"{prefix}tools"]
        gold = {
            **shared,
            "solvable": twin == "solvable",
            "plan": without_finish(pair.plans[plan]),
            "own_tools": list(tool_table(tools)),
            # Only needed if a missing tool must be described; the list is long.
            "subtask_tools": subtask_tools if twin == "unsolvable" else [],
        }
        # The format of the official prompts.
        question = f"<task>\n{task}\n</task>\n<provided_tools>\n{tools}\n</provided_tools>"
        extra = {**pair.extra, "language": _language(task)}
        twins.append(
            Item(f"{pair.family}-{twin}", question, "", (), pair.subtask, twin,
                 extra=extra, benchmark=NAME, gold=gold)
        )  # fmt: skip
    return twins


def _survey(path: str, *, last_wins: bool) -> Survey:
    del last_wins
    return survey(Path(path) if path else SOURCE.here(), name=NAME)


ENGLISH = Pin("Joelzhang/ToolBeHonest", "main", "test_en.json")
CHINESE = replace(ENGLISH, path="test_zh.json")
SOURCE = Source(NAME, (ENGLISH, CHINESE), "MIT", main=ENGLISH.name)
READER = Reader(
    "ToolBeHonest's test_en.json",
    _survey,
    SOURCE,
    fits=lambda path: fields_of(path) >= {"subtask", "unsolvable_task"},
)
