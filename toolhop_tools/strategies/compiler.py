"""Compiler from schemas to strategies that include favoured values."""

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
"""Maximum number of compiled parts and combinations of alternatives; a tool has about ten."""
MOST_COMBINED = 200
"""Maximum number of ways to choose an alternative for each `anyOf` or `oneOf` at one place."""
MOST_LEVELS = 90
"""Maximum depth of values that a schema may require; a call may have 100 levels."""
MOST_FAVOURED = 40
"""Maximum number of favoured values used at one place."""
ANY_PLACE = ""
"""Key of favoured values that are tried everywhere."""
_TRIES = 200
_TRY = settings(
    max_examples=_TRIES, database=None, deadline=None, phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
_TEXT_RULES = ("minLength", "maxLength", "pattern", "format")


class Compiler:
    """A compiler for one tool's schema; each combination of parts is compiled once."""

    def __init__(
        self,
        schema: Mapping[str, JSON],
        favoured: Mapping[str, Sequence[JSON]] | None = None,
    ) -> None:
        self.root = RootSchema(schema)
        self.call = call_schema(schema, self.root)
        self.uncertain = False
        """Whether a filter may reject everything, so that the whole strategy has to be tried."""
        self._favoured = {name: _parts(values) for name, values in (favoured or {}).items()}
        self._known: dict[tuple[str, str, int, bool, bool], Strategy | UnsatisfiableSchema] = {}

    @property
    def top(self) -> Spot:
        """Spot of the whole arguments object."""
        return Spot((), 2 + len(self.root.recursive))

    def flat(self, schemas: Sequence[Schema], spot: Spot) -> Flat:
        """Return the merged rules and choices of the schemas."""
        return flatten(self.root, schemas, spot.budget, spot.place)

    def make(self, schemas: Sequence[Schema], spot: Spot) -> Strategy:
        """Return a strategy for values that fit all the schemas.

        Raises:
            UnsatisfiableSchema: no value fits.
            UnsupportedSchema: a part is not supported.
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
        """Return favoured values that fit here, those for this parameter first."""
        fits = self.root.fits(flat.whole)
        given = [*flat.rules.get("examples", ()), *self.favoured_at(spot)]
        unique = {canonical(value): value for value in reversed([v for v in given if fits(v)])}
        return list(reversed(unique.values()))[:MOST_FAVOURED]

    def favoured_at(self, spot: Spot) -> list[Any]:
        """Return favoured values for the spot's parameter, then for any, fitting or not."""
        if not spot.levels:
            return []
        return [*self._favoured.get(spot.parameter, ()), *self._favoured.get(ANY_PLACE, ())]

    def words(self) -> list[str]:
        """Return favoured texts for use as property names in objects that allow any names."""
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
            # Mapped to keep it a single branch, so that half of the values are favoured ones.
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
        # A single fault is more informative than a summary.
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
    """Return schemas that together accept exactly the arguments that a call accepts."""
    found: list[Schema] = [root.root, {"type": "object"}]
    probe = "x" * (1 + max(map(len, declared(schema)), default=0))
    if undeclared(schema, {probe: None}) and "additionalProperties" not in schema:
        names = dict.fromkeys(declared(schema), True)
        found.append({"properties": names, "additionalProperties": False})
    return found


def ensured(compiler: Compiler, strategy: Strategy) -> Strategy:
    """Return the strategy, after trying it if its filters might reject everything.

    Raises:
        UnsatisfiableSchema: many attempts gave no value.
    """
    if compiler.uncertain:
        try:
            find(strategy, lambda _: True, settings=_TRY, random=random.Random(0))
        except (NoSuchExample, Unsatisfiable):
            reason = f"{_TRIES} tries gave no value that passes all its rules"
            raise UnsatisfiableSchema((), reason) from None
    return strategy


def named(name: str, strategy: Strategy) -> Strategy:
    """Give a strategy a short name, since Hypothesis prints its own text, which may be long."""

    def drawn(draw: st.DrawFn) -> Value:
        return draw(strategy)

    drawn.__name__ = name
    return st.composite(drawn)()


def _parts(values: Sequence[JSON]) -> list[JSON]:
    """Return the values, followed by their nested parts; only those that a call can carry."""
    found, row = list[JSON](), [value for value in values if is_plain(value)]
    while row and len(found) < 20 * MOST_FAVOURED:
        found += row
        row = [part for value in row for part in _inside(value)]
    return found


def is_plain(value: Value) -> bool:
    """Whether a call can carry the value: JSON within the limits on digits and levels."""
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
