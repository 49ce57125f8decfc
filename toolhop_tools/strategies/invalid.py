"""Invalid arguments for a call of a tool: valid except for one fault."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

from hypothesis import strategies as st

from toolhop_sandbox.outcome import JSON
from toolhop_tools.strategies.compiler import Compiler, ensured, is_plain, named
from toolhop_tools.strategies.errors import SchemaFault
from toolhop_tools.strategies.faults import BROKEN, Flaw, flaws
from toolhop_tools.strategies.flat import Flat, Spot, governing, item
from toolhop_tools.strategies.schema import Schema, Value

MOST_DEPTH = 4
"""Maximum depth of arguments at which faults are made."""
MOST_FLAWS = 500
"""Maximum number of different faults for one schema."""


_Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class NearMiss:
    """Arguments with exactly one fault."""

    arguments: dict[str, JSON]
    path: tuple[str | int, ...]
    """Path of the fault; for a missing or undeclared property, the path of that property."""
    fault: str
    """The violated keyword of JSON Schema, such as ``required``."""
    parameter: str
    """Top-level parameter that contains the fault; empty for the whole object."""


@dataclass(frozen=True, slots=True)
class _Target:
    """A place in the arguments, and a way to break the value there."""

    path: _Path
    flaw: Flaw
    base: st.SearchStrategy[Any]
    """Strategy for valid arguments in which the place exists."""


def near_misses(
    schema: Mapping[str, JSON], *, favoured: Mapping[str, Sequence[JSON]] | None = None
) -> st.SearchStrategy[NearMiss]:
    """Return a strategy for arguments with exactly one fault, which the validator of calls refuses.

    The arguments become valid if the faulty value is replaced by a fitting one. One keyword is
    violated there, apart from those that then cannot hold: a value of a wrong type is in no `enum`.
    Faults inside the alternatives of an `anyOf` or `oneOf` count as faults of that keyword.

    A schema that accepts anything has no faults; the result is `hypothesis.strategies.nothing()`.

    Args:
        schema: the tool's `parameters`.
        favoured: as for valid arguments; also tried as faulty values.

    Raises:
        UnsupportedSchema: the schema uses an unsupported feature.
        UnsatisfiableSchema: no arguments are valid, so none are nearly valid.
    """
    compiler = Compiler(schema, favoured)
    accepted = compiler.root.fits_without_formats({"allOf": compiler.call})
    misses = [_broken(target) for target in _targets(compiler)]
    if not misses:
        return st.nothing()
    found = st.one_of(misses).filter(
        lambda miss: not accepted(miss.arguments) and is_plain(miss.arguments)
    )
    return named("near_misses", found)


def _targets(compiler: Compiler) -> list[_Target]:
    ensured(compiler, compiler.make(compiler.call, compiler.top))
    return list(islice(_within(compiler, compiler.call, compiler.top, ()), MOST_FLAWS))


def _within(
    compiler: Compiler, schemas: Sequence[Schema], spot: Spot, path: _Path
) -> Iterator[_Target]:
    """Yield the flaws at one place, then those inside it."""
    try:
        flat = compiler.flat(schemas, spot)
        base = _base(compiler, path, True)
        if path:
            ensured(compiler, base)
    except SchemaFault:
        return  # no value is possible there, or the schema is not supported
    for flaw in flaws(compiler, flat, spot):
        if not path and flaw.keyword == "type":
            continue  # arguments that are not an object are a different kind of error
        with contextlib.suppress(SchemaFault):
            yield _Target(path, flaw, base if flaw.of is True else _base(compiler, path, flaw.of))
    if len(path) >= MOST_DEPTH:
        return
    for step, inner, below in _parts(flat, spot):
        yield from _within(compiler, inner, below, (*path, step))


def _base(compiler: Compiler, path: _Path, wanted: Schema) -> st.SearchStrategy[Any]:
    return compiler.make([*compiler.call, _needs(path, wanted)], compiler.top)


def _parts(flat: Flat, spot: Spot) -> Iterator[tuple[str | int, list[Schema], Spot]]:
    """Yield the declared parts of a value; for uniform array elements, only the first."""
    if "object" in flat.types:
        for name in flat.rules.get("properties", ()):
            below = spot.below("properties", name, flat.budget)
            yield name, [governing(flat.rules, name)], below
    if "array" in flat.types:
        prefix = len(flat.rules.get("prefixItems", ()))
        for index in range(prefix + ("items" in flat.rules)):
            keyword, step = ("prefixItems", index) if index < prefix else ("items", "")
            yield index, [item(flat.rules, index)], spot.below(keyword, step, flat.budget)


def _needs(path: _Path, wanted: Schema) -> Schema:
    """Return a schema that requires a value fitting `wanted` at the path."""
    if not path:
        return wanted
    step, inner = path[0], _needs(path[1:], wanted)
    if isinstance(step, str):
        return {"type": "object", "required": [step], "properties": {step: inner}}
    front = [*([True] * step), inner]
    return {"type": "array", "minItems": step + 1, "prefixItems": front}


def _broken(target: _Target) -> st.SearchStrategy[NearMiss]:
    """Return a strategy that applies the flaw to valid arguments."""
    drawn = st.tuples(target.base, target.flaw.edits)
    return drawn.map(lambda two: _edited(target, *two)).filter(lambda miss: miss is not None)


def _edited(target: _Target, arguments: Value, edit: Value) -> Value:
    """Return the near miss, or None if the edit would violate more than one rule."""
    at = arguments
    for step in target.path:
        at = at[step]
    changed, steps = edit(at)
    if changed is BROKEN:
        return None
    path = (*target.path, *steps)
    parameter = path[0] if path and isinstance(path[0], str) else ""
    return NearMiss(_put(arguments, target.path, changed), path, target.flaw.keyword, parameter)


def _put(value: Value, path: _Path, changed: Value) -> Value:
    """Return a copy of the value with the part at the path replaced."""
    if not path:
        return changed
    copy: Value = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _put(value[path[0]], path[1:], changed)
    return copy
