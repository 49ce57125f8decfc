"""A tool's complete JSON Schema, with checked keywords and resolved references."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, TypeAlias
from urllib.parse import unquote

import jsonschema_rs

from toolhop_sandbox.outcome import JSON
from toolhop_tools.strategies.errors import Place, UnsupportedSchema

Schema: TypeAlias = Mapping[str, Any] | bool
Fits: TypeAlias = Callable[[Any], bool]
Value: TypeAlias = Any
"""A JSON value of unknown type."""

BASE = "toolhop:tool"
"""Address of the schema in the validators of its parts."""

_ONE = ("additionalProperties", "items")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_PLAIN = (
    *("type", "enum", "const", "required", "format", "pattern", "minLength", "maxLength"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "examples"),
)
ALLOWED = (
    "type, enum, const, properties, required, additionalProperties, items, prefixItems, anyOf, "
    "oneOf, allOf, $ref, $defs, definitions, default, examples, pattern, format, multipleOf, "
    "uniqueItems, and bounds of numbers, lengths and sizes"
)
"""Supported keywords: those of real tools, and those that pydantic, Model Context Protocol
servers and OpenAPI generate. Annotations such as ``title`` are ignored."""
_KEPT = frozenset((*_PLAIN, "properties", *_ONE, *_LISTS, "$ref"))
REFUSED = frozenset(
    {"if", "then", "else", "not", "contains", "minContains", "maxContains", "patternProperties"}
    | {"propertyNames", "dependentRequired", "dependentSchemas", "dependencies", "$anchor", "$id"}
    | {"unevaluatedItems", "unevaluatedProperties", "$dynamicRef", "$dynamicAnchor"}
)
"""Keywords of JSON Schema that restrict values and are not supported here."""


class RootSchema:
    """The schema of a call's arguments, with validators of its parts.

    Args:
        schema: JSON Schema of draft 2020-12; `$schema`, and `$id` at the root, are ignored.

    Raises:
        UnsupportedSchema: the schema is invalid, or has an unsupported keyword.
    """

    def __init__(self, schema: Mapping[str, JSON]) -> None:
        self._raw = {key: part for key, part in schema.items() if key not in {"$id", "$schema"}}
        self._registry: jsonschema_rs.Registry | None = None
        self._targets: dict[str, Schema] = {}
        self._validators: dict[tuple[str, bool], jsonschema_rs.Validator] = {}
        try:
            jsonschema_rs.Draft202012Validator(self._raw, offline=True)
            if _mentions(self._raw, "$ref"):
                self._registry = jsonschema_rs.Registry([(BASE, self._raw)])
        except jsonschema_rs.ValidationError as error:
            reason = error.message.split("\n")[0][:160]
            raise UnsupportedSchema(tuple(error.instance_path), "", reason) from None
        except (ValueError, OverflowError, jsonschema_rs.ReferencingError) as error:
            raise UnsupportedSchema((), "", str(error).split("\n")[0][:160]) from None
        self.root = self._tidy(self._raw, ())
        self._formats = _mentions(self._raw, "format")

    def fits(self, schema: Schema) -> Fits:
        """Return a function that validates a value, with formats enforced if the schema has any.

        The validator of calls does not enforce formats; generated values are valid either way.
        """
        lax = self.fits_without_formats(schema)
        if not self._formats:
            return lax
        strict = self._validator(schema, formats=True).is_valid
        return lambda value: lax(value) and strict(value)

    def fits_without_formats(self, schema: Schema) -> Fits:
        """Return a function that validates a value without enforcing formats."""
        return self._validator(schema, formats=False).is_valid

    def _validator(self, schema: Schema, *, formats: bool) -> jsonschema_rs.Validator:
        key = json.dumps(schema, sort_keys=True), formats
        if key not in self._validators:
            self._validators[key] = jsonschema_rs.Draft202012Validator(
                schema if isinstance(schema, bool) else dict(schema),
                validate_formats=formats,
                registry=self._registry,
                offline=True,
            )
        return self._validators[key]

    def target(self, reference: str, place: Place) -> Schema:
        """Return the schema that a reference, in the form used by `root`, points to.

        Raises:
            UnsupportedSchema: the reference points to nothing.
        """
        if reference not in self._targets:
            found: Any = self._raw
            for step in unquote(reference.removeprefix(f"{BASE}#")).split("/")[1:]:
                step = step.replace("~1", "/").replace("~0", "~")
                try:
                    found = found[int(step)] if isinstance(found, list) else found[step]
                except (KeyError, IndexError, TypeError, ValueError):
                    reason = f"{reference.removeprefix(BASE)} is nowhere in the schema"
                    raise UnsupportedSchema(place, "$ref", reason) from None
            self._targets[reference] = self._tidy(found, place)
        return self._targets[reference]

    @cached_property
    def recursive(self) -> frozenset[str]:
        """References that lead back to themselves."""
        below: dict[str, set[str]] = {}
        waiting = list(_references(self.root))
        while waiting:
            reference = waiting.pop()
            if reference not in below:
                below[reference] = set(_references(self.target(reference, ())))
                waiting += below[reference]
        for _ in below:
            for known in below.values():
                known |= {far for near in known for far in below[near]}
        return frozenset(reference for reference, known in below.items() if reference in known)

    def _tidy(self, schema: Value, place: Place) -> Schema:
        """Return the schema with supported keywords only, and absolute references."""
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict):
            raise UnsupportedSchema(place, "", "a reference leads to what is not a schema")
        if len(place) > 400:
            raise UnsupportedSchema(place[:8], "", "it is nested more than 200 levels deep")
        tidy = {key: self._keyword(key, part, place) for key, part in schema.items()}
        tidy = {key: part for key, part in tidy.items() if key in _KEPT}
        if "default" in schema:
            tidy["examples"] = [schema["default"], *tidy.get("examples", ())]
        return tidy or True

    def _keyword(self, key: str, part: Value, place: Place) -> Value:
        at = (*place, key)
        if key in REFUSED:
            reason = f"`{key}` is not understood; allowed are {ALLOWED}"
            raise UnsupportedSchema(place, key, reason)
        if key in _ONE:
            return self._tidy(part, at)
        if key in _LISTS:
            return [self._tidy(one, (*at, n)) for n, one in enumerate(part)]
        if key == "properties":
            return {name: self._tidy(one, (*at, name)) for name, one in part.items()}
        if key == "$ref":
            if not re.match(r"#(/|$)", part):
                reason = f"{part} is not a path within the schema; allowed are those as #/$defs/a"
                raise UnsupportedSchema(place, key, reason)
            return f"{BASE}{part}"
        return part


def _references(schema: Schema) -> Iterator[str]:
    if isinstance(schema, bool):
        return
    if "$ref" in schema:
        yield schema["$ref"]
    inner = [schema[key] for key in _ONE if key in schema]
    inner += [one for key in _LISTS for one in schema.get(key, ())]
    for part in (*inner, *schema.get("properties", {}).values()):
        yield from _references(part)


def _mentions(value: Value, key: str) -> bool:
    if isinstance(value, dict):
        return key in value or any(_mentions(part, key) for part in value.values())
    return isinstance(value, list) and any(_mentions(part, key) for part in value)
