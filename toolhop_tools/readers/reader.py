"""The interface of readers, which `toolhop_tools.load` finds by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from toolhop_tools.readers.fetch import Source
from toolhop_tools.readers.record import Survey


class SurveyData(Protocol):
    """Reads a data set and returns errors and findings as values."""

    def __call__(self, path: str, *, last_wins: bool) -> Survey:
        """Read the data at `path`, or the reader's own data if it is empty.

        Args:
            path: the part after the colon in ``--data NAME:PATH``.
            last_wins: treat tools that share a name as ToolHop's official evaluator does; readers
                of other data ignore it.

        Raises:
            DataError: nothing could be read.
        """
        ...


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader for one kind of data set."""

    about: str
    """One-line description for `toolhop data list`."""
    survey: SurveyData
    source: Source | None = None
    """Files to fetch for reading without a path; None if there are none."""
    wants_path: bool = False
    """Whether it only reads ``NAME:PATH``, having no data of its own."""
    fits: Callable[[Path], bool] | None = None
    """Whether a file or folder is of its kind, judged by the first row; such paths can be given
    without the reader's name."""

    @property
    def ready(self) -> bool:
        """Whether it can read without fetching anything."""
        return self.source is None or self.source.path.exists()
