"""Which edges of what a document allows the pairs of a computing tool have to show. Pure.

Pairs are written without the code. An edge that no pair shows is one where the code alone says
what the tool does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.replies import Pair
from toolhop_tools.dates import whole_date
from toolhop_tools.declared import compiled, required
from toolhop_tools.words import as_text

Edge: TypeAlias = tuple[str, Callable[[JSON], bool]]
"""What is wanted of an argument in words, and whether a value is it."""
FEW = 1_000
"""Numbers that a parameter allows, up to which both ends are an edge each."""
MANY = 12
"""Choices of an option, up to which each has to be shown."""
_FOREIGN = ("É", "Éa", "Élodie Ñandú")
_TURNS = ("-02-29", "-12-31", "-01-01")


def unshown(pairs: Sequence[Pair], parameters: Mapping[str, JSON]) -> Iterator[str]:
    """The edges that no pair shows, by parameter."""
    properties = parameters.get("properties")
    for name, schema in (properties if isinstance(properties, dict) else {}).items():
        if not isinstance(schema, dict):
            continue
        given = [pair.arguments.get(name, schema.get("default")) for pair in pairs]
        wanted = [*_choices(schema)]
        if name in required(parameters) and not wanted:
            wanted = [*_edges(schema, given)]
        lacking = [what for what, shows in wanted if not any(map(shows, given))]
        if lacking:
            yield (
                f"No pair shows {name} as {', '.join(lacking)}, which the document allows: work "
                'out a pair for each; where it is an error, its result is {"error": "..."}.'
            )


def _choices(schema: Mapping[str, JSON]) -> Iterator[Edge]:
    listed = schema.get("enum", [True, False] if schema.get("type") == "boolean" else None)
    for one in listed if isinstance(listed, list) and len(listed) <= MANY else ():
        yield as_text(one), _is(one)


def _edges(schema: Mapping[str, JSON], given: Sequence[JSON]) -> Iterator[Edge]:
    own, kind = compiled(schema), schema.get("type")
    if own is None:
        return
    if kind in {"integer", "number"}:
        yield from _of_number(schema, own.is_valid)
    elif kind == "string" and all(isinstance(one, str) and whole_date(one) for one in given):
        yield (
            "a date at the end of a year or of February",
            lambda value: as_text(value).endswith(_TURNS),
        )
    elif kind == "string" and "format" not in schema:
        if own.is_valid(""):
            yield "the empty text", lambda value: value == ""
        worded = any(isinstance(one, str) and any(map(str.isalpha, one)) for one in given)
        if worded and any(map(own.is_valid, _FOREIGN)):
            yield "a text with a letter beyond A to Z", _foreign
        if worded and any(map(own.is_valid, ("Ab Cd", "Abcdef Ghijkl"))):
            yield "a text of two words", lambda value: " " in as_text(value).strip()
        if worded and any(map(own.is_valid, ("A1", "Abcdefgh1"))):
            yield "a text with letters and a digit", _both
    elif kind == "array" and own.is_valid([]):
        yield "the empty list", lambda value: value == []


def _of_number(schema: Mapping[str, JSON], allowed: Callable[[JSON], bool]) -> Iterator[Edge]:
    ends = [one for one in (schema.get("minimum"), schema.get("maximum")) if _number(one)]
    if any(allowed(one) for one in (-1, -10, -100, *ends) if _value(one) < 0):
        yield "a negative number", lambda value: _number(value) and _value(value) < 0
    if allowed(0):
        yield "0", lambda value: _number(value) and _value(value) == 0
    if allowed(0.5) or allowed(1.5):
        yield (
            "a number with a fraction",
            lambda value: _number(value) and _value(value) != int(_value(value)),
        )
    if len(ends) == len("ab") and _value(ends[1]) - _value(ends[0]) <= FEW:
        yield from ((as_text(end), _is(end)) for end in ends)


def _number(value: JSON) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _value(value: JSON) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _is(wanted: JSON) -> Callable[[JSON], bool]:
    return lambda value: value == wanted and isinstance(value, bool) == isinstance(wanted, bool)


def _both(value: JSON) -> bool:
    text = as_text(value)
    return any(map(str.isalpha, text)) and any(map(str.isdigit, text))


def _foreign(value: JSON) -> bool:
    return isinstance(value, str) and any(one.isalpha() and not one.isascii() for one in value)
