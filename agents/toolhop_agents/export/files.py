"""Files that are there whole or not at all, and replace nothing unless that is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from toolhop_tools import atomic as files


class ExportError(Exception):
    """An export that cannot be written; says where and what to do."""


def check_free(paths: Iterable[Path], overwrite: bool) -> None:
    """See that no file is replaced that nobody asked to replace.

    Raises:
        ExportError: one is there already.
    """
    there = [path for path in paths if path.exists()]
    if there and not overwrite:
        raise ExportError(f"{there[0]} is there already; give another --out, or pass --overwrite")


def write_text(path: Path, text: str, *, overwrite: bool) -> None:
    """Write a file by that rule, in one step.

    Raises:
        ExportError: it is there already, or cannot be written.
    """
    check_free([path], overwrite)
    with atomic(path) as beside:
        beside.write_text(text, encoding="utf-8")


@contextmanager
def atomic(path: Path, staged: Path | None = None) -> Iterator[Path]:
    """A path beside `path` to write to; what is there at the end becomes `path` in one step.

    Where the block raises, nothing is left of it and `path` stays as it was.

    Args:
        path: the file.
        staged: where it stands until it is whole, on the same file system; beside `path` if not
            given.

    Raises:
        ExportError: the folder or the file cannot be written.
    """
    first = staged or path
    try:
        first.parent.mkdir(parents=True, exist_ok=True)
        with files.atomic(first) as beside:
            yield beside
        first.replace(path)
    except OSError as error:
        raise ExportError(
            f"{path} cannot be written: {error.strerror or error}; give another --out"
        ) from error
