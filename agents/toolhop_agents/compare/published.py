"""Figures published by others, shown as reference rows beside a run but never mixed with its
own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

from toolhop_env.attempt import Attempt
from toolhop_env.benchmark import Benchmark
from toolhop_env.benchmarks import named
from toolhop_env.estimates import Estimate, figures, linear_total
from toolhop_env.measures import CONDUCT, Measure, Total
from toolhop_env.runs.sides import NotComparable
from toolhop_env.score import Score

PREFIX, SUFFIX = "published_", ".json"
"""Prefix and suffix of a published table's file name, around the benchmark's name."""


class Parts(BaseModel):
    """Groups of episodes; a column is the unweighted mean of their figures."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    facet: str
    values: tuple[str, ...]


class PublishedColumn(BaseModel):
    """The figure of a run that a column shows."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    measure: str
    modes: tuple[str, ...]
    """Modes in order of preference; the first that was played is used."""
    pooled: bool = False
    """Whether the figure is over all of `modes` together; there is no figure if one was not
    played."""
    parts: Parts | None = None
    """Groups with equal weight; there is no figure if one of them was not played."""

    def of(self, benchmark: Benchmark, attempts: Sequence[Attempt]) -> Estimate | None:
        """Return the figure over a run's attempts; None if there is none."""
        played = {one.mode for one in attempts}
        modes = [mode for mode in self.modes if mode in played]
        if not modes or (self.pooled and len(modes) < len(self.modes)):
            return None
        chosen = [one for one in attempts if one.mode in (modes if self.pooled else modes[:1])]
        if self.parts is None:
            return _figure(benchmark, self.measure, chosen)
        facet, values = self.parts.facet, set(self.parts.values)
        chosen = [one for one in chosen if one.facets.get(facet) in values]
        if {one.facets[facet] for one in chosen if one.score} < values:
            return None
        total = Total("", "", (self.measure,), over=facet)
        ((_, found),) = linear_total(benchmark, total, chosen)
        return found.estimate(benchmark.measure(self.measure)) if found else None

    def of_one(self, benchmark: Benchmark) -> Measure:
        """Return the column's measure."""
        return {one.name: one for one in (*benchmark.measures, *CONDUCT)}[self.measure]


def _figure(benchmark: Benchmark, name: str, attempts: Iterable[Attempt]) -> Estimate | None:
    scores = [(one.cluster, one.verdict) for one in attempts if isinstance(one.verdict, Score)]
    return figures((*benchmark.measures, *CONDUCT), scores).get(name) if scores else None


class Published(BaseModel):
    """A published table."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    """Paper and table."""
    items: int
    """Number of items measured."""
    rule: str
    judge: str = ""
    """Model or person that judged; empty if no judge was needed."""
    unit: str
    digits: int = 2
    """Decimal places, as published."""
    columns: Mapping[str, PublishedColumn]
    average: Mapping[str, float] = {}
    """The published row of averages, if any; it is not computed here."""
    rows: tuple[Mapping[str, str | float], ...]
    """Rows with the version of a model, its family if the table names it, and a figure per
    column."""

    @property
    def shown(self) -> Mapping[str, PublishedColumn]:
        """The columns that fit on a screen; `--json` has all."""
        wide = len(self.columns) > MOST_COLUMNS
        names = [name for name in self.columns if not (wide and name.endswith((" P", " R")))]
        return {name: self.columns[name] for name in names}


MOST_COLUMNS = 13
"""Maximum columns on a screen, beyond which precision and recall are dropped and F1 stays."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A published table beside runs, with the reasons why the measurements differ."""

    table: Published
    caveats: Sequence[str]

    def own(self, attempts: Collection[Attempt]) -> dict[str, dict[str, Estimate | None]]:
        """Return each agent's own figures in the table's columns."""
        found: dict[str, dict[str, Estimate | None]] = {}
        for agent in dict.fromkeys(one.agent for one in attempts):
            of_one = [one for one in attempts if one.agent == agent]
            benchmark = named(of_one[0].benchmark)
            columns = self.table.columns.items()
            found[agent] = {name: column.of(benchmark, of_one) for name, column in columns}
        return found


@cache
def published(benchmark: str) -> Published:
    """Return the published table of a benchmark.

    Raises:
        NotComparable: there is no table of this benchmark.
    """
    folder = files("toolhop_agents.compare")
    found = {
        one.name.removeprefix(PREFIX).removesuffix(SUFFIX): one
        for one in folder.iterdir()
        if one.name.startswith(PREFIX) and one.name.endswith(SUFFIX)
    }
    if benchmark not in found:
        known = ", ".join(sorted(found))
        raise NotComparable(
            f"there is no published table of {benchmark} here; there is one of {known}. Leave out "
            "--published"
        )
    return Published.model_validate_json(found[benchmark].read_bytes())


def beside(
    benchmark: str, asked: Mapping[str, int], differs: Mapping[str, Sequence[str]]
) -> Reference:
    """Return the published table with caveats for these runs.

    Args:
        benchmark: name of the benchmark.
        asked: number of items by the run's letter.
        differs: differences from the official set-up by the run's letter.

    Raises:
        NotComparable: there is no table of this benchmark.
    """
    table = published(benchmark)
    judged = f", judged by {table.judge}" if table.judge else ""
    caveats = [
        f"Published rows are from {table.source}: {table.items} items, {table.rule} scorer"
        f"{judged}.",
        "Their prompts, providers and error counts are the authors'; no test or interval compares "
        "a run with them.",
    ]
    fewer = [f"{letter} {count}" for letter, count in asked.items() if count != table.items]
    if fewer:
        caveats.append(f"These runs were over other numbers of items: {', '.join(fewer)}.")
    for letter, names in differs.items():
        if names:
            caveats.append(
                f"{letter} is not comparable with them: it differs in {', '.join(names)} "
                "(toolhop explain)."
            )
    return Reference(table, caveats)
