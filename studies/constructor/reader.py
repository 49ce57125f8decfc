"""A scripted reader: it knows which question the scripted constructor writes for which calls.

It reads nothing: it looks the question up among those that the constructor can write, and plans
the calls that were meant. It shows the mechanism and no rate of reading.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from studies.constructor.atlas import THEMES, Journey, journey
from studies.constructor.honest import LOOKUPS, table_of

MOST_NUMBER = 130
"""Items of a domain that are known, by their number."""
Steps = list[dict[str, Any]]


def plan_of(plan: Journey, start: str) -> Steps:
    """The calls of a journey."""
    steps: Steps = []
    for hop in range(1, LOOKUPS + 1):
        name, key, _, _ = table_of(plan, hop)
        arguments: dict[str, Any] = {key: start if hop == 1 else "{1}"}
        steps.append({"tool": name, "arguments": arguments, "answer_path": []})
    for hop, (step, drawn) in enumerate(plan.steps, LOOKUPS):
        arguments = {step.argument: f"{{{hop}}}"} | ({step.drawn[0]: drawn} if step.drawn else {})
        steps.append({"tool": step.tool, "arguments": arguments, "answer_path": []})
    return steps


def honest(question: str) -> str:
    """The plan that a question was written for; what is not known is not given."""
    for known in _journeys():
        names = [str(record[known.theme.first]) for record in known.first]
        for start in (name for name in names if name in question):
            for changed in _variants(known, question):
                if changed.question(start) == question:
                    steps = plan_of(changed, start)
                    # The default of the tool is the field that the item asks for.
                    if changed.attribute != known.attribute:
                        steps[1]["arguments"]["field"] = changed.attribute.field
                    return json.dumps({"steps": steps}, ensure_ascii=False)
    return json.dumps({"not_given": f"No tool gives this: {question[:200]}"})


def _variants(plan: Journey, question: str) -> Iterator[Journey]:
    """The journey with other fields, and with each number of the question where one is drawn."""
    words = question.replace("?", " ").split()
    numbers = [int(word) for word in words if word.lstrip("-").isdecimal()] or [0]
    for attribute in plan.theme.attributes:
        for drawn in numbers:
            steps = tuple((step, drawn if step.drawn else 0) for step, _ in plan.steps)
            yield replace(plan, attribute=attribute, steps=steps)


@cache
def _journeys() -> Sequence[Journey]:
    domains = dict.fromkeys(["General", *(theme.domain for theme in THEMES)])
    return [
        journey(f"{domain.lower()}-{number}", domain)
        for domain in domains
        for number in range(1, MOST_NUMBER + 1)
    ]


def _wrong(question: str) -> str:
    """The calls that are meant, begun with another name."""
    plan = json.loads(honest(question))
    for known in _journeys() if plan.get("steps") else ():
        key, first = known.theme.first, plan["steps"][0]["arguments"]
        names = [str(record[key]) for record in known.first]
        if first.get(key) in names:
            first[key] = names[names.index(first[key]) - 1]
            return json.dumps(plan, ensure_ascii=False)
    return json.dumps(plan, ensure_ascii=False)


def _refuses(question: str) -> str:
    return json.dumps({"not_given": f"Nothing of this is given: {question}"})


def _malformed(question: str) -> str:
    return f"I would begin at the beginning of: {question}"


READERS: Mapping[str, Callable[[str], str]] = {
    "wrong": _wrong,
    "refuses": _refuses,
    "malformed": _malformed,
}
"""Readers that err, by name."""
