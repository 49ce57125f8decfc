"""Checks that the hops form a chain and that the question can be asked. Pure.

The meaning of a question is judged by readers, who do not see the chain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from toolhop_tools.construct.calls import literals
from toolhop_tools.construct.replies import Decomposition, PlannedHop
from toolhop_tools.construct.seeds import LEAST_HOPS, MOST_HOPS, Seed
from toolhop_tools.construct.stages import Findings, judged
from toolhop_tools.construct.text import REFERENCE, SHORT, references, tells
from toolhop_tools.model import Hop


def plan_findings(plan: Decomposition, seed: Seed) -> Findings:
    """Check a decomposition."""
    hops = plan.hops
    answer = seed.sub_task[-1][1] if seed.sub_task else seed.answer
    return (
        judged("hop-count", _count(len(hops), seed))
        + judged("acyclic", _cycles(hops))
        + judged("references", _referred(hops))
        + judged("each-hop-needed", _unneeded(hops))
        + judged("own-question", _shared(hops))
        + judged("no-answer", leaks([hop.question for hop in hops], answer))
    )


def leaks(questions: Sequence[str], answer: str) -> Iterator[str]:
    """Yield sub-questions that state an answer, once ``{k}`` is filled in.

    A part of what ``{k}`` stands for, such as a first name or a last letter, is not a leak. Whether
    each hop is needed is tested by execution.
    """
    for number, question in enumerate(questions, 1):
        if tells(REFERENCE.sub("", question), answer):
            yield f"The question of hop {number} says {answer!r}, an answer of the chain."


def _count(count: int, seed: Seed) -> Iterator[str]:
    least, most = (LEAST_HOPS, MOST_HOPS) if seed.sub_task else (seed.least, seed.most)
    if not least <= count <= most:
        yield f"There are {count} hops; {least} to {most} are wanted."


def _cycles(hops: Sequence[PlannedHop]) -> Iterator[str]:
    for number, hop in enumerate(hops, 1):
        for other in hop.depends_on:
            if not 1 <= other < number:
                yield f"Hop {number} depends on hop {other}; a hop depends on earlier ones alone."


def _referred(hops: Sequence[PlannedHop]) -> Iterator[str]:
    for number, hop in enumerate(hops, 1):
        named = references(hop.question)
        if sorted(named) != sorted(set(hop.depends_on)):
            yield (
                f"Hop {number} depends on {hop.depends_on} and its question refers to {named}: "
                "write {k} in the question for the answer of each hop k that it depends on."
            )


def _unneeded(hops: Sequence[PlannedHop]) -> Iterator[str]:
    used = {other for hop in hops for other in hop.depends_on}
    for number in range(1, len(hops)):
        if number not in used:
            yield f"No later hop needs the answer of hop {number}; leave it out, or build on it."


def _shared(hops: Sequence[PlannedHop]) -> Iterator[str]:
    first: dict[str, int] = {}
    for number, hop in enumerate(hops, 1):
        text = " ".join(hop.question.casefold().split())
        if first.setdefault(text, number) != number:
            yield f"Hops {first[text]} and {number} ask the same."


def of_answers(seed: Seed) -> Decomposition:
    """Return the plan of a seed's own sub-questions, with references for earlier answers."""
    answers = [answer for _, answer in seed.sub_task]
    texts = [_referring(asked, answers[:at]) for at, (asked, _) in enumerate(seed.sub_task)]
    return Decomposition(
        hops=[PlannedHop(question=text, depends_on=sorted(references(text))) for text in texts]
    )


def _referring(question: str, earlier: Sequence[str]) -> str:
    """Replace earlier answers in a question by references.

    Longer spellings are replaced first, so that no part of one is mistaken for another answer. If
    several hops share an answer, its n mentions refer to the last n of these hops, in order.
    """
    by_spelling: dict[str, list[int]] = {}
    for number, answer in enumerate(earlier, 1):
        # The answer, and its short form without anything after a comma or bracket.
        short = answer.split(",")[0].split(" (")[0].strip()
        for spelling in filter(None, dict.fromkeys((answer, short))):
            by_spelling.setdefault(spelling, []).append(number)
    for spelling, numbers in sorted(by_spelling.items(), key=lambda row: -len(row[0])):
        flags = 0 if len(spelling) <= SHORT else re.IGNORECASE
        whole = re.compile(rf"(?<![\w{{]){re.escape(spelling)}(?!\w)", flags)
        count = len(whole.findall(question))
        for hop in [*numbers[-count:], *numbers[-1:] * count][:count]:
            question = whole.sub(f"{{{hop}}}", question, count=1)
    return question


# -- the question --------------------------------------------------------------------------------

SHORTEST, LONGEST = 15, 1_500
"""Minimum and maximum length of a question, in characters."""


def question_findings(question: str, hops: Sequence[Hop]) -> Findings:
    """Check a question; the hops' gold calls have ``{k}`` for earlier answers."""
    return (
        judged("a-question", _form(question))
        + judged("no-answer", _given_away(question, hops))
        + judged("no-tool-name", _tools(question, hops))
    )


def _form(question: str) -> Iterator[str]:
    if not SHORTEST <= len(question) <= LONGEST or "\n" in question.strip():
        yield f"Write one or two sentences on one line, of {SHORTEST} to {LONGEST:,} characters."
    if references(question):
        yield "It refers to hops by number; describe what is meant."


def _given_away(question: str, hops: Sequence[Hop]) -> Iterator[str]:
    """Report the last answer wherever it occurs, and other answers outside the values of calls."""
    rest = question
    for hop in hops:
        for value in literals(hop.gold.arguments if hop.gold else {}, frozenset()):
            rest = rest.replace(value, "") if len(value) > SHORT else rest
    for number, hop in enumerate(hops, 1):
        if tells(question if number == len(hops) else rest, hop.answer):
            yield f"It says {hop.answer!r}, the answer of hop {number}."


def _tools(question: str, hops: Sequence[Hop]) -> Iterator[str]:
    for hop in hops:
        if "_" in hop.tool.name and hop.tool.name in question.casefold():
            yield f"It names the tool {hop.tool.name}: ask for what the tool finds."
