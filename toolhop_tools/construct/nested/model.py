"""A nested task as a value: tools, calls, text; and the form of its calls. Pure.

The row is that of NesTools' ``data/test_data.jsonl``: ``test_id api task call field``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    match value:
        case bool():
            return "bool"
        case int():
            return "int"
        case float():
            return "float"
        case str():
            return "str"
        case list():
            return "list"
        case dict():
            return "dict"
        case _:
            return ""


def is_of(kind: str, value: JSON) -> bool:
    """Whether a value is of a type: a truth value is no number. Any is of one that is unknown."""
    if kind not in KINDS:
        return True
    return (isinstance(value, bool) == (kind == "bool")) and isinstance(value, KINDS[kind])


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter or a response."""

    type: str
    """One of `KINDS`."""
    description: str

    def to_row(self) -> dict[str, JSON]:
        """As the format has it."""
        return {"type": self.type, "description": self.description}


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
        parameters: dict[str, JSON] = {k: one.to_row() for k, one in self.parameters.items()}
        responses: dict[str, JSON] = {k: one.to_row() for k, one in self.responses.items()}
        return {
            "api_name": self.name,
            "api_description": self.description,
            "parameters": parameters,
            "required": [*self.required],
            "responses": responses,
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Api:
        """What `to_row` wrote."""
        return cls(
            row["api_name"],
            row["api_description"],
            {name: Field(**one) for name, one in row["parameters"].items()},
            tuple(row["required"]),
            {name: Field(**one) for name, one in row["responses"].items()},
        )


@dataclass(frozen=True)
class NestCall:
    """A gold call; placeholders stand for responses of calls before it."""

    api: str
    parameters: Mapping[str, JSON]
    responses: tuple[str, ...]
    """A placeholder for each of the tool's responses, in order."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A parameter that takes a response of an earlier call. Calls are counted from 0."""

    source: int
    response: str
    target: int
    parameter: str
    whole: bool
    """The value is the placeholder; else this is one element of a list."""


@dataclass(frozen=True)
class Nest:
    """Tools, gold calls and the task's text."""

    apis: tuple[Api, ...]
    calls: tuple[NestCall, ...]
    task: str = ""

    def to_row(self, test_id: int, field: str) -> dict[str, JSON]:
        """The official row."""
        return {
            "test_id": test_id,
            "api": [api.to_row() for api in self.apis],
            "task": self.task,
            "call": [
                {
                    "api_name": call.api,
                    "parameters": dict(call.parameters),
                    "responses": [*call.responses],
                }
                for call in self.calls
            ],
            "field": field,
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Nest:
        """The task in an official row."""
        calls = (
            NestCall(one["api_name"], one["parameters"], tuple(one["responses"]))
            for one in row["call"]
        )
        return cls(tuple(map(Api.from_row, row["api"])), tuple(calls), row["task"])

    @cached_property
    def by_name(self) -> dict[str, Api]:
        """Its tools."""
        return {api.name: api for api in self.apis}

    @cached_property
    def references(self) -> tuple[Reference, ...]:
        """Which parameter takes which response."""
        made = {
            text: (at, name)
            for at, call in enumerate(self.calls)
            for name, text in zip(self.by_name[call.api].responses, call.responses, strict=True)
        }
        return tuple(
            Reference(*made[text], at, name, whole=text == value)
            for at, call in enumerate(self.calls)
            for name, value in call.parameters.items()
            for text in placeholders(value)
            if text in made
        )

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """Of each call: the longest way to it, in calls; 1 where it takes no response."""
        found: list[int] = []
        for at in range(len(self.calls)):
            before = [found[one.source] for one in self.references if one.target == at]
            found.append(1 + max(before, default=0))
        return tuple(found)

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
        tied = {at for one in self.references for at in (one.source, one.target)}
        return [at for at in range(len(self.calls)) if at not in tied]

    @property
    def parts(self) -> int:
        """How many parts without a reference between them the calls fall into."""
        group = [*range(len(self.calls))]
        for one in self.references:
            old, new = group[one.target], group[one.source]
            group = [new if at == old else at for at in group]
        return len({*group})

    def literals(self) -> Iterator[tuple[int, str, JSON]]:
        """The scalars of the calls that no call gives: call, parameter, value."""
        for at, call in enumerate(self.calls):
            for name, value in call.parameters.items():
                for leaf in _leaves(value):
                    if not (isinstance(leaf, str) and PLACEHOLDER.fullmatch(leaf)):
                        yield at, name, leaf


def placeholders(value: JSON) -> list[str]:
    """The placeholders in a value: the value itself, or elements of lists."""
    found = (one for one in _leaves(value) if isinstance(one, str))
    return [one for one in found if PLACEHOLDER.fullmatch(one)]


def _leaves(value: JSON) -> Iterator[JSON]:
    if isinstance(value, dict):
        for part in value.values():
            yield from _leaves(part)
    elif isinstance(value, list):
        for part in value:
            yield from _leaves(part)
    else:
        yield value


def numbered(apis: Sequence[Api], made: Sequence[tuple[str, Mapping[str, JSON]]]) -> list[NestCall]:
    """Calls with a placeholder for each response, numbered through the task as the format has it.

    Args:
        apis: the tools.
        made: by call: the tool, and parameters in which ``(call, response)`` pairs as
            `Taken` stand for responses.
    """
    responses = {api.name: [*api.responses] for api in apis}
    texts: list[dict[str, str]] = []
    calls: list[NestCall] = []
    count = 0
    for name, parameters in made:
        own = {one: f"{MARK}_{count + at}" for at, one in enumerate(responses[name])}
        count += len(own)
        filled = {key: _filled(value, texts) for key, value in parameters.items()}
        texts.append(own)
        calls.append(NestCall(name, filled, tuple(own.values())))
    return calls


TAKEN = "$taken"
"""Key of an object that stands for a response: ``{"$taken": [call, response]}``."""


def taken(call: int, response: str) -> dict[str, JSON]:
    """What stands for a response until placeholders are numbered."""
    return {TAKEN: [call, response]}


def _filled(value: JSON, texts: Sequence[Mapping[str, str]]) -> JSON:
    match value:
        case {"$taken": [int(call), str(response)]}:
            return texts[call][response]
        case list():
            return [_filled(one, texts) for one in value]
        case _:
            return value
