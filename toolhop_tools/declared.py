"""Which arguments a tool's schema names and requires, and whether it takes a call's."""

from __future__ import annotations

from collections.abc import Mapping

import jsonschema_rs

from toolhop_sandbox.outcome import JSON

_NAMING_RULES = (
    *("patternProperties", "unevaluatedProperties", "dependentSchemas", "if"),
    *("anyOf", "oneOf", "allOf", "$ref", "$dynamicRef"),
)


def undeclared(schema: Mapping[str, JSON], arguments: Mapping[str, JSON]) -> list[str]:
    """Top-level arguments that the schema does not name.

    JSON Schema lets them pass unless `additionalProperties` says otherwise; a Python function
    with keyword arguments does not, so a schema that is silent is read as closed. Objects inside
    of arguments are not keyword arguments: for them JSON Schema holds as it is written.
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
    """Names that the schema knows; some schemas require what they do not describe."""
    return list(dict.fromkeys([*described(schema), *required(schema)]))


def required(schema: Mapping[str, JSON]) -> list[str]:
    """Names that the schema requires."""
    names = schema.get("required")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def compiled(schema: Mapping[str, JSON]) -> jsonschema_rs.Validator | None:
    """The schema ready to check arguments; None for one that is itself invalid.

    Of an invalid schema only `required` and the names in `properties` are held against a call:
    `toolhop data validate` names such schemas; a model cannot fix them.
    """
    try:
        # offline: a document must not make the harness fetch a `$ref`.
        return jsonschema_rs.Draft202012Validator(dict(schema), offline=True)
    except (jsonschema_rs.ValidationError, ValueError):
        return None


def fits(
    validator: jsonschema_rs.Validator | None,
    schema: Mapping[str, JSON],
    arguments: Mapping[str, JSON],
) -> bool:
    """Whether the simulator takes these arguments; quick also where it has a thousand faults."""
    if undeclared(schema, arguments) or not arguments.keys() >= set(required(schema)):
        return False
    try:
        return validator is None or validator.is_valid(dict(arguments))
    except ValueError:
        return False
