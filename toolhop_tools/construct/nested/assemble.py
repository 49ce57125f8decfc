"""Executed calls of tools that run, as a nested task: typed leaves of results are the responses.

Pure: whoever calls has run the tools.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolhop_sandbox.outcome import JSON
from toolhop_tools.benchmarks.nestools.reader import TYPES
from toolhop_tools.construct.nested.kinds import Kinds
from toolhop_tools.construct.nested.model import (
    Api,
    Field,
    Nest,
    NestCall,
    in_words,
    kind_of,
    placeholders,
)
from toolhop_tools.declared import described, required
from toolhop_tools.model import Tool, canonical

MOST_LEAVES = 12
"""Leaves of a result; one with more is no result that a plan is made with."""
OFFICIAL = {ours: official for official, ours in TYPES.items()}


@dataclass(frozen=True, slots=True)
class Leaf:
    """A typed part of a result: a scalar or a list, reached through objects."""

    path: tuple[str, ...]
    value: JSON


@dataclass(frozen=True, slots=True)
class Link:
    """An argument, or an element of a list, that is a leaf of an earlier call's result."""

    argument: str
    index: int | None
    """In the list; None for the whole argument."""
    source: int
    """The call, from 0."""
    leaf: Leaf
    meaning: str = ""
    """By what the leaf is known to be what the argument asks for."""

    def of(self, arguments: Mapping[str, JSON]) -> JSON:
        """What stands where the leaf goes.

        Raises:
            Unfit: there is no such place.
        """
        value = arguments.get(self.argument)
        if self.index is None:
            return value
        if not isinstance(value, list) or self.index >= len(value):
            raise Unfit("a leaf stands inside an object")
        return value[self.index]

    def put(self, arguments: Mapping[str, JSON], new: JSON) -> dict[str, JSON]:
        """The arguments with something else where the leaf goes."""
        value = arguments[self.argument]
        if self.index is not None and isinstance(value, list):
            new = [new if at == self.index else part for at, part in enumerate(value)]
        return {**arguments, self.argument: new}


@dataclass(frozen=True)
class Executed:
    """A call with its result, and where its arguments come from."""

    tool: Tool
    arguments: Mapping[str, JSON]
    value: JSON
    links: tuple[Link, ...] = ()


class Unfit(Exception):
    """Calls that are no nested task; says why."""


def leaves_of(value: JSON, path: tuple[str, ...] = ()) -> list[Leaf]:
    """The typed leaves of a result, in order; null has no type, and is none."""
    if isinstance(value, dict):
        return [leaf for key, part in value.items() for leaf in leaves_of(part, (*path, key))]
    return [] if value is None else [Leaf(path, value)]


def assembled(calls: Sequence[Executed], kinds: Kinds) -> Nest:
    """The nested task of executed calls, without its text.

    Raises:
        Unfit: they are none.
    """
    responses = _named(calls, kinds)
    texts = placeholders(map(len, responses))
    apis: dict[str, Api] = {}
    made: list[NestCall] = []
    for at, call in enumerate(calls):
        own = {name: Field(_response_type(calls, at, leaf), about)
               for name, about, leaf in responses[at]}  # fmt: skip
        api = _api(call, kinds, own)
        if apis.setdefault(api.name, api).responses != own:
            raise Unfit("calls of one tool give results of different forms")
        given = {name: call.arguments[name] for name in api.parameters if name in call.arguments}
        if len(given) < len(call.arguments) or None in given.values():
            raise Unfit("an argument is null, or the schema does not name it")
        for link in call.links:
            taken = [
                text
                for (_, _, leaf), text in zip(responses[link.source], texts[link.source],
                                              strict=True)
                if leaf.path == link.leaf.path
                and canonical(leaf.value) == canonical(link.of(call.arguments))
            ]  # fmt: skip
            if not taken:
                raise Unfit("a leaf is not the argument that takes it")
            given = link.put(given, taken[0])
        made.append(NestCall(api.name, given, texts[at]))
    return Nest((*apis.values(),), (*made,))


_Response = tuple[str, str, Leaf]
"""Name, description, and what it was."""


