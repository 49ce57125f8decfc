"""Stages of building an item, findings of their checks, and pass rates, as values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from toolhop_sandbox.outcome import JSON

VERSION = 6
"""Version of the checks. Increased with every change that can affect which items are accepted."""


class Stage(StrEnum):
    """A stage of building an item, in order; `TOOL` to `CALL` are repeated for each hop.

    Stages after `ACCEPT` belong to nested tasks (`toolhop_tools.construct.nested`), except those
    that query another model, which also apply to items with hops.
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
    """The whole item is run and proven; no model is queried."""
    READ = "read"
    """Readers plan the calls, given the question and the documents."""
    WORDING = "wording"
    """A model writes the question of a changed chain, which is then read as well."""
    DOMAIN = "domain"
    """A model names the domain of a question, and the domains to merge."""
    CHAIN = "chain"
    """A model writes the tools, calls and first text of a nested task as code."""
    MEANING = "meaning"
    """A model judges whether each response suits the parameter that takes it."""
    TASK = "task"
    """A model writes the text of a nested task."""
    REBUILD = "rebuild"
    """Another model derives the calls from the text of a nested task."""


OF_A_HOP = (Stage.TOOL, Stage.REFINE, Stage.FACTS, Stage.CODE, Stage.SECOND, Stage.CALL)


class Place(NamedTuple):
    """A stage of a hop; hop 0 is the whole item."""

    stage: Stage
    hop: int = 0

    def __str__(self) -> str:
        return f"{self.stage} of hop {self.hop}" if self.hop else str(self.stage)


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault found by a check, in words that a model can act on."""

    check: str
    message: str
    arguments: Mapping[str, JSON] | None = None
    """Arguments of the smallest call found that shows the problem; called first after a repair."""
    earlier: tuple[Mapping[str, JSON], ...] = ()
    """Earlier calls in the same process, if they matter."""
    about: Mapping[str, str] = field(default_factory=dict)
    place: Place | None = None
    """Stage and hop whose reply is at fault; None for the reply that was checked."""


@dataclass(frozen=True, slots=True)
class Findings:
    """The names of passed checks of a reply, and the problems of failed ones.

    Checks that depend on a failed check are in neither.
    """

    held: frozenset[str] = frozenset()
    problems: tuple[Problem, ...] = ()
    figures: Mapping[str, JSON] = field(default_factory=dict)
    """Further figures for the ledger."""

    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return not self.problems

    @property
    def failed(self) -> frozenset[str]:
        """Names of the failed checks."""
        return frozenset(problem.check for problem in self.problems)

    def __add__(self, other: Findings) -> Findings:
        held = (self.held | other.held) - self.failed - other.failed
        figures = {**self.figures, **other.figures}
        return Findings(held, (*self.problems, *other.problems), figures)

    def to_json(self) -> dict[str, JSON]:
        """Return a row of the ledger, as `FINDINGS` reads it."""
        # Pydantic would corrupt the lone surrogates that tools are tested with.
        rows = map(asdict, self.problems)
        problems: list[JSON] = [
            {name: value for name, value in row.items() if value is not None} for row in rows
        ]
        return {"held": [*sorted(self.held)], "problems": problems, "figures": dict(self.figures)}


FINDINGS = TypeAdapter(Findings)


def judged(check: str, noted: Iterable[str], place: Place | None = None) -> Findings:
    """Return the findings of one check; it passes if `noted` is empty."""
    problems = tuple(Problem(check, text, place=place) for text in noted)
    return Findings(frozenset() if problems else frozenset({check}), problems)


# -- how many pass ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of one stage, over all hops or items that reached it."""

    stage: Stage
    begun: int
    first: int
    """Number that passed with the first reply."""
    passed: int
    replies: int


def funnel(books: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Return the figures of each stage from the ledgers of items."""
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
    """Whether an item was accepted and passed every stage with the first reply."""
    return bool(book["accepted"]) and all(map(_at_once, book["steps"]))


def _at_once(step: Mapping[str, Any]) -> bool:
    return step["replies"] <= 1 and not step["returned"]


def lost(books: Iterable[Mapping[str, Any]]) -> list[tuple[str, int]]:
    """Return the stages at which items were rejected, most frequent first."""
    places = (str(Place(*book["place"])) for book in books if not book["accepted"])
    return Counter(places).most_common()


@dataclass(frozen=True, slots=True)
class Taken:
    """The total effort spent on a set of items."""

    replies: int
    tokens: int
    cost_usd: float | None
    """Cost in US dollars; None if the cost of any item is unknown."""

    @classmethod
    def of(cls, books: Collection[Mapping[str, Any]]) -> Taken:
        """Sum the effort from the ledgers of items."""
        costs = [book["cost_usd"] for book in books]
        return cls(
            sum(book["replies"] for book in books),
            sum(book["input_tokens"] + book["output_tokens"] for book in books),
            None if None in costs else sum(costs),
        )


def counts(books: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the pass counts for the funnel file."""
    return {
        "items": len(books),
        "accepted": sum(book["accepted"] for book in books),
        "accepted_at_first": sum(map(first_pass, books)),
        "stages": [asdict(row) for row in funnel(books)],
    }
