"""The requirements of strict mode on a tool's schema. Pure.

In strict mode the provider constrains a call's arguments to the schema during generation. OpenAI
requires every object to list all of its properties as required and to allow no others (its guide to
structured outputs, "Supported schemas"); it refuses requests with other schemas.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from toolhop_sandbox.outcome import JSON

REFUSED = frozenset(
    {"allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas",
     "default", "patternProperties", "propertyNames", "unevaluatedProperties", "minProperties",
     "maxProperties", "contains", "prefixItems", "uniqueItems"}
)  # fmt: skip
"""Keywords that strict mode does not support."""


def strict_problem(schema: Mapping[str, JSON], place: str = "") -> str:
    """Return why strict mode refuses a schema of parameters; empty if it does not.

    Args:
        schema: the schema of an object, or a part of one.
        place: path of that part.
    """
    here = place or "the parameters"
    if wrong := sorted(schema.keys() & REFUSED):
        return f"{here} use {wrong[0]}"
    if not place and "anyOf" in schema:
        return f"{here} use anyOf at the top"
    properties, kind = schema.get("properties"), schema.get("type")
    is_object = "object" in kind if isinstance(kind, list) else kind == "object"
    if is_object or isinstance(properties, dict):
        named = properties if isinstance(properties, dict) else {}
        required = schema.get("required")
        given = required if isinstance(required, list) else []
        if optional := sorted(named.keys() - {name for name in given if isinstance(name, str)}):
            return f"{here} have {optional[0]!r}, which is not required"
        if schema.get("additionalProperties") is not False:
            return f"{here} allow other properties (additionalProperties is not false)"
    problems = (strict_problem(part, name) for name, part in _parts(schema, place))
    return next(filter(None, problems), "")


def _parts(schema: Mapping[str, JSON], place: str) -> Iterator[tuple[str, Mapping[str, JSON]]]:
    """Yield the subschemas of a schema with their paths."""
    for keyword in ("properties", "$defs", "definitions"):
        named = schema.get(keyword)
        for name, part in named.items() if isinstance(named, dict) else ():
            if isinstance(part, dict):
                yield f"{place}.{name}".lstrip("."), part
    for keyword in ("items", "anyOf"):
        parts = schema.get(keyword)
        for part in parts if isinstance(parts, list) else [parts]:
            if isinstance(part, dict):
                yield f"{place}[]".lstrip("."), part
