"""Values with one fault at one place, keyword by keyword."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from hypothesis import strategies as st

from toolhop_tools.strategies.compiler import Compiler, ensured, is_plain
from toolhop_tools.strategies.document import Schema, Value, identity
from toolhop_tools.strategies.errors import SchemaFault
from toolhop_tools.strategies.flat import Choice, Flat
from toolhop_tools.strategies.merge import TYPES, governing
from toolhop_tools.strategies.spot import Spot

Strategy: TypeAlias = st.SearchStrategy[Any]
Edit: TypeAlias = Callable[[Any], tuple[Any, tuple[str, ...]]]
"""From a valid value to a faulty one, and the steps from there to the fault."""


class FaultKind(enum.StrEnum):
    """What is wrong, named by the keyword of JSON Schema that is broken.

    There is none for ``format``, which the validator of calls takes for a remark, nor for
    ``if`` and the ``dependent`` keywords.
    """

    MISSING = "required"
    UNDECLARED = "additionalProperties"
    WRONG_TYPE = "type"
    NOT_IN_ENUM = "enum"
    NOT_CONST = "const"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"
    EXCLUSIVE_MINIMUM = "exclusiveMinimum"
    EXCLUSIVE_MAXIMUM = "exclusiveMaximum"
    MULTIPLE_OF = "multipleOf"
    MIN_LENGTH = "minLength"
    MAX_LENGTH = "maxLength"
    PATTERN = "pattern"
    MIN_ITEMS = "minItems"
    MAX_ITEMS = "maxItems"
    UNIQUE_ITEMS = "uniqueItems"
    CONTAINS = "contains"
    MIN_PROPERTIES = "minProperties"
    MAX_PROPERTIES = "maxProperties"
    PROPERTY_NAMES = "propertyNames"
    ANY_OF = "anyOf"
    ONE_OF = "oneOf"
    NOT = "not"


@dataclass(frozen=True, slots=True)
class Flaw:
    """One way to break a value."""

    kind: FaultKind
    edits: st.SearchStrategy[Edit]
    name: str = ""
    """The property that is missing, where that is known ahead."""
    of: Schema = True
    """What a value has to fit, so that it can be edited."""


_OPPOSITES: dict[FaultKind, tuple[str, str, int]] = {
    FaultKind.MINIMUM: ("number", "exclusiveMaximum", 0),
    FaultKind.MAXIMUM: ("number", "exclusiveMinimum", 0),
    FaultKind.EXCLUSIVE_MINIMUM: ("number", "maximum", 0),
    FaultKind.EXCLUSIVE_MAXIMUM: ("number", "minimum", 0),
    FaultKind.MIN_LENGTH: ("string", "maxLength", -1),
    FaultKind.MAX_LENGTH: ("string", "minLength", 1),
    FaultKind.MIN_ITEMS: ("array", "maxItems", -1),
    FaultKind.MAX_ITEMS: ("array", "minItems", 1),
    FaultKind.MIN_PROPERTIES: ("object", "maxProperties", -1),
    FaultKind.MAX_PROPERTIES: ("object", "minProperties", 1),
}
"""The type that a keyword is for, and the keyword, moved by so much, that says its opposite."""

_OBJECT: Schema = {"type": "object"}
BROKEN: Any = object()
"""Stands for a value that an edit would have broken in more than one way."""
_ANYTHING: tuple[Any, ...] = (
    *(
        "",
        "1",
        "a",
        "1.5",
        "true",
        "a,b",
        " ",
        "A",
        "-",
        "a b",
        "é",
        "!",
        "aaaaaaaaaaaaaaaaaaaaaaaa",
    ),
    *(0, 1, -1, 1.5, 2, 7, 10**6, True, False, None),
    *([], ["a"], [1], [None], {}, {"a": "a"}, {"a": 1}),
)
_ODD_NAMES = ("x", "extra", "A", "0", " ", "", "é", "a b", "x" * 80)
_CHOSEN = frozenset({"anyOf", "oneOf", "if", "dependentRequired", "dependentSchemas"})


def flaws(compiler: Compiler, flat: Flat, spot: Spot) -> Iterator[Flaw]:
    """Every way in which a value at the spot can be wrong, itself and not a part of it.

    Each faulty value breaks the one keyword. What else it may break is what follows: a value of
    a wrong type is in no enumeration and fits no alternative.
    """
    yield from _missing(compiler, flat)
    yield from _undeclared(compiler, flat)
    yield from _pooled(compiler, flat, spot)
    for kind in _OPPOSITES:
        if kind.value in flat.rules:
            yield from _opposite(compiler, flat, spot, kind)
    yield from _repeated(compiler, flat, spot)
    yield from _others(compiler, flat, spot)
    yield from _badly_named(compiler, flat)


def _missing(compiler: Compiler, flat: Flat) -> Iterator[Flaw]:
    for name in flat.rules.get("required", ()):

        def without(value: Value, name: str = name) -> tuple[Any, tuple[str, ...]]:
            return {key: part for key, part in value.items() if key != name}, (name,)

        if "object" in flat.types:
            edits: st.SearchStrategy[Edit] = st.just(without)
            yield Flaw(FaultKind.MISSING, _kept(compiler, flat, edits, "required"), name, _OBJECT)


def _undeclared(compiler: Compiler, flat: Flat) -> Iterator[Flaw]:
    if flat.rules.get("additionalProperties", True) is not False or "object" not in flat.types:
        return
    most = flat.rules.get("maxProperties")
    if most is not None and len(flat.rules.get("required", ())) >= most:
        return
    known = flat.rules.get("properties", {})
    near = [odd for name in known for odd in (f"{name}s", f"{name}_", name.upper(), name[:-1])]
    fits = compiler.fits(flat.rules.get("propertyNames", True))
    names = [
        name
        for name in dict.fromkeys([*_ODD_NAMES[:2], *near])
        if governing(flat.rules, name) == [False] and name not in known and fits(name)
    ]
    if names:
        edits = st.builds(_adding, st.sampled_from(names), st.sampled_from(["a", 1, True, None]))
        kept = _kept(compiler, flat, edits, "additionalProperties")
        yield Flaw(FaultKind.UNDECLARED, kept, of=_OBJECT)


def _badly_named(compiler: Compiler, flat: Flat) -> Iterator[Flaw]:
    rule = flat.rules.get("propertyNames", True)
    if rule is True or "object" not in flat.types:
        return
    fits = compiler.document.fits_without_formats(rule)
    names = [name for name in _ODD_NAMES if not fits(name)]
    names = [name for name in names if governing(flat.rules, name) == [True]]
    most = flat.rules.get("maxProperties")
    if names and (most is None or len(flat.rules.get("required", ())) < most):
        edits = st.builds(_adding, st.sampled_from(names), st.sampled_from(["a", 1]))
        kept = _kept(compiler, flat, edits, "propertyNames")
        yield Flaw(FaultKind.PROPERTY_NAMES, kept, of=_OBJECT)


def _adding(name: str, added: Value) -> Edit:
    return lambda value: ({**value, name: added}, (name,))


def _kept(
    compiler: Compiler, flat: Flat, edits: st.SearchStrategy[Edit], keyword: str
) -> st.SearchStrategy[Edit]:
    """Edits that give `BROKEN` where the result would break another keyword too."""
    others = compiler.document.fits_without_formats(_together(flat.rest(keyword)))

    def careful(edit: Edit) -> Edit:
        def done(value: Value) -> tuple[Any, tuple[str, ...]]:
            changed, steps = edit(value)
            return (changed if others(changed) else BROKEN), steps

        return done

    return edits.map(careful)


def _pooled(compiler: Compiler, flat: Flat, spot: Spot) -> Iterator[Flaw]:
    """Faults for which simple values are tried one after another."""
    hints = [*_ANYTHING, *compiler.favoured_at(spot)]
    if flat.types != frozenset(TYPES):
        without = ("type", "enum", "const", *_CHOSEN)
        given = {"type": [name for name in TYPES if name in flat.types]}
        yield from _sampled(compiler, flat, FaultKind.WRONG_TYPE, given, without, hints)
    if "enum" in flat.rules:
        kind = FaultKind.NOT_CONST if "const" in flat.rules else FaultKind.NOT_IN_ENUM
        near = [odd for value in flat.rules["enum"] for odd in _near(value)]
        given = {"enum": flat.rules["enum"]}
        yield from _sampled(compiler, flat, kind, given, ("enum", "const"), [*near, *hints])
    if "pattern" in flat.rules:
        length = max(1, int(flat.rules.get("minLength", 1)))
        sized = [letter * length for letter in "aA0!é "] if length < 10_000 else []
        given = {"pattern": flat.rules["pattern"]}
        pool = [*hints, *sized]
        yield from _sampled(compiler, flat, FaultKind.PATTERN, given, ("pattern",), pool)
    if "multipleOf" in flat.rules:
        unit, given = flat.rules["multipleOf"], {"multipleOf": flat.rules["multipleOf"]}
        pool = [*hints, unit / 2, *_around(flat), *(n + unit / 2 for n in _around(flat))]
        yield from _sampled(compiler, flat, FaultKind.MULTIPLE_OF, given, ("multipleOf",), pool)
    for choice in flat.choices:
        if choice.keyword in {"anyOf", "oneOf"}:
            yield from _unchosen(compiler, flat, spot, choice, hints)


def _unchosen(
    compiler: Compiler, flat: Flat, spot: Spot, choice: Choice, hints: list[Any]
) -> Iterator[Flaw]:
    pool = list(hints)
    for alternative in choice.alternatives:
        try:
            inner = compiler.flat([alternative], spot)
        except SchemaFault:
            continue
        pool += [odd for value in inner.rules.get("enum", ()) for odd in _near(value)]
        pool += _around(inner)
    given: Schema = {choice.keyword: list(choice.alternatives)}
    kind = FaultKind(choice.keyword)
    yield from _sampled(compiler, flat, kind, given, (choice.keyword,), pool)


def _near(value: Value) -> Iterator[Any]:
    """Values that a model might write for the one meant."""
    if isinstance(value, str):
        yield from (value.swapcase(), f"{value}s", value[:-1], f" {value}", value.title())
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (value + 1, value - 1, value + 0.5, -value)


def _around(flat: Flat) -> list[Any]:
    """Numbers at the bounds and next to them."""
    keywords = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
    ends = [flat.rules[key] for key in keywords if key in flat.rules]
    return [end + by for end in ends if abs(end) < 10**15 for by in (0, 1, -1, 2, -2, 0.5)]


def _sampled(
    compiler: Compiler,
    flat: Flat,
    kind: FaultKind,
    given: Schema,
    without: Iterable[str],
    pool: Iterable[Any],
) -> Iterator[Flaw]:
    """The values of a pool that break what is given and nothing else."""
    fits = compiler.document.fits_without_formats(given)
    others = compiler.document.fits_without_formats(_together(flat.rest(*without)))
    chosen = {
        identity(value): value
        for value in reversed([v for v in pool if not fits(v) and is_plain(v) and others(v)])
    }
    if chosen:
        yield _replacing(kind, st.sampled_from(list(reversed(chosen.values()))))


def _replacing(kind: FaultKind, values: Strategy) -> Flaw:
    return Flaw(kind, values.map(lambda value: lambda _: (value, ())))


def _opposite(compiler: Compiler, flat: Flat, spot: Spot, kind: FaultKind) -> Iterator[Flaw]:
    keyword = kind.value
    domain, opposite, by = _OPPOSITES[kind]
    limit = flat.rules[keyword] + by
    if limit < 0 and domain != "number":
        return
    needed: Schema = {"type": domain, opposite: limit}
    try:
        values = compiler.make([*flat.rest(keyword), needed], spot)
        if flat.checks or "pattern" in flat.rules or "format" in flat.rules:
            compiler.uncertain = True
            ensured(compiler, values)
    except SchemaFault:
        return
    yield _replacing(kind, values)


def _repeated(compiler: Compiler, flat: Flat, spot: Spot) -> Iterator[Flaw]:
    if not flat.rules.get("uniqueItems") or "array" not in flat.types:
        return
    fits = compiler.document.fits_without_formats(flat.whole)
    others = compiler.document.fits_without_formats(_together(flat.rest("uniqueItems")))
    least: Schema = {"type": "array", "minItems": 1}
    shorter = [*flat.rest("uniqueItems", "minItems"), least]
    try:
        values = compiler.make(shorter, spot).map(lambda made: [*made, made[0]])
        values = values.filter(lambda made: others(made) and not fits(made))
        compiler.uncertain = True
        ensured(compiler, values)
    except SchemaFault:
        return
    yield _replacing(FaultKind.UNIQUE_ITEMS, values)


def _others(compiler: Compiler, flat: Flat, spot: Spot) -> Iterator[Flaw]:
    """`contains` and `not`: their opposites are made, and tried."""
    wanted: list[tuple[FaultKind, list[Schema]]] = []
    if "contains" in flat.rules and int(flat.rules.get("minContains", 1)) > 0:
        rest = flat.rest("contains", "minContains", "maxContains")
        none: Schema = {"type": "array", "items": {"not": flat.rules["contains"]}}
        wanted.append((FaultKind.CONTAINS, [*rest, none]))
    banned = [check["not"] for check in flat.checks if isinstance(check, dict) and "not" in check]
    if len(banned) == 1:
        wanted.append((FaultKind.NOT, [*flat.rest("not"), banned[0]]))
    for kind, schemas in wanted:
        try:
            values = compiler.make(schemas, spot)
            compiler.uncertain = True
            ensured(compiler, values)
        except SchemaFault:
            continue
        yield _replacing(kind, values)


def _together(schemas: list[Schema]) -> Schema:
    return {"allOf": schemas}
