"""Measures: definitions of the figures that tables, comparisons and reports show.

A benchmark defines its own measures; those of an episode's conduct apply to every benchmark. Code
that shows or compares figures works on any measure and refers to none by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum

from toolhop_env.chain import Kind
from toolhop_env.score import Parts, Score
from toolhop_env.verdicts import ErrorCode


class Unit(StrEnum):
    """Unit of a figure."""

    SHARE = "share"
    """0 to 1; shown as a percentage."""
    TURNS = "turns"
    CALLS = "calls"
    TOKENS = "tokens"
    SECONDS = "s"
    USD = "USD"
    POINTS = "points"
    """A mean of values on the benchmark's own scale."""


class Scorer(StrEnum):
    """The scorer that a measure belongs to."""

    OFFICIAL = "official"
    """The benchmark's published code, known bugs included."""
    STRICT = "strict"
    """Our own scorer, for where the published one gives undeserved credit."""
    NEITHER = ""


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure of a run: a sum of numerators over a sum of denominators, across episodes.

    The first five fields may be given by position.
    """

    name: str
    """Name, unique in its benchmark; the key in files and in ``--json``."""
    says: str
    """What the measure says about an episode, in one sentence."""
    scorer: Scorer = Scorer.NEITHER
    binary: bool = False
    """Whether each episode either has the property or lacks it."""
    leads: bool = False
    """Whether this is the benchmark's main measure; exactly one measure leads."""

    _: KW_ONLY
    # Presentation.
    title: str = ""
    """Heading in tables; the name if empty."""
    unit: Unit = Unit.SHARE
    topic: str = ""
    """Common subject of an official and a strict measure, which are shown side by side."""
    in_tables: bool = True
    """Whether a run's final tables show the measure; comparisons and exports always do."""
    # Computation.
    parts: Callable[[Score], Parts | None] | None = None
    """Returns a score's numerator and denominator; None if the scorer provides them by name."""
    mean_of: tuple[str, ...] = ()
    """Measures of the benchmark of which this one is the mean, over all episodes. Tables show the
    mean; comparisons use the value that an episode has in one of them, if any."""
    zero: bool = False
    """Whether the figure is 0, as in the official code, if episodes have values but all
    denominators are 0; otherwise there is no figure."""
    # Comparison.
    tested: bool = True
    """Whether comparisons test a difference in the measure. False for a ratio whose denominator
    the agent chooses: the share of failed calls also rises if fewer calls succeed."""
    family: str = ""
    """Name of the measures whose tests are corrected together; the measure's own name if empty."""

    @property
    def heading(self) -> str:
        """Heading of the measure in tables."""
        return self.title or (f"{self.topic}, {self.scorer}" if self.topic else self.name)

    def of(self, score: Score) -> Parts | None:
        """Return the numerator and denominator of a score; None if it has no value."""
        return score.values.get(self.name) if self.parts is None else self.parts(score)

    def holds(self, score: Score) -> bool:
        """Whether the episode has a binary measure's property; False without a value."""
        parts = self.of(score)
        return parts is not None and parts[0] > 0


@dataclass(frozen=True, slots=True)
class Total:
    """A figure over groups of episodes, as in a benchmark's published tables."""

    name: str
    says: str
    """What the total is the mean of, in one sentence."""
    measures: tuple[str, ...]
    """Names of the measures that are averaged."""
    modes: tuple[str, ...] = ()
    """Modes that are averaged; there is no figure if one of them has none. Empty for any mode."""
    over: str = ""
    """Facet whose values are averaged with equal weight; there is no figure if one of them has
    none. Empty for a single mean over all episodes."""
    where: tuple[str, str] | None = None
    """Facet and value that episodes must have; None for all episodes."""

    def takes(self, mode: str, facets: Mapping[str, str]) -> bool:
        """Whether the total includes episodes of this mode with these facets."""
        fits = self.where is None or facets.get(self.where[0]) == self.where[1]
        return fits and (not self.modes or mode in self.modes)


def share(of: Callable[[Score], bool]) -> Callable[[Score], Parts]:
    """Return the parts function of a property that an episode has or lacks."""
    return lambda one: (float(of(one)), 1.0)


def mean(of: Callable[[Score], float | None]) -> Callable[[Score], Parts | None]:
    """Return the parts function of a mean over episodes, leaving out values that are not finite."""

    def parts(one: Score) -> Parts | None:
        value = of(one)
        return None if value is None or not math.isfinite(value) else (float(value), 1.0)

    return parts


