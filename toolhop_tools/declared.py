"""Arguments that a tool's schema declares and requires, and whether it accepts a call."""

from __future__ import annotations

from collections.abc import Mapping

import jsonschema_rs

from toolhop_sandbox.outcome import JSON

_NAMING_RULES = (
    *("patternProperties", "unevaluatedProperties", "dependentSchemas", "if"),
    *("anyOf", "oneOf", "allOf", "$ref", "$dynamicRef"),
)


def undeclared(schema: Mapping[str, JSON], arguments: Mapping[str, JSON]) -> list[str]:
    """Return the top-level arguments that the schema does not declare.

    JSON Schema allows them unless `additionalProperties` forbids it; a Python function with keyword
    arguments does not, so a schema that does not say is treated as closed. Objects inside arguments
    are not keyword arguments: JSON Schema applies to them unchanged.
    """
    if schema.get("additionalProperties", False) is not False:
        return []
    if any(rule in schema for rule in _NAMING_RULES):
        return []
    known = set(declared(schema))
    return [key for key in arguments if key not in known]


def described(schema: Mapping[str, JSON]) -> dict[str, JSON]:
    """The schemas of an object's properties, by name."""
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def declared(schema: Mapping[str, JSON]) -> list[str]:
    """Names of all declared parameters, including required ones without a property schema."""
    return list(dict.fromkeys([*described(schema), *required(schema)]))


def required(schema: Mapping[str, JSON]) -> list[str]:
    """Names of the required parameters."""
    names = schema.get("required")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def compiled(schema: Mapping[str, JSON]) -> jsonschema_rs.Validator | None:
    """Compile the schema into a validator; None if the schema itself is invalid.

    With an invalid schema, calls are checked only against `required` and the names in `properties`:
    `toolhop data validate` reports such schemas, and a model cannot fix them.
    """
    try:
        # Offline: a document must not make the harness fetch a `$ref`.
        return jsonschema_rs.Draft202012Validator(dict(schema), offline=True)
    except (jsonschema_rs.ValidationError, ValueError):
        return None


def fits(
    validator: jsonschema_rs.Validator | None,
    schema: Mapping[str, JSON],
    arguments: Mapping[str, JSON],
) -> bool:
    """Whether the simulator accepts these arguments; stops at the first fault."""
    if undeclared(schema, arguments) or not arguments.keys() >= set(required(schema)):
        return False
    try:
        return validator is None or validator.is_valid(dict(arguments))
    except ValueError:
        return False
