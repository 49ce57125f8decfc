"""References for judging a reader's plan: the item's own chain, and a sibling of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number, same_answer
from toolhop_tools.leaves import with_value
from toolhop_tools.reading import Match, Reading, answer_at
from toolhop_tools.words import as_text, bare, scalars


@dataclass(frozen=True, slots=True)
class ChainHop:
    """A hop whose answer its own tool must return when a plan is run."""

    number: int
    """Number of the hop, from 1."""
    tool: str
    answer: str
    reading: Reading | None = None
    """Position of the answer in the tool's result, for plans that do not state it."""
    arguments: Mapping[str, JSON] | None = None
    """Arguments of the hop's own call, whose spelling of values the tool is known to accept."""
    takes: frozenset[str] = frozenset()
    """Parameters that take an earlier hop's answer, as far as known."""

    def spelled(self, arguments: Mapping[str, JSON]) -> dict[str, JSON]:
        """Return arguments spelled as in the hop's own call (case, quotes, form of a number)."""
        known = dict(scalars(dict(self.arguments or {})))
        same = {
            path: known[path]
            for path, value in scalars(dict(arguments))
            if isinstance(value, str)
            and isinstance(own := known.get(path), str)
            and same_answer(own, value)
        }
        spelled = dict(arguments)
        for path, value in same.items():
            spelled = with_value(spelled, path, value)
        return spelled

    def holds(self, part: JSON) -> bool:
        """Whether a part of a result is the answer, in the notation of the reading."""
        if isinstance(part, dict) or part is None:
            return False
        reading = Reading(Match.VALUE) if self.reading is None else self.reading
        text = answer_at(part, replace(reading, path=(), span=None))
        plain = answer_at(part, Reading(Match.VALUE))
        if reading.match is Match.ACCENTS and text is not None:
            return bare(text) == bare(self.answer)
        return any(given is not None and same_answer(self.answer, given) for given in (text, plain))


@dataclass(frozen=True, slots=True)
class Chain:
    """The gold answer and hops of an item."""

    answer: str
    hops: tuple[ChainHop, ...]

    def of(self, sibling: Sibling) -> Chain:
        """Return the chain with the sibling's answers."""
        hops = tuple(
            replace(hop, answer=answer)
            for hop, answer in zip(self.hops, sibling.answers, strict=True)
        )
        return Chain(sibling.answer, hops)


@dataclass(frozen=True, slots=True)
class Sibling:
    """The same chain, started from another record."""

    replaced: Mapping[str, str]
    """Literals of the other record, keyed by the item's own."""
    answers: tuple[str, ...]
    """Answer of each hop for the other record, in order."""

    @property
    def answer(self) -> str:
        """Final answer of the chain for the other record."""
        return self.answers[-1]

    def swapped(self, value: JSON) -> JSON:
        """Replace the item's literals by the sibling's; a number remains a number."""
        if isinstance(value, dict):
            return {name: self.swapped(part) for name, part in value.items()}
        if isinstance(value, list):
            return [self.swapped(part) for part in value]
        if isinstance(value, bool) or value is None:
            return value
        for old, new in self.replaced.items():
            if same_answer(old, as_text(value)):
                number = None if isinstance(value, str) else plain_number(new)
                if number is None:
                    return new
                return int(number) if number == int(number) else float(number)
        return value
