"""Values with one fault at one place, by keyword."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from hypothesis import strategies as st

from toolhop_tools.model import canonical
from toolhop_tools.strategies.compiler import Compiler, ensured, is_plain
from toolhop_tools.strategies.errors import SchemaFault
from toolhop_tools.strategies.flat import TYPES, Alternatives, Flat, Spot, governing
from toolhop_tools.strategies.schema import Schema, Value

Strategy: TypeAlias = st.SearchStrategy[Any]
Edit: TypeAlias = Callable[[Any], tuple[Any, tuple[str, ...]]]
"""Function from a valid value to a faulty one, and the path within it to the fault."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """A way to break a value."""

    keyword: str
    """The violated keyword. Never ``format``, which the validator of calls does not enforce."""
    edits: st.SearchStrategy[Edit]
    of: Schema = True
    """Schema of values that the edits can be applied to."""


_OPPOSITES: dict[str, tuple[str, str, int]] = {
    "minimum": ("number", "exclusiveMaximum", 0),
    "maximum": ("number", "exclusiveMinimum", 0),
    "exclusiveMinimum": ("number", "maximum", 0),
    "exclusiveMaximum": ("number", "minimum", 0),
    "minLength": ("string", "maxLength", -1),
    "maxLength": ("string", "minLength", 1),
    "minItems": ("array", "maxItems", -1),
    "maxItems": ("array", "minItems", 1),
    "minProperties": ("object", "maxProperties", -1),
    "maxProperties": ("object", "minProperties", 1),
}
"""For each keyword: its type, the opposite keyword, and the offset of the latter's limit."""

_OBJECT: Schema = {"type": "object"}
BROKEN: Any = object()
"""Marker for an edit that would break a value in more than one way."""
_ANYTHING: tuple[Any, ...] = (
    *("", "1", "a", "1.5", "true", "a,b", " ", "A", "-", "a b", "é", "!", "a" * 24),
    *(0, 1, -1, 1.5, 2, 7, 10**6, True, False, None),
    *([], ["a"], [1], [None], {}, {"a": "a"}, {"a": 1}),
)


def flaws(compiler: Compiler, flat: Flat, spot: Spot) -> Iterator[Flaw]:
    """Yield every way in which a value at the spot can be invalid, not counting its parts.

    Each faulty value violates one keyword, and otherwise only keywords that cannot hold with it: a
    value of a wrong type is in no enumeration and fits no alternative.
    """
    if "object" in flat.types:
        yield from _missing(compiler, flat)
        yield from _undeclared(compiler, flat)
    for keyword, without, pool in _pools(compiler, flat, spot):
        yield from _sampled(compiler, flat, keyword, without, pool)
    for keyword in _OPPOSITES:
        if keyword in flat.rules:
            yield from _opposite(compiler, flat, spot, keyword)
    if flat.rules.get("uniqueItems") and "array" in flat.types:
        yield from _repeated(compiler, flat, spot)


def _missing(compiler: Compiler, flat: Flat) -> Iterator[Flaw]:
    for name in flat.rules.get("required", ()):

        def without(value: Value, name: str = name) -> tuple[Any, tuple[str, ...]]:
            return {key: part for key, part in value.items() if key != name}, (name,)

        edits = _careful(compiler, flat, st.just(without), "required")
        yield Flaw("required", edits, _OBJECT)


def _undeclared(compiler: Compiler, flat: Flat) -> Iterator[Flaw]:
    most = flat.rules.get("maxProperties")
    if most is not None and len(flat.rules.get("required", ())) >= most:
        return
    known = flat.rules.get("properties", {})
    near = [odd for name in known for odd in (f"{name}s", f"{name}_", name.upper(), name[:-1])]
    names = [
        name
        for name in dict.fromkeys(["x", "extra", *near])
        if governing(flat.rules, name) is False and name not in known
    ]
    if names:
        edits = st.builds(_adding, st.sampled_from(names), st.sampled_from(["a", 1, True, None]))
        kept = _careful(compiler, flat, edits, "additionalProperties")
        yield Flaw("additionalProperties", kept, _OBJECT)


def _adding(name: str, added: Value) -> Edit:
    return lambda value: ({**value, name: added}, (name,))


def _careful(
    compiler: Compiler, flat: Flat, edits: st.SearchStrategy[Edit], keyword: str
) -> st.SearchStrategy[Edit]:
    """Make edits return `BROKEN` if the result would violate another keyword too."""
    others = compiler.root.fits_without_formats({"allOf": flat.rest(keyword)})

    def careful(edit: Edit) -> Edit:
        def done(value: Value) -> tuple[Any, tuple[str, ...]]:
            changed, steps = edit(value)
            return (changed if others(changed) else BROKEN), steps

        return done

    return edits.map(careful)


