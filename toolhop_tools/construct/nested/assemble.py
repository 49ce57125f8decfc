"""Conversion of executed calls to a nested task whose responses are typed leaves of results.

Pure: the caller runs the tools.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON, Outcome, Returned
from toolhop_tools.benchmarks.nestools.reader import TYPES
from toolhop_tools.certify.model import Certificate, Edge, HopVerdict
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
from toolhop_tools.failures import tells_of_error
from toolhop_tools.model import Item, Tool, canonical
from toolhop_tools.reading import read_result
from toolhop_tools.words import bare

MOST_LEAVES = 12
"""Maximum number of leaves of a result; a plan cannot reasonably use a result with more."""
OFFICIAL = {ours: official for official, ours in TYPES.items()}


@dataclass(frozen=True, slots=True)
class Leaf:
    """A typed part of a result: a scalar or a list, at any depth of objects."""

    path: tuple[str, ...]
    value: JSON


@dataclass(frozen=True, slots=True)
class Link:
    """An argument, or an element of a list argument, that equals a leaf of an earlier result."""

    argument: str
    index: int | None
    """Index in the list; None for the whole argument."""
    source: int
    """Number of the call that returned the leaf, from 0."""
    leaf: Leaf
    meaning: str = ""
    """Reason why the leaf suits the argument."""

    def of(self, arguments: Mapping[str, JSON]) -> JSON:
        """Return the value at the place of the link.

        Raises:
            Unfit: the place does not exist.
        """
        value = arguments.get(self.argument)
        if self.index is None:
            return value
        if not isinstance(value, list) or self.index >= len(value):
            raise Unfit("a leaf stands inside an object")
        return value[self.index]

    def put(self, arguments: Mapping[str, JSON], new: JSON) -> dict[str, JSON]:
        """Return the arguments with another value at the place of the link."""
        value = arguments[self.argument]
        if self.index is not None and isinstance(value, list):
            new = [new if at == self.index else part for at, part in enumerate(value)]
        return {**arguments, self.argument: new}


@dataclass(frozen=True)
class Executed:
    """A call with its result and the links of its arguments."""

    tool: Tool
    arguments: Mapping[str, JSON]
    value: JSON
    links: tuple[Link, ...] = ()


class Unfit(Exception):
    """The calls do not make a nested task; the message says why."""


def leaves_of(value: JSON, path: tuple[str, ...] = ()) -> list[Leaf]:
    """Return the typed leaves of a result, in order; null has no type and is skipped."""
    if isinstance(value, dict):
        return [leaf for key, part in value.items() for leaf in leaves_of(part, (*path, key))]
    return [] if value is None else [Leaf(path, value)]


def assembled(calls: Sequence[Executed], kinds: Kinds) -> Nest:
    """Return the nested task of executed calls, without its text.

    Raises:
        Unfit: the calls do not make a nested task.
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
"""Name and description of a response, and the leaf it stands for."""


def _named(calls: Sequence[Executed], kinds: Kinds) -> list[list[_Response]]:
    """Return the responses of each call.

    If the kinds file names the responses of one tool differently in several calls, names from the
    tool's document are used.
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
    """Name and describe responses by the kinds file, or else by the tool's document."""
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
    """Turn a text into a lower-case identifier; empty if the result is not an ASCII identifier."""
    name = "_".join(re.findall(r"\w+", text.replace("_", " ").casefold()))
    return name if name.isascii() and name.isidentifier() else ""


def _response_type(calls: Sequence[Executed], at: int, leaf: Leaf) -> str:
    """Return the type of a leaf, which is float for an integer that only float parameters take."""
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
    """Return a parameter's type, or that of `value` if the schema names no single type."""
    own: Any = described(tool.schema.parameters).get(name, {})
    kind = own.get("type")
    return OFFICIAL.get(kind, "") if isinstance(kind, str) else kind_of(value)


