"""What a reader is. `toolhop_tools.load` finds them by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from toolhop_tools.readers.fetch import Source
from toolhop_tools.readers.record import Survey


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
    source: Source | None = None
    """The data that is read without a path, where that is to be fetched."""
    wants_path: bool = False
    """It has no data of its own: it reads ``NAME:PATH`` alone."""
    fits: Callable[[Path], bool] | None = None
    """Whether a file or folder is of its kind, by the first row: its path alone then reads it."""

    @property
    def ready(self) -> bool:
        """Whether it can read without anything being fetched."""
        return self.source is None or self.source.path.exists()
