"""Stage D: whether the hops of a question are a chain that has to be walked. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from toolhop_tools.construct.giveaway import gives_away
from toolhop_tools.construct.orders import orders
from toolhop_tools.construct.replies import Decomposition, PlannedHop
from toolhop_tools.construct.seeds import LEAST_HOPS, MOST_HOPS, Seed
from toolhop_tools.construct.stages import Findings, judged
from toolhop_tools.construct.text import REFERENCE, SHORT, references, says


def plan_findings(plan: Decomposition, seed: Seed) -> Findings:
    """The checks of a decomposition."""
    hops = plan.hops
    answers = [answer for _, answer in seed.sub_task]
    return (
        judged("hop-count", _count(len(hops), seed))
        + judged("acyclic", _cycles(hops))
        + judged("references", _references(hops))
        + judged("braces", _braces(hops))
        + judged("each-hop-needed", _unneeded(hops))
        + judged("own-question", _shared(hops))
        + judged("no-order", orders((hop.question for hop in hops), "A sub-question"))
        + judged("no-later-answer", _given_away(hops, answers))
    )


def _count(count: int, seed: Seed) -> Iterator[str]:
    least, most = max(seed.least, LEAST_HOPS), min(seed.most, MOST_HOPS)
    if seed.sub_task:
        least, most = LEAST_HOPS, MOST_HOPS
    if not least <= count <= most:
        yield f"There are {count} hops; {least} to {most} are wanted."


def _cycles(hops: Sequence[PlannedHop]) -> Iterator[str]:
    for number, hop in enumerate(hops, 1):
        for other in hop.depends_on:
            if not 1 <= other < number:
                yield (
                    f"Hop {number} depends on hop {other}; a hop can depend on earlier ones alone, "
                    f"numbered from 1."
                )


def _references(hops: Sequence[PlannedHop]) -> Iterator[str]:
    for number, hop in enumerate(hops, 1):
        named = references(hop.question)
        if sorted(named) != sorted(set(hop.depends_on)):
            yield (
                f"Hop {number} depends on {hop.depends_on} and its question refers to {named}: "
                "write {k} in the question for the answer of each hop k that it depends on."
            )


def _braces(hops: Sequence[PlannedHop]) -> Iterator[str]:
    for number, hop in enumerate(hops, 1):
        if re.search(r"[{}]", REFERENCE.sub("", hop.question)):
            yield f"The question of hop {number} has braces beside those of {{k}}; leave them out."


def _unneeded(hops: Sequence[PlannedHop]) -> Iterator[str]:
    used = {other for hop in hops for other in hop.depends_on}
    for number in range(1, len(hops)):
        if number not in used:
            yield f"No later hop needs the answer of hop {number}; leave it out, or build on it."


def _shared(hops: Sequence[PlannedHop]) -> Iterator[str]:
    seen: dict[str, int] = {}
    for number, hop in enumerate(hops, 1):
        text = " ".join(hop.question.casefold().split())
        if text in seen:
            yield f"Hops {seen[text]} and {number} ask the same."
        seen.setdefault(text, number)


def _given_away(hops: Sequence[PlannedHop], answers: Sequence[str]) -> Iterator[str]:
    for number, hop in enumerate(hops, 1):
        for at, answer in enumerate(answers[: len(hops)], 1):
            if gives_away(hop.question, answer):
                yield f"The question of hop {number} holds {answer!r}, the answer of hop {at}."


def of_answers(seed: Seed) -> Decomposition:
    """The plan that a seed's own sub-questions make: an earlier answer in one is a reference.

    The longest answer is taken first, so that no part of it is taken for another one.
    """
    hops: list[PlannedHop] = []
    for at, (question, _) in enumerate(seed.sub_task):
        earlier = [(answer, k) for k, (_, answer) in enumerate(seed.sub_task[:at], 1)]
        needed = []
        for answer, number in sorted(earlier, key=lambda one: -len(one[0])):
            if answer and says(question, answer):
                question = _referring(question, answer, number)
                needed.append(number)
        hops.append(PlannedHop(question=question, depends_on=sorted(needed)))
    return Decomposition(hops=hops)


def _referring(question: str, answer: str, number: int) -> str:
    flags = 0 if len(answer) <= SHORT else re.IGNORECASE
    whole = rf"(?<![\w{{]){re.escape(answer)}(?!\w)"
    return re.sub(whole, f"{{{number}}}", question, count=1, flags=flags)
