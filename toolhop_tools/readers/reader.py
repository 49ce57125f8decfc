"""What a reader is, and the table of those that other packages bring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from toolhop_tools.packages import added, loaded
from toolhop_tools.readers.record import Survey

GROUP = "toolhop.readers"
"""Entry points of this group are readers; their names are those of data sets."""


class SurveyData(Protocol):
    """Reads a data set, with its errors and findings as values."""

    def __call__(self, path: str, *, last_wins: bool) -> Survey:
        """Read what stands at `path`, or the reader's own data where it is empty.

        Args:
            path: what follows the colon in ``--data NAME:PATH``.
            last_wins: what ToolHop's official evaluator does with tools that share a name;
                a reader of other data takes no notice.

        Raises:
            DataError: nothing could be read at all.
        """
        ...


@dataclass(frozen=True, slots=True)
class Reader:
    """How one kind of data set is read."""

    about: str
    """One line for `toolhop data list`."""
    survey: SurveyData
    own_file: Callable[[], Path] | None = None
    """Where the data that is read without a path lies, where that is a file to be fetched."""
    wants_path: bool = False
    """It has no data of its own: it reads ``NAME:PATH`` alone."""
    fits: Callable[[Path], bool] | None = None
    """Whether a file or folder is of its kind, by the first row: its path alone then reads it."""

    @property
    def ready(self) -> bool:
        """Whether it can read without anything being fetched."""
        return self.own_file is None or self.own_file().exists()


def from_packages() -> dict[str, Reader]:
    """The readers of installed packages, by name.

    Raises:
        BadPackage: one cannot be imported, or is not a `Reader`; says which package brings it.
    """
    return {name: loaded(point, Reader) for name, point in added(GROUP).items()}


def from_package(name: str) -> Reader | None:
    """One of them, whatever the others are; None where no package brings it.

    Raises:
        BadPackage: it cannot be imported, or is not a `Reader`.
    """
    point = added(GROUP).get(name)
    return None if point is None else loaded(point, Reader)