def _api(call: Executed, kinds: Kinds, responses: dict[str, Field]) -> Api:
    """Describe the tool of a call, with its required parameters first."""
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
    """Describe a parameter, including its choices and default, which the format lacks."""
    parts = [str(own.get("description") or otherwise).strip().removesuffix(".")]
    if isinstance(own.get("enum"), list):
        parts.append(f"one of {', '.join(map(str, own['enum']))}")
    if own.get("default") is not None:
        parts.append(f"default {own['default']}")
    inner = own.get("items", own).get("properties", {})
    parts += [f"with {key}: {_about(part, in_words(key))}" for key, part in inner.items()]
    return "; ".join(parts)


# -- from certified items --------------------------------------------------------------------------


Run: TypeAlias = Callable[[Program, Mapping[str, JSON]], Awaitable[Outcome]]
"""Function that runs a program with arguments."""
FROM_ITEM = "item"
"""Meaning of a reference that an item's author wrote and a certificate confirms."""


def returned(outcome: Outcome) -> JSON:
    """Return the result of a call, or None if it failed or reports an error."""
    value = read_result(outcome.json_text) if isinstance(outcome, Returned) else None
    return None if tells_of_error(value) else value


async def executed_item(item: Item, certificate: Certificate | None, run: Run) -> list[Executed]:
    """Run the gold calls of an item again, with responses in their arguments, and return them.

    An argument equal to an earlier answer is linked to that answer's leaf, if the result has it as
    a typed leaf; so is an element of a list. An answer that differs only in case replaces the
    argument, and the call must return the same result as before.

    Raises:
        Unfit: the item is not proven, a call fails, or an argument is derived from an answer in a
            way that a placeholder cannot express, such as a part of it.
        SandboxFault, SandboxUnavailable: as `run`.
    """
    if certificate is None:
        raise Unfit("the item has no certificate")
    if certificate.verdict is not HopVerdict.PROVEN:
        raise Unfit("the item is not proven")
    calls: list[Executed] = []
    for hop, proof in zip(item.hops, certificate.hops, strict=True):
        gold = proof.arguments or {}
        links = _links(proof.edges, gold, calls, certificate)
        arguments = dict(gold)
        for link in links:
            arguments = link.put(arguments, link.leaf.value)
        value = returned(await run(hop.tool.program, arguments))
        wanted = returned(await run(hop.tool.program, gold))
        if value is None or canonical(value) != canonical(wanted):
            raise Unfit("a call does not give again what it gave")
        calls.append(Executed(hop.tool, arguments, value, (*links,)))
    return calls


def _links(
    edges: Sequence[Edge],
    gold: Mapping[str, JSON],
    earlier: Sequence[Executed],
    certificate: Certificate,
) -> list[Link]:
    leaves = [leaves_of(call.value) for call in earlier]
    # A list may be an answer as a whole, and its elements may be answers too.
    whole: dict[str, Link] = {}
    named = [(edge, edge.argument.split(".")[0], edge.hop - 1) for edge in edges]
    for _, name, source in named:
        for leaf in leaves[source]:
            if name not in whole and canonical(leaf.value) == canonical(gold.get(name)):
                whole[name] = Link(name, None, source, leaf, FROM_ITEM)
    links = [*whole.values()]
    for edge, name, source in named:
        if name not in whole:
            first = certificate.hops[source].reading
            # Prefer the leaf that was the answer.
            path = first.path if first else ()
            ordered = sorted(leaves[source], key=lambda leaf: leaf.path != (*path,))
            links.append(_link(edge, gold, ordered))
    return links


def _link(edge: Edge, gold: Mapping[str, JSON], leaves: Sequence[Leaf]) -> Link:
    """Return the link of an edge if its argument is not a whole leaf."""
    if not edge.equal:
        raise Unfit("an argument is made of an answer, and not equal to it")
    name, *rest = edge.argument.split(".")
    if len(rest) > 1 or not all(map(str.isdigit, rest)):
        raise Unfit("a leaf stands inside an object")
    for leaf in leaves:
        link = Link(name, int(rest[0]) if rest else None, edge.hop - 1, leaf, FROM_ITEM)
        given = link.of(gold)
        texts = isinstance(leaf.value, str) and isinstance(given, str)
        if bare(str(leaf.value)) == bare(str(given)) if texts else (
            canonical(leaf.value) == canonical(given)
        ):  # fmt: skip
            return link
    raise Unfit("no leaf of a result is the argument: it is within a text or list, or of another "
                "type")  # fmt: skip
