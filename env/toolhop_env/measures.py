"""Measures: the figures that tables, comparisons and reports show, each as one value.

A benchmark names its own; those of an episode's conduct hold for every benchmark. Whatever shows
or compares figures reads measures, and names none of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum

from toolhop_env.score import Parts, Score
from toolhop_env.verdicts import ErrorCode


class Unit(StrEnum):
    """What a figure counts."""

    SHARE = "share"
    """0 to 1; shown in per cent."""
    TURNS = "turns"
    CALLS = "calls"
    TOKENS = "tokens"
    SECONDS = "s"
    USD = "USD"
    POINTS = "points"
    """A mean of values in a benchmark's own scale."""


class Scorer(StrEnum):
    """Whose scorer a measure reproduces."""

    OFFICIAL = "official"
    """The benchmark's published code, known bugs included."""
    STRICT = "strict"
    """Ours, where the published one gives credit that an answer has not earned."""
    NEITHER = ""


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure of a run: a sum of numerators by a sum of denominators over episodes.

    A measure begins with the five fields that stand first.
    """

    name: str
    """Unique in its benchmark; the key in files and in ``--json``."""
    says: str
    """What it says of an episode, in one sentence."""
    scorer: Scorer = Scorer.NEITHER
    binary: bool = False
    """Whether an episode either has it or not."""
    leads: bool = False
    """Whether this is what the benchmark is about: one measure leads."""

    _: KW_ONLY
    # How it is shown.
    title: str = ""
    """The heading in tables; the name where empty."""
    unit: Unit = Unit.SHARE
    topic: str = ""
    """What it is about, where an official and a strict measure of that stand side by side."""
    in_tables: bool = True
    """Whether the tables that runs end with show it; comparisons and exports always do."""
    # How it is made.
    parts: Callable[[Score], Parts | None] | None = None
    """How a score gives numerator and denominator; where None, the scorer gave both by name."""
    mean_of: tuple[str, ...] = ()
    """Measures of the benchmark whose mean it is, over all episodes. Tables show the mean;
    comparisons too where an episode has a part in it, which is its part in one of them."""
    zero: bool = False
    """Whether the figure is 0 where episodes have it and there is nothing to divide by, as the
    official code has it; otherwise there is none."""
    # How it is compared.
    tested: bool = True
    """Whether comparisons test a difference in it. Not so for a ratio whose denominator the agent
    chooses: the share of calls that fail also rises with fewer calls that succeed."""
    family: str = ""
    """Measures whose tests are corrected together; its own name if empty."""

    @property
    def heading(self) -> str:
        """What a table calls it."""
        return self.title or (f"{self.topic}, {self.scorer}" if self.topic else self.name)

    def of(self, score: Score) -> Parts | None:
        """The episode's part in the figure; None where it has none."""
        return score.values.get(self.name) if self.parts is None else self.parts(score)

    def holds(self, score: Score) -> bool:
        """Whether the episode has a binary measure's property; not so where it has no figure."""
        parts = self.of(score)
        return parts is not None and parts[0] > 0


@dataclass(frozen=True, slots=True)
class Total:
    """A figure over groups of episodes, as a benchmark's published tables have it."""

    name: str
    says: str
    """What it is the mean of, in one sentence."""
    measures: tuple[str, ...]
    """Those that it is made of, by their names."""
    modes: tuple[str, ...] = ()
    """It is over these modes, and has no figure while one of them has none. Empty for any."""
    over: str = ""
    """A facet: the mean of the means over its values, each with the same weight; it has no figure
    while one of them has none. Empty for one mean over all episodes."""
    where: tuple[str, str] | None = None
    """A facet and the value of it that episodes must have; None for all of them."""

    def takes(self, mode: str, facets: Mapping[str, str]) -> bool:
        """Whether it is over episodes of that mode and those facets."""
        fits = self.where is None or facets.get(self.where[0]) == self.where[1]
        return fits and (not self.modes or mode in self.modes)


def share(of: Callable[[Score], bool]) -> Callable[[Score], Parts]:
    """The parts of a property that an episode has or has not."""
    return lambda one: (float(of(one)), 1.0)


def mean(of: Callable[[Score], float | None]) -> Callable[[Score], Parts | None]:
    """The parts of a mean over episodes."""

    def parts(one: Score) -> Parts | None:
        value = of(one)
        return None if value is None or not math.isfinite(value) else (float(value), 1.0)

    return parts


def _tokens(one: Score) -> float:
    """What the episode's replies took, those from a cache as when they were asked for."""
    of = one.conduct
    saved = of.saved_input_tokens + of.saved_output_tokens
    return of.input_tokens + of.output_tokens + saved


def _cost(one: Score) -> float | None:
    """What the episode cost, replies from a cache at the price they had."""
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
"""Measures of any benchmark. Replies out of a response cache count in tokens and cost as if they
had been asked for: what is measured is the agent, not what was at hand."""


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
"""A measure for each error code."""


def leading(measures: Iterable[Measure]) -> Measure:
    """The measure that the benchmark is about.

    Raises:
        ValueError: none leads, or several do.
    """
    found = [one for one in measures if one.leads]
    if len(found) != 1:
        names = ", ".join(one.name for one in found) or "none"
        raise ValueError(f"one measure of a benchmark leads; here it is {names}")
    return found[0]
