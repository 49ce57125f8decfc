"""Whether a question can be asked at all: its form, and that it gives nothing away. Pure.

What it means is read by readers, who see it without the chain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolhop_tools.construct.calls import literals
from toolhop_tools.construct.stages import Findings, judged
from toolhop_tools.construct.text import SHORT, references, tells
from toolhop_tools.model import Hop

SHORTEST, LONGEST = 15, 1_500
"""Characters of a question."""


def question_findings(question: str, hops: Sequence[Hop]) -> Findings:
    """The checks of a question; the hops' gold calls hold ``{k}`` for earlier answers."""
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
    """The last answer anywhere; others beside the values that calls need, which may hold them."""
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
