"""Figures that others published, as reference rows beside a run; never mixed with its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

COLUMNS = ("direct", "mandatory", "free", "query", "instance")
"""Of ToolHop's table 4. Per cent."""


class Row(BaseModel):
    """A model's figures, in per cent."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    family: str
    version: str
    direct: float
    mandatory: float
    free: float
    query: float
    instance: float

    @property
    def name(self) -> str:
        """Family and version, as published."""
        return f"{self.family} {self.version}"


class Published(BaseModel):
    """A published table."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    """Paper and table."""
    items: int
    """What it was measured on."""
    rule: str
    unit: str
    average: Mapping[str, float]
    """The row of averages as published; not computed here."""
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """A published table beside runs, and why they are not the same measurement."""

    table: Published
    caveats: Sequence[str]


@cache
def toolhop() -> Published:
    """Table 4 of the ToolHop paper."""
    text = files("agents.compare").joinpath("published_toolhop.json").read_bytes()
    return Published.model_validate_json(text)


def beside(asked: Mapping[str, int]) -> Reference:
    """The table, given how many items each run (by letter) was asked for."""
    table = toolhop()
    caveats = [
        f"Published rows are from {table.source}: {table.items} items, {table.rule} rule.",
        "Their prompts, providers and error counts are the authors'; no test or interval compares "
        "a run with them.",
    ]
    fewer = [f"{letter} {count}" for letter, count in asked.items() if count != table.items]
    if fewer:
        caveats.append(f"These runs were over other numbers of items: {', '.join(fewer)}.")
    return Reference(table, caveats)
