"""The effective number of readers whose errors are correlated.

It is n / (1 + (n - 1) rho), by the design effect of correlated answers (Kish, Survey Sampling,
1965), where rho is the mean phi of all pairs of readers over the items that both judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from typing import TypeVar

Reader = TypeVar("Reader", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Effective:
    """The effective number of readers, and the data behind the estimate."""

    readers: int
    items: int
    correlation: float | None
    """Mean phi of pairs, clipped to 0..1; None if the votes of no pair vary."""

    @property
    def number(self) -> float | None:
        """Effective number of readers, 1 to `readers`; None if their correlation is unknown."""
        if self.correlation is None:
            return 1.0 if self.readers == 1 else None
        return self.readers / (1 + (self.readers - 1) * self.correlation)

    def __str__(self) -> str:
        about = f"{self.readers} votes an item, {self.items} items"
        if self.number is None:
            return f"effective readers: not known, votes do not vary ({about})"
        how = "" if self.correlation is None else f", correlation {self.correlation:.2f}"
        return f"effective readers: {self.number:.1f} ({about}{how})"


def effective(votes: Iterable[Mapping[Reader, bool]]) -> Effective:
    """Return the effective number of readers.

    Args:
        votes: the votes on each item, by reader; a reader need not vote on every item.
    """
    rows = [row for row in votes if row]
    readers = sorted({reader for row in rows for reader in row}, key=repr)
    pairs = (
        _phi([(row[first], row[second]) for row in rows if first in row and second in row])
        for first, second in combinations(readers, 2)
    )
    known = [phi for phi in pairs if phi is not None]
    mean = sum(known) / len(known) if known else None
    correlation = None if mean is None else min(1.0, max(0.0, mean))
    return Effective(len(readers), len(rows), correlation)


def _phi(votes: Sequence[tuple[bool, bool]]) -> float | None:
    """Return Pearson's correlation of two yes-or-no votes; None if one of them never varies."""
    cells = Counter(votes)
    yes_yes, yes_no = cells[True, True], cells[True, False]
    no_yes, no_no = cells[False, True], cells[False, False]
    margins = (yes_yes + yes_no) * (no_yes + no_no) * (yes_yes + no_yes) * (yes_no + no_no)
    return (yes_yes * no_no - yes_no * no_yes) / sqrt(margins) if margins else None
