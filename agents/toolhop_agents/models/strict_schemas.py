"""What strict mode asks of a tool's schema. Pure.

In strict mode the provider holds a call's arguments to the schema while they are written. OpenAI
takes only schemas in which every object lists all of its properties as required and allows no
others (its guide to structured outputs, "Supported schemas"); it refuses a request with another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from toolhop_sandbox.outcome import JSON

REFUSED = frozenset(
    {"allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas",
     "default", "patternProperties", "propertyNames", "unevaluatedProperties", "minProperties",
     "maxProperties", "contains", "prefixItems", "uniqueItems"}
)  # fmt: skip
"""Keywords that strict mode does not have."""


def strict_problem(schema: Mapping[str, JSON], place: str = "") -> str:
    """Why strict mode refuses a schema of parameters; empty where nothing speaks against it.

    Args:
        schema: of an object, or of a part of one.
        place: where the part stands.
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
    """The schemas within a schema, and where they stand."""
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
