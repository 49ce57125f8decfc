"""Which arguments a tool's schema names and requires, at its top level."""

from __future__ import annotations

from collections.abc import Mapping

from toolhop_sandbox.outcome import JSON

_NAMING_RULES = (
    *("patternProperties", "unevaluatedProperties", "dependentSchemas", "if"),
    *("anyOf", "oneOf", "allOf", "$ref", "$dynamicRef"),
)


def undeclared(schema: Mapping[str, JSON], arguments: Mapping[str, JSON]) -> list[str]:
    """Top-level arguments that the schema does not name.

    JSON Schema lets them pass unless `additionalProperties` says otherwise; a Python function
    with keyword arguments does not, so a schema that is silent is read as closed. Objects inside
    of arguments are no keyword arguments: for them JSON Schema holds as it is written.
    """
    if schema.get("additionalProperties", False) is not False:
        return []
    if any(rule in schema for rule in _NAMING_RULES):
        return []
    known = set(declared(schema))
    return [key for key in arguments if key not in known]


def declared(schema: Mapping[str, JSON]) -> list[str]:
    """Names that the schema knows; some schemas require what they do not describe."""
    properties = schema.get("properties")
    names = list(properties) if isinstance(properties, dict) else []
    return list(dict.fromkeys(names + required(schema)))


def required(schema: Mapping[str, JSON]) -> list[str]:
    """Names that the schema requires."""
    names = schema.get("required")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
