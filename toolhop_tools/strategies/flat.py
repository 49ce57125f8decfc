"""A schema taken apart: rules that hold, alternatives to choose of, and checks that remain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolhop_tools.strategies.document import Document, Schema
from toolhop_tools.strategies.errors import Place, UnsatisfiableSchema
from toolhop_tools.strategies.merge import TYPES, Rules, both_types


@dataclass(frozen=True, slots=True)
class Choice:
    """Alternatives of which a value takes at least one."""

    keyword: str
    alternatives: tuple[Schema, ...]


@dataclass(frozen=True, slots=True)
class Flat:
    """What one value has to fit, without references."""

    types: frozenset[str]
    rules: Mapping[str, Any]
    """Merged keywords but for ``type``."""
    choices: tuple[Choice, ...]
    checks: tuple[Schema, ...]
    """Schemas that hold and that no value is built from: values are tried against them."""
    sources: tuple[Schema, ...]
    """The schemas it was made of: together they say all of it."""
    budget: int
    """Recursive references that may still be followed."""

    @property
    def whole(self) -> Schema:
        """One schema that says all of it."""
        return self.sources[0] if len(self.sources) == 1 else {"allOf": list(self.sources)}

    def rest(self, *without: str) -> list[Schema]:
        """Schemas that say all but some keywords; a choice goes by its keyword."""
        rules = {key: part for key, part in self.rules.items() if key not in without}
        if "type" not in without and self.types != frozenset(TYPES):
            rules["type"] = [name for name in TYPES if name in self.types]
        kept = [_spelled(one) for one in self.choices if one.keyword not in without]
        # A choice of exactly one brings its check with it.
        dropped = {"oneOf", *without}
        return [rules or True, *kept, *(c for c in self.checks if not _says(c, dropped))]

    def narrowed(self, choice: Choice, alternative: Schema) -> list[Schema]:
        """Schemas that say all of it with one alternative taken; checks are left out."""
        others = [_spelled(one) for one in self.choices if one is not choice]
        return [*self.rest(*(one.keyword for one in self.choices))[:1], *others, alternative]


def flatten(document: Document, schemas: Iterable[Schema], budget: int, place: Place) -> Flat:
    """Take schemas that hold together apart.

    Raises:
        UnsatisfiableSchema: a part is `false`, contradicts another, or never ends.
    """
    sources = tuple(schemas)
    rules, choices = Rules(), list[Choice]()
    waiting = list(reversed(sources))
    while waiting:
        schema = waiting.pop()
        if schema is False:
            raise UnsatisfiableSchema(place, "it is `false`")
        if schema is True:
            continue
        if "$ref" in schema:
            budget -= schema["$ref"] in document.recursive
            if budget < 0:
                raise UnsatisfiableSchema(place, "its references never come to an end")
            waiting.append(document.target(schema["$ref"], place))
        waiting += reversed(schema.get("allOf", ()))
        rules.add(schema)
        choices += _choices(schema)
        rules.checks += _checks(schema)
        waiting += _negated(schema.get("not", False), rules)
    if not rules.types:
        raise UnsatisfiableSchema(place, "its types exclude one another")
    return Flat(rules.types, rules.by_keyword, tuple(choices), tuple(rules.checks), sources, budget)


def _spelled(choice: Choice) -> Schema:
    return {"oneOf" if choice.keyword == "oneOf" else "anyOf": list(choice.alternatives)}


def _says(schema: Schema, keywords: Iterable[str]) -> bool:
    return isinstance(schema, Mapping) and any(keyword in schema for keyword in keywords)


def _choices(schema: Mapping[str, Any]) -> Iterator[Choice]:
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            yield Choice(keyword, tuple(schema[keyword]))
    if "if" in schema and ("then" in schema or "else" in schema):
        condition = schema["if"]
        then = {"allOf": [condition, schema.get("then", True)]}
        otherwise = {"allOf": [{"not": condition}, schema.get("else", True)]}
        yield Choice("if", (then, otherwise))
    for name, names in schema.get("dependentRequired", {}).items():
        if names:
            yield Choice("dependentRequired", ({"properties": {name: False}}, {"required": names}))
    for name, needed in schema.get("dependentSchemas", {}).items():
        yield Choice("dependentSchemas", ({"properties": {name: False}}, needed))


def _checks(schema: Mapping[str, Any]) -> Iterator[Schema]:
    if "oneOf" in schema:
        yield {"oneOf": schema["oneOf"]}
    if "unevaluatedProperties" in schema or "unevaluatedItems" in schema:
        # What counts as evaluated depends on all that stands beside it.
        yield schema


def _negated(schema: Schema, rules: Rules) -> list[Schema]:
    """What `not` comes down to, as schemas to merge; else it is noted as a check."""
    if schema is False:
        return []
    if schema is True:
        return [False]
    if schema.keys() == {"type"}:
        given = schema["type"]
        banned = {given} if isinstance(given, str) else set(given)
        if "number" in banned or "integer" not in banned:
            left = frozenset(TYPES) - banned - ({"integer"} if "number" in banned else set())
            rules.types = both_types(rules.types, left)
            return []
    if schema.keys() == {"required"} and len(schema["required"]) == 1:
        # What is no object fits `required`, and so does not fit its opposite.
        rules.types = rules.types & {"object"}
        return [{"properties": {schema["required"][0]: False}}]
    rules.checks.append({"not": schema})
    return []
