"""Stage Q: whether the question of an item says all it has to, and nothing that it must not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolhop_tools.construct.calls import literals
from toolhop_tools.construct.code import choices
from toolhop_tools.construct.stages import Findings, judged
from toolhop_tools.construct.text import references, says
from toolhop_tools.model import Hop

SHORTEST = 15


def question_findings(question: str, hops: Sequence[Hop]) -> Findings:
    """The checks of a question; the hops' gold calls hold ``{k}`` for earlier answers."""
    return (
        judged("a-question", _form(question))
        + judged("holds-every-value", _lacking(question, hops))
        + judged("no-sub-answer", _given_away(question, hops))
        + judged("no-tool-name", _tools(question, hops))
    )


def _form(question: str) -> Iterator[str]:
    if len(question) < SHORTEST or "?" not in question:
        yield "It is no question: write one or two sentences, with a question mark."
    if references(question):
        yield "It refers to hops by number; describe what is meant."


def _lacking(question: str, hops: Sequence[Hop]) -> Iterator[str]:
    for number, hop in enumerate(hops, 1):
        options = frozenset(name for name, _ in choices(hop.tool.schema.parameters))
        for value in literals(hop.gold.arguments if hop.gold else {}, options):
            if not says(question, value) and not _default(hop, value):
                yield f"It does not say {value!r}, which the call of hop {number} needs."


def _default(hop: Hop, value: str) -> bool:
    properties = hop.tool.schema.parameters.get("properties")
    known = properties.values() if isinstance(properties, dict) else ()
    return any(isinstance(one, dict) and str(one.get("default")) == value for one in known)


def _given_away(question: str, hops: Sequence[Hop]) -> Iterator[str]:
    for number, hop in enumerate(hops, 1):
        if says(question, hop.answer):
            yield f"It says {hop.answer!r}, the answer of hop {number}."


def _tools(question: str, hops: Sequence[Hop]) -> Iterator[str]:
    for hop in hops:
        name = hop.tool.name
        if name in question.casefold() or ("_" in name and says(question, name.replace("_", " "))):
            yield f"It names the tool {name}."
