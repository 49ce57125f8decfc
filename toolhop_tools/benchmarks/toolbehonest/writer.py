"""Write ToolBeHonest's file from scenario items; the reader module reads its rows.

A row is a pair: an unsolvable item and its solvable sibling. The plan has the displayed tool of
each hop, then ``Finish``; the unsolvable plan has ``UnsolvableQuery`` for a hop without its tool.

| subtask | scenario |
|---|---|
| single_step | missing-single |
| multi_step_wo_rep | missing-tool, missing-repeated: no tool is used twice in the plan |
| multi_step_w_rep | the same, if a tool is used twice |
| os, web | potential-tool, depending on the surroundings that its text describes |
| iter | limited-steps |
| best | limited-clones |
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from toolhop_sandbox.outcome import JSON
from toolhop_tools.benchmarks.toolbehonest.reader import SCENARIOS, UNSOLVABLE
from toolhop_tools.leaves import leaves
from toolhop_tools.model import Tool
from toolhop_tools.scenarios.families import (
    ORIGINS,
    Family,
    Files,
    Labelled,
    Reason,
    as_lines,
    as_rows,
    reads_like,
)
from toolhop_tools.scenarios.label import TOOLBEHONEST, Scenario
from toolhop_tools.scenarios.masking import spans
from toolhop_tools.scenarios.missing import surroundings
from toolhop_tools.scenarios.scene import gold_of
from toolhop_tools.varied import most_varied
from toolhop_tools.words import as_text

FILE = "made_en.json"
"""Name of the file. The published names are reserved for the published files, whose size is
known."""
FINISH = "Finish"
OWN = {
    FINISH: "Ends the task.",
    UNSOLVABLE: "Says that no tool here can do the task, or a step of it.",
}
"""Tools at the end of every list."""


@dataclass(frozen=True, slots=True)
class _Pair:
    subtask: str
    unsolvable: Labelled
    solvable: Labelled
    left: Mapping[str, Tool]
    """Tools of the unsolvable list (`left`) and of the solvable one (`whole`)."""
    whole: Mapping[str, Tool]


def used(family: Family) -> list[Labelled]:
    """Return the items of a family that become rows."""
    found: dict[str, Labelled] = {}
    for kind in TOOLBEHONEST:
        if (one := family.own(kind)) and (twin := family.twin(one)):
            found |= {each.item.id: each for each in (one, twin)}
    return list(found.values())


def write(found: Iterable[Family], *, most: int | None = None) -> Files:
    """Build the file and the origin of each row; rows are grouped by subtask.

    Args:
        found: the families made.
        most: rows to keep per subtask, those that differ most; all if None.
    """
    files, rows = Files(data=(FILE,)), dict[str, list[tuple[dict[str, JSON], _Pair]]]()
    for family in found:
        for kind in TOOLBEHONEST:
            one = family.own(kind)
            if one is None:
                continue
            pair = _paired(family, one)
            if isinstance(pair, Reason):
                files.leave(kind, pair)
                continue
            row, known = _row(pair), rows.setdefault(pair.subtask, [])
            if any(row == other for other, _ in known):
                files.leave(kind, Reason.SAME_ROW)
            else:
                known.append((row, pair))
    if most is not None:
        for subtask, known in rows.items():
            texts = [[str(row["task"]), str(row["tools"])] for row, _ in known]
            rows[subtask] = [known[n] for n in most_varied(texts, most)]
    ordered = [each for subtask in SCENARIOS for each in rows.get(subtask, [])]
    files.rows.update({subtask: len(rows.get(subtask, [])) for subtask in SCENARIOS})
    files.texts[FILE] = as_rows(row for row, _ in ordered)
    files.texts[ORIGINS] = as_lines(
        _origin(pair, number)
        for subtask in SCENARIOS
        for number, (_, pair) in enumerate(rows.get(subtask, []))
    )
    return files


def _paired(family: Family, one: Labelled) -> _Pair | Reason:
    twin = family.twin(one)
    if twin is None:
        return Reason.NO_TWIN
    if {*one.available, *twin.available} & OWN.keys():
        return Reason.NAME
    kind = one.label.scenario
    if kind is Scenario.LIMITED_CLONES and not all(
        _says(twin, number - 1) for number in one.label.lost
    ):
        return Reason.UNSEEN_LIMIT
    own = [hop.tool for hop in twin.item.hops]
    if any(a.name != b.name and reads_like(a, b) for a, b in itertools.combinations(own, 2)):
        return Reason.ALIKE
    # Clones may read alike: they differ in the limits that their text states.
    free = {*twin.hop_tools, *(twin.shown if kind is Scenario.LIMITED_CLONES else ())}
    kept = {
        name: tool
        for name, tool in twin.available.items()
        if name in free
        or (name in one.available and not any(reads_like(tool, each) for each in own))
    }
    left = {name: tool for name, tool in one.available.items() if name in kept}
    if not left:
        return Reason.NO_OTHER
    return _Pair(_subtask(one, twin), one, twin, left, kept)


def _subtask(one: Labelled, twin: Labelled) -> str:
    match one.label.scenario:
        case Scenario.MISSING_SINGLE:
            return "single_step"
        case Scenario.POTENTIAL_TOOL:
            return surroundings(one.label.decoys)
        case Scenario.LIMITED_STEPS:
            return "iter"
        case Scenario.LIMITED_CLONES:
            return "best"
        case _:
            repeats = len({*twin.hop_tools}) < len(twin.hop_tools)
            return "multi_step_w_rep" if repeats else "multi_step_wo_rep"


def _says(one: Labelled, at: int) -> bool:
    """Whether the task states each value that a hop (from 0) passes: then limits are visible."""
    hop, text = one.item.hops[at], _task(one)
    about = [
        leaf.value
        for leaf in leaves(hop.tool.schema.parameters, gold_of(hop).arguments)
        if not leaf.is_option
    ]
    return all(isinstance(value, str | int | float) and spans(text, value) for value in about)


def _row(pair: _Pair) -> dict[str, JSON]:
    solvable, unsolvable = pair.solvable, pair.unsolvable
    gone = [
        UNSOLVABLE if number in unsolvable.label.lost else name
        for number, name in enumerate(unsolvable.hop_tools, start=1)
    ]
    plans: list[list[JSON]] = [[*solvable.hop_tools, FINISH], [*gone, FINISH]]
    return {
        "subtask": pair.subtask,
        "task": _task(solvable),
        "tools": _tools(pair.whole, {}),
        "unsolvable_task": _task(unsolvable),
        "unsolvable_tools": _tools(pair.left, pair.whole),
        "planning_tools": plans[0],
        "planning_tools_unsolvable": plans[1],
    }


def _task(one: Labelled) -> str:
    """Return the question, then the steps, one per line; only the question if there is one step."""
    hops = [" ".join(hop.question.split()) for hop in one.item.hops]
    steps = [f"{number}. {text}" for number, text in enumerate(hops, start=1)]
    return "\n".join([" ".join(one.item.question.split()), *(steps if len(steps) > 1 else ())])


def _tools(shown: Mapping[str, Tool], wider: Mapping[str, Tool]) -> str:
    about = {name: _about(tool, wider.get(name)) for name, tool in shown.items()} | OWN
    return "\n".join(f"{n}. {name}: {text}" for n, (name, text) in enumerate(about.items(), 1))


def _about(tool: Tool, wider: Tool | None) -> str:
    """Describe a tool in one line: its description, and the choices of its parameters.

    Args:
        tool: the tool to describe.
        wider: the same tool in the twin: choices that only it has are listed as excluded.
    """
    parts, others = [_sentence(tool.schema.description)], _choices(wider) if wider else {}
    for name, values in _choices(tool).items():
        gone = [one for one in others.get(name, ()) if one not in values]
        without = f"; not {', '.join(gone)}" if gone else ""
        parts.append(f"{name}: one of {', '.join(values)}{without}.")
    return " ".join(parts)


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return text if text.endswith((".", "!", "?")) or not text else f"{text}."


def _choices(tool: Tool) -> dict[str, Sequence[str]]:
    """Return the choices that the schema lists for each parameter or its elements."""
    properties, found = tool.schema.parameters.get("properties"), dict[str, Sequence[str]]()
    for name, schema in properties.items() if isinstance(properties, dict) else ():
        inner = schema.get("items") if isinstance(schema, dict) else None
        for each in (schema, inner):
            listed = each.get("enum") if isinstance(each, dict) else None
            if isinstance(listed, list) and name not in found:
                found[name] = [as_text(one) for one in listed]
    return found


def _origin(pair: _Pair, number: int) -> dict[str, JSON]:
    label = pair.unsolvable.label
    lost: list[JSON] = [*label.lost]
    return {
        "row": f"{pair.subtask}-{number}",
        "family": label.family,
        "scenario": label.scenario.value,
        "solvable": pair.solvable.item.id,
        "unsolvable": pair.unsolvable.item.id,
        "lost": lost,
        "tools_tried_in_vain": label.checks.tools,
    }
