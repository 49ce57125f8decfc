"""From schemas to strategies: every place of a document once, with the values favoured there."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample, Unsatisfiable

from sandbox.outcome import JSON
from toolhop_tools.declared import declared, undeclared
from toolhop_tools.strategies import containers, scalars
from toolhop_tools.strategies.document import Document, Fits, Schema, Value, identity
from toolhop_tools.strategies.errors import UnsatisfiableSchema, UnsupportedSchema
from toolhop_tools.strategies.flat import Flat, flatten
from toolhop_tools.strategies.merge import TYPES
from toolhop_tools.strategies.spot import Spot

Strategy = st.SearchStrategy[Any]

MOST_PARTS = 1000
"""Places and combinations of alternatives that are compiled; a tool has about ten."""
MOST_COMBINED = 200
"""Ways to choose an alternative of each `anyOf` that holds at one place."""
MOST_LEVELS = 90
"""Levels of values that a schema may ask for; a call may have 100."""
MOST_FAVOURED = 40
"""Favoured values that are taken at one place."""
ANY_PLACE = ""
"""Key of the favoured values that are tried at any place."""
_TRIES = 200


class Compiler:
    """Compiles the parts of one document; each combination of schemas once."""

    def __init__(
        self,
        schema: Mapping[str, JSON],
        favoured: Mapping[str, Sequence[JSON]] | None = None,
        *,
        whole_floats: bool = False,
    ) -> None:
        self.document = Document(schema)
        self.call = call_schema(schema, self.document)
        self.whole_floats = whole_floats
        self.uncertain = False
        self._favoured = {name: _parts(values) for name, values in (favoured or {}).items()}
        self._known: dict[tuple[str, str, int, bool, bool], Strategy | UnsatisfiableSchema] = {}

    @property
    def root(self) -> Spot:
        """The arguments object as a whole."""
        return Spot((), 2 + len(self.document.recursive))

    def fits(self, schema: Schema) -> Fits:
        """Whether a value is valid, formats included."""
        return self.document.fits(schema)

    def flat(self, schemas: Sequence[Schema], spot: Spot) -> Flat:
        """The schemas taken apart."""
        return flatten(self.document, schemas, spot.budget, spot.place)

    def make(self, schemas: Sequence[Schema], spot: Spot) -> Strategy:
        """Values that fit all the schemas.

        Raises:
            UnsatisfiableSchema: there is none.
            UnsupportedSchema: something in there is not understood.
        """
        text = json.dumps(list(schemas), sort_keys=True)
        top, day = not spot.levels, spot.day
        key = text, spot.parameter, spot.budget, top, day
        if key not in self._known:
            if len(self._known) >= MOST_PARTS:
                raise UnsupportedSchema(spot.place, "", f"more than {MOST_PARTS} combinations")
            if spot.levels > MOST_LEVELS:
                raise UnsupportedSchema(spot.place, "", f"more than {MOST_LEVELS} levels deep")
            try:
                self._known[key] = self._made(self.flat(schemas, spot), spot)
            except UnsatisfiableSchema as fault:
                self._known[key] = fault
        found = self._known[key]
        if isinstance(found, UnsatisfiableSchema):
            raise UnsatisfiableSchema(found.place, found.reason)
        return found

    def hints(self, flat: Flat, spot: Spot) -> list[Any]:
        """Favoured values that fit here, those for this parameter first."""
        fits = self.fits(flat.whole)
        given = [*flat.rules.get("examples", ()), *self.favoured_at(spot)]
        unique = {identity(value): value for value in reversed([v for v in given if fits(v)])}
        return list(reversed(unique.values()))[:MOST_FAVOURED]

    def favoured_at(self, spot: Spot) -> list[Any]:
        """Favoured values for the spot's parameter, then those for any; whether or not they fit."""
        if not spot.levels:
            return []
        anywhere = self._favoured.get(ANY_PLACE, ())
        return [*self._favoured.get(spot.parameter, ()), *anywhere]

    def words(self) -> list[str]:
        """Favoured texts that may serve as names in an object that is free to have any."""
        return [v for v in self._favoured.get(ANY_PLACE, ()) if isinstance(v, str)][:MOST_FAVOURED]

    def _made(self, flat: Flat, spot: Spot) -> Strategy:
        spot = replace(spot, budget=flat.budget)
        if "enum" in flat.rules:
            fits = self.fits(flat.whole)
            values = [value for value in flat.rules["enum"] if is_plain(value) and fits(value)]
            if not values:
                reason = "none of its `enum` or `const` fits the rest of it"
                raise UnsatisfiableSchema(spot.place, reason)
            return st.sampled_from(values)
        if math.prod(len(choice.alternatives) for choice in flat.choices) > MOST_COMBINED:
            reason = f"its alternatives have more than {MOST_COMBINED} combinations"
            raise UnsupportedSchema(spot.place, flat.choices[0].keyword, reason)
        found = self._by_alternative(flat, spot) if flat.choices else self._by_type(flat, spot)
        if flat.checks:
            self.uncertain = True
            found = found.filter(self.fits(flat.whole))
        hints = [] if flat.choices else self.hints(flat, spot)
        if not hints:
            return found
        # Mapped, so that it stays one branch: favoured values are half of what is made.
        return found.map(_unchanged) | st.sampled_from(hints)

    def _by_alternative(self, flat: Flat, spot: Spot) -> Strategy:
        choice = flat.choices[0]
        parts, reasons = [], []
        for alternative in choice.alternatives:
            try:
                parts.append(self.make(flat.narrowed(choice, alternative), spot))
            except UnsatisfiableSchema as fault:
                reasons.append(fault.reason)
        if not parts:
            reason = f"no alternative of `{choice.keyword}` can fit: {'; '.join(reasons)}"
            raise UnsatisfiableSchema(spot.place, reason)
        return st.one_of(parts)

    def _by_type(self, flat: Flat, spot: Spot) -> Strategy:
        parts, reasons = [], []
        for kind in TYPES:
            if kind in flat.types and not (kind == "integer" and "number" in flat.types):
                try:
                    parts.append(self._of_type(kind, flat, spot))
                except UnsatisfiableSchema as fault:
                    reasons.append(fault)
        if not parts:
            # One type: its own fault says more than ours would.
            if len(reasons) == 1:
                raise reasons[0]
            reason = "; ".join(fault.reason for fault in reasons)
            raise UnsatisfiableSchema(spot.place, reason)
        return st.one_of(parts)

    def _of_type(self, kind: str, flat: Flat, spot: Spot) -> Strategy:
        match kind:
            case "null":
                return st.none()
            case "boolean":
                return st.booleans()
            case "integer":
                return self._integers(flat, spot)
            case "number":
                return scalars.numbers(flat.rules, spot.place)
            case "string":
                if "pattern" in flat.rules:
                    self.uncertain = True
                rules = {k: v for k, v in flat.rules.items() if k in _TEXT_RULES}
                return scalars.texts(rules, self.fits(rules), spot.place, day=spot.day)
            case "array":
                return containers.arrays(self, flat, spot)
            case _:
                return containers.objects(self, flat, spot)

    def _integers(self, flat: Flat, spot: Spot) -> Strategy:
        found = scalars.integers(flat.rules, spot.place)
        if not self.whole_floats:
            return found
        return found | found.filter(lambda n: abs(n) < 2**53).map(float)


