"""Executed calls of tools that run, as a nested task: typed leaves of results are the responses.

Pure: whoever calls has run the tools.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.nested.model import Api, Field, Nest, kind_of, numbered, taken
from toolhop_tools.construct.nested.naming import identifier, in_words, result_name
from toolhop_tools.model import Tool, canonical
from toolhop_tools.readers.nestools import TYPES

MOST_LEAVES = 12
"""Leaves of a result; one with more is no result that a plan is made with."""
OFFICIAL = {ours: official for official, ours in TYPES.items()}
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A typed part of a result: a scalar or a list, reached through objects."""

    name: str
    path: Path
    value: JSON

    @property
    def kind(self) -> str:
        """The format's name of its type."""
        return kind_of(self.value)


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


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why calls are no nested task."""

    why: str


def leaves_of(value: JSON, name: str) -> list[Leaf]:
    """The typed leaves of a result; null has no type, and is none."""
    found: list[Leaf] = []
    left: list[tuple[str, Path, JSON]] = [(name, (), value)]
    while left and len(found) <= MOST_LEAVES:
        own, path, part = left.pop()
        if isinstance(part, dict):
            inner = [
                ("_".join(filter(None, ((own if path else ""), identifier(key)))), (*path, key), v)
                for key, v in part.items()
            ]
            left.extend(reversed(inner))
        elif part is not None:
            found.append(Leaf(own, path, part))
    return found


def assembled(calls: Sequence[Executed]) -> Nest | Unfit:
    """The nested task of executed calls, without its text."""
    names = _result_names(calls)
    leaves = [leaves_of(call.value, names[call.tool.name]) for call in calls]
    for call, own in zip(calls, leaves, strict=True):
        if not own or len(own) > MOST_LEAVES:
            return Unfit(f"a result has {len(own) or 'no'} typed leaves")
        if len({one.name for one in own}) < len(own) or not all(one.name for one in own):
            return Unfit("parts of a result have no names of their own")
        if not call.tool.name.isidentifier():
            return Unfit("a tool's name is no identifier")
    apis: dict[str, Api] = {}
    for at, call in enumerate(calls):
        api = _api(call, leaves[at], _taken_as(calls, at))
        if isinstance(api, Unfit):
            return api
        known = apis.setdefault(api.name, api)
        if known.responses != api.responses:
            return Unfit("calls of one tool give results of different forms")
    made: list[tuple[str, Mapping[str, JSON]]] = []
    for call in calls:
        parameters = _parameters(call, leaves, apis)
        if isinstance(parameters, Unfit):
            return parameters
        made.append((call.tool.name, parameters))
    listed = (*apis.values(),)
    return Nest(listed, (*numbered(listed, made),))


def _result_names(calls: Sequence[Executed]) -> dict[str, str]:
    names: dict[str, set[str]] = {}
    for call in calls:
        names.setdefault(call.tool.name, set()).add(result_name(call.tool.schema, call.arguments))
    schemas = {call.tool.name: call.tool.schema for call in calls}
    return {
        tool: found.pop() if len(found) == 1 else result_name(schemas[tool], {}, options=False)
        for tool, found in names.items()
    }


def _taken_as(calls: Sequence[Executed], at: int) -> dict[Path, set[str]]:
    """By leaf of a call: the types of the parameters that take it whole."""
    found: dict[Path, set[str]] = {}
    for call in calls:
        for link in call.links:
            if link.source == at and link.index is None:
                own = found.setdefault(link.path, set())
                own.add(parameter_kind(call.tool, link.argument, call.arguments[link.argument]))
    return found


def parameter_kind(tool: Tool, name: str, value: JSON = None) -> str:
    """The format's type of a parameter; by a value where the schema names none or several."""
    properties = tool.schema.parameters.get("properties")
    own = properties.get(name) if isinstance(properties, dict) else None
    kind = own.get("type") if isinstance(own, dict) else None
    return OFFICIAL.get(kind, "") if isinstance(kind, str) else kind_of(value)


def _api(call: Executed, leaves: Sequence[Leaf], wanted: Mapping[Path, set[str]]) -> Api | Unfit:
    schema = call.tool.schema
    properties = schema.parameters.get("properties")
    required = schema.parameters.get("required")
    needed = [one for one in required if isinstance(one, str)] if isinstance(required, list) else []
    parameters: dict[str, Field] = {}
    for name, own in (properties if isinstance(properties, dict) else {}).items():
        kind = parameter_kind(call.tool, name, call.arguments.get(name))
        if kind:
            parameters[name] = Field(kind, _about(own if isinstance(own, dict) else {}, name))
        elif name in needed or name in call.arguments:
            return Unfit("a parameter has no type that the format has")
    responses: dict[str, Field] = {}
    for leaf in leaves:
        kind = leaf.kind
        if wanted.get(leaf.path) == {"float"} and kind == "int":
            kind = "float"
        if wanted.get(leaf.path, {kind}) != {kind}:
            return Unfit("a leaf and the parameter that takes it differ in type")
        responses[leaf.name] = Field(kind, f"the {in_words(leaf.name)}")
    ordered = {name: parameters[name] for name in needed if name in parameters}
    return Api(schema.name, schema.description, {**ordered, **parameters}, (*ordered,), responses)


def _about(own: Mapping[str, JSON], name: str) -> str:
    """A parameter's description, with the choices and the default, for which the format has no
    place of their own.
    """
    parts = [str(own.get("description") or in_words(name)).strip().removesuffix(".")]
    choices = own.get("enum")
    if isinstance(choices, list):
        parts.append(f"one of {', '.join(map(str, choices))}")
    if own.get("default") is not None:
        parts.append(f"default {own['default']}")
    return "; ".join(parts)


def _parameters(
    call: Executed, leaves: Sequence[Sequence[Leaf]], apis: Mapping[str, Api]
) -> dict[str, JSON] | Unfit:
    own = apis[call.tool.name].parameters
    found: dict[str, JSON] = {name: call.arguments[name] for name in own if name in call.arguments}
    if len(found) < len(call.arguments) or None in found.values():
        return Unfit("an argument is null, or the schema does not name it")
    for link in call.links:
        leaf = next((one for one in leaves[link.source] if one.path == link.path), None)
        given = call.arguments.get(link.argument)
        held = found.get(link.argument)
        if link.index is None:
            if leaf is None or canonical(leaf.value) != canonical(given):
                return Unfit("a leaf is not the argument that takes it")
            found[link.argument] = taken(link.source, leaf.name)
        elif isinstance(held, list) and isinstance(given, list) and link.index < len(given):
            if leaf is None or canonical(leaf.value) != canonical(given[link.index]):
                return Unfit("a leaf is not the argument that takes it")
            parts: list[JSON] = [*held]
            parts[link.index] = taken(link.source, leaf.name)
            found[link.argument] = parts
        else:
            return Unfit("a leaf stands inside an object")
    return found
