"""Verdicts of people on made data, each given without seeing the others'. Pure.

As in NesTools' paper (section 3.3), two people judge each item independently and a third settles
their differences. Each first works out an answer of their own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from itertools import combinations
from typing import TypeAlias

from pydantic import TypeAdapter

from toolhop_sandbox.outcome import JSON


class Ruling(StrEnum):
    """A reviewer's verdict on an item."""

    ACCEPT = "accept"
    REJECT = "reject"
    SKIP = "skip"
    """Not judged yet: the item comes up again after the others."""


@dataclass(frozen=True, slots=True)
class Review:
    """One reviewer's verdict on one item."""

    reviewer: str
    item: str
    digest: str
    """Of the item as it was shown; the verdict counts for no other version."""
    ruling: Ruling
    reason: str = ""
    settles: bool = False
    """Whether it settles a difference between other reviewers."""
    at: str = ""
    """When, in UTC."""
    derived: str | None = None
    """The reviewer's own answer, given before the gold was shown; None where none was asked for."""
    agreed: bool | None = None
    """Whether `derived` is the gold under the strict rule."""
    drawn: tuple[int, int] | None = None
    """Size and seed of the random sample that the item was shown in."""

    def to_json(self) -> dict[str, JSON]:
        """A row of the file, for `REVIEW` to read; what was not asked for is left out."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @property
    def judges(self) -> bool:
        """Whether it accepts or rejects."""
        return self.ruling is not Ruling.SKIP


REVIEW = TypeAdapter(Review)
Standing: TypeAlias = Mapping[str, Mapping[str, Review]]
"""By item and reviewer: the last review."""


def standing(reviews: Iterable[Review], digests: Mapping[str, str]) -> dict[str, dict[str, Review]]:
    """The last review by each reviewer of each item as it is now.

    Reviews come oldest first. `digests` are today's items', by id; reviews of other items and
    versions are left out.
    """
    words: dict[str, dict[str, Review]] = {item: {} for item in digests}
    for review in reviews:
        if digests.get(review.item) == review.digest:
            words[review.item][review.reviewer] = review
    return words


def _independent(words: Mapping[str, Review]) -> list[Review]:
    """Verdicts that were given without seeing others."""
    return [review for review in words.values() if review.judges and not review.settles]


def is_disputed(words: Mapping[str, Review]) -> bool:
    """Whether reviewers differ on an item, settled or not."""
    return len({review.ruling for review in _independent(words)}) > 1


def fate(words: Mapping[str, Review], *, accepts: int = 0) -> Ruling:
    """What reviews make of an item: `Ruling.REJECT` keeps it out of an export.

    The last settling verdict decides. Without one, an item that anybody rejects is rejected, and
    one that fewer than `accepts` people accept is `Ruling.SKIP`: not judged yet.
    """
    settling = [review for review in words.values() if review.settles and review.judges]
    if settling:
        return max(settling, key=lambda review: review.at).ruling
    verdicts = _independent(words)
    if any(review.ruling is Ruling.REJECT for review in verdicts):
        return Ruling.REJECT
    return Ruling.ACCEPT if len(verdicts) >= accepts else Ruling.SKIP


def pairs_of(standing: Standing) -> dict[tuple[str, str], dict[str, tuple[Ruling, Ruling]]]:
    """The verdicts of each two reviewers, by item that both judged independently."""
    pairs: dict[tuple[str, str], dict[str, tuple[Ruling, Ruling]]] = {}
    for item, words in standing.items():
        ordered = sorted(_independent(words), key=lambda review: review.reviewer)
        for first, second in combinations(ordered, 2):
            of_two = pairs.setdefault((first.reviewer, second.reviewer), {})
            of_two[item] = first.ruling, second.ruling
    return dict(sorted(pairs.items()))


def sample(digests: Mapping[str, str], size: int, seed: int) -> list[str]:
    """Ids of a random sample, in random order.

    The same seed gives everybody the same sample, and a smaller one is the beginning of a larger.
    """

    def rank(item: str) -> str:
        return hashlib.sha256(f"{seed}/{digests[item]}".encode()).hexdigest()

    return sorted(digests, key=rank)[:size]


@dataclass(frozen=True, slots=True)
class Drawn:
    """What reviewers say of a random sample."""

    size: int
    seed: int
    judged: int
    """Items up to the last one that anybody looked at."""
    wrong: int
    """Those of them that are rejected or lack a verdict, so that skipping what is hard lowers
    nothing."""


def samples(standing: Standing, digests: Mapping[str, str]) -> list[Drawn]:
    """The random samples that reviews were made in, the largest of each seed."""
    reviews = [review for words in standing.values() for review in words.values()]
    sizes: dict[int, int] = {}
    for size, seed in (review.drawn for review in reviews if review.drawn):
        sizes[seed] = max(size, sizes.get(seed, 0))
    drawn = []
    for seed, size in sorted(sizes.items()):
        order = [standing[item] for item in sample(digests, size, seed)]
        seen = order[: max((n for n, words in enumerate(order, 1) if words), default=0)]
        good = sum(
            any(review.judges for review in words.values()) and fate(words) is Ruling.ACCEPT
            for words in seen
        )
        drawn.append(Drawn(size, seed, len(seen), len(seen) - good))
    return drawn
