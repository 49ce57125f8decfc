"""Rules that hold together as the rules of one schema: what `allOf` and `$ref` come down to."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jsonschema_rs

from toolhop_tools.strategies.document import Schema, Value, identity

TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
"""Simplest first: the order that counter-examples shrink in."""

_LARGER = {"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"}
_SMALLER = {"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"}
_OBJECT = ("properties", "patternProperties", "additionalProperties")
_CONTAINS = ("contains", "minContains", "maxContains")


class Rules:
    """What holds for one value, keyword by keyword, and what could not be merged.

    `checks` are schemas that hold as well and have no place in `by_keyword`.
    """

    def __init__(self) -> None:
        self.types = frozenset(TYPES)
        self.by_keyword: dict[str, Any] = {}
        self.checks: list[Schema] = []

    def add(self, schema: Mapping[str, Any]) -> None:
        """Let the keywords of a schema that has no references or alternatives hold too."""
        rules = self.by_keyword
        if "type" in schema:
            self.types = both_types(self.types, _named_types(schema["type"]))
        if any(key in schema for key in _OBJECT):
            self._add_properties(schema)
        if "prefixItems" in schema or "items" in schema:
            self._add_items(schema)
        if "contains" in schema:
            self._add_contains({key: schema[key] for key in _CONTAINS if key in schema})
        for key, part in schema.items():
            if key in _LARGER:
                rules[key] = max(part, rules.get(key, part))
            elif key in _SMALLER:
                rules[key] = min(part, rules.get(key, part))
            elif key in _MERGED:
                merged = _MERGED[key](rules[key], part) if key in rules else part
                if merged is None:
                    self.checks.append({key: part})
                else:
                    rules[key] = merged
        if "const" in schema:
            self.add({"enum": [schema["const"]]})

    def _add_properties(self, schema: Mapping[str, Any]) -> None:
        rules = self.by_keyword
        old = {key: rules.pop(key) for key in _OBJECT if key in rules}
        names = {**old.get("properties", {}), **schema.get("properties", {})}
        own, new = old.get("patternProperties", {}), schema.get("patternProperties", {})
        if own and new and own.keys() != new.keys():
            # A name may match a pattern of either: said exactly by the schema itself alone.
            self.checks.append({key: schema[key] for key in _OBJECT if key in schema})
        patterns: dict[str, Schema] = {}
        for pattern in {**own, **new}:
            mine = own.get(pattern, True if own else old.get("additionalProperties", True))
            other = new.get(pattern, True if new else schema.get("additionalProperties", True))
            patterns[pattern] = both(mine, other)
        if names:
            rules["properties"] = {
                name: all_of([*governing(old, name), *governing(schema, name)]) for name in names
            }
        if patterns:
            rules["patternProperties"] = patterns
        if "additionalProperties" in old or "additionalProperties" in schema:
            rules["additionalProperties"] = both(
                old.get("additionalProperties", True), schema.get("additionalProperties", True)
            )

    def _add_items(self, schema: Mapping[str, Any]) -> None:
        rules = self.by_keyword
        keys = ("prefixItems", "items")
        old: dict[str, Any] = {key: rules.pop(key) for key in keys if key in rules}
        length = max(len(one.get("prefixItems", ())) for one in (old, schema))
        if length:
            rules["prefixItems"] = [both(item(old, n), item(schema, n)) for n in range(length)]
        items = both(old.get("items", True), schema.get("items", True))
        if items is not True:
            rules["items"] = items

    def _add_contains(self, schema: Mapping[str, Any]) -> None:
        if "contains" in self.by_keyword:
            old = {key: self.by_keyword[key] for key in _CONTAINS if key in self.by_keyword}
            if identity(old) != identity(dict(schema)):
                self.checks.append(schema)
        else:
            self.by_keyword.update(schema)


def _named_types(given: Value) -> frozenset[str]:
    return frozenset([given] if isinstance(given, str) else given)


def both_types(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    """Types of values that have one of both; every integer is a number too."""
    found = one & other
    if "integer" in one | other and "number" in one and "number" in other:
        return found | {"integer"}
    if ("integer" in one and "number" in other) or ("number" in one and "integer" in other):
        return found | {"integer"}
    return found


def both(one: Schema, other: Schema) -> Schema:
    """The schema that two schemas are together."""
    if one is False or other is False:
        return False
    if one is True:
        return other
    if other is True or identity(one) == identity(other):
        return one
    return {"allOf": [one, other]}


def all_of(schemas: Iterable[Schema]) -> Schema:
    """The schema that any number of schemas are together."""
    found: Schema = True
    for schema in schemas:
        found = both(found, schema)
    return found


def governing(rules: Mapping[str, Any], name: str) -> list[Schema]:
    """Every schema that an object's rules have for the value under `name`."""
    properties = rules.get("properties", {})
    found = [properties[name]] if name in properties else []
    for pattern, schema in rules.get("patternProperties", {}).items():
        if matches(pattern, name):
            found.append(schema)
    return found or [rules.get("additionalProperties", True)]


def item(rules: Mapping[str, Any], index: int) -> Schema:
    """The schema that an array's rules have for the element at `index`."""
    prefix = rules.get("prefixItems", ())
    found: Schema = prefix[index] if index < len(prefix) else rules.get("items", True)
    return found


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern is found in a text, as the validator of calls sees it."""
    return jsonschema_rs.Draft202012Validator({"pattern": pattern}).is_valid(text)


def _same(old: Value, new: Value) -> Value:
    return old if identity(old) == identity(new) else None


def _common(old: list[Any], new: list[Any]) -> list[Any]:
    known = {identity(value) for value in new}
    return [value for value in old if identity(value) in known]


def _multiple(old: Value, new: Value) -> Value:
    if isinstance(old, int) and isinstance(new, int):
        return math.lcm(old, new)
    return _same(old, new)


def _united(old: list[Any], new: list[Any]) -> list[Any]:
    return list({identity(value): value for value in (*old, *new)}.values())


_MERGED: dict[str, Callable[[Any, Any], Any]] = {
    "const": _same,
    "enum": _common,
    "multipleOf": _multiple,
    "pattern": _same,
    "format": _same,
    "required": _united,
    "examples": _united,
    "uniqueItems": lambda old, new: old or new,
    "propertyNames": both,
}
"""How two values of a keyword hold together; None where no one value says it."""
