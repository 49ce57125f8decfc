"""When an item is accepted: criteria, each with the figure that it was judged by. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import StrEnum

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number
from toolhop_tools.certify.candidates import Task
from toolhop_tools.certify.mentions import mentions
from toolhop_tools.certify.model import HopProof
from toolhop_tools.certify.prove import asked
from toolhop_tools.certify.readable import Asked
from toolhop_tools.construct.stages import VERSION
from toolhop_tools.construct.text import filled, references, same, says
from toolhop_tools.construct.trials import Call
from toolhop_tools.declared import compiled, described, required
from toolhop_tools.model import Hop, Item
from toolhop_tools.words import as_text, scalars, words


class Judged(StrEnum):
    """What has to hold of an item or a task."""

    def row(self, figure: JSON, *, holds: bool = True, version: int = VERSION) -> dict[str, JSON]:
        """The criterion's verdict for the books; `figure` is what it was judged by."""
        return {"criterion": self.value, "holds": holds, "figure": figure, "version": version}


class Criterion(Judged):
    """What has to hold of an item with hops."""

    PROPERTIES = "properties"
    """Every tool: all properties hold; `examples` alone may be not applicable."""
    PROVEN = "proven"
    """Every gold call gives its answer, and other values seldom do. What the search of a
    certificate says beyond that is a mark: it reads no question."""
    STRICT = "strict-answer"
    """The oracle is right under the strict rule; doing nothing and constants get 0."""
    NEEDED = "every-hop-needed"
    """A later gold call takes each answer, and no later hop is proven without it."""
    NO_JUMP = "no-jump"
    """No tool gives the final answer to the question's own words."""
    SIBLING = "sibling"
    """The chain on another record gives another answer."""
    NO_TWIN = "no-twin"
    """No other tool of the item proves a hop."""
    REPLAY = "replay"
    """The oracle is right in each sandbox there is, with the same results byte by byte."""
    READ = "read"
    """Blind readers come to the answer, through every hop, from the question and the tools'
    documents alone. Judged where readers are named; else the item is `unread`."""
    WORDING = "wording"
    """With a changed chain the question changes, and so do the plans of its readers."""
    CLOSED_BOOK = "closed-book"
    """In a closed world, a model without tools is never right. Judged where one is named."""
    NO_DUPLICATE = "no-duplicate"
    """Nor is it like an item that was accepted before it, or one of a test set."""
    LICENCE = "licence"
    """What the seed's own licence allows."""
    OFFICIAL_SAFE = "official-safe"
    """The official rule cannot take another answer for the gold. A mark, unless it is asked for."""


MOST_HITS, MOST_HITS_SHORT = 0.1, 0.5
"""Share of calls with other values that may give the gold: 2 of 20, and 10 of 20 where the answer
is a number under 1,000 or has one or two letters."""
CONSTANTS = ("0", "1", "2", "10", "100", "yes", "no", "true", "unknown", "none")
"""Answers that must be right for no item."""


def lucky(answer: str, proof: HopProof) -> bool:
    """Whether other values give the answer too often."""
    if proof.chance is None or not proof.chance.runs:
        return False
    number = plain_number(answer)
    short = abs(number) < 1000 if number is not None else len(answer) <= 2
    most = MOST_HITS_SHORT if short else MOST_HITS
    return proof.chance.hits > most * proof.chance.runs


def hazards(answer: str, question: str) -> list[str]:
    """Why the official rule, containment without trailing ``.0``, can be met by accident."""
    plain = answer.strip().lower()
    parts = {"the answer tags": "<answer></answer>", "the digits": "1234567890",
             "the question": question.lower()}  # fmt: skip
    return [
        *([f"it ends in {plain[-1]}"] if plain.endswith((".", "0")) else ()),
        *(["it has a comma"] if "," in plain else ()),
        *(f"it is part of {name}" for name, text in parts.items() if plain and plain in text),
    ]


UNKNOWN = "(not known)"