def _pools(
    compiler: Compiler, flat: Flat, spot: Spot
) -> Iterator[tuple[str, tuple[str, ...], list[Any]]]:
    """Yield each keyword, the keywords that may be violated with it, and candidate values."""
    rules, hints = flat.rules, [*_ANYTHING, *compiler.favoured_at(spot)]
    if flat.types != frozenset(TYPES):
        yield "type", ("type", "enum", "const", "anyOf", "oneOf"), hints
    if "enum" in rules:
        keyword = "const" if "const" in rules else "enum"
        yield keyword, ("enum", "const"), [*_near(rules["enum"]), *hints]
    if "pattern" in rules:
        length = min(max(1, int(rules.get("minLength", 1))), 10_000)
        yield "pattern", ("pattern",), [*hints, *(one * length for one in "aA0!é ")]
    if "multipleOf" in rules:
        unit, ends = rules["multipleOf"], _around(flat)
        pool = [*hints, unit / 2, *ends, *(n + unit / 2 for n in ends)]
        yield "multipleOf", ("multipleOf",), pool
    for choice in flat.choices:
        pool = [*hints, *_near_alternatives(compiler, spot, choice)]
        yield choice.keyword, (choice.keyword,), pool


def _near_alternatives(compiler: Compiler, spot: Spot, choice: Alternatives) -> Iterator[Any]:
    for alternative in choice.alternatives:
        try:
            inner = compiler.flat([alternative], spot)
        except SchemaFault:
            continue
        yield from (*_near(inner.rules.get("enum", ())), *_around(inner))


def _near(values: Iterable[Value]) -> Iterator[Any]:
    """Yield values that a model might write instead of the right ones."""
    for value in values:
        if isinstance(value, str):
            yield from (value.swapcase(), f"{value}s", value[:-1], f" {value}", value.title())
        elif isinstance(value, bool):
            yield not value
        elif isinstance(value, int | float):
            yield from (value + 1, value - 1, value + 0.5, -value)


def _around(flat: Flat) -> list[Any]:
    """Return numbers at the bounds and next to them."""
    keywords = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
    ends = [flat.rules[key] for key in keywords if key in flat.rules]
    return [end + by for end in ends if abs(end) < 10**15 for by in (0, 1, -1, 2, -2, 0.5)]


def _sampled(
    compiler: Compiler,
    flat: Flat,
    keyword: str,
    without: tuple[str, ...],
    pool: Iterable[Any],
) -> Iterator[Flaw]:
    """Yield a flaw with the candidates that violate the keyword, but no unrelated one."""
    others = compiler.root.fits_without_formats({"allOf": flat.rest(*without)})
    fits = compiler.root.fits_without_formats(_alone(flat, keyword))
    values = [value for value in pool if not fits(value) and is_plain(value) and others(value)]
    unique = {canonical(value): value for value in reversed(values)}
    if unique:
        yield _replacing(keyword, st.sampled_from(list(reversed(unique.values()))))


def _alone(flat: Flat, keyword: str) -> Schema:
    """Return a schema with only this keyword."""
    if keyword == "type":
        return {"type": [name for name in TYPES if name in flat.types]}
    key = "enum" if keyword == "const" else keyword
    if key in flat.rules:
        return {key: flat.rules[key]}
    return {"allOf": [choice.schema for choice in flat.choices if choice.keyword == key]}


def _replacing(keyword: str, values: Strategy) -> Flaw:
    return Flaw(keyword, values.map(lambda value: lambda _: (value, ())))


def _opposite(compiler: Compiler, flat: Flat, spot: Spot, keyword: str) -> Iterator[Flaw]:
    domain, opposite, by = _OPPOSITES[keyword]
    limit = flat.rules[keyword] + by
    if limit < 0 and domain != "number":
        return
    with contextlib.suppress(SchemaFault):
        needed: Schema = {"type": domain, opposite: limit}
        values = compiler.make([*flat.rest(keyword), needed], spot)
        if flat.choices or "pattern" in flat.rules or "format" in flat.rules:
            compiler.uncertain = True
            ensured(compiler, values)
        yield _replacing(keyword, values)


def _repeated(compiler: Compiler, flat: Flat, spot: Spot) -> Iterator[Flaw]:
    fits = compiler.root.fits_without_formats(flat.whole)
    others = compiler.root.fits_without_formats({"allOf": flat.rest("uniqueItems")})
    with contextlib.suppress(SchemaFault):
        least: Schema = {"type": "array", "minItems": 1}
        values = compiler.make([*flat.rest("uniqueItems", "minItems"), least], spot)
        values = values.map(lambda made: [*made, made[0]])
        values = values.filter(lambda made: others(made) and not fits(made))
        compiler.uncertain = True
        yield _replacing("uniqueItems", ensured(compiler, values))