def _tokens(one: Score) -> float:
    """Return the tokens of the episode's replies; cached ones count as when first requested."""
    of = one.conduct
    saved = of.saved_input_tokens + of.saved_output_tokens
    return of.input_tokens + of.output_tokens + saved


def _cost(one: Score) -> float | None:
    """Return the episode's cost, with cached replies at their original price; None if unknown."""
    of = one.conduct
    return None if of.cost_usd is None or of.saved_usd is None else of.cost_usd + of.saved_usd


QUERY_ERROR = Measure(
    "query_error",
    "An episode has a failed call (ToolHop, table 4, Query).",
    title="invocation error rate by question",
    parts=share(lambda s: s.conduct.failed_calls > 0),
    binary=True,
)
INSTANCE_ERROR = Measure(
    "instance_error",
    "A call failed (ToolHop, table 4, Instance).",
    title="invocation error rate by call",
    parts=lambda s: (float(s.conduct.failed_calls), float(s.conduct.calls)),
    tested=False,
)
CONDUCT: tuple[Measure, ...] = (
    QUERY_ERROR,
    INSTANCE_ERROR,
    Measure("failed_calls", "Failed calls of an episode.", title="failed calls an episode",
            unit=Unit.CALLS, parts=mean(lambda s: s.conduct.failed_calls)),
    Measure("repeated_failures", "Failed calls of an episode of which an equal one failed before.",
            title="repeated failed calls an episode", unit=Unit.CALLS,
            parts=mean(lambda s: s.conduct.repeated_failures)),
    Measure("repeated_failure", "A call fails of which an equal one failed before.",
            title="repeated failed calls by call", tested=False,
            parts=lambda s: (float(s.conduct.repeated_failures), float(s.conduct.calls))),
    Measure("malformed_call", "A reply of the episode holds a call in a form that is not read.",
            title="malformed calls", parts=share(lambda s: s.conduct.malformed_call), binary=True),
    Measure("turns", "Replies of an episode.", title="turns an episode", unit=Unit.TURNS,
            parts=mean(lambda s: s.conduct.turns)),
    Measure("calls", "Tool calls of an episode.", title="calls an episode", unit=Unit.CALLS,
            parts=mean(lambda s: s.conduct.calls)),
    Measure("tokens", "Input and output tokens of an episode.", title="tokens an episode",
            unit=Unit.TOKENS, parts=mean(_tokens)),
    Measure("cost", "What an episode costs; not known where a price is not.",
            title="cost an episode", unit=Unit.USD, parts=mean(_cost)),
    Measure("wall_s", "Seconds from an episode's start to its end.", title="seconds an episode",
            unit=Unit.SECONDS, parts=mean(lambda s: s.conduct.wall_s)),
)  # fmt: skip
"""Measures of any benchmark. Replies from a response cache count in tokens and cost as if they
had been requested: the agent is measured, not the cache."""


def _code(code: ErrorCode) -> Measure:
    return Measure(
        f"error_{code.value}",
        f"Calls of an episode that failed with {code.value}.",
        title=f"failed calls: {code.value}",
        unit=Unit.CALLS,
        parts=mean(lambda one: one.conduct.errors.get(code, 0)),
        family="codes",
    )


CODES: tuple[Measure, ...] = tuple(_code(code) for code in ErrorCode)
"""One measure per error code."""


FIRST, HAVING = "first", "having"


def _divergence(kind: Kind, part: str) -> Measure:
    first = part == FIRST
    return Measure(
        f"{part}_{kind.value}",
        f"The episode {'first leaves' if first else 'leaves'} its chain by: {kind.words}.",
        title=f"{'first ' if first else ''}divergence: {kind.words}",
        parts=share(lambda one: kind in one.conduct.divergences[: 1 if first else None]),
        binary=True,
        family=f"{part} divergences",
    )


DIVERGENCES: tuple[Measure, ...] = tuple(
    _divergence(kind, part) for part in (FIRST, HAVING) for kind in Kind
)
"""Two measures per kind of divergence: episodes that have it first, and that have it at all."""


def leading(measures: Iterable[Measure]) -> Measure:
    """Return the leading measure.

    Raises:
        ValueError: none leads, or several do.
    """
    found = [one for one in measures if one.leads]
    if len(found) != 1:
        names = ", ".join(one.name for one in found) or "none"
        raise ValueError(f"one measure of a benchmark leads; here it is {names}")
    return found[0]
