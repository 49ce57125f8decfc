"""Look up objects by name: built-in ones, and entry points of installed packages."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

from toolhop_tools.errors import ToolsError

Kind = TypeVar("Kind")


class BadPackage(ToolsError):
    """An entry point cannot be used; the message names its package and the expected kind."""


def added(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name; the first one wins if two share a name."""
    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=group):
        found.setdefault(point.name, point)
    return found


def object_of(point: EntryPoint) -> object:
    """Import the object of an entry point.

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
    """Import the object of an entry point and check its type.

    Raises:
        BadPackage: it cannot be imported, or is not a `kind`.
    """
    found = object_of(point)
    if not isinstance(found, kind):
        raise wrong_kind(point, found, kind.__name__)
    return found


def wrong_kind(point: EntryPoint, found: object, expected: str) -> BadPackage:
    """Return the error for an entry point whose object is not what its group expects."""
    return _bad(point, f"{point.value} is a {type(found).__name__}; expected a {expected}")


@dataclass(frozen=True, slots=True)
class Registry(Generic[Kind]):
    """A registry of objects of one kind by name, imported on first use."""

    group: str
    """Entry point group through which installed packages add objects."""
    kind: type[Kind]
    own: dict[str, str] = field(default_factory=dict)
    """Built-in objects as entry point values; packages cannot replace them."""

    def names(self) -> list[str]:
        """Return all names, the built-in ones first."""
        return [*self.own, *sorted(added(self.group).keys() - self.own.keys())]

    def get(self, name: str) -> Kind | None:
        """Return the object with this name; None if there is none.

        Raises:
            BadPackage: it cannot be imported, or is of another kind.
        """
        own = self.own.get(name)
        point = EntryPoint(name, own, self.group) if own else added(self.group).get(name)
        return None if point is None else loaded(point, self.kind)


def _bad(point: EntryPoint, reason: str) -> BadPackage:
    package = point.dist.name if point.dist else "toolhop-env"
    head = f"{point.group} {point.name!r} of {package}"
    return BadPackage(f"{head}: {reason}\n  fix: repair or uninstall {package}")
