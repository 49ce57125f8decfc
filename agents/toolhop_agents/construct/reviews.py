"""Material for review and its ``reviews.jsonl``: one line per review, flushed to disk at once.

Several people may review at the same time, each in a process of their own: a line is appended under
a lock, after the end of the last whole line.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from toolhop_agents.construct import folder as folders
from toolhop_tools.benchmarks.nestools.reader import DATA as NESTED_DATA
from toolhop_tools.certify.file import read as read_certificates
from toolhop_tools.certify.model import Certificate
from toolhop_tools.construct.reviews import REVIEW, Review, standing
from toolhop_tools.errors import ToolsError
from toolhop_tools.growing import append, last_end
from toolhop_tools.load import load
from toolhop_tools.model import DataSet, Item

NAME = "reviews.jsonl"
PROVENANCE = "provenance.jsonl"
MOST_TEXT = 2000
"""Maximum length of a stored reason or answer, in characters."""


class ReviewError(ToolsError):
    """Reviews cannot be read or written; the message says which, and what to do."""


@dataclass(frozen=True, slots=True)
class Material:
    """Items to review: the accepted items of a made folder, or any data set."""

    folder: Path
    """The folder, or the data set's file."""
    data: DataSet
    certificates: dict[str, Certificate]
    """Valid certificates by item id."""
    books: dict[str, dict[str, Any]]
    """Books by item id, rejected items included; empty for data that was not made here."""
    settings: dict[str, Any]
    """Settings of the folder."""

    @classmethod
    def read(cls, source: str | Path) -> Material:
        """Read items with their certificates and books.

        Raises:
            FolderError: no item of the folder has been accepted yet.
            DataError, CertificateError: a file cannot be read.
        """
        folder = Path(source)
        if not folders.is_made(folder):
            return cls(folder, load(source), {}, {}, {})
        settings = folders.read_settings(folder)
        books = {book["item"]: book for book in folders.read_books(folder)}
        if not any(book["accepted"] for book in books.values()):
            raise folders.FolderError(
                f"{folder} has no accepted items yet\n  fix: toolhop construct resume {folder}"
            )
        if (nested := folder / f"{NESTED_DATA}.jsonl").is_file():
            return cls(folder, _by_seed(folder, load(nested), books), {}, books, settings)
        data = load(folder / folders.ITEMS)
        certificates = {
            proof.item: proof
            for proof in read_certificates(folder / folders.CERTIFICATES)
            if proof.item in data.by_id and not proof.stale(data.by_id[proof.item].digest)
        }
        return cls(folder, data, certificates, books, settings)

    @property
    def items(self) -> tuple[Item, ...]:
        """The items, in the order of the file."""
        return tuple(self.data.items)

    @property
    def digests(self) -> dict[str, str]:
        """Digests of the items, by id."""
        return {item.id: item.digest for item in self.items}

    def standing(self) -> dict[str, dict[str, Review]]:
        """Return each reviewer's last review of each item's current version.

        Raises:
            ReviewError: the file cannot be read.
        """
        return standing(read(self.folder), self.digests)


def _by_seed(folder: Path, data: DataSet, books: dict[str, dict[str, Any]]) -> DataSet:
    """Name nested tasks after their seeds, as their numbers change when tasks are added.

    Provenance that the rows lack is added to the books as ``executed``.
    """
    lines = (folder / PROVENANCE).read_text(encoding="utf-8").splitlines()
    rows = {str(row["test_id"]): row for row in map(json.loads, lines)}
    items = []
    for item in data.items:
        row = rows[item.id]
        books[row["item"]]["executed"] = row
        extra = {**item.extra, "reading": row.get("reading", "")}
        items.append(replace(item, id=row["item"], extra=extra))
    return DataSet(data.name, data.origin, tuple(items))


def place(folder: Path) -> Path:
    """Return the path of a folder's reviews, or of those beside a data file."""
    return folder / NAME if folder.is_dir() else folder.with_name(f"{folder.stem}.{NAME}")


def read(folder: Path) -> Iterator[Review]:
    """Yield all reviews, oldest first; an unfinished last line is skipped.

    Raises:
        ReviewError: the file cannot be read, or a line is not a review.
    """
    path = place(folder)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return
    except OSError as error:
        raise ReviewError(f"{path} cannot be read: {error.strerror}") from None
    for number, line in enumerate(content.split(b"\n")[:-1], 1):
        try:
            yield REVIEW.validate_python(json.loads(line))
        except ValueError:
            raise ReviewError(
                f"{path}: line {number} is not a review\n  fix: take the line out; its item is "
                "shown to its reviewer again"
            ) from None


def add(folder: Path, review: Review) -> Review:
    """Append a review and flush it to disk before returning.

    Raises:
        ReviewError: it cannot be written; earlier reviews are unchanged.
    """
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    row = replace(review, reason=review.reason.strip()[:MOST_TEXT], at=now)
    line = json.dumps(row.to_json(), ensure_ascii=False).encode("utf-8", "backslashreplace")
    path = place(folder)
    try:
        with _open(path) as descriptor:
            append(descriptor, line + b"\n", sync=True)
    except OSError as error:
        raise ReviewError(f"{path} cannot be written: {error.strerror}") from None
    return row


@contextmanager
def _open(path: Path) -> Iterator[int]:
    """Open the file for appending, and drop a partial last line left by a killed process."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        with suppress(OSError):  # the file system does not support locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        end, piece = last_end(descriptor)
        if piece:
            os.ftruncate(descriptor, end)
        yield descriptor
    finally:
        os.close(descriptor)
