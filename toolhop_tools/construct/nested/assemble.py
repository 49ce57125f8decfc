"""Executed calls of tools that run, as a nested task: typed leaves of results are the responses.

Pure: whoever calls has run the tools.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.nested.kinds import Kinds
from toolhop_tools.construct.nested.model import Api, Field, Nest, kind_of, numbered, taken
from toolhop_tools.construct.nested.naming import identifier, in_words
from toolhop_tools.declared import required
from toolhop_tools.model import Tool, canonical
from toolhop_tools.readers.nestools import TYPES

MOST_LEAVES = 12
"""Leaves of a result; one with more is no result that a plan is made with."""
OFFICIAL = {ours: official for official, ours in TYPES.items()}
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A typed part of a result: a scalar or a list, reached through objects."""

    path: Path
    value: JSON


@dataclass(frozen=True, slots=True)
class Link:
    """An argument, or an element of a list, that is a leaf of an earlier call's result."""

    argument: str
    index: int | None
    """In the list; None for the whole argument."""
    source: int
    """The call, from 0."""
    path: Path
    """Of the leaf."""
    meaning: str = ""
    """By what the leaf is known to be what the argument asks for."""


@dataclass(frozen=True)
class Executed:
    """A call with its result, and where its arguments come from."""

    tool: Tool
    arguments: Mapping[str, JSON]
    value: JSON
    links: tuple[Link, ...] = ()


class Unfit(Exception):
    """Calls that are no nested task; says why."""


def leaves_of(value: JSON, path: Path = ()) -> list[Leaf]:
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
    apis: dict[str, Api] = {}
    made: list[tuple[str, Mapping[str, JSON]]] = []
    for at, call in enumerate(calls):
        own = {name: Field(_response_type(calls, at, leaf), about)
               for name, about, leaf in responses[at]}  # fmt: skip
        api = Api(*_front(call, kinds), own)
        if apis.setdefault(api.name, api).responses != own:
            raise Unfit("calls of one tool give results of different forms")
        made.append((api.name, _parameters(call, api, responses)))
    listed = (*apis.values(),)
    return Nest(listed, (*numbered(listed, made),))


_Response = tuple[str, str, Leaf]
"""Name, description, and what it was."""


def _named(calls: Sequence[Executed], kinds: Kinds) -> list[list[_Response]]:
    """By call: its responses. Calls of one tool that are told apart by an argument alone have the
    names that hold for each of them.
    """
    stated = [_responses(call, kinds) for call in calls]
    names = [[(name, about) for name, about, _ in own] for own in stated]
    return [
        own
        if all(other.tool.name != call.tool.name or names[at] == names[place]
               for place, other in enumerate(calls))
        else _responses(call, Kinds())
        for at, (call, own) in enumerate(zip(calls, stated, strict=True))
    ]  # fmt: skip


def _responses(call: Executed, kinds: Kinds) -> list[_Response]:
    """In words of the kinds file, else of the tool's document."""
    found: list[_Response] = []
    for leaf in leaves_of(call.value):
        stated = kinds.response(call.tool, leaf.path, call.arguments)
        key = " ".join(map(str, leaf.path))
        about = f"{in_words(key)}: {call.tool.schema.description}".removeprefix(": ")
        row = (stated.name, stated.about) if stated else (identifier(key or "result"), about)
        found.append((*row, leaf))
    names = [name for name, _, _ in found]
    if not 0 < len(found) <= MOST_LEAVES:
        raise Unfit(f"a result has {len(found) or 'no'} typed leaves")
    if len({*names}) < len(names) or "" in names:
        raise Unfit("parts of a result have no names of their own")
    return found


def _response_type(calls: Sequence[Executed], at: int, leaf: Leaf) -> str:
    """That of the value; that of the parameters that take it, where a number goes to a float."""
    wanted = {
        parameter_type(call.tool, link.argument, call.arguments[link.argument])
        for call in calls
        for link in call.links
        if link.source == at and link.index is None and link.path == leaf.path
    }
    own = kind_of(leaf.value)
    own = "float" if wanted == {"float"} and own == "int" else own
    if wanted - {own}:
        raise Unfit("a leaf and the parameter that takes it differ in type")
    return own


def parameter_type(tool: Tool, name: str, value: JSON = None) -> str:
    """The format's type of a parameter; by a value where the schema names none or several."""
    properties: Any = tool.schema.parameters.get("properties", {})
    kind = properties.get(name, {}).get("type")
    return OFFICIAL.get(kind, "") if isinstance(kind, str) else kind_of(value)


def _front(call: Executed, kinds: Kinds) -> tuple[str, str, dict[str, Field], tuple[str, ...]]:
    """Name, description, parameters and required ones."""
    schema, needed = call.tool.schema, required(call.tool.schema.parameters)
    if not schema.name.isidentifier():
        raise Unfit("a tool's name is no identifier")
    properties: Any = schema.parameters.get("properties", {})
    parameters: dict[str, Field] = {}
    for name in dict.fromkeys([*needed, *properties]):
        kind = parameter_type(call.tool, name, call.arguments.get(name))
        words = kinds.words(kinds.parameter(call.tool, name, call.arguments))
        about = words or f"{in_words(name)}: {schema.description}"
        if kind:
            parameters[name] = Field(kind, _about(properties.get(name, {}), about))
        elif name in needed or name in call.arguments:
            raise Unfit("a parameter has no type that the format has")
    return schema.name, schema.description, parameters, (*needed,)


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


def _parameters(
    call: Executed, api: Api, responses: Sequence[Sequence[_Response]]
) -> dict[str, JSON]:
    """The arguments, with `taken` where a response goes."""
    given: dict[str, JSON] = {
        name: call.arguments[name] for name in api.parameters if name in call.arguments
    }
    if len(given) < len(call.arguments) or None in given.values():
        raise Unfit("an argument is null, or the schema does not name it")
    for link in call.links:
        name = next((name for name, _, leaf in responses[link.source]
                     if leaf.path == link.path and canonical(leaf.value) == canonical(
                         value_at(call.arguments, link))), None)  # fmt: skip
        if name is None:
            raise Unfit("a leaf is not the argument that takes it")
        given[link.argument] = placed(given[link.argument], link, taken(link.source, name))
    return given


def taken_by(calls: Sequence[Executed], link: Link) -> JSON:
    """The leaf that a link takes."""
    value: Any = calls[link.source].value
    for step in link.path:
        value = value[step]
    leaf: JSON = value
    return leaf


def value_at(arguments: Mapping[str, JSON], link: Link) -> JSON:
    """What stands where a link goes.

    Raises:
        Unfit: there is no such place.
    """
    value = arguments.get(link.argument)
    if link.index is None:
        return value
    if not isinstance(value, list) or link.index >= len(value):
        raise Unfit("a leaf stands inside an object")
    return value[link.index]


def placed(value: JSON, link: Link, new: JSON) -> JSON:
    """An argument with something else where a link goes."""
    if link.index is None or not isinstance(value, list):
        return new
    return [new if at == link.index else part for at, part in enumerate(value)]
