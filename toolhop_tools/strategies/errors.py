"""Errors for schemas for which no strategy can be made.

SchemaFault
├── UnsupportedSchema     the schema uses an unsupported feature
└── UnsatisfiableSchema   no value that a call can carry fits the schema
"""

from __future__ import annotations

from typing import TypeAlias

from toolhop_tools.errors import ToolsError

Place: TypeAlias = tuple[str | int, ...]
"""Path from the root of a schema to a part of it, such as ``("properties", "year")``."""


class SchemaFault(ToolsError):
    """A schema for which no strategy can be made; `place` is the path, `reason` the cause."""

    said = "the schema cannot be used"

    def __init__(self, place: Place, reason: str) -> None:
        self.place = place
        self.reason = reason
        super().__init__(f"{self.said} at {pointer(place)}: {reason}")


class UnsupportedSchema(SchemaFault):
    """The schema uses an unsupported feature; `keyword` names it."""

    said = "the schema is not supported"

    def __init__(self, place: Place, keyword: str, reason: str) -> None:
        self.keyword = keyword
        super().__init__((*place, keyword) if keyword else place, reason)


class UnsatisfiableSchema(SchemaFault):
    """No value fits, or none that a call can carry: of finite depth and at most 1000 digits."""

    said = "no value fits the schema"


def pointer(place: Place) -> str:
    """Return a place as a JSON pointer fragment: ``#/properties/year``."""
    steps = (str(step).replace("~", "~0").replace("/", "~1") for step in place)
    return "#" + "".join(f"/{step}" for step in steps)
