"""A nested task as a value: tools, calls and text, and the shape of its calls. Pure.

A row is that of NesTools' ``data/test_data.jsonl``: ``test_id api task call field``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import count, islice
from typing import Annotated, Any

from pydantic import Field as Key
from pydantic import TypeAdapter

from toolhop_sandbox.outcome import JSON
from toolhop_tools.words import scalars

MARK = "API_call"
"""Prefix of every placeholder for a response."""
PLACEHOLDER = re.compile(rf"{MARK}_\d+")
KINDS: Mapping[str, type | tuple[type, ...]] = {
    "str": str, "int": int, "float": (float, int), "list": list, "bool": bool, "dict": dict,
}  # fmt: skip
"""The format's types and their Python types. As in the data, integers are also floats."""
MOST_CALLS = 20
"""Maximum number of calls of a task. NesTools has 6; depth 6 with width 4 needs up to 18."""


def kind_of(value: JSON) -> str:
    """Return the format's name for a value's type; empty for null."""
    return type(value).__name__ if value is not None else ""


def is_of(kind: str, value: JSON) -> bool:
    """Whether a value has a type. Booleans are not numbers; an unknown type accepts anything."""
    if kind not in KINDS:
        return True
    return (isinstance(value, bool) == (kind == "bool")) and isinstance(value, KINDS[kind])


def in_words(name: str) -> str:
    """Return an identifier as separate words."""
    return name.replace("_", " ")


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter or a response."""

    type: str
    """One of `KINDS`."""
    description: str


@dataclass(frozen=True)
class Api:
    """A tool as described to a planner."""

    name: Annotated[str, Key(alias="api_name")]
    description: Annotated[str, Key(alias="api_description")]
    parameters: dict[str, Field]
    required: tuple[str, ...]
    responses: dict[str, Field]

    def to_row(self, number: int | None = None) -> dict[str, JSON]:
        """Return the tool in the format's order of keys; with a number, as prompts list it."""
        row: dict[str, JSON] = _API.dump_python(self, mode="json", by_alias=True)
        return row if number is None else {"api_name": self.name, "api_id": number, **row}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Api:
        """Read a row that `to_row` wrote."""
        return _API.validate_python(row)


@dataclass(frozen=True)
class NestCall:
    """A gold call, with placeholders for responses of earlier calls."""

    api: Annotated[str, Key(alias="api_name")]
    parameters: dict[str, JSON]
    responses: tuple[str, ...]
    """A placeholder for each response of the tool, in order."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A parameter that takes a response of an earlier call. Calls are numbered from 0."""

    source: int
    response: str
    target: int
    parameter: str


@dataclass(frozen=True)
class Nest:
    """The tools, gold calls and text of a nested task."""

    apis: Annotated[tuple[Api, ...], Key(alias="api")]
    calls: Annotated[tuple[NestCall, ...], Key(alias="call")]
    task: str = ""

    def to_row(self, test_id: int, field: str) -> dict[str, JSON]:
        """Return the task as an official row."""
        own: dict[str, JSON] = _NEST.dump_python(self, mode="json", by_alias=True)
        parts = {name: own[name] for name in ("api", "task", "call")}
        return {"test_id": test_id, **parts, "field": field}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Nest:
        """Read the task from an official row."""
        return _NEST.validate_python({name: row[name] for name in ("api", "task", "call")})

    @cached_property
    def by_name(self) -> dict[str, Api]:
        """The tools by name."""
        return {api.name: api for api in self.apis}

    @cached_property
    def sources(self) -> dict[str, tuple[int, str]]:
        """For each placeholder, the call it comes from and the name of the response."""
        return {
            text: (at, name)
            for at, call in enumerate(self.calls)
            for name, text in zip(self.by_name[call.api].responses, call.responses, strict=True)
        }

    @cached_property
    def references(self) -> tuple[Reference, ...]:
        """The references from parameters to responses."""
        return tuple(
            Reference(*self.sources[leaf], at, name)
            for at, name, leaf in self._leaves()
            if isinstance(leaf, str) and leaf in self.sources
        )

    def literals(self) -> Iterator[tuple[int, str, JSON]]:
        """Yield the scalars that are not responses, as (call, parameter, value)."""
        for at, name, leaf in self._leaves():
            if not (isinstance(leaf, str) and PLACEHOLDER.fullmatch(leaf)):
                yield at, name, leaf

    def _leaves(self) -> Iterator[tuple[int, str, JSON]]:
        for at, call in enumerate(self.calls):
            for name, value in call.parameters.items():
                yield from ((at, name, leaf) for _, leaf in scalars(value))

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """The level of each call: 1 without references, else one more than its deepest source."""
        levels: list[int] = []
        for at in range(len(self.calls)):
            before = [levels[edge.source] for edge in self.references if edge.target == at]
            levels.append(1 + max(before, default=0))
        return tuple(levels)

    @property
    def depth(self) -> int:
        """Length of the longest chain of references, in calls, as the released code counts it."""
        return max(self.levels, default=0)

    @property
    def width(self) -> int:
        """Largest number of calls at one level."""
        return max(Counter(self.levels).values(), default=0)

    @property
    def parts(self) -> list[list[int]]:
        """Return the calls of each connected part; no reference links two parts."""
        part_of = {at: [at] for at in range(len(self.calls))}
        for edge in self.references:
            part, other = part_of[edge.source], part_of[edge.target]
            if part is not other:
                part += other
                part_of |= dict.fromkeys(other, part)
        return [*{id(part): part for part in part_of.values()}.values()]


_API, _NEST = TypeAdapter(Api), TypeAdapter(Nest)


def placeholders(sizes: Iterable[int]) -> list[tuple[str, ...]]:
    """Return the placeholders of each call, numbered through the task as the format requires.

    `sizes` has the number of responses of each call's tool.
    """
    numbers = count()
    return [tuple(f"{MARK}_{number}" for number in islice(numbers, size)) for size in sizes]
