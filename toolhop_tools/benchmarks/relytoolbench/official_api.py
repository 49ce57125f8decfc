"""Convert tools and calls to RelyToolBench's API format, as far as the format allows.

The format has three types (`TYPES` of the reader); other values become JSON text. What it cannot
express, such as choices, is put into a parameter's description.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from toolhop_sandbox.outcome import JSON
from toolhop_tools.benchmarks.relytoolbench.reader import NAME_CHARS
from toolhop_tools.benchmarks.relytoolbench.replies import service_name
from toolhop_tools.declared import required
from toolhop_tools.model import Tool, canonical
from toolhop_tools.scenarios.families import Reason
from toolhop_tools.words import as_text

CATEGORY, PROVIDER = "Data", "toolhop"
"""The same category and tool for all APIs: different ones would reveal which APIs in a list
belong together, and so which are useful."""


@dataclass
class Names:
    """Unique names for the tools of a file: different tools never share a name."""

    found: dict[str, str] = field(default_factory=dict)
    taken: Counter[str] = field(default_factory=Counter)

    def of(self, tool: Tool) -> str:
        """Return the tool's name as an API."""
        schema = tool.schema
        key = canonical([schema.description, dict(schema.parameters), tool.name, tool.body_parts])
        if key not in self.found:
            name, number = tool.name, 1
            while self.taken[as_function(name)]:
                number += 1
                name = f"{tool.name}_{number}"
            self.taken[as_function(name)] += 1
            self.found[key] = name
        return self.found[key]


def as_function(name: str) -> str:
    """Return the function name for an API name."""
    return f"{service_name(name, reserved=True)}_for_{PROVIDER}"[-NAME_CHARS:]


def api(tool: Tool, name: str) -> dict[str, JSON] | Reason:
    """Convert a tool to an API; a `Reason` if it cannot be expressed as one."""
    kinds = kinds_of(tool)
    if len({service_name(one, reserved=True) for one in kinds}) < len(kinds):
        return Reason.SAME_NAMES
    needed = {one for one in required(tool.schema.parameters) if one in kinds}
    each = {one: _parameter(one, kind, _properties(tool)[one]) for one, kind in kinds.items()}
    return {
        "category_name": CATEGORY,
        "tool_name": PROVIDER,
        "api_name": name,
        "api_description": " ".join(tool.schema.description.split()),
        "required_parameters": [each[one] for one in each if one in needed],
        "optional_parameters": [each[one] for one in each if one not in needed],
        "method": "GET",
    }


def arguments(tool: Tool, given: Mapping[str, JSON]) -> dict[str, JSON] | Reason:
    """Convert a call's arguments for the API; a `Reason` if that is not possible."""
    kinds, found = kinds_of(tool), dict[str, JSON]()
    if given.keys() - {*required(tool.schema.parameters)} and not required(tool.schema.parameters):
        return Reason.NOT_SHOWN
    for name, value in given.items():
        kind = kinds.get(name, "STRING")
        if kind == "NUMBER" and isinstance(value, float):
            value = int(value)  # JSON Schema accepts 3.0 as an integer
        if kind not in ("NUMBER", "BOOLEAN") and not isinstance(value, str):
            value = json.dumps(value, ensure_ascii=False)
        found[service_name(name, reserved=True)] = value
    return found


def kinds_of(tool: Tool) -> dict[str, str]:
    """Return the official type of each parameter."""
    return {name: _kind(schema) for name, schema in _properties(tool).items()}


def defaults_of(tool: Tool) -> dict[str, JSON]:
    """Return the documented defaults of optional parameters."""
    needed = required(tool.schema.parameters)
    return {
        name: schema["default"]
        for name, schema in _properties(tool).items()
        if name not in needed and "default" in schema
    }


def _properties(tool: Tool) -> dict[str, Mapping[str, JSON]]:
    found = tool.schema.parameters.get("properties")
    each = found.items() if isinstance(found, dict) else ()
    return {name: schema if isinstance(schema, dict) else {} for name, schema in each}


_KINDS = {
    "string": "STRING", "integer": "NUMBER", "number": "FLOAT", "boolean": "BOOLEAN",
    "array": "ARRAY", "object": "OBJECT",
}  # fmt: skip
"""Official type by JSON type. An official NUMBER is shown as an integer, and 48.5 is not valid
for it: values that may have a fraction become texts."""


def _kind(schema: Mapping[str, JSON]) -> str:
    kind = schema.get("type")
    if kind == "string" and isinstance(schema.get("enum"), list):
        return "ENUM"
    # Values of mixed types become texts.
    return _KINDS.get(kind, "OBJECT") if isinstance(kind, str) else "OBJECT"


def _parameter(name: str, kind: str, schema: Mapping[str, JSON]) -> dict[str, JSON]:
    default = schema.get("default")
    plain = isinstance(default, str | int | float)
    written = default if plain else json.dumps(default, ensure_ascii=False)
    return {
        "name": name,
        "type": kind,
        "description": _described(kind, schema),
        "default": "" if default is None else written,
    }


def _described(kind: str, schema: Mapping[str, JSON]) -> str:
    """Describe a value, its format first, since the official code cuts descriptions."""
    inner = schema.get("items")
    parts = [_choices(schema)]
    if kind == "ARRAY":
        parts = ["A list, as JSON.", _choices(inner if isinstance(inner, dict) else {})]
    elif kind == "FLOAT":
        parts = ["A number, as text."]
    elif kind == "OBJECT":
        fields = schema.get("properties")
        named = f" with {', '.join(fields)}" if isinstance(fields, dict) and fields else ""
        parts = [f"As JSON{named}."]
    own = " ".join(str(schema.get("description") or "").split())
    return " ".join(part for part in (*parts, own) if part)


def _choices(schema: Mapping[str, JSON]) -> str:
    listed = schema.get("enum")
    values: Sequence[JSON] = listed if isinstance(listed, list) else ()
    return f"One of {', '.join(as_text(one) for one in values)}." if values else ""
