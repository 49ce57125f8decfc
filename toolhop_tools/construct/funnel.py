"""How many items and stages pass, at the first reply and in the end. Pure counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from toolhop_tools.construct.stages import Place, Stage


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
