"""A tool's schema as one document: its references resolved, its parts validated."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, TypeAlias
from urllib.parse import unquote

import jsonschema_rs

from sandbox.outcome import JSON
from toolhop_tools.strategies.errors import Place, UnsupportedSchema

Schema: TypeAlias = Mapping[str, Any] | bool
Fits: TypeAlias = Callable[[Any], bool]
Value: TypeAlias = Any
"""A JSON value, of which nothing is known yet."""

BASE = "toolhop:tool"
"""Address under which the document is known to validators of its parts."""

_ONE = frozenset(
    {"additionalProperties", "items", "contains", "not", "if", "then", "else", "propertyNames"}
    | {"unevaluatedItems", "unevaluatedProperties"}
)
_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_MAPS = frozenset({"properties", "patternProperties", "dependentSchemas"})
_PLAIN = frozenset(
    {"type", "enum", "const", "required", "dependentRequired", "uniqueItems"}
    | {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
    | {"minLength", "maxLength", "pattern", "format", "examples"}
    | {"minItems", "maxItems", "minContains", "maxContains", "minProperties", "maxProperties"}
)
_REFERENCES = ("$ref", "$dynamicRef")


def identity(value: Value) -> str:
    """A text that two JSON values share if JSON Schema calls them equal: 1 is 1.0 and not true."""
    return json.dumps(_even(value), sort_keys=True)


def _even(value: Value) -> Value:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _even(part) for key, part in value.items()}
    return [_even(part) for part in value] if isinstance(value, list) else value


class Document:
    """The root schema and what its parts need of it.

    Args:
        schema: JSON Schema of draft 2020-12; `$schema` and an `$id` at the root are not looked at.

    Raises:
        UnsupportedSchema: it is no valid schema, or has an `$id` inside.
    """

    def __init__(self, schema: Mapping[str, JSON]) -> None:
        self._id = schema.get("$id")
        self._raw = {key: part for key, part in schema.items() if key not in {"$id", "$schema"}}
        self._registry: jsonschema_rs.Registry | None = None
        self._targets: dict[str, Schema] = {}
        self._validators: dict[tuple[str, bool], jsonschema_rs.Validator] = {}
        try:
            jsonschema_rs.Draft202012Validator(self._raw, offline=True)
            if _mentions(self._raw, (*_REFERENCES,)):
                self._registry = jsonschema_rs.Registry([(BASE, self._raw)])
        except jsonschema_rs.ValidationError as error:
            reason = error.message.split("\n")[0][:160]
            raise UnsupportedSchema(tuple(error.instance_path), "", reason) from None
        except (ValueError, OverflowError, jsonschema_rs.ReferencingError) as error:
            raise UnsupportedSchema((), "", str(error).split("\n")[0][:160]) from None
        self.root = self._tidy(self._raw, ())
        self._formats = _mentions(self._raw, ("format",))

    def fits(self, schema: Schema) -> Fits:
        """Whether a value is valid: also with formats asserted, where the document has some.

        A validator of a call takes formats for remarks; values made here fit in either reading.
        """
        lax = self._validator(schema, formats=False).is_valid
        if not self._formats:
            return lax
        strict = self._validator(schema, formats=True).is_valid
        return lambda value: lax(value) and strict(value)

    def fits_without_formats(self, schema: Schema) -> Fits:
        """Whether a value is valid to a validator that takes formats for remarks."""
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
        """What a reference, as `root` has it, stands for.

        Raises:
            UnsupportedSchema: it is nowhere in the document.
        """
        if reference not in self._targets:
            self._targets[reference] = self._found(reference, place)
        return self._targets[reference]

    def _found(self, reference: str, place: Place) -> Schema:
        fragment = unquote(reference.removeprefix(f"{BASE}#"))
        found: Any = self._raw
        if fragment and not fragment.startswith("/"):
            found = next(_anchored(self._raw, fragment), None)
            if found is None:
                raise UnsupportedSchema(place, "$ref", f"there is no anchor {fragment}")
            return self._tidy(found, place)
        for step in fragment.split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            try:
                found = found[int(step)] if isinstance(found, list) else found[step]
            except (KeyError, IndexError, TypeError, ValueError):
                reason = f"{fragment} is nowhere in the document"
                raise UnsupportedSchema(place, "$ref", reason) from None
        return self._tidy(found, place)

    @cached_property
    def recursive(self) -> frozenset[str]:
        """References that lead to themselves again."""
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
        """The schema with what validates alone, and with references from anywhere."""
        if not isinstance(schema, dict):
            if isinstance(schema, bool):
                return schema
            raise UnsupportedSchema(place, "", "a reference leads to what is no schema")
        if len(place) > 400:
            raise UnsupportedSchema(place[:8], "", "it is nested more than 200 levels deep")
        if "$id" in schema:
            raise UnsupportedSchema(place, "$id", "an address is understood at the root alone")
        tidy: dict[str, Any] = {}
        for key, part in schema.items():
            at = (*place, key)
            if key in _ONE:
                tidy[key] = self._tidy(part, at)
            elif key in _LISTS:
                tidy[key] = [self._tidy(one, (*at, n)) for n, one in enumerate(part)]
            elif key in _MAPS:
                tidy[key] = {name: self._tidy(one, (*at, name)) for name, one in part.items()}
            elif key in _REFERENCES:
                tidy.setdefault("allOf", [])
                tidy["allOf"] = [*tidy["allOf"], {"$ref": self._absolute(part, place, key)}]
            elif key in _PLAIN:
                tidy[key] = part
        return _with_references(tidy, schema)

    def _absolute(self, reference: str, place: Place, keyword: str) -> str:
        if isinstance(self._id, str):
            reference = reference.removeprefix(self._id.rstrip("#"))
        if reference and not reference.startswith("#"):
            raise UnsupportedSchema(place, keyword, f"{reference} is outside of the document")
        return f"{BASE}{reference or '#'}"


def _with_references(tidy: dict[str, Any], schema: Mapping[str, Any]) -> Schema:
    """A lone reference as itself; the default as an example."""
    if "default" in schema:
        tidy["examples"] = [schema["default"], *tidy.get("examples", ())]
    parts = tidy.get("allOf")
    if len(tidy) == 1 and parts and len(parts) == 1:
        alone: Schema = parts[0]
        return alone
    return tidy or True


def _references(schema: Schema) -> Iterator[str]:
    """The references in a tidy schema."""
    if isinstance(schema, bool):
        return
    for key, part in schema.items():
        if key == "$ref":
            yield part
        elif key in _ONE:
            yield from _references(part)
        elif key in _LISTS:
            for one in part:
                yield from _references(one)
        elif key in _MAPS:
            for one in part.values():
                yield from _references(one)


def _mentions(value: Value, keys: tuple[str, ...]) -> bool:
    if isinstance(value, dict):
        return any(key in value for key in keys) or any(_mentions(v, keys) for v in value.values())
    return isinstance(value, list) and any(_mentions(part, keys) for part in value)


def _anchored(value: Value, name: str) -> Iterator[Any]:
    if isinstance(value, dict):
        if name in (value.get("$anchor"), value.get("$dynamicAnchor")):
            yield value
        for part in value.values():
            yield from _anchored(part, name)
    elif isinstance(value, list):
        for part in value:
            yield from _anchored(part, name)
