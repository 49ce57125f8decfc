"""A finding, and what the checks have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from toolhop_env.diagnosis.facts import Seen
from toolhop_sandbox.outcome import JSON


class Severity(StrEnum):
    """How sure it is that something has to be repaired."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that looks wrong."""

    kind: str
    severity: Severity
    text: str
    """For a person: what, how often, where first."""
    episodes: tuple[str, ...]
    """Where it can be seen; with the run's name in front where there are several runs."""
    evidence: Mapping[str, JSON] = field(default_factory=dict)

    def to_json(self) -> dict[str, JSON]:
        """As plain values."""
        return {
            "kind": self.kind,
            "severity": self.severity.value,
            "text": self.text,
            "episodes": list(self.episodes),
            "evidence": dict(self.evidence),
        }


def with_score(seen: Sequence[Seen]) -> list[Seen]:
    """The attempts that enter a run's figures."""
    return [one for one in seen if one.counts and one.attempt.score is not None]


def listed(cases: Iterable[str], most: int = 3) -> str:
    """The first of them in words, and how many more there are."""
    all_cases = list(cases)
    left = len(all_cases) - most
    return "; ".join(all_cases[:most]) + (f"; and {left} more" if left > 0 else "")


def tallied(counter: Counter[str]) -> dict[str, JSON]:
    """Counts as plain values, the largest first."""
    return dict(counter.most_common())


WARN_EPISODES = 3
WARN_SHARE = 0.05
"""Episodes, absolutely and of those that were judged, from which a finding is a warning."""


def share_severity(hit: int, scored: int) -> Severity:
    """A warning from `WARN_EPISODES` and `WARN_SHARE` on, else a note."""
    many = hit >= WARN_EPISODES and hit >= WARN_SHARE * scored
    return Severity.WARNING if many else Severity.NOTE


def shortened(text: str) -> str:
    """The beginning of a text, quoted."""
    plain = " ".join(text.split())
    return repr(plain if len(plain) <= 40 else plain[:39] + "…")


def in_words(codes: Counter[str]) -> str:
    """Codes with their counts, in words."""
    return ", ".join(f"{count} {code}" for code, count in codes.most_common())
