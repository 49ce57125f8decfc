"""The scalar values in a call's arguments, with their schemas. No side effects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toolhop_sandbox.outcome import JSON
from toolhop_tools.declared import described
from toolhop_tools.words import scalars


@dataclass(frozen=True, slots=True)
class Leaf:
    """A scalar in a call's arguments, with its schema."""

    path: tuple[str | int, ...]
    value: JSON
    schema: Mapping[str, JSON]
    about: str
    """Name of the parameter and all descriptions on the path to the leaf."""

    @property
    def name(self) -> str:
        """Property name nearest to the leaf."""
        return next(str(step) for step in reversed(self.path) if isinstance(step, str))

    @property
    def choices(self) -> list[JSON]:
        """Values that the schema's ``enum`` allows; empty if it has none."""
        found = self.schema.get("enum")
        return found if isinstance(found, list) else []

    @property
    def is_option(self) -> bool:
        """Whether it is an option (a choice, a boolean or null), not a subject of the call."""
        chosen = bool(self.choices) and not isinstance(self.value, int | float)
        return chosen or isinstance(self.value, bool) or self.value is None


def resolved(schema: Mapping[str, JSON], root: Mapping[str, JSON]) -> Mapping[str, JSON]:
    """Follow a local ``$ref``; the schema itself if it has none."""
    target = schema.get("$ref")
    if not isinstance(target, str) or not target.startswith("#/"):
        return schema
    part: JSON = dict(root)
    for step in target[2:].split("/"):
        step = step.replace("~1", "/").replace("~0", "~")
        part = part.get(step) if isinstance(part, dict) else None
    return part if isinstance(part, dict) and part.get("$ref") != target else {}


def inner(schema: Mapping[str, JSON], step: str | int, root: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return the schema of a property or of a list's elements."""
    known = resolved(schema, root)
    found = known.get("items")
    if isinstance(step, str):
        found = described(known).get(step)
    return dict(resolved(found, root)) if isinstance(found, dict) else {}


def leaves(schema: Mapping[str, JSON], arguments: Mapping[str, JSON]) -> list[Leaf]:
    """Return the scalars of a call, in order."""
    found = []
    for path, value in scalars(dict(arguments)):
        own, about = schema, ""
        for step in path:
            own = inner(own, step, schema)
            name = f" {step}" if isinstance(step, str) else ""
            about = f"{about}{name} {own.get('description', '')}"
        found.append(Leaf(path, value, own, about))
    return found


def with_value(
    arguments: Mapping[str, JSON], path: Sequence[str | int], value: JSON
) -> dict[str, JSON]:
    """Return the arguments with the value at the path replaced."""
    name = str(path[0])
    return {**arguments, name: _placed(arguments.get(name), path[1:], value)}


def _placed(held: JSON, path: Sequence[str | int], value: JSON) -> JSON:
    if not path:
        return value
    if isinstance(held, list):
        at = int(path[0])
        return [*held[:at], _placed(held[at], path[1:], value), *held[at + 1 :]]
    return with_value(held if isinstance(held, dict) else {}, path, value)
