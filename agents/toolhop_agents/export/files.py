"""Atomic file writes that replace existing files only on request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from toolhop_tools import atomic as files


class ExportError(Exception):
    """An export that cannot be written. The message says where, and what to do."""


def check_free(paths: Iterable[Path], overwrite: bool) -> None:
    """Check that no file would be replaced without `overwrite`.

    Raises:
        ExportError: a file already exists.
    """
    there = [path for path in paths if path.exists()]
    if there and not overwrite:
        raise ExportError(f"{there[0]} is there already; give another --out, or pass --overwrite")


def write_text(path: Path, text: str, *, overwrite: bool) -> None:
    """Write a file atomically; an existing one is replaced only with `overwrite`.

    Raises:
        ExportError: the file already exists, or cannot be written.
    """
    check_free([path], overwrite)
    with atomic(path) as beside:
        beside.write_text(text, encoding="utf-8")


@contextmanager
def atomic(path: Path, staged: Path | None = None) -> Iterator[Path]:
    """Yield a temporary path; its file replaces `path` atomically at the end.

    If the block raises, the temporary file is removed and `path` is unchanged.

    Args:
        path: the final file.
        staged: location of the incomplete file, on the same file system; beside `path` if None.

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
