"""What there is to review, and its ``reviews.jsonl``: a line a review, on the disk before anything
goes on.

Several people may review at the same time, each in a process of their own: a line is added under
a lock, after the end of the last whole line.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
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
from toolhop_tools.errors import BadChoice, ToolsError
from toolhop_tools.growing import append, last_end
from toolhop_tools.load import load
from toolhop_tools.model import DataSet, Item

NAME = "reviews.jsonl"
PROVENANCE = "provenance.jsonl"
REVIEWER = re.compile(r"[\w.-]{1,40}")
MOST_TEXT = 2000
"""Characters of a reason, and of an answer, that are kept."""


class ReviewError(ToolsError):
    """Reviews that cannot be read or written; says which, and what to do."""


@dataclass(frozen=True, slots=True)
class Material:
    """What there is to review: the accepted items of a made folder, or any data set."""

    folder: Path
    """The folder, or the file of the data set."""
    data: DataSet
    certificates: dict[str, Certificate]
    """By id: those that still hold."""
    books: dict[str, dict[str, Any]]
    """By id, rejected items among them; empty for data that was not made here."""
    settings: dict[str, Any]
    """What the folder was made with."""

    @classmethod
    def read(cls, source: str | Path) -> Material:
        """The items with their certificates and books.

        Raises:
            FolderError: nothing in the folder was accepted yet.
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
        """In the order of the file."""
        return tuple(self.data.items)

    @property
    def digests(self) -> dict[str, str]:
        """Of the items, by id."""
        return {item.id: item.digest for item in self.items}

    def standing(self) -> dict[str, dict[str, Review]]:
        """Everybody's last review of each item as it is now.

        Raises:
            ReviewError: the file cannot be read.
        """
        return standing(read(self.folder), self.digests)


def _by_seed(folder: Path, data: DataSet, books: dict[str, dict[str, Any]]) -> DataSet:
    """Nested tasks under the names of their seeds, as their numbers change when others join them.
    What their rows do not hold is in the provenance: it goes into the books, as ``executed``.
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


def checked(reviewer: str) -> str:
    """The name of a reviewer.

    Raises:
        BadChoice: it is not a valid name.
    """
    if REVIEWER.fullmatch(reviewer):
        return reviewer
    raise BadChoice(
        f"--reviewer is {reviewer!r}", fix="give 1 to 40 letters, digits, '.', '_' or '-'"
    )


def place(folder: Path) -> Path:
    """The file of a folder's reviews, or the one beside a data file."""
    return folder / NAME if folder.is_dir() else folder.with_name(f"{folder.stem}.{NAME}")


def read(folder: Path) -> Iterator[Review]:
    """All reviews, oldest first; a last line without its end is left out.

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
    lines = content.split(b"\n")[:-1]
    for number, line in enumerate(lines, 1):
        try:
            yield REVIEW.validate_python(json.loads(line))
        except ValueError:
            raise ReviewError(
                f"{path}: line {number} is not a review\n  fix: take the line out; its item is "
                "shown to its reviewer again"
            ) from None


def add(folder: Path, review: Review) -> Review:
    """Add a review; it is on the disk when this returns.

    Raises:
        ReviewError: it cannot be written; what was there before stays.
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
    """The file, ready for one more line, without the piece of a line that a kill may have left."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        with suppress(OSError):  # a file system that knows no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        end, piece = last_end(descriptor)
        if piece:
            os.ftruncate(descriptor, end)
        yield descriptor
    finally:
        os.close(descriptor)
