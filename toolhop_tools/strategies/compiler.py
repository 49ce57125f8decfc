"""From schemas to strategies: every place of a schema once, with the values favoured there."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample, Unsatisfiable

from toolhop_sandbox.outcome import JSON
from toolhop_tools.declared import declared, undeclared
from toolhop_tools.model import canonical
from toolhop_tools.strategies import containers, scalars
from toolhop_tools.strategies.errors import UnsatisfiableSchema, UnsupportedSchema
from toolhop_tools.strategies.flat import TYPES, Flat, Spot, flatten
from toolhop_tools.strategies.schema import RootSchema, Schema, Value

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
_TRY = settings(
    max_examples=_TRIES, database=None, deadline=None, phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
_TEXT_RULES = ("minLength", "maxLength", "pattern", "format")


class Compiler:
    """Compiles the parts of one tool's schema; each combination of parts once."""

    def __init__(
        self,
        schema: Mapping[str, JSON],
        favoured: Mapping[str, Sequence[JSON]] | None = None,
    ) -> None:
        self.root = RootSchema(schema)
        self.call = call_schema(schema, self.root)
        self.uncertain = False
        """A filter may let nothing pass, so that the whole is to be tried out."""
        self._favoured = {name: _parts(values) for name, values in (favoured or {}).items()}
        self._known: dict[tuple[str, str, int, bool, bool], Strategy | UnsatisfiableSchema] = {}

    @property
    def top(self) -> Spot:
        """The arguments object as a whole."""
        return Spot((), 2 + len(self.root.recursive))

    def flat(self, schemas: Sequence[Schema], spot: Spot) -> Flat:
        """The schemas taken apart."""
        return flatten(self.root, schemas, spot.budget, spot.place)

    def make(self, schemas: Sequence[Schema], spot: Spot) -> Strategy:
        """Values that fit all the schemas.

        Raises:
            UnsatisfiableSchema: there is none.
            UnsupportedSchema: something in there is not understood.
        """
        text = json.dumps(list(schemas), sort_keys=True)
        key = text, spot.parameter, spot.budget, not spot.levels, spot.day
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
        fits = self.root.fits(flat.whole)
        given = [*flat.rules.get("examples", ()), *self.favoured_at(spot)]
        unique = {canonical(value): value for value in reversed([v for v in given if fits(v)])}
        return list(reversed(unique.values()))[:MOST_FAVOURED]

    def favoured_at(self, spot: Spot) -> list[Any]:
        """Favoured values for the spot's parameter, then those for any; whether or not they fit."""
        if not spot.levels:
            return []
        return [*self._favoured.get(spot.parameter, ()), *self._favoured.get(ANY_PLACE, ())]

    def words(self) -> list[str]:
        """Favoured texts that may serve as names in an object that is free to have any."""
        return [v for v in self._favoured.get(ANY_PLACE, ()) if isinstance(v, str)][:MOST_FAVOURED]

    def _made(self, flat: Flat, spot: Spot) -> Strategy:
        spot = replace(spot, budget=flat.budget)
        if "enum" in flat.rules:
            fits = self.root.fits(flat.whole)
            values = [value for value in flat.rules["enum"] if is_plain(value) and fits(value)]
            if not values:
                reason = "none of its `enum` or `const` fits the rest of it"
                raise UnsatisfiableSchema(spot.place, reason)
            return st.sampled_from(values)
        if not flat.choices:
            kinds = [k for k in TYPES if k in flat.types]
            kinds = [k for k in kinds if k != "integer" or "number" not in kinds]
            found = self._any_of([partial(self._of_type, kind, flat, spot) for kind in kinds], spot)
            hints = self.hints(flat, spot)
            # Mapped, so that it stays one branch: favoured values are half of what is made.
            return found.map(lambda value: value) | st.sampled_from(hints) if hints else found
        choice = flat.choices[0]
        if math.prod(len(one.alternatives) for one in flat.choices) > MOST_COMBINED:
            reason = f"its alternatives have more than {MOST_COMBINED} combinations"
            raise UnsupportedSchema(spot.place, choice.keyword, reason)
        narrowed = [flat.narrowed(choice, one) for one in choice.alternatives]
        found = self._any_of([partial(self.make, schemas, spot) for schemas in narrowed], spot)
        if all(one.keyword == "anyOf" for one in flat.choices):
            return found
        self.uncertain = True
        return found.filter(self.root.fits(flat.whole))

    def _any_of(self, makers: Sequence[Callable[[], Strategy]], spot: Spot) -> Strategy:
        parts, faults = list[Strategy](), list[UnsatisfiableSchema]()
        for make in makers:
            try:
                parts.append(make())
            except UnsatisfiableSchema as fault:
                faults.append(fault)
        if parts:
            return st.one_of(parts)
        # One fault says more than a summary would.
        if len(faults) == 1:
            raise faults[0]
        reasons = "; ".join(fault.reason for fault in faults)
        raise UnsatisfiableSchema(spot.place, f"no alternative can fit: {reasons}")

    def _of_type(self, kind: str, flat: Flat, spot: Spot) -> Strategy:
        match kind:
            case "null":
                return st.none()
            case "boolean":
                return st.booleans()
            case "integer":
                return scalars.integers(flat.rules, spot.place)
            case "number":
                rules = {k: v for k, v in flat.rules.items() if k in scalars.NUMBER_RULES}
                return scalars.numbers(rules, self.root.fits(rules), spot.place)
            case "string":
                self.uncertain |= "pattern" in flat.rules
                rules = {k: v for k, v in flat.rules.items() if k in _TEXT_RULES}
                return scalars.texts(rules, self.root.fits(rules), spot.place, day=spot.day)
            case "array":
                return containers.arrays(self, flat, spot)
            case _:
                return containers.objects(self, flat, spot)


def call_schema(schema: Mapping[str, JSON], root: RootSchema) -> list[Schema]:
    """Schemas that an arguments object fits exactly if a call of the tool is accepted."""
    found: list[Schema] = [root.root, {"type": "object"}]
    probe = "x" * (1 + max(map(len, declared(schema)), default=0))
    if undeclared(schema, {probe: None}) and "additionalProperties" not in schema:
        names = dict.fromkeys(declared(schema), True)
        found.append({"properties": names, "additionalProperties": False})
    return found


def ensured(compiler: Compiler, strategy: Strategy) -> Strategy:
    """The strategy, tried out where its filters might let nothing pass.

    Raises:
        UnsatisfiableSchema: many tries gave nothing.
    """
    if compiler.uncertain:
        try:
            find(strategy, lambda _: True, settings=_TRY, random=random.Random(0))
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
        row = [part for value in row for part in _inside(value)]
    return found


def is_plain(value: Value) -> bool:
    """Whether a call can carry the value: JSON of no more digits and levels than are read."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError):
        return False
    row, levels = [value], 0
    while row and levels <= MOST_LEVELS:
        if any(isinstance(one, int) and abs(one) > scalars.MOST_INTEGER for one in row):
            return False
        row, levels = [part for one in row for part in _inside(one)], levels + 1
    return not row


def _inside(value: Value) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
