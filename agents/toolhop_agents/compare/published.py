"""Figures that others published, as reference rows beside a run; never mixed with its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

from toolhop_env.estimates import Estimate
from toolhop_env.runs.sides import NotComparable
from toolhop_env.summary import Summary

PUBLISHED: Mapping[str, str] = {"toolhop": "published_toolhop.json"}
"""By benchmark the file of its published table."""


class PublishedColumn(BaseModel):
    """Which figure of a run stands in a column."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    measure: str
    modes: tuple[str, ...]
    """Of the first of these that was played."""

    def of(self, by_mode: Mapping[str, Summary]) -> Estimate | None:
        """The figure, given a run's summary by mode; None where there is none."""
        played = [by_mode[mode] for mode in self.modes if mode in by_mode]
        return played[0].figures.get(self.measure) if played else None


class Published(BaseModel):
    """A published table."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    """Paper and table."""
    items: int
    """What it was measured on."""
    rule: str
    unit: str
    columns: Mapping[str, PublishedColumn]
    average: Mapping[str, float]
    """The row of averages as published; not computed here."""
    rows: tuple[Mapping[str, str | float], ...]
    """Family and version of a model, and a figure by column."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A published table beside runs, and why they are not the same measurement."""

    table: Published
    caveats: Sequence[str]

    def own(self, summaries: Iterable[Summary]) -> dict[str, list[Estimate | None]]:
        """By agent a run's figures in the table's columns."""
        by_agent: dict[str, dict[str, Summary]] = {}
        for one in summaries:
            by_agent.setdefault(one.group.agent, {})[one.group.mode] = one
        columns = self.table.columns.values()
        return {agent: [one.of(found) for one in columns] for agent, found in by_agent.items()}


@cache
def published(benchmark: str) -> Published:
    """The published table of a benchmark.

    Raises:
        NotComparable: there is none here.
    """
    if benchmark not in PUBLISHED:
        known = ", ".join(PUBLISHED)
        raise NotComparable(
            f"there is no published table of {benchmark} here; there is one of {known}. Leave out "
            "--published"
        )
    text = files("toolhop_agents.compare").joinpath(PUBLISHED[benchmark]).read_bytes()
    return Published.model_validate_json(text)


def beside(benchmark: str, asked: Mapping[str, int]) -> Reference:
    """The table, given how many items each run (by letter) was asked for.

    Raises:
        NotComparable: there is none of this benchmark.
    """
    table = published(benchmark)
    caveats = [
        f"Published rows are from {table.source}: {table.items} items, {table.rule} scorer.",
        "Their prompts, providers and error counts are the authors'; no test or interval compares "
        "a run with them.",
    ]
    fewer = [f"{letter} {count}" for letter, count in asked.items() if count != table.items]
    if fewer:
        caveats.append(f"These runs were over other numbers of items: {', '.join(fewer)}.")
    return Reference(table, caveats)
