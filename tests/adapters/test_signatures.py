"""What a tool's schema loses where it is read from a Python signature, as TRL reads it."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from typing import Any, Literal

import pytest

from toolhop_tools.load import load
from toolhop_tools.model import ToolSchema

pytest.importorskip("transformers", reason="needs transformers: make test-adapters")
pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("default")]
BUILTIN = load("builtin")


def test_schemas_out_of_signatures_lose_what_ours_say() -> None:
    """Why not TRL's `environment_factory`: there tools are methods, read by their signatures."""
    from transformers.utils import get_json_schema

    schemas = [tool.schema for item in BUILTIN.items for tool in item.tools.values()]
    made = [get_json_schema(as_function(one))["function"]["parameters"] for one in schemas]
    pairs = [(dict(one.parameters), other) for one, other in zip(schemas, made, strict=True)]
    lost = [one for one, other in pairs if keywords(one) - keywords(other)]
    same = sum(one == other for one, other in pairs)
    print(f"{len(pairs)} schemas, {same} the same, {len(lost)} without a keyword that they had")
    assert len(pairs) > 100
    assert same == 0
    assert len(lost) == len(pairs)


WORDS = {"string": str, "integer": int, "number": float, "boolean": bool, "array": list,
         "object": dict, "null": type(None)}  # fmt: skip


def hint(schema: dict[str, Any]) -> Any:
    """All that a type hint can say of it."""
    if "enum" in schema:
        return Literal[tuple(schema["enum"])]
    kind = schema.get("type", "string")
    if kind == "array" and "items" in schema:
        return list[hint(schema["items"])]  # type: ignore[misc] # made at run time
    kinds = [kind] if isinstance(kind, str) else kind
    return functools.reduce(operator.or_, (WORDS[one] for one in kinds))


def as_function(schema: ToolSchema) -> Callable[..., None]:
    """With the signature and the docstring that say most of the schema."""
    parameters: Any = schema.parameters
    properties: dict[str, Any] = parameters["properties"]

    def tool() -> None:
        pass

    tool.__name__ = schema.name
    described = "\n".join(f"    {n}: {one.get('description', n)}" for n, one in properties.items())
    tool.__doc__ = f"{schema.description}\n\nArgs:\n{described}\n"
    types = {name: WORDS[str(one.get("type", "string"))] for name, one in properties.items()}
    types = {name: hint(one) for name, one in properties.items()}
    tool.__annotations__ = types
    required = parameters.get("required", [])
    tool.__signature__ = inspect.Signature(  # type: ignore[attr-defined] # as inspect reads it
        sorted(
            (
                inspect.Parameter(
                    name,
                    inspect.Parameter.POSITIONAL_OR_KEYWORD,
                    default=inspect.Parameter.empty if name in required else None,
                    annotation=types[name],
                )
                for name in properties
            ),
            key=lambda one: one.default is None,
        )
    )
    return tool


def keywords(schema: object) -> set[str]:
    """Those of JSON Schema that say what a value may be."""
    if isinstance(schema, list):
        return set().union(*map(keywords, schema))
    if not isinstance(schema, dict):
        return set()
    found = set().union(*map(keywords, schema.values()))
    return found | (schema.keys() & LIMITS)


LIMITS = {"enum", "default", "minimum", "maximum", "items", "pattern", "minItems", "maxItems",
          "minLength", "maxLength"}  # fmt: skip