_TEXT_RULES = frozenset({"minLength", "maxLength", "pattern", "format"})


def _unchanged(value: Value) -> Value:
    return value


def call_schema(schema: Mapping[str, JSON], document: Document) -> list[Schema]:
    """Schemas that an arguments object fits exactly if a call of the tool is accepted."""
    found: list[Schema] = [document.root, {"type": "object"}]
    probe = next(name for name in _unlikely() if name not in declared(schema))
    if undeclared(schema, {probe: None}) and "additionalProperties" not in schema:
        names = dict.fromkeys(declared(schema), True)
        found.append({"properties": names, "additionalProperties": False})
    return found


def _unlikely() -> Iterator[str]:
    name = "x"
    while True:
        yield name
        name += "x"


def ensured(compiler: Compiler, strategy: Strategy) -> Strategy:
    """The strategy, tried out where its filters might let nothing pass.

    Raises:
        UnsatisfiableSchema: many tries gave nothing.
    """
    if compiler.uncertain:
        chosen = settings(
            max_examples=_TRIES,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        try:
            find(strategy, lambda _: True, settings=chosen, random=random.Random(0))
        except (NoSuchExample, Unsatisfiable):
            reason = f"{_TRIES} tries gave no value that passes all its rules"
            raise UnsatisfiableSchema((), reason) from None
    return strategy


def named(name: str, strategy: Strategy) -> Strategy:
    """The strategy under a short name: its own text, which hypothesis prints, may be long."""

    def drawn(draw: st.DrawFn) -> Value:
        return draw(strategy)

    drawn.__name__ = name
    return st.composite(drawn)()


def _parts(values: Sequence[JSON]) -> list[JSON]:
    """The values and, after them, all that they hold; only what a call can carry."""
    found, row = list[JSON](), [value for value in values if is_plain(value)]
    while row and len(found) < 20 * MOST_FAVOURED:
        found += row
        below: list[JSON] = []
        for value in row:
            if isinstance(value, dict | list):
                below += value.values() if isinstance(value, dict) else value
        row = below
    return found


def is_plain(value: Value) -> bool:
    """Whether a call can carry the value: JSON of no more digits and levels than are read."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (ValueError, TypeError, RecursionError):
        return False
    return _levels(value) <= MOST_LEVELS and not _too_long(value)


def _levels(value: Value) -> int:
    if not isinstance(value, dict | list):
        return 1
    return 1 + max(map(_levels, value.values() if isinstance(value, dict) else value), default=0)


def _too_long(value: Value) -> bool:
    if isinstance(value, int):
        return abs(value) > scalars.MOST_INTEGER
    if isinstance(value, dict):
        return any(map(_too_long, value.values()))
    return isinstance(value, list) and any(map(_too_long, value))
