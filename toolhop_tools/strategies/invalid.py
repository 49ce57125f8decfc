"""Arguments that a call of a tool must not have: valid but for one fault."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from hypothesis import strategies as st

from sandbox.outcome import JSON
from toolhop_tools.strategies.compiler import Compiler, ensured, is_plain, named
from toolhop_tools.strategies.document import Schema, Value
from toolhop_tools.strategies.errors import SchemaFault
from toolhop_tools.strategies.faults import BROKEN, FaultKind, Flaw, flaws
from toolhop_tools.strategies.flat import Flat
from toolhop_tools.strategies.merge import governing, item
from toolhop_tools.strategies.spot import Spot

MOST_DEPTH = 4
"""Levels of arguments in which faults are made."""
MOST_FLAWS = 500
"""Faults of one schema that are told apart."""


@dataclass(frozen=True, slots=True)
class NearMiss:
    """Arguments with exactly one fault."""

    arguments: dict[str, JSON]
    path: tuple[str | int, ...]
    """Steps to the fault; for a property that is missing or one too many, to that property."""
    fault: FaultKind
    parameter: str
    """The top-level parameter that it is in; empty for the object as a whole."""


@dataclass(frozen=True, slots=True)
class _Element:
    """Any element of an array from an index on."""

    first: int


_Step: TypeAlias = str | int | _Element


@dataclass(frozen=True, slots=True)
class _Target:
    """A place in the arguments, and one way to break what stands there."""

    path: tuple[_Step, ...]
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

    A schema that takes anything has no faults: then this is `hypothesis.strategies.nothing()`,
    and `faults` is empty, which a caller can ask first.

    Args:
        schema: the tool's `parameters`.
        favoured: as for valid arguments; also tried as faulty values.

    Raises:
        UnsupportedSchema: the schema says what is not understood here.
        UnsatisfiableSchema: no arguments are valid, so none are nearly.
    """
    compiler = Compiler(schema, favoured)
    accepted = compiler.document.fits_without_formats({"allOf": compiler.call})
    misses = [_broken(target) for target in _targets(compiler)]
    if not misses:
        return st.nothing()
    found = st.one_of(misses).filter(
        lambda miss: not accepted(miss.arguments) and is_plain(miss.arguments)
    )
    return named("near_misses", found)


def faults(schema: Mapping[str, JSON]) -> tuple[tuple[FaultKind, str], ...]:
    """The faults that `near_misses` makes: kind and parameter, each pair once.

    Raises:
        UnsupportedSchema, UnsatisfiableSchema: as there.
    """
    found = [
        (target.flaw.kind, next((s for s in target.path if isinstance(s, str)), target.flaw.name))
        for target in _targets(Compiler(schema))
    ]
    return tuple(dict.fromkeys(found))


def _targets(compiler: Compiler) -> list[_Target]:
    ensured(compiler, compiler.make(compiler.call, compiler.root))
    found: list[_Target] = []
    for target in _within(compiler, list(compiler.call), compiler.root, ()):
        found.append(target)
        if len(found) >= MOST_FLAWS:
            break
    return found


def _within(
    compiler: Compiler, schemas: Sequence[Schema], spot: Spot, path: tuple[_Step, ...]
) -> Iterator[_Target]:
    """The flaws of one place, then those of what is in it."""
    try:
        flat = compiler.flat(schemas, spot)
        base = _base(compiler, path, True)
    except SchemaFault:
        return  # nothing can stand there, or nothing that is understood
    if compiler.uncertain and path:
        try:
            ensured(compiler, base)
        except SchemaFault:
            return
    for flaw in flaws(compiler, flat, spot):
        if not path and flaw.kind is FaultKind.WRONG_TYPE:
            continue  # arguments that are no object are another matter than arguments at fault
        try:
            yield _Target(path, flaw, base if flaw.of is True else _base(compiler, path, flaw.of))
        except SchemaFault:
            continue
    if len(path) >= MOST_DEPTH:
        return
    for step, inner, below in _parts(flat, spot):
        yield from _within(compiler, inner, below, (*path, step))


def _base(compiler: Compiler, path: tuple[_Step, ...], wanted: Schema) -> st.SearchStrategy[Any]:
    return compiler.make([*compiler.call, _needs(path, wanted)], compiler.root)


def _parts(flat: Flat, spot: Spot) -> Iterator[tuple[_Step, list[Schema], Spot]]:
    """Places inside of a value that its rules speak of."""
    if "object" in flat.types:
        for name in flat.rules.get("properties", ()):
            below = spot.below("properties", name, flat.budget)
            yield name, governing(flat.rules, name), below
    if "array" in flat.types:
        prefix = len(flat.rules.get("prefixItems", ()))
        for index in range(prefix):
            below = spot.below("prefixItems", index, flat.budget)
            yield index, [item(flat.rules, index)], below
        if "items" in flat.rules:
            below = spot.below("items", "", flat.budget)
            yield _Element(prefix), [flat.rules["items"]], below


def _needs(path: tuple[_Step, ...], wanted: Schema) -> Schema:
    """A schema that arguments fit only if there is something at the path that is wanted there."""
    if not path:
        return wanted
    step, inner = path[0], _needs(path[1:], wanted)
    match step:
        case str():
            return {"type": "object", "required": [step], "properties": {step: inner}}
        case int():
            return {
                "type": "array",
                "minItems": step + 1,
                "prefixItems": [*([True] * step), inner],
            }
        case _Element(first):
            front: dict[str, Any] = {"prefixItems": [True] * first} if first else {}
            return {"type": "array", "minItems": first + 1, "items": inner, **front}


def _broken(target: _Target) -> st.SearchStrategy[NearMiss]:
    """Valid arguments and a flaw, made into arguments with the flaw."""
    loose = any(isinstance(step, _Element) for step in target.path)
    numbers = st.integers(0, 5) if loose else st.just(0)
    return (
        st.tuples(target.base, target.flaw.edits, numbers)
        .map(lambda drawn: _edited(target, *drawn))
        .filter(lambda miss: miss is not None)
    )


def _edited(target: _Target, arguments: Value, edit: Value, number: int) -> Value:
    """The near miss, or None where the edit would have broken more than one rule."""
    path: list[str | int] = []
    at = arguments
    for step in target.path:
        own = step
        if isinstance(own, _Element):
            own = min(own.first + number, len(at) - 1)
        path.append(own)
        at = at[own]
    changed, steps = edit(at)
    if changed is BROKEN:
        return None
    whole = _put(arguments, path, changed)
    full = (*path, *steps)
    parameter = full[0] if full and isinstance(full[0], str) else ""
    return NearMiss(whole, full, target.flaw.kind, parameter)


def _put(value: Value, path: Sequence[str | int], changed: Value) -> Value:
    """A copy of the value with another part at the path."""
    if not path:
        return changed
    copy: Value = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _put(value[path[0]], path[1:], changed)
    return copy
