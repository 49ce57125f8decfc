"""Scrambled or empty descriptions of tools or of their parameters."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import Item, Tool
from toolhop_tools.perturb.change import Words, with_tools

OnText: TypeAlias = Callable[[str, str], str]
"""Function from a description and its path in the schema to a new description."""


def redescribed(item: Item, words: Words, seed: int, *, of_parameters: bool = False) -> Item:
    """Change the descriptions of all tools, or all descriptions in their parameters' schemas.

    Names and types of parameters stay.
    """

    def tool(given: Tool) -> Tool:
        home, schema = f"{seed}/{item.id}/{given.name}", given.schema
        if not of_parameters:
            text = _changed(schema.description, words, f"{home}/description")
            return replace(given, schema=replace(schema, description=text))
        changed = with_descriptions(
            schema.parameters, lambda text, place: _changed(text, words, f"{home}{place}")
        )
        return replace(given, schema=replace(schema, parameters=changed))

    return with_tools(item, tool)


def _changed(text: str, words: Words, place: str) -> str:
    if words is Words.REMOVED:
        return ""
    pieces = text.split()
    random.Random(place).shuffle(pieces)
    return " ".join(pieces)


def with_descriptions(
    schema: Mapping[str, JSON], change: OnText, place: str = ""
) -> dict[str, JSON]:
    """Change every description in a JSON Schema, at any depth, and nothing else."""
    return {key: _keyword(key, value, change, f"{place}/{key}") for key, value in schema.items()}


def _keyword(key: str, value: JSON, change: OnText, place: str) -> JSON:
    if key == "description" and isinstance(value, str):
        return change(value, place)
    if key in _BY_NAME and isinstance(value, dict):
        return {name: _part(part, change, f"{place}/{name}") for name, part in value.items()}
    if key in _VALUES:
        return value
    if isinstance(value, list):
        return [_part(part, change, f"{place}/{n}") for n, part in enumerate(value)]
    return _part(value, change, place)


def _part(value: JSON, change: OnText, place: str) -> JSON:
    return with_descriptions(value, change, place) if isinstance(value, dict) else value


_BY_NAME = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)
"""Keywords of JSON Schema whose value maps arbitrary names to schemas."""
_VALUES = frozenset({"enum", "const", "default", "examples", "example", "required"})
"""Keywords that hold values rather than schemas; objects in them are left unchanged."""
