"""The stages of making an item, what comes of their checks, and how many pass, as values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from toolhop_sandbox.outcome import JSON

VERSION = 6
"""Version of the checks. It goes up with every change that can change what is accepted."""


class Stage(StrEnum):
    """What a model is asked for, in order; each stage from `TOOL` to `CALL` once for each hop.

    Those after `ACCEPT` are of nested tasks (`toolhop_tools.construct.nested`), but for those of
    another model, which is asked about items with hops too.
    """

    DECOMPOSE = "decompose"
    TOOL = "tool"
    REFINE = "refine"
    FACTS = "facts"
    CODE = "code"
    SECOND = "second"
    """Another model writes the function from the document alone."""
    CALL = "call"
    QUESTION = "question"
    ACCEPT = "accept"
    """Nothing is asked: the whole item is run and proven."""
    READ = "read"
    """Readers plan the calls from the question and the documents."""
    WORDING = "wording"
    """The question of a changed chain, to be read as well."""
    DOMAIN = "domain"
    """The domain of a question, and which domains are one."""
    CHAIN = "chain"
    """Of a nested task: its tools, its calls and a first text, written as code."""
    MEANING = "meaning"
    """Whether each response is what the parameter that takes it asks for."""
    TASK = "task"
    """The task's text."""
    REBUILD = "rebuild"
    """Another model makes the calls from the text of a nested task."""


OF_A_HOP = (Stage.TOOL, Stage.REFINE, Stage.FACTS, Stage.CODE, Stage.SECOND, Stage.CALL)


class Place(NamedTuple):
    """A stage of a hop; hop 0 is the item as a whole."""

    stage: Stage
    hop: int = 0

    def __str__(self) -> str:
        return f"{self.stage} of hop {self.hop}" if self.hop else str(self.stage)


@dataclass(frozen=True, slots=True)
class Problem:
    """What a check found, in words that a model can act on."""

    check: str
    message: str
    arguments: Mapping[str, JSON] | None = None
    """Of the call that shows it, as small as could be found; called first after a repair."""
    earlier: tuple[Mapping[str, JSON], ...] = ()
    """Calls before it in the same process, where they matter."""
    about: Mapping[str, str] = field(default_factory=dict)
    place: Place | None = None
    """Whose reply is at fault, where it is not the one that was checked."""


@dataclass(frozen=True, slots=True)
class Findings:
    """The checks that were made of a reply: by name, those that hold and those that do not.

    Checks that need what failed before them are in neither.
    """

    held: frozenset[str] = frozenset()
    problems: tuple[Problem, ...] = ()
    figures: Mapping[str, JSON] = field(default_factory=dict)
    """What was found beside, for the books."""

    @property
    def ok(self) -> bool:
        """Whether nothing speaks against the reply."""
        return not self.problems

    @property
    def failed(self) -> frozenset[str]:
        """Names of the checks that do not hold."""
        return frozenset(problem.check for problem in self.problems)

    def __add__(self, other: Findings) -> Findings:
        held = (self.held | other.held) - self.failed - other.failed
        figures = {**self.figures, **other.figures}
        return Findings(held, (*self.problems, *other.problems), figures)

    def to_json(self) -> dict[str, JSON]:
        """For the ledger; `FINDINGS` reads it."""
        # Pydantic would spoil the half characters that a tool can be tested with.
        rows = map(asdict, self.problems)
        problems: list[JSON] = [
            {name: value for name, value in row.items() if value is not None} for row in rows
        ]
        return {"held": [*sorted(self.held)], "problems": problems, "figures": dict(self.figures)}


FINDINGS = TypeAdapter(Findings)


def judged(check: str, noted: Iterable[str], place: Place | None = None) -> Findings:
    """The findings of one check, by what it has to say."""
    problems = tuple(Problem(check, text, place=place) for text in noted)
    return Findings(frozenset() if problems else frozenset({check}), problems)


# -- how many pass ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Row:
    """One stage, over all hops or items that came to it."""

    stage: Stage
    begun: int
    first: int
    """How many passed with their first reply."""
    passed: int
    replies: int


def funnel(books: Iterable[Mapping[str, Any]]) -> list[Row]:
    """The stages over the books of items."""
    counts: dict[Stage, Counter[str]] = {stage: Counter() for stage in Stage}
    for step in (step for book in books for step in book["steps"]):
        passed = bool(step["passed"])
        counts[Stage(step["stage"])] += Counter(
            begun=1, first=passed and _at_once(step), passed=passed, replies=step["replies"]
        )
    return [
        Row(stage, count["begun"], count["first"], count["passed"], count["replies"])
        for stage, count in counts.items()
        if count["begun"]
    ]


def first_pass(book: Mapping[str, Any]) -> bool:
    """Whether an item is accepted and passed every stage at the first reply."""
    return bool(book["accepted"]) and all(map(_at_once, book["steps"]))


def _at_once(step: Mapping[str, Any]) -> bool:
    return step["replies"] <= 1 and not step["returned"]


def lost(books: Iterable[Mapping[str, Any]]) -> list[tuple[str, int]]:
    """Where items were rejected, most frequent first."""
    places = (str(Place(*book["place"])) for book in books if not book["accepted"])
    return Counter(places).most_common()


@dataclass(frozen=True, slots=True)
class Taken:
    """What items took together."""

    replies: int
    tokens: int
    cost_usd: float | None
    """None where the cost of one is not known."""

    @classmethod
    def of(cls, books: Collection[Mapping[str, Any]]) -> Taken:
        """By the books of the items."""
        costs = [book["cost_usd"] for book in books]
        return cls(
            sum(book["replies"] for book in books),
            sum(book["input_tokens"] + book["output_tokens"] for book in books),
            None if None in costs else sum(costs),
        )


def counts(books: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What passed, for the funnel's file."""
    return {
        "items": len(books),
        "accepted": sum(book["accepted"] for book in books),
        "accepted_at_first": sum(map(first_pass, books)),
        "stages": [asdict(row) for row in funnel(books)],
    }
