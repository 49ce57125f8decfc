"""Stage Q: whether the question of an item says all it has to, and nothing that it must not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from toolhop_tools.construct.calls import literals
from toolhop_tools.construct.code import choices
from toolhop_tools.construct.documents import all_said, content, numbers_beside
from toolhop_tools.construct.giveaway import gives_away
from toolhop_tools.construct.orders import orders
from toolhop_tools.construct.stages import Findings, judged
from toolhop_tools.construct.text import references, says, share, texts
from toolhop_tools.construct.vocabulary import GENERAL, like, senses, spoken
from toolhop_tools.construct.wording import misattached, other_kind, turned
from toolhop_tools.model import Hop
from toolhop_tools.words import bare, words

SHORTEST, LONGEST = 15, 1_500
_TRUE_OR_NOT = frozenset({"is", "are", "was", "were", "do", "does", "did", "has", "have", "had"})


def question_findings(
    question: str, hops: Sequence[Hop], plan: Sequence[str] | None = None
) -> Findings:
    """The checks of a question.

    Args:
        question: what the item asks.
        hops: their gold calls hold ``{k}`` for earlier answers.
        plan: the sub-questions with ``{k}``, where the question has to have words of each. A
            seed's own question need not.
    """
    return (
        judged("a-question", _form(question, hops))
        + judged("words-of-each-hop", _silent(question, plan or ()))
        + judged("holds-every-value", _lacking(question, hops))
        + judged("every-number-used", _unused(question, hops) if plan is not None else ())
        + judged("no-order", orders([question], "The question"))
        + judged("kind-as-asked", _other_kind(question, hops) if plan else ())
        + judged("same-operations", _turned(question, hops, plan) if plan else ())
        + judged("asked-of-the-same", misattached(question, plan, _starts(hops)) if plan else ())
        + judged("no-sub-answer", _given_away(question, hops))
        + judged("no-tool-name", _tools(question, hops))
    )


def _form(question: str, hops: Sequence[Hop]) -> Iterator[str]:
    own = question
    for hop in hops:
        for value in literals(hop.gold.arguments if hop.gold else {}, frozenset()):
            own = own.replace(value, "")
    if not SHORTEST <= len(question) <= LONGEST or "?" not in question:
        yield (
            f"It is no question: write one or two sentences of {SHORTEST} to {LONGEST:,} "
            "characters, with a question mark."
        )
    elif own.count("?") > 1:
        yield "It asks more than one thing; ask for the answer of the last hop alone."
    if "\n" in question.strip() or "`" in question:
        yield "It is no plain text: write it on one line, without code."
    first = (question.split() or [""])[0].casefold()
    if first in _TRUE_OR_NOT:
        yield f"It begins with {first!r}, and can be answered by yes or no; ask for the answer."
    if references(question):
        yield "It refers to hops by number; describe what is meant."


def _silent(question: str, plan: Sequence[str]) -> Iterator[str]:
    """A sub-question of which the question has no word, so that it may ask something else."""
    said, asked = content(question), [content(text) for text in plan]
    for number, wanted in enumerate(asked, 1):
        # A word that another hop asks with may be there for that one.
        rest = {word for at, other in enumerate(asked, 1) if at != number for word in other}
        own = (wanted - rest) or wanted
        meant = not senses(" ".join(own)).keys().isdisjoint(spoken(" ".join(said)))
        # Of a verb, and of an operation, a question has other forms.
        telling = {one for one in own if not senses(one)} - GENERAL - _LIGHT
        own = own if len(telling) > 1 or _ATTRIBUTE.search(plan[number - 1]) else wanted
        if telling and not meant and not share(own, said) and not like(own, said):
            yield (
                f"It has no word of what hop {number} asks ({', '.join(sorted(own))}): describe "
                "what that hop finds with one of these words, or a form of it."
            )


_ATTRIBUTE = re.compile(r"\b(?:is|was|are|were) the (?:[a-z-]+ )+of\b")
_LIGHT = frozenset(words("take takes make makes come comes go goes give gives lie lies use used"))


def _other_kind(question: str, hops: Sequence[Hop]) -> Iterator[str]:
    answer = hops[-1].answer if hops else ""
    if answer and (word := other_kind(question, answer)):
        yield f"It asks {word!r}, and the answer is {answer!r}: ask for what the last hop finds."


def _turned(question: str, hops: Sequence[Hop], plan: Sequence[str]) -> Iterator[str]:
    said = (all_said(hop.tool.schema, hop.gold.arguments if hop.gold else {}) for hop in hops)
    return turned(question, plan, " ".join(said))


def _starts(hops: Sequence[Hop]) -> dict[int, list[str]]:
    """By hop: the values that the question has to say."""
    return {
        number: literals(hop.gold.arguments if hop.gold else {}, frozenset())
        for number, hop in enumerate(hops, 1)
    }


def _lacking(question: str, hops: Sequence[Hop]) -> Iterator[str]:
    for number, hop in enumerate(hops, 1):
        options = frozenset(name for name, _ in choices(hop.tool.schema.parameters))
        for value in literals(hop.gold.arguments if hop.gold else {}, options):
            if not says(question, value) and not _default(hop, value):
                yield f"It does not say {value!r}, which the call of hop {number} needs."


def _unused(question: str, hops: Sequence[Hop]) -> Iterator[str]:
    """A number that no call takes: a condition that nothing checks, or a hint."""
    golds = [text for hop in hops if hop.gold for text in texts(dict(hop.gold.arguments))]
    notes = [f"{hop.tool.schema.description} {dict(hop.tool.schema.parameters)}" for hop in hops]
    for number in numbers_beside(question, " ".join([*golds, *notes])):
        yield f"It says {number}, which no call takes: leave it out."


def _default(hop: Hop, value: str) -> bool:
    properties = hop.tool.schema.parameters.get("properties")
    known = properties.values() if isinstance(properties, dict) else ()
    return any(isinstance(one, dict) and str(one.get("default")) == value for one in known)


def _given_away(question: str, hops: Sequence[Hop]) -> Iterator[str]:
    for number, hop in enumerate(hops, 1):
        if gives_away(question, hop.answer):
            yield f"It says {hop.answer!r}, the answer of hop {number}."


def _tools(question: str, hops: Sequence[Hop]) -> Iterator[str]:
    for hop in hops:
        name = hop.tool.name
        said = rf"\b{re.escape(name.replace('_', ' '))}\b"
        # The words of a name are also those of a question: with a word for tool they are a name.
        called = re.search(
            rf"\b(?:tool|function) {said}|{said}(?:\(| tool\b| function\b)", bare(question)
        )
        if ("_" in name and name in question.casefold()) or called:
            yield f"It names the tool {name}: ask for what the tool finds."
