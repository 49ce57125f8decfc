"""The page that tells what fails in a data set: classes, counts, one small example each.

It names items, tools, parameters and values that were drawn; it copies neither source text nor
messages, nor texts longer than a letter, which may come from the data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath

from agents.cli.check_view import Checked, kinds, totals
from sandbox.outcome import JSON
from toolhop_tools.errors import counted
from toolhop_tools.properties.model import (
    NOT_ASKED,
    PROPERTIES,
    CounterExample,
    NotApplicable,
    Subject,
)

LISTED = 12
"""Tools of a class that are named; the rest are counted."""

_MEANS: Mapping[str, str] = {
    "raises": "The document allows the input, and the code stops with an exception.",
    "no result in time": "The document allows the input, and the call does not end in time.",
    "out of memory": "The document allows the input, and the call takes all its memory.",
    "result too large": "The result is longer than a call may return.",
    "returns NaN or Infinity": "The result holds a number that JSON has no word for.",
    "returns": "The result holds what JSON has no form for.",
    "differs from call to call": "Two equal calls in two processes do not agree.",
    "depends on the hash seed": "The result follows the order of a set, which Python shuffles.",
    "order of keys": "The members of an object come in an order that Python shuffles.",
    "takes invalid input": "Input that the document excludes gets an ordinary result.",
    "error without the parameter's name": "The error does not say which parameter is at fault.",
    "no answer to invalid input": "Input that the document excludes gets no answer at all.",
    "changes its arguments": "The code works on the very objects that it was given.",
    "depends on earlier calls": "The code keeps something from one call to the next.",
    "document and signature differ": "Calls that follow the document do not suit the function.",
    "defaults differ": "The document promises another default than the code has.",
    "requires what it does not describe": "A required name is not among the properties.",
    "sample value is invalid": "A default or example breaks the schema that it stands in.",
    "example": "A call that the description shows does not do what it says.",
    "gold call": "The call that should give the sub-answer does not.",
    "no examples can be made": "No arguments can be made for the schema.",
    "nothing executed": "There was nothing left to judge.",
    "the check hangs": "No examples can be made in any time, or a pattern never ends.",
    "the check dies": "The process that made the examples did not survive them.",
    "the check itself fails": "A fault of the checker, not of the tool.",
}


def audit(checked: Checked) -> str:
    """The page as Markdown."""
    return "\n".join([*_head(checked), *_properties(checked), *_classes(checked)]) + "\n"


def _head(checked: Checked) -> Iterator[str]:
    name = _plain(PurePath(checked.data).name)
    tools = len(checked.reports)
    failing = sum(bool(report.failed) for report in checked.reports)
    examples = sum(count["executed"] for count in totals(checked).values())
    yield f"# What fails in {name}"
    yield ""
    flags = f"--examples {checked.count} --seed {checked.seed}"
    if checked.certificates:
        file = _plain(PurePath(checked.certificates).name)
        flags += f" --certificates {file}"
        yield f"Written by `toolhop certify {name} --out {file}` and"
        yield f"`toolhop check {name} {flags} --audit FILE`."
    else:
        yield f"Written by `toolhop check {name} {flags} --audit FILE`."
    yield "[properties.md](properties.md) explains each property and how it is judged."
    yield ""
    yield (
        f"{counted(tools, 'tool')}, {examples:,} executed examples: {failing} tools fail at least "
        f"one property, {tools - failing} hold all that apply to them."
    )
    if checked.problems:
        yield f"{counted(len(checked.problems), 'error')} of the data left rows out."
    yield ""


def _properties(checked: Checked) -> Iterator[str]:
    yield "## By property"
    yield ""
    yield "| property | tools hold | tools fail | not applicable | examples |"
    yield "|---|---:|---:|---:|---:|"
    for name, count in totals(checked).items():
        words = ("holds", "fails", "not applicable", "executed")
        cells = " | ".join(f"{count[one]:,}" for one in words)
        yield f"| {name} | {cells} |"
    yield ""
    yield from _without_gold(checked)


def _without_gold(checked: Checked) -> Iterator[str]:
    """Why gold-call is not applicable to some tools."""
    reasons: dict[str, list[Subject]] = {}
    for report in checked.reports:
        if isinstance(verdict := report.verdicts.get("gold-call"), NotApplicable):
            # Without the item, which the place tells.
            reason = verdict.reason.partition("; item ")[0]
            reasons.setdefault(reason, []).append(report.subject)
    for reason, members in reasons.items():
        yield f"gold-call, {counted(len(members), 'tool')}: {reason}{_named(reason, members)}."
        yield ""


def _named(reason: str, members: list[Subject]) -> str:
    return "" if reason == NOT_ASKED else f" ({', '.join(map(_place, members))})"


def _classes(checked: Checked) -> Iterator[str]:
    found = kinds(checked.reports)
    yield "## By class"
    yield ""
    yield "A tool counts once in each class that it is in, and may be in several."
    yield ""
    yield "| property | class | tools |"
    yield "|---|---|---:|"
    for (name, kind), members in found.items():
        yield f"| {name} | {kind} | {len(members)} |"
    for name in PROPERTIES:
        classes = {kind: members for (own, kind), members in found.items() if own == name}
        if not classes:
            continue
        yield ""
        yield f"### {name}"
        yield ""
        yield PROPERTIES[name]
        for kind, members in classes.items():
            yield ""
            yield from _class(kind, members)


def _class(kind: str, members: list[tuple[Subject, CounterExample]]) -> Iterator[str]:
    means = next((text for start, text in _MEANS.items() if kind.startswith(start)), "")
    yield f"**{kind}** ({counted(len(members), 'tool')}). {means}".rstrip()
    # A shrunk example first, and of those the one with the least in it.
    subject, example = min(members, key=lambda one: (not one[1].shrunk, len(str(one[1].arguments))))
    yield ""
    yield f"- Example: {_place(subject)}, {_in_words(example)}."
    names = [_place(subject) for subject, _ in members[:LISTED]]
    more = f", and {len(members) - LISTED} more" if len(members) > LISTED else ""
    yield f"- Tools: {', '.join(names)}{more}."


def _place(subject: Subject) -> str:
    return f"item {_plain(subject.item)} `{_plain(subject.tool.name)}`"


def _plain(name: str) -> str:
    """A name from the data without what Markdown, or a terminal, would take for a sign."""
    return re.sub(r"[^\w .:@-]", "?", name)[:80]


def _in_words(found: CounterExample) -> str:
    if found.arguments is None:
        return "seen without a call"
    given = [f"`{_plain(name)}` = {_value(value)}" for name, value in found.arguments.items()]
    text = f"called with {', '.join(given)}" if given else "called without arguments"
    if found.about.get("fault"):
        text += f" (the fault: `{found.about['fault']}` at `{_plain(found.about['path']) or '.'}`)"
    if found.earlier:
        same = list(found.earlier) == [found.arguments]
        text += " a second time" if same else f" after {counted(len(found.earlier), 'other call')}"
    return text


def _value(value: JSON) -> str:
    """A value without text that may come from the data."""
    match value:
        case str():
            if len(value) < 2:
                return f'"{value}"' if value.isascii() and value.isprintable() else "one letter"
            return f"a text of {len(value)} letters"
        case list():
            parts = list(dict.fromkeys(_value(part) for part in value))
            return f"[{', '.join(parts)}]" if len(value) < 4 else f"a list of {len(value)}"
        case dict():
            return "{}" if not value else f"an object of {counted(len(value), 'key')}"
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case _:
            return f"{value:.6g}" if isinstance(value, float) else str(value)
