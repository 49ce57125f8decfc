"""Arguments that a call of a tool must not have: valid but for one fault."""

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
"""Levels of arguments in which faults are made."""
MOST_FLAWS = 500
"""Faults of one schema, each reported by itself."""


_Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class NearMiss:
    """Arguments with exactly one fault."""

    arguments: dict[str, JSON]
    path: tuple[str | int, ...]
    """Steps to the fault; for a property that is missing or one too many, to that property."""
    fault: str
    """The keyword of JSON Schema that is broken, such as ``required``."""
    parameter: str
    """The top-level parameter that it is in; empty for the object as a whole."""


@dataclass(frozen=True, slots=True)
class _Target:
    """A place in the arguments, and one way to break what stands there."""

    path: _Path
    flaw: Flaw
    base: st.SearchStrategy[Any]
    """Valid arguments in which the place exists."""


def near_misses(
    schema: Mapping[str, JSON], *, favoured: Mapping[str, Sequence[JSON]] | None = None
) -> st.SearchStrategy[NearMiss]:
    """Arguments with exactly one fault, each of which the validator of calls refuses.

    Put a fitting value in the place of the fault, and the arguments are valid. One keyword is
    broken there, beside those that cannot hold with it: a value of a wrong type is in no `enum`.
    Faults inside the alternatives of an `anyOf` or `oneOf` count as faults of that choice.

    A schema that takes anything has no faults: then this is `hypothesis.strategies.nothing()`.

    Args:
        schema: the tool's `parameters`.
        favoured: as for valid arguments; also tried as faulty values.

    Raises:
        UnsupportedSchema: the schema says what is not understood here.
        UnsatisfiableSchema: no arguments are valid, so none are nearly.
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
    """The flaws of one place, then those of what is in it."""
    try:
        flat = compiler.flat(schemas, spot)
        base = _base(compiler, path, True)
        if path:
            ensured(compiler, base)
    except SchemaFault:
        return  # nothing can stand there, or nothing that is understood
    for flaw in flaws(compiler, flat, spot):
        if not path and flaw.keyword == "type":
            continue  # arguments that are not an object are another matter than arguments at fault
        with contextlib.suppress(SchemaFault):
            yield _Target(path, flaw, base if flaw.of is True else _base(compiler, path, flaw.of))
    if len(path) >= MOST_DEPTH:
        return
    for step, inner, below in _parts(flat, spot):
        yield from _within(compiler, inner, below, (*path, step))


def _base(compiler: Compiler, path: _Path, wanted: Schema) -> st.SearchStrategy[Any]:
    return compiler.make([*compiler.call, _needs(path, wanted)], compiler.top)


def _parts(flat: Flat, spot: Spot) -> Iterator[tuple[str | int, list[Schema], Spot]]:
    """Places inside of a value that its rules speak of; of an array's elements the first."""
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
    """A schema that arguments fit only if there is something at the path that is wanted there."""
    if not path:
        return wanted
    step, inner = path[0], _needs(path[1:], wanted)
    if isinstance(step, str):
        return {"type": "object", "required": [step], "properties": {step: inner}}
    front = [*([True] * step), inner]
    return {"type": "array", "minItems": step + 1, "prefixItems": front}


def _broken(target: _Target) -> st.SearchStrategy[NearMiss]:
    """Valid arguments and a flaw, made into arguments with the flaw."""
    drawn = st.tuples(target.base, target.flaw.edits)
    return drawn.map(lambda two: _edited(target, *two)).filter(lambda miss: miss is not None)


def _edited(target: _Target, arguments: Value, edit: Value) -> Value:
    """The near miss, or None where the edit would have broken more than one rule."""
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
    """A copy of the value with another part at the path."""
    if not path:
        return changed
    copy: Value = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _put(value[path[0]], path[1:], changed)
    return copy
