"""Acceptance criteria for items, each with the figure it was judged by. Pure."""

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
    """A condition that an item or a task must meet."""

    def row(self, figure: JSON, *, holds: bool = True, version: int = VERSION) -> dict[str, JSON]:
        """Return the verdict for the ledger; `figure` is what the criterion was judged by."""
        return {"criterion": self.value, "holds": holds, "figure": figure, "version": version}


class Criterion(Judged):
    """A condition that an item with hops must meet."""

    PROPERTIES = "properties"
    """Every property holds for every tool; only `examples` may be inapplicable."""
    PROVEN = "proven"
    """Every gold call returns its answer, and calls with other values seldom do. Other findings
    of the certificate search, which does not interpret the question, are recorded only."""
    STRICT = "strict-answer"
    """The oracle scores 1 under the strict rule; doing nothing and constant answers score 0."""
    NEEDED = "every-hop-needed"
    """Each answer is used by a later gold call, and no later hop can be proven without it."""
    NO_JUMP = "no-jump"
    """No tool returns the final answer when called with words from the question alone."""
    SIBLING = "sibling"
    """The same chain started from another record gives a different answer."""
    NO_TWIN = "no-twin"
    """No other tool of the item can prove a hop."""
    REPLAY = "replay"
    """The oracle is right in every available sandbox, and the results match byte for byte."""
    READ = "read"
    """Blind readers reach the answer through every hop, given only the question and the tools'
    documents. Judged only if readers are configured; otherwise the item is `unread`."""
    WORDING = "wording"
    """Changing the chain changes the question, and with it the readers' plans."""
    CLOSED_BOOK = "closed-book"
    """In a closed world, a model without tools, if one is configured, is never right."""
    NO_DUPLICATE = "no-duplicate"
    """The item does not repeat an earlier accepted item or an item of a test set."""
    LICENCE = "licence"
    """The licence of the seed permits the item."""
    OFFICIAL_SAFE = "official-safe"
    """The official rule cannot mistake another answer for the gold. Not required by default."""


MOST_HITS, MOST_HITS_SHORT = 0.1, 0.5
"""Highest share of calls with other values that may return the gold: 2 of 20, or 10 of 20 if the
answer is a number below 1,000 or at most two letters long."""
CONSTANTS = ("0", "1", "2", "10", "100", "yes", "no", "true", "unknown", "none")
"""Answers that must not be right for any item."""


def lucky(answer: str, proof: HopProof) -> bool:
    """Whether calls with other values return the answer too often."""
    if proof.chance is None or not proof.chance.runs:
        return False
    number = plain_number(answer)
    short = abs(number) < 1000 if number is not None else len(answer) <= 2
    most = MOST_HITS_SHORT if short else MOST_HITS
    return proof.chance.hits > most * proof.chance.runs


def hazards(answer: str, question: str) -> list[str]:
    """Return how the official rule (containment without trailing ``.0``) could match by
    accident.
    """
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
    """A search that is expected to prove nothing."""

    criterion: Criterion
    hop: int
    """Number of the hop whose tool is tried, from 1."""
    about: str
    task: Task


def attempts(
    item: Item, depends_on: Sequence[Sequence[int]], plan: Sequence[str]
) -> Iterator[Attempt]:
    """Yield the searches that must prove nothing for an item.

    Args:
        depends_on: for each hop, the earlier hops it needs, counted from 1.
        plan: the sub-questions, with ``{k}`` for earlier answers.
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


# -- searches for ways around a hop ---------------------------------------------------------------

LEAST = 4
"""Shortest answer, in characters, that does not occur in longer texts by chance."""


def tells_ahead(results: Sequence[Sequence[str]], answers: Sequence[str]) -> bool:
    """Whether the results of a tool already contain the answer of a later hop.

    Args:
        results: for each starting record, beginning with the item's own, the scalars in the tool's
            result.
        answers: for each starting record, the answer of the later hop.
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
    """Whether a much longer text contains an answer."""
    return len(words(text)) > len(words(answer)) + 1 and says(text, answer)


def with_numbers(schema: Mapping[str, JSON], later: Sequence[Mapping[str, JSON]]) -> Iterator[Call]:
    """Yield optional numeric parameters, each set to a number that a later hop's call uses."""
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
    """Yield variants of a later call that take an earlier hop's input instead of its answer.

    `written` is the later call with ``{k}`` for answers, `made` the same call with the answers
    filled in; `hops` are the earlier hop and those between the two.
    """
    for name, value in written.items():
        if isinstance(value, str) and not hops.isdisjoint(references(value)):
            for given in start.values():
                if isinstance(given, str) and given != made.get(name):
                    yield {**made, name: given}
