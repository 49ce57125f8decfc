"""The reviews of a folder: ``reviews.jsonl``, a row a word, on the disk before it is answered.

Several people may review at the same time, each in a process of their own: a row is added under a
lock, after the end of the last whole line.
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
from toolhop_env.statistics.agreement import Agreement, agreement, wilson
from toolhop_tools.certify.file import read as read_certificates
from toolhop_tools.certify.model import Certificate
from toolhop_tools.construct.reviews import Review, Ruling, Standing, pairs_of, standing
from toolhop_tools.errors import BadChoice, ToolsError
from toolhop_tools.growing import append
from toolhop_tools.load import load
from toolhop_tools.model import Item

NAME = "reviews.jsonl"
REVIEWER = re.compile(r"[\w.-]{1,40}")
MOST_REASON = 2000
"""Letters of a reason that are kept."""


class ReviewError(ToolsError):
    """Reviews that cannot be read or written; says which, and what to do."""


@dataclass(frozen=True, slots=True)
class Material:
    """What there is to review: the accepted items of a folder."""

    folder: Path
    items: tuple[Item, ...]
    certificates: dict[str, Certificate]
    """By id: those that hold still."""
    books: dict[str, dict[str, Any]]

    @classmethod
    def read(cls, folder: Path) -> Material:
        """The items of a folder, with their certificates and books.

        Raises:
            FolderError: it is no folder of made items, or none was accepted.
            DataError, CertificateError: its files cannot be read.
        """
        books = {one["item"]: one for one in folders.read_books(folder)}
        if not any(one["accepted"] for one in books.values()):
            raise folders.FolderError(
                f"{folder} has no accepted items yet\n  fix: toolhop construct --resume {folder}"
            )
        items = load(folder / folders.ITEMS).items
        digests = {item.id: item.digest for item in items}
        found = {
            one.item: one
            for one in read_certificates(folder / folders.CERTIFICATES)
            if one.item in digests and not one.stale(digests[one.item])
        }
        return cls(folder, items, found, books)

    @property
    def digests(self) -> dict[str, str]:
        """Of the items, by id."""
        return {item.id: item.digest for item in self.items}

    def standing(self) -> dict[str, dict[str, Review]]:
        """The last word of everybody on each item as it is now.

        Raises:
            ReviewError: the file cannot be read.
        """
        return standing(read(self.folder), self.digests)


def checked(reviewer: str) -> str:
    """The name of a reviewer.

    Raises:
        BadChoice: it cannot be one.
    """
    if REVIEWER.fullmatch(reviewer):
        return reviewer
    raise BadChoice(
        f"--reviewer is {reviewer!r}", fix="give 1 to 40 letters, digits, '.', '_' or '-'"
    )


def read(folder: Path) -> Iterator[Review]:
    """All words in the order in which they were given; a last line without its end is left out.

    Raises:
        ReviewError: the file cannot be read, or a line is none of a review.
    """
    path = folder / NAME
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return
    except OSError as error:
        raise ReviewError(f"{path} cannot be read: {error.strerror}") from None
    lines = content.split(b"\n")[:-1]
    for number, line in enumerate(lines, 1):
        try:
            yield Review.from_json(json.loads(line))
        except (ValueError, KeyError, TypeError):
            raise ReviewError(
                f"{path}: line {number} is no review\n  fix: take the line out; its item is "
                "shown to its reviewer again"
            ) from None


def add(folder: Path, review: Review) -> Review:
    """Add a word; it is on the disk when this returns.

    Raises:
        ReviewError: it cannot be written; what was there before stays.
    """
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    row = replace(review, reason=review.reason.strip()[:MOST_REASON], at=now)
    line = json.dumps(row.to_json(), ensure_ascii=False).encode("utf-8", "backslashreplace")
    path = folder / NAME
    try:
        with _open(path) as descriptor:
            append(descriptor, line + b"\n", sync=True)
    except OSError as error:
        raise ReviewError(f"{path} cannot be written: {error.strerror}") from None
    return row


@contextmanager
def _open(path: Path) -> Iterator[int]:
    """The file for one more row, without the piece of a line that a kill may have left."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        with suppress(OSError):  # a file system that knows no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        with open(descriptor, "rb", closefd=False) as file:
            whole, end, piece = file.read().rpartition(b"\n")
        if piece:
            os.ftruncate(descriptor, len(whole) + len(end))
        yield descriptor
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class Compared:
    """Two reviewers on the items that both have judged."""

    first: str
    second: str
    found: Agreement
    raw_limits: tuple[float, float]
    """Of the raw agreement, Wilson's; kappa's are in `found`."""
    disputed: tuple[str, ...]
    """Ids of the items that they judge differently."""


def compared(standing: Standing, *, seed: int = 0) -> list[Compared]:
    """How far each two reviewers agree.

    Raw agreement is that of NesTools' paper (section 3.3): items that both accept or both reject,
    over all. Kappa is Cohen's, its interval a bootstrap's over items.
    """
    found = []
    for (first, second), said in pairs_of(standing).items():
        verdicts = {item: [(one.value, other.value)] for item, (one, other) in said.items()}
        whole = agreement(verdicts, seed=seed)
        disputed = tuple(item for item, (one, other) in said.items() if one is not other)
        limits = wilson(whole.accuracy, whole.questions)
        found.append(Compared(first, second, whole, limits, disputed))
    return found


def counts(standing: Standing) -> dict[str, dict[Ruling, int]]:
    """By reviewer: how many items got each ruling."""
    found: dict[str, dict[Ruling, int]] = {}
    for words in standing.values():
        for name, one in words.items():
            of = found.setdefault(name, dict.fromkeys(Ruling, 0))
            of[one.ruling] += 1
    return dict(sorted(found.items()))