@dataclass(frozen=True, slots=True)
class Attempt:
    """A search that must prove nothing."""

    criterion: Criterion
    hop: int
    """Whose tool is tried, from 1."""
    about: str
    task: Task


def attempts(
    item: Item, depends_on: Sequence[Sequence[int]], plan: Sequence[str]
) -> Iterator[Attempt]:
    """The searches that must prove nothing of an item.

    Args:
        depends_on: by hop: the earlier hops that it needs, from 1.
        plan: the sub-questions with ``{k}``.
    """

    def task(hop: Hop, question: str, earlier: tuple[str, ...] = ()) -> Task:
        words = Asked(hop.answer, mentions(question, earlier), earlier, item.question, {})
        return Task(Hop(question, hop.answer, hop.tool), words)

    numbered = [*enumerate(item.hops, 1)]
    for (number, hop), needs in zip(numbered, depends_on, strict=True):
        for k in needs:
            earlier = tuple(UNKNOWN if n == k else own.answer for n, own in numbered[: number - 1])
            about = f"hop {number} without the answer of hop {k}"
            own = task(hop, filled(plan[number - 1], earlier), earlier)
            yield Attempt(Criterion.NEEDED, number, about, own)
    for number, hop in numbered:
        about = f"{hop.tool.name} with the question's own words"
        own = task(replace(hop, answer=item.answer), item.question)
        yield Attempt(Criterion.NO_JUMP, number, about, own)
    for at, hop in enumerate(item.hops):
        for number, other in numbered:
            if other.tool.name != hop.tool.name:
                twin = Task(Hop(hop.question, hop.answer, other.tool), asked(item, at, {}))
                about = f"{other.tool.name} for hop {at + 1}"
                yield Attempt(Criterion.NO_TWIN, number, about, twin)


# -- ways past a hop, looked for by calls ---------------------------------------------------------

LEAST = 4
"""Characters of an answer that no longer text has by chance."""


def tells_ahead(results: Sequence[Sequence[str]], answers: Sequence[str]) -> bool:
    """Whether a tool's results hold what a later hop is to find.

    Args:
        results: by start, the one asked for first: the scalars of what the tool gives.
        answers: by start: what the later hop finds.
    """
    rows = list(zip(results, answers, strict=True))
    if not rows:
        return False
    if all(
        any(same(answer, leaf) or _within(leaf, answer) for leaf in leaves)
        for leaves, answer in rows
    ):
        return True
    leaves, answer = rows[0]
    return len(answer) >= LEAST and any(_within(leaf, answer) for leaf in leaves)


def _within(text: str, answer: str) -> bool:
    """Whether a longer text says an answer."""
    return len(words(text)) > len(words(answer)) + 1 and says(text, answer)


def with_numbers(schema: Mapping[str, JSON], later: Sequence[Mapping[str, JSON]]) -> Iterator[Call]:
    """Optional parameters that take a number, with the numbers of later hops' calls."""
    numbers = {as_text(leaf): leaf for call in later for _, leaf in scalars(dict(call))
               if isinstance(leaf, int | float) and not isinstance(leaf, bool)}  # fmt: skip
    for name, own in described(schema).items():
        if not isinstance(own, dict) or name in required(schema) or "enum" in own:
            continue
        validator = compiled(own) if own.get("type") in {"integer", "number"} else None
        for number in numbers.values():
            if validator and validator.is_valid(number):
                yield {name: number}


def past(
    written: Mapping[str, JSON], made: Mapping[str, JSON], hops: AbstractSet[int], start: Call
) -> Iterator[Call]:
    """A later hop's call with what an earlier one was given, in the place of what it gave.

    `written` has ``{k}`` for answers, `made` the answers; `hops` are the earlier hop and those
    between the two.
    """
    for name, value in written.items():
        if isinstance(value, str) and not hops.isdisjoint(references(value)):
            for given in start.values():
                if isinstance(given, str) and given != made.get(name):
                    yield {**made, name: given}
