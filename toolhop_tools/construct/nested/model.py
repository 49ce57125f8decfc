"""A nested task as a value: tools, calls and text, and the form of its calls. Pure.

The row is that of NesTools' ``data/test_data.jsonl``: ``test_id api task call field``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from toolhop_sandbox.outcome import JSON

MARK = "API_call"
"""What every placeholder of a response begins with."""
PLACEHOLDER = re.compile(rf"{MARK}_\d+")
KINDS: Mapping[str, type | tuple[type, ...]] = {
    "str": str, "int": int, "float": (float, int), "list": list, "bool": bool, "dict": dict,
}  # fmt: skip
"""The format's types, and Python's of their values. Whole numbers are floats too, as in data."""
MOST_CALLS = 20
"""Calls of a task. NesTools has 6 at most; depth 6 with four calls at a level takes up to 18."""


def kind_of(value: JSON) -> str:
    """The format's name of a value's type; empty for null."""
    return type(value).__name__ if value is not None else ""


def is_of(kind: str, value: JSON) -> bool:
    """Whether a value has a type of the format. A truth value is no number; an unknown type
    takes anything.
    """
    if kind not in KINDS:
        return True
    return (isinstance(value, bool) == (kind == "bool")) and isinstance(value, KINDS[kind])


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter or a response."""

    type: str
    """One of `KINDS`."""
    description: str


@dataclass(frozen=True)
class Api:
    """A tool as a plan needs it."""

    name: str
    description: str
    parameters: Mapping[str, Field]
    required: tuple[str, ...]
    responses: Mapping[str, Field]

    def to_row(self) -> dict[str, JSON]:
        """As the format has it, in its order of keys."""
        parameters: JSON = {name: asdict(field) for name, field in self.parameters.items()}
        responses: JSON = {name: asdict(field) for name, field in self.responses.items()}
        return {
            "api_name": self.name,
            "api_description": self.description,
            "parameters": parameters,
            "required": list(self.required),
            "responses": responses,
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Api:
        """Read what `to_row` wrote."""
        parameters, responses = (
            {name: Field(**field) for name, field in row[part].items()}
            for part in ("parameters", "responses")
        )
        required = (*row["required"],)
        return cls(row["api_name"], row["api_description"], parameters, required, responses)


@dataclass(frozen=True)
class NestCall:
    """A gold call; placeholders stand for responses of calls before it."""

    api: str
    parameters: Mapping[str, JSON]
    responses: tuple[str, ...]
    """A placeholder for each of the tool's responses, in order."""

    def to_row(self) -> dict[str, JSON]:
        """As the format has it."""
        responses: list[JSON] = [*self.responses]
        own: dict[str, JSON] = {"api_name": self.api, "parameters": dict(self.parameters)}
        return {**own, "responses": responses}


@dataclass(frozen=True, slots=True)
class Reference:
    """A parameter that takes a response of an earlier call. Calls are counted from 0."""

    source: int
    response: str
    target: int
    parameter: str


@dataclass(frozen=True)
class Nest:
    """Tools, gold calls and the task's text."""

    apis: tuple[Api, ...]
    calls: tuple[NestCall, ...]
    task: str = ""

    def to_row(self, test_id: int, field: str) -> dict[str, JSON]:
        """The official row."""
        api: list[JSON] = [api.to_row() for api in self.apis]
        calls: list[JSON] = [call.to_row() for call in self.calls]
        return {"test_id": test_id, "api": api, "task": self.task, "call": calls, "field": field}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Nest:
        """The task in an official row."""
        calls = (NestCall(call["api_name"], call["parameters"], (*call["responses"],))
                 for call in row["call"])  # fmt: skip
        return cls((*map(Api.from_row, row["api"]),), (*calls,), row["task"])

    @cached_property
    def by_name(self) -> dict[str, Api]:
        """Its tools."""
        return {api.name: api for api in self.apis}

    @cached_property
    def sources(self) -> dict[str, tuple[int, str]]:
        """By placeholder: the call that gives it, and the response that it is."""
        return {
            text: (at, name)
            for at, call in enumerate(self.calls)
            for name, text in zip(self.by_name[call.api].responses, call.responses, strict=True)
        }

    @cached_property
    def references(self) -> tuple[Reference, ...]:
        """Which parameter takes which response."""
        return tuple(
            Reference(*self.sources[leaf], at, name)
            for at, call in enumerate(self.calls)
            for name, value in call.parameters.items()
            for leaf in leaves(value)
            if isinstance(leaf, str) and leaf in self.sources
        )

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """Of each call: the longest way to it, in calls; 1 where it takes no response."""
        levels: list[int] = []
        for at in range(len(self.calls)):
            before = [levels[edge.source] for edge in self.references if edge.target == at]
            levels.append(1 + max(before, default=0))
        return tuple(levels)

    @property
    def depth(self) -> int:
        """The longest way from response to parameter, in calls, as the released code counts it."""
        return max(self.levels, default=0)

    @property
    def width(self) -> int:
        """The most calls at one level."""
        return max(Counter(self.levels).values(), default=0)

    @property
    def loose(self) -> list[int]:
        """Calls that take nothing of another call and give nothing to one."""
        tied = {at for edge in self.references for at in (edge.source, edge.target)}
        return [at for at in range(len(self.calls)) if at not in tied]

    @property
    def parts(self) -> int:
        """How many parts without a reference between them the calls fall into."""
        group = [*range(len(self.calls))]
        for edge in self.references:
            old, new = group[edge.target], group[edge.source]
            group = [new if part == old else part for part in group]
        return len({*group})

    def literals(self) -> Iterator[tuple[int, str, JSON]]:
        """The scalars of the calls that no call gives: call, parameter, value."""
        for at, call in enumerate(self.calls):
            for name, value in call.parameters.items():
                for leaf in leaves(value):
                    if not (isinstance(leaf, str) and PLACEHOLDER.fullmatch(leaf)):
                        yield at, name, leaf


def leaves(value: JSON) -> Iterator[JSON]:
    """The scalars of a value, in order."""
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from leaves(part)
    else:
        yield value


TAKEN = "$taken"
"""Key of an object that stands for a response: ``{"$taken": [call, response]}``."""


def taken(call: int, response: str) -> dict[str, JSON]:
    """What stands for a response until placeholders are numbered."""
    return {TAKEN: [call, response]}


def numbered(apis: Sequence[Api], made: Sequence[tuple[str, Mapping[str, JSON]]]) -> list[NestCall]:
    """Calls with a placeholder for each response, numbered through the task as the format has it.

    Args:
        apis: the tools.
        made: by call: the tool, and parameters in which `taken` stands for responses.
    """
    responses = {api.name: [*api.responses] for api in apis}
    texts: list[dict[str, str]] = []

    def filled(value: JSON) -> JSON:
        match value:
            case {"$taken": [int(call), str(response)]}:
                return texts[call][response]
            case list():
                return [filled(part) for part in value]
            case _:
                return value

    calls: list[NestCall] = []
    for name, parameters in made:
        count = sum(map(len, texts))
        own = {response: f"{MARK}_{count + at}" for at, response in enumerate(responses[name])}
        given = {key: filled(value) for key, value in parameters.items()}
        texts.append(own)
        calls.append(NestCall(name, given, tuple(own.values())))
    return calls
