"""Criteria for a nested task and its text, detection of duplicates, and a rule-based text. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.accept import Judged
from toolhop_tools.construct.duplicates import Against
from toolhop_tools.construct.nested.model import MARK, Api, Nest, in_words
from toolhop_tools.construct.replies import ReplyModel, Text
from toolhop_tools.construct.stages import Findings, judged
from toolhop_tools.construct.text import says
from toolhop_tools.model import Item, canonical
from toolhop_tools.words import as_text, words

SHORTEST, LONGEST = 20, 6000
SHORT = 2
"""Length up to which a result may occur in a text by chance, in characters."""
_MARKS = re.compile(rf"{MARK}\w*|\bdata\d+\b")
"""Placeholders, and variable names from code."""


class Judgement(ReplyModel):
    """A verdict on whether a response is what a parameter asks for."""

    reference: int
    meant: bool
    why: str


class Judgements(ReplyModel):
    """A verdict for each reference."""

    references: list[Judgement]


class TaskText(ReplyModel):
    """The text of a task."""

    task: Text


class NestCriterion(Judged):
    """A condition that a nested task must meet."""

    CHECKED = "code-checked"
    """For a task written as code: the tools and calls pass every check."""
    FORM = "form"
    """Depth and width are as requested, by our count and by the released code's."""
    EXECUTED = "executed"
    """Each call was run with the results of earlier calls."""
    MEANING = "meaning"
    """Each reference has a reason."""
    TEXT = "text"
    """The text states every value, but no tool name and no result."""
    READ = "read"
    """Readers derived the same calls from the text: every F1 of the strict scorer is 1."""
    SCORED = "gold-scored"
    """The gold calls score 100 in every measure of both scorers."""


def plain_task(nest: Nest) -> str:
    """Return a rule-based text: one step per call, in order, each with its values in quotes.

    It is dull and reveals the order of the calls, so a model should rewrite it.
    """

    def shown(value: JSON) -> str:
        if isinstance(value, str) and value in nest.sources:
            at, name = nest.sources[value]
            return f"the {in_words(name)} of step {at + 1}"
        if isinstance(value, list):
            return " and ".join(map(shown, value)) if value else "none"
        return f'"{value}"' if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    steps = []
    for at, call in enumerate(nest.calls, 1):
        given = "; ".join(f"{in_words(k)}: {shown(v)}" for k, v in call.parameters.items())
        steps.append(f"Step {at}. Find {wanted(nest.by_name[call.api])} ({given or 'no values'}).")
    return " ".join(steps)


def wanted(api: Api) -> str:
    """Return the purpose of a tool: its responses."""
    return " and ".join(field.description for field in api.responses.values())


def task_findings(task: str, nest: Nest, results: Sequence[JSON] = ()) -> Findings:
    """Check that a text has every value, and no tool name, placeholder or result.

    `results` are values that one call returned and another took.
    """
    run_together = task.casefold().replace("_", "").replace("-", "")
    named = [name for name in nest.by_name if "_" in name]
    names = [f"It names the tool {name}; say what is wanted in other words." for name in named
             if name.casefold().replace("_", "") in run_together]  # fmt: skip
    marked = [f"It says {found[0]}; describe what an earlier step gives."
              for found in _MARKS.finditer(task)]  # fmt: skip
    length = [f"The text has {len(task)} letters; {SHORTEST} to {LONGEST} are wanted."]
    return (
        judged("length", [] if SHORTEST <= len(task) <= LONGEST else length)
        + judged("values-said", _lacking(task, nest))
        + judged("no-tool-name", names)
        + judged("no-placeholder", marked)
        + judged("no-result", _given_away(task, nest, results))
    )


def _lacking(task: str, nest: Nest) -> Iterator[str]:
    for at, name, value in nest.literals():
        if not isinstance(value, bool) and not _said_in(task, value):
            api = nest.calls[at].api
            yield f"It does not say {as_text(value)!r}, the {in_words(name)} of {api}."


def _said_in(task: str, value: JSON) -> bool:
    """Whether a text states a value: words in any case, numbers in digits."""
    forms = {as_text(value), as_text(value).replace("_", " ")}
    if isinstance(value, int | float):
        forms |= {f"{value:,}", f"{value:g}"}
        forms |= {f"{value:.0f}", f"{value:,.0f}"} if value == int(value) else set()
    return any(says(task, form) if any(map(str.isalnum, form)) else form in task for form in forms)


def _given_away(task: str, nest: Nest, results: Sequence[JSON]) -> Iterator[str]:
    own = {as_text(value) for _, _, value in nest.literals()}
    about = " ".join(map(wanted, nest.apis))
    for value in results:
        text = as_text(value) if not isinstance(value, dict | list | bool) else ""
        if len(text) > SHORT and text not in own and says(task, text) and not says(about, text):
            yield f"It says {text!r}, which a call gives."


def duplicates(rows: Sequence[tuple[str, Mapping[str, Any]]], against: Against) -> dict[str, str]:
    """Return, by id, what each duplicate task repeats; the task repeated is not listed.

    `rows` are pairs of an id and an official row.
    """
    same: dict[str, str] = {}
    seen: dict[str, str] = {}
    for name, row in rows:
        nest = Nest.from_row(row)
        calls = sorted(f"{call.api} {canonical(call.parameters)}" for call in nest.calls)
        keys = {f"the text of {' '.join(words(nest.task))}": "the text of",
                f"the calls of {canonical(calls)}": "the calls of"}  # fmt: skip
        before = [f"{how} {seen[key]}" for key, how in keys.items() if key in seen]
        if overlap := against.overlap(Item(name, nest.task, "", (), "", "calls")):
            before.insert(0, f"like a test set: {overlap}")
        if before:
            same[name] = before[0]
        else:
            seen |= dict.fromkeys(keys, name)
    return same
