"""What is found by name: the product's own, and what installed packages add by entry points."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

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


@dataclass(frozen=True, slots=True)
class Registry(Generic[Kind]):
    """Objects of one kind by name. Each is imported when it is asked for."""

    group: str
    """The entry points by which installed packages add some."""
    kind: type[Kind]
    own: dict[str, str] = field(default_factory=dict)
    """The product's own, as values of entry points; no package replaces one."""

    def names(self) -> list[str]:
        """All names, the product's own first."""
        return [*self.own, *sorted(added(self.group).keys() - self.own.keys())]

    def get(self, name: str) -> Kind | None:
        """The object of a name; None where there is none.

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
