"""What people say of made items, each without seeing what the others say. Pure.

As in NesTools' paper (section 3.3): two people judge each item alone, and a third one settles what
they judge differently.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from itertools import combinations
from typing import Any, TypeAlias

from toolhop_sandbox.outcome import JSON


class Ruling(StrEnum):
    """What a reviewer says of an item."""

    ACCEPT = "accept"
    REJECT = "reject"
    SKIP = "skip"
    """Nothing yet: the item is shown again after the others."""


@dataclass(frozen=True, slots=True)
class Review:
    """One reviewer's word on one item."""

    reviewer: str
    item: str
    digest: str
    """Of the item as it was shown: the word holds for no other version of it."""
    ruling: Ruling
    reason: str = ""
    settles: bool = False
    """Whether it was given to settle what others judge differently."""
    at: str = ""
    """When, in UTC."""

    def to_json(self) -> dict[str, JSON]:
        """A row of the file."""
        row: dict[str, JSON] = asdict(self)
        return row

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Review:
        """What `to_json` wrote.

        Raises:
            KeyError, ValueError, TypeError: it is no such row.
        """
        return cls(**{**row, "ruling": Ruling(row["ruling"])})


Standing: TypeAlias = Mapping[str, Mapping[str, Review]]
"""By item, and by reviewer: the last word."""


def standing(reviews: Iterable[Review], digests: Mapping[str, str]) -> dict[str, dict[str, Review]]:
    """The last word of each reviewer on each item as it is now.

    Args:
        reviews: in the order in which they were given.
        digests: of the items now, by id; reviews of other items, or versions, are left out.
    """
    found: dict[str, dict[str, Review]] = {item: {} for item in digests}
    for one in reviews:
        if digests.get(one.item) == one.digest:
            found[one.item][one.reviewer] = one
    return found


def judged_by(standing: Standing, reviewer: str) -> dict[str, Review]:
    """By item: what a reviewer says, skipped items aside."""
    own = {item: of[reviewer] for item, of in standing.items() if reviewer in of}
    return {item: one for item, one in own.items() if one.ruling is not Ruling.SKIP}


def _alone(words: Mapping[str, Review]) -> list[Review]:
    """Those that were given without seeing others, skipped ones aside."""
    return [one for one in words.values() if not one.settles and one.ruling is not Ruling.SKIP]


def is_disputed(words: Mapping[str, Review]) -> bool:
    """Whether reviewers judge an item differently, whoever has settled it."""
    return len({one.ruling for one in _alone(words)}) > 1


def fate(words: Mapping[str, Review], *, accepts: int = 0) -> Ruling:
    """What becomes of an item: `Ruling.REJECT` takes it out of what is exported.

    The word that settles decides, the last one of several. Without one an item that anybody rejects
    is out, and one that fewer than `accepts` people accept is `Ruling.SKIP`: not judged yet.
    """
    settling = [one for one in words.values() if one.settles and one.ruling is not Ruling.SKIP]
    if settling:
        return max(settling, key=lambda one: one.at).ruling
    alone = _alone(words)
    if any(one.ruling is Ruling.REJECT for one in alone):
        return Ruling.REJECT
    return Ruling.ACCEPT if len(alone) >= accepts else Ruling.SKIP


def pairs_of(standing: Standing) -> dict[tuple[str, str], dict[str, tuple[Ruling, Ruling]]]:
    """By two reviewers, and by item that both judged alone: what they say of it."""
    found: dict[tuple[str, str], dict[str, tuple[Ruling, Ruling]]] = {}
    for item, words in standing.items():
        alone = sorted(_alone(words), key=lambda one: one.reviewer)
        for one, other in combinations(alone, 2):
            of_two = found.setdefault((one.reviewer, other.reviewer), {})
            of_two[item] = one.ruling, other.ruling
    return dict(sorted(found.items()))


def reviewers(standing: Standing) -> Sequence[str]:
    """Everybody who has said something, in order of their names."""
    return sorted({name for words in standing.values() for name in words})
