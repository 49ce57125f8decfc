"""Human verdicts on generated data, each given without seeing the others'. Pure.

As in NesTools' paper (section 3.3), two people judge each item independently and a third settles
their differences. Each reviewer first works out an answer.
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
    """Not judged yet: the item is shown again after the others."""


@dataclass(frozen=True, slots=True)
class Review:
    """One reviewer's verdict on one item."""

    reviewer: str
    item: str
    digest: str
    """Digest of the item as shown; the verdict applies to no other version."""
    ruling: Ruling
    reason: str = ""
    settles: bool = False
    """Whether the review settles a disagreement between other reviewers."""
    at: str = ""
    """Time of the review, in UTC."""
    derived: str | None = None
    """The reviewer's own answer, given before the gold was shown; None if not requested."""
    agreed: bool | None = None
    """Whether `derived` equals the gold under the strict rule."""
    drawn: tuple[int, int] | None = None
    """Size and seed of the random sample that contained the item."""

    def to_json(self) -> dict[str, JSON]:
        """Return a row of the file, as `REVIEW` reads it, without unused fields."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @property
    def judges(self) -> bool:
        """Whether the review accepts or rejects the item."""
        return self.ruling is not Ruling.SKIP


REVIEW = TypeAdapter(Review)
Standing: TypeAlias = Mapping[str, Mapping[str, Review]]
"""Last review by item and reviewer."""


def standing(reviews: Iterable[Review], digests: Mapping[str, str]) -> dict[str, dict[str, Review]]:
    """Return each reviewer's last review of the current version of each item.

    Reviews are ordered from oldest to newest. `digests` has the current digest of each item id;
    reviews of other items and versions are ignored.
    """
    words: dict[str, dict[str, Review]] = {item: {} for item in digests}
    for review in reviews:
        if digests.get(review.item) == review.digest:
            words[review.item][review.reviewer] = review
    return words


def _independent(words: Mapping[str, Review]) -> list[Review]:
    """Return the verdicts given without seeing others."""
    return [review for review in words.values() if review.judges and not review.settles]


def is_disputed(words: Mapping[str, Review]) -> bool:
    """Whether reviewers disagree on an item, even if the disagreement was settled."""
    return len({review.ruling for review in _independent(words)}) > 1


def fate(words: Mapping[str, Review], *, accepts: int = 0) -> Ruling:
    """Return the overall ruling on an item; `Ruling.REJECT` excludes it from exports.

    The last settling verdict decides. Without one, an item that anybody rejects is rejected, and an
    item with fewer than `accepts` acceptances is `Ruling.SKIP`: not judged yet.
    """
    settling = [review for review in words.values() if review.settles and review.judges]
    if settling:
        return max(settling, key=lambda review: review.at).ruling
    verdicts = _independent(words)
    if any(review.ruling is Ruling.REJECT for review in verdicts):
        return Ruling.REJECT
    return Ruling.ACCEPT if len(verdicts) >= accepts else Ruling.SKIP


def pairs_of(standing: Standing) -> dict[tuple[str, str], dict[str, tuple[Ruling, Ruling]]]:
    """For each pair of reviewers, return both verdicts on items that both judged independently."""
    pairs: dict[tuple[str, str], dict[str, tuple[Ruling, Ruling]]] = {}
    for item, words in standing.items():
        ordered = sorted(_independent(words), key=lambda review: review.reviewer)
        for first, second in combinations(ordered, 2):
            of_two = pairs.setdefault((first.reviewer, second.reviewer), {})
            of_two[item] = first.ruling, second.ruling
    return dict(sorted(pairs.items()))


def sample(digests: Mapping[str, str], size: int, seed: int) -> list[str]:
    """Return the ids of a random sample, in random order.

    The same seed gives everybody the same sample, and a smaller sample is a prefix of a larger one.
    """

    def rank(item: str) -> str:
        return hashlib.sha256(f"{seed}/{digests[item]}".encode()).hexdigest()

    return sorted(digests, key=rank)[:size]


@dataclass(frozen=True, slots=True)
class Drawn:
    """Review results for a random sample."""

    size: int
    seed: int
    judged: int
    """Number of items up to the last one that anybody reviewed."""
    wrong: int
    """Number of those that are rejected or unjudged, so that skipping hard items does not help."""


def samples(standing: Standing, digests: Mapping[str, str]) -> list[Drawn]:
    """Return the random samples that were reviewed, the largest of each seed."""
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