def _named(calls: Sequence[Executed], kinds: Kinds) -> list[list[_Response]]:
    """By call: its responses. Calls of one tool that are told apart by an argument alone have the
    names that hold for each of them.
    """
    stated = [_responses(call, kinds) for call in calls]
    names: dict[str, set[tuple[tuple[str, str], ...]]] = {}
    for call, own in zip(calls, stated, strict=True):
        names.setdefault(call.tool.name, set()).add(tuple((name, about) for name, about, _ in own))
    return [
        own if len(names[call.tool.name]) == 1 else _responses(call, Kinds())
        for call, own in zip(calls, stated, strict=True)
    ]


def _responses(call: Executed, kinds: Kinds) -> list[_Response]:
    """In words of the kinds file, else of the tool's document."""
    responses: list[_Response] = []
    for leaf in leaves_of(call.value):
        stated = kinds.response(call.tool, leaf.path, call.arguments)
        key = " ".join(leaf.path)
        about = f"{in_words(key)}: {call.tool.schema.description}".removeprefix(": ")
        row = (stated.name, stated.about) if stated else (_identifier(key or "result"), about)
        responses.append((*row, leaf))
    names = [name for name, _, _ in responses]
    if not 0 < len(responses) <= MOST_LEAVES:
        raise Unfit(f"a result has {len(responses) or 'no'} typed leaves")
    if len({*names}) < len(names) or "" in names:
        raise Unfit("parts of a result have no names of their own")
    return responses


def _identifier(text: str) -> str:
    """A text as a name in small letters; empty where it holds no ASCII identifier."""
    name = "_".join(re.findall(r"\w+", text.replace("_", " ").casefold()))
    return name if name.isascii() and name.isidentifier() else ""


def _response_type(calls: Sequence[Executed], at: int, leaf: Leaf) -> str:
    """That of the value; that of the parameters that take it, where a number goes to a float."""
    wanted = {
        parameter_type(call.tool, link.argument, call.arguments[link.argument])
        for call in calls
        for link in call.links
        if link.source == at and link.index is None and link.leaf.path == leaf.path
    }
    own = kind_of(leaf.value)
    own = "float" if wanted == {"float"} and own == "int" else own
    if wanted - {own}:
        raise Unfit("a leaf and the parameter that takes it differ in type")
    return own


def parameter_type(tool: Tool, name: str, value: JSON = None) -> str:
    """The format's type of a parameter; by a value where the schema names none or several."""
    own: Any = described(tool.schema.parameters).get(name, {})
    kind = own.get("type")
    return OFFICIAL.get(kind, "") if isinstance(kind, str) else kind_of(value)


def _api(call: Executed, kinds: Kinds, responses: dict[str, Field]) -> Api:
    """The tool of a call, with required parameters first."""
    schema = call.tool.schema
    needed = required(schema.parameters)
    if not schema.name.isidentifier():
        raise Unfit("a tool's name is no identifier")
    properties: Any = described(schema.parameters)
    parameters: dict[str, Field] = {}
    for name in dict.fromkeys([*needed, *properties]):
        kind = parameter_type(call.tool, name, call.arguments.get(name))
        words = kinds.words(kinds.parameter(call.tool, name, call.arguments))
        about = words or f"{in_words(name)}: {schema.description}"
        if kind:
            parameters[name] = Field(kind, _about(properties.get(name, {}), about))
        elif name in needed or name in call.arguments:
            raise Unfit("a parameter has no type that the format has")
    return Api(schema.name, schema.description, parameters, (*needed,), responses)


def _about(own: Mapping[str, Any], otherwise: str) -> str:
    """A parameter's description, with choices, default and keys of objects, for which the format
    has no place of their own.
    """
    parts = [str(own.get("description") or otherwise).strip().removesuffix(".")]
    if isinstance(own.get("enum"), list):
        parts.append(f"one of {', '.join(map(str, own['enum']))}")
    if own.get("default") is not None:
        parts.append(f"default {own['default']}")
    inner = own.get("items", own).get("properties", {})
    parts += [f"with {key}: {_about(part, in_words(key))}" for key, part in inner.items()]
    return "; ".join(parts)
