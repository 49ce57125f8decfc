"""Flattened schemas: the rules merged over `allOf` and `$ref`, and the remaining choices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from toolhop_tools.model import canonical
from toolhop_tools.strategies.errors import Place, UnsatisfiableSchema, UnsupportedSchema
from toolhop_tools.strategies.schema import RootSchema, Schema, Value

TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
"""Types, simplest first: the order in which counter-examples shrink."""


@dataclass(frozen=True, slots=True)
class Spot:
    """The position in the arguments that a strategy is for."""

    place: Place
    budget: int
    parameter: str = ""
    """Top-level parameter that contains the position."""
    name: str = ""
    """Nearest enclosing property name."""
    levels: int = 0

    def below(self, keyword: str, step: str | int, budget: int) -> Spot:
        """Return the spot one level deeper."""
        name = step if isinstance(step, str) and step else self.name
        place = (*self.place, keyword) if step == "" else (*self.place, keyword, step)
        parameter = self.parameter if self.levels else name
        return Spot(place, budget, parameter, name, self.levels + 1)

    @property
    def day(self) -> bool:
        """Whether the name suggests a date."""
        return any(word in self.name.lower() for word in ("date", "birthday"))


@dataclass(frozen=True, slots=True)
class Alternatives:
    """Alternatives: a value must fit exactly one or, for `anyOf`, at least one."""

    keyword: str
    alternatives: tuple[Schema, ...]

    @property
    def schema(self) -> Schema:
        """The alternatives as a schema."""
        return {self.keyword: list(self.alternatives)}


@dataclass(frozen=True, slots=True)
class Flat:
    """The constraints on one value, with references resolved."""

    types: frozenset[str]
    rules: Mapping[str, Any]
    """Merged keywords except ``type``."""
    choices: tuple[Alternatives, ...]
    sources: tuple[Schema, ...]
    """Original schemas, which together are equivalent."""
    budget: int
    """Number of recursive references that may still be followed."""

    @property
    def whole(self) -> Schema:
        """An equivalent single schema."""
        return self.sources[0] if len(self.sources) == 1 else {"allOf": list(self.sources)}

    def rest(self, *without: str) -> list[Schema]:
        """Return schemas for all constraints except those of the given keywords."""
        rules = {key: part for key, part in self.rules.items() if key not in without}
        if "type" not in without and self.types != frozenset(TYPES):
            rules["type"] = [name for name in TYPES if name in self.types]
        return [rules or True, *(c.schema for c in self.choices if c.keyword not in without)]

    def narrowed(self, choice: Alternatives, alternative: Schema) -> list[Schema]:
        """Return schemas for all constraints with one alternative selected."""
        others = [one.schema for one in self.choices if one is not choice]
        return [*self.rest("anyOf", "oneOf"), *others, alternative]


def flatten(root: RootSchema, schemas: Iterable[Schema], budget: int, place: Place) -> Flat:
    """Merge schemas that apply to the same value.

    Raises:
        UnsatisfiableSchema: a part is `false`, contradicts another, or never ends.
        UnsupportedSchema: two parts have different values for a keyword that cannot be merged.
    """
    sources = tuple(schemas)
    types, rules, choices = frozenset(TYPES), dict[str, Any](), list[Alternatives]()
    waiting = list(reversed(sources))
    while waiting:
        schema = waiting.pop()
        if schema is False:
            raise UnsatisfiableSchema(place, "it is `false`")
        if schema is True:
            continue
        if "$ref" in schema:
            budget -= schema["$ref"] in root.recursive
            if budget < 0:
                raise UnsatisfiableSchema(place, "its references never come to an end")
            waiting.append(root.target(schema["$ref"], place))
        waiting += reversed(schema.get("allOf", ()))
        types = _both_types(types, schema.get("type", TYPES))
        _merge(rules, schema, place)
        choices += [Alternatives(k, tuple(schema[k])) for k in ("anyOf", "oneOf") if k in schema]
    if not types:
        raise UnsatisfiableSchema(place, "its types exclude one another")
    return Flat(types, rules, tuple(choices), sources, budget)


def _both_types(one: frozenset[str], given: Value) -> frozenset[str]:
    """Return the types that are in both; every integer is also a number."""
    other = frozenset([given] if isinstance(given, str) else given)
    mixed = {"integer", "number"} & one and {"integer", "number"} & other
    return one & other | ({"integer"} if mixed else frozenset())


def _merge(rules: dict[str, Any], schema: Mapping[str, Any], place: Place) -> None:
    """Merge the keywords of a schema into the rules."""
    named = {**rules.get("properties", {}), **schema.get("properties", {})}
    more = both(*(one.get("additionalProperties", True) for one in (rules, schema)))
    properties = {name: both(governing(rules, name), governing(schema, name)) for name in named}
    length = max(len(one.get("prefixItems", ())) for one in (rules, schema))
    prefix = [both(item(rules, n), item(schema, n)) for n in range(length)]
    items = both(rules.get("items", True), schema.get("items", True))
    closed = "additionalProperties" in rules or "additionalProperties" in schema
    rules |= {"properties": properties} if named else {}
    rules |= {"additionalProperties": more} if closed else {}
    rules |= {"prefixItems": prefix} if prefix else {}
    rules |= {"items": items} if items is not True else {}
    for key, merged in _MERGED.items():
        if key not in schema:
            continue
        value = merged(rules[key], schema[key]) if key in rules else schema[key]
        if value is None:
            reason = f"{rules[key]!r} and {schema[key]!r} hold at once; allowed is one of them"
            raise UnsupportedSchema(place, key, reason)
        rules[key] = value
    if "const" in schema:
        rules.setdefault("const", schema["const"])
        _merge(rules, {"enum": [schema["const"]]}, place)


def both(one: Schema, other: Schema) -> Schema:
    """Return a schema equivalent to both schemas together."""
    if one is False or other is False:
        return False
    if one is True:
        return other
    if other is True or canonical(one) == canonical(other):
        return one
    return {"allOf": [one, other]}


def governing(rules: Mapping[str, Any], name: str) -> Schema:
    """Return the schema that an object's rules apply to the value under `name`."""
    found: Schema = rules.get("properties", {}).get(name, rules.get("additionalProperties", True))
    return found


def item(rules: Mapping[str, Any], index: int) -> Schema:
    """Return the schema that an array's rules apply to the element at `index`."""
    prefix = rules.get("prefixItems", ())
    found: Schema = prefix[index] if index < len(prefix) else rules.get("items", True)
    return found


def _same(old: Value, new: Value) -> Value:
    return old if canonical(old) == canonical(new) else None


def _common(old: list[Any], new: list[Any]) -> list[Any]:
    known = {canonical(value) for value in new}
    return [value for value in old if canonical(value) in known]


def _united(old: list[Any], new: list[Any]) -> list[Any]:
    return list({canonical(value): value for value in (*old, *new)}.values())


_MERGED: dict[str, Callable[[Any, Any], Any]] = {
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
    **dict.fromkeys(("multipleOf", "pattern", "format"), _same),
    **dict.fromkeys(("required", "examples"), _united),
    "enum": _common,
    "uniqueItems": lambda old, new: old or new,
}
"""Function that merges two values of each keyword; None if no single value is equivalent."""
