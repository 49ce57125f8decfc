"""The class of findings, and helpers that the checks share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from toolhop_env.diagnosis.facts import Seen
from toolhop_sandbox.outcome import JSON


class Severity(StrEnum):
    """How certain it is that something needs to be fixed."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that looks wrong."""

    kind: str
    severity: Severity
    text: str
    """Message for people: what is wrong, how often, and examples."""
    episodes: tuple[str, ...]
    """Names of the affected episodes, prefixed with the run's name if there are several runs."""
    evidence: Mapping[str, JSON] = field(default_factory=dict)

    def to_json(self) -> dict[str, JSON]:
        """Return the finding as plain JSON values."""
        return {
            "kind": self.kind,
            "severity": self.severity.value,
            "text": self.text,
            "episodes": list(self.episodes),
            "evidence": dict(self.evidence),
        }


def with_score(seen: Sequence[Seen]) -> list[Seen]:
    """Return the scored attempts that a run's figures include."""
    return [one for one in seen if one.counts and one.attempt.score is not None]


def listed(cases: Iterable[str], most: int = 3) -> str:
    """Return the first cases as text, and the number of others."""
    all_cases = list(cases)
    left = len(all_cases) - most
    return "; ".join(all_cases[:most]) + (f"; and {left} more" if left > 0 else "")


def tallied(counter: Counter[str]) -> dict[str, JSON]:
    """Return counts as plain JSON values, the largest first."""
    return dict(counter.most_common())


WARN_EPISODES = 3
WARN_SHARE = 0.05
"""Number and share of affected episodes from which a finding is a warning."""


def share_severity(hit: int, scored: int) -> Severity:
    """Return a warning if both `WARN_EPISODES` and `WARN_SHARE` are reached, else a note."""
    many = hit >= WARN_EPISODES and hit >= WARN_SHARE * scored
    return Severity.WARNING if many else Severity.NOTE


def shortened(text: str) -> str:
    """Return the beginning of a text, quoted."""
    plain = " ".join(text.split())
    return repr(plain if len(plain) <= 40 else plain[:39] + "…")


def in_words(codes: Counter[str]) -> str:
    """Return codes with their counts, as text."""
    return ", ".join(f"{count} {code}" for code, count in codes.most_common())
