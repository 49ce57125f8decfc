"""What installed packages add, by entry points: readers, benchmarks, judges, export formats."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from toolhop_tools.errors import ToolsError

Kind = TypeVar("Kind")


class BadPackage(ToolsError):
    """An entry point that cannot be used; says which package brings it and what is expected."""


def added(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group by name; of two under one name the first."""
    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=group):
        found.setdefault(point.name, point)
    return found


def object_of(point: EntryPoint) -> object:
    """What an entry point names.

    Raises:
        BadPackage: it cannot be imported.
    """
    try:
        found: object = point.load()
    except Exception as error:
        reason = f"{point.value} cannot be imported: {type(error).__name__}: {error}"
        raise _bad(point, reason) from error
    return found


def loaded(point: EntryPoint, kind: type[Kind]) -> Kind:
    """The object that an entry point names.

    Raises:
        BadPackage: it cannot be imported, or is not a `kind`.
    """
    found = object_of(point)
    if not isinstance(found, kind):
        raise wrong_kind(point, found, kind.__name__)
    return found


def wrong_kind(point: EntryPoint, found: object, expected: str) -> BadPackage:
    """The fault of an entry point that names something else than what its group takes."""
    return _bad(point, f"{point.value} is a {type(found).__name__}; expected a {expected}")


def _bad(point: EntryPoint, reason: str) -> BadPackage:
    package = point.dist.name if point.dist else "an unnamed package"
    head = f"{point.group} {point.name!r} of {package}"
    return BadPackage(f"{head}: {reason}\n  fix: repair or uninstall {package}")
