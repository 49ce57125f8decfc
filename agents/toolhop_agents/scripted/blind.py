"""Agents that read no English: they use types, answer frequencies and words of the question.

Their scores need no understanding. Besides what a model sees, each is given the answer's type and
the number of hops, so its score is an upper bound.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from toolhop_agents.scripted.listed import MOST_CALLS, entities, filled, first_result, guessed
from toolhop_agents.scripted.plan import turns
from toolhop_env.messages import Message, Reply
from toolhop_env.validation import Validator
from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import leaves, plain_number
from toolhop_tools.model import Item, ToolSchema

TURNS_A_HOP = 2
"""Turns per hop after which the agent answers regardless."""
MOST_FILLED = 6
"""Maximum argument sets of a tool to choose from."""


def no_english(item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
    """Call tools at random with values that fit their schemas, using the latest result if possible.

    After as many results as the item has hops, answer with a value of the last result that has the
    answer's type.
    """
    results = [first_result(texts, item.question) for texts in turns(messages)]
    known = [result for result in reversed(results) if result is not None]
    drawn = random.Random(f"{seed}/{item.id}/{len(results)}")
    hops = max(1, len(item.hops))
    if tools and len(known) < hops and len(results) < TURNS_A_HOP * hops:
        schemas = [tool.schema for tool in item.tools.values()]
        calls = [*islice(_calls(schemas, item.question, known, drawn), MOST_CALLS)]
        if calls:
            return guessed(calls, len(results) + 1)
    said = item.question.casefold()
    fresh = [leaf for result in known for leaf in leaves(result, arrays=False)]
    fitting = [
        leaf for leaf in fresh if _kind(leaf) == _kind(item.answer) and leaf.casefold() not in said
    ]
    latest = {*leaves(known[0], arrays=False)} if known else set()
    best = [leaf for leaf in fitting if leaf in latest] or fitting or ["unknown"]
    return Reply(f"<answer>{drawn.choice(best)}</answer>")


def _calls(
    schemas: list[ToolSchema], question: str, known: Sequence[JSON], drawn: random.Random
) -> Iterator[tuple[str, dict[str, JSON]]]:
    """Yield at most one call per tool, in random order, beginning with those that use the latest
    result.
    """
    drawn.shuffle(schemas)
    latest = {*leaves(known[0], arrays=False)} if known else set()
    later: list[tuple[str, dict[str, JSON]]] = []
    for schema in schemas:
        fits = Validator([schema]).fits
        fitting = (given for given in filled(schema, question, known) if fits(schema.name, given))
        sets = [*islice(fitting, MOST_FILLED)]
        using = [given for given in sets if latest.intersection(map(str, given.values()))]
        if using:
            yield schema.name, drawn.choice(using)
        elif sets:
            later.append((schema.name, drawn.choice(sets)))
    yield from later


def _kind(text: str) -> str:
    """Return the kind of a text: ``number``, ``date`` or ``text``."""
    number = plain_number(text)
    if number is not None:
        return "number"
    return "date" if text[:4].isdigit() and text.count("-") == 2 else "text"


def copy_from_question(item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
    """Answer with a name, a quoted text or a date from the question, chosen by the seed."""
    named = [*entities(item.question)] or ["unknown"]
    return Reply(f"<answer>{random.Random(f'{seed}/{item.id}').choice(named)}</answer>")


class Frequency:
    """Answers with the most frequent answer among other items of the same answer type."""

    def __init__(self, seen: Iterable[Item]) -> None:
        """Count the answers of other items, never of those to be played."""
        self._by_type: dict[str, Counter[str]] = {}
        self._all: Counter[str] = Counter()
        for item in seen:
            self._by_type.setdefault(item.answer_type, Counter())[item.answer] += 1
            self._all[item.answer] += 1

    def __call__(self, item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
        """Return the same reply for every conversation."""
        counted = self._by_type.get(item.answer_type, self._all)
        best = max(counted, key=lambda answer: (counted[answer], answer), default="unknown")
        return Reply(f"<answer>{best}</answer>")
