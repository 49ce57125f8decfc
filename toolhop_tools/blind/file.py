"""Files of readings: replies and readings, a JSON line each, appended and synced.

A reply is on the disk before it is used, so that nothing is asked twice. Of several readings of one
item the last one counts. A kill leaves at most one line without its end, which is dropped.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pydantic import TypeAdapter

from toolhop_sandbox.outcome import JSON
from toolhop_tools.blind.votes import VERSION, Ballot, ReadStatus, Vote
from toolhop_tools.certify.model import Certificate, to_line
from toolhop_tools.errors import ToolsError
from toolhop_tools.growing import RowFile


class ReadingsError(ToolsError):
    """A file of readings that cannot be read or written; says which, and what to do."""


@dataclass(frozen=True, slots=True)
class ItemReading:
    """What readers said of one item."""

    item: str
    digest: str
    """`Item.digest`; the reading is of this item and no other version of it."""
    certificate: str
    """Digest of the certificate that the plans were compared by."""
    readers: Mapping[str, JSON]
    """Who was asked, and how: models, votes, settings, version of the prompt."""
    status: ReadStatus
    ballots: tuple[Ballot, ...]
    has_sibling: bool
    """Whether agreeing plans were run with a sibling's literals too."""
    version: int = VERSION

    def stale(self, digest: str, certificate: str) -> str:
        """Why the reading no longer holds; empty if it does."""
        if self.digest != digest:
            return "the item has changed"
        if self.version != VERSION:
            return f"it is of version {self.version} of reading, this is {VERSION}"
        return "" if self.certificate == certificate else "the item's certificate has changed"

    def share(self, hop: int) -> float:
        """Share of the ballots that came to a hop's answer by its own tool; hops count from 1."""
        met = sum(hop in ballot.hops for ballot in self.ballots)
        return met / len(self.ballots) if self.ballots else 0.0

    @property
    def votes(self) -> dict[tuple[str, int], bool]:
        """Whether each ballot agrees, by model and sample."""
        return {
            (ballot.model, ballot.sample): ballot.vote is Vote.AGREES for ballot in self.ballots
        }


_READING = TypeAdapter(ItemReading)


def reading_to_json(reading: ItemReading) -> dict[str, Any]:
    """The reading as plain values."""
    row: dict[str, Any] = _READING.dump_python(reading, mode="json")
    return row


def certificate_digest(certificate: Certificate) -> str:
    """Twelve hex digits over all that a certificate says."""
    return hashlib.sha256(to_line(certificate)).hexdigest()[:12]


def path_beside(certificates: Path) -> Path:
    """The file of readings that goes with a file of certificates."""
    return certificates.with_name(f"{certificates.stem}.readings.jsonl")


class Readings(RowFile):
    """A file of readings, read at once. `Readings.writing` also adds to it."""

    fault = ReadingsError
    wanted = "neither a reply nor a reading"

    def __init__(self, path: Path) -> None:
        """Read the file; one that does not exist is empty.

        Raises:
            ReadingsError: it cannot be read, or a line is not of such a file.
        """
        self.replies: dict[str, dict[str, Any]] = {}
        """Rows of replies by key."""
        self.by_item: dict[str, ItemReading] = {}
        """The last reading of each item."""
        super().__init__(path)

    def take(self, row: dict[str, Any]) -> None:
        """See `RowFile`."""
        kind = row.pop("kind")
        if kind == "reply":
            self.replies[row["key"]] = {**row, "text": row["text"]}
        elif kind == "reading":
            reading = _READING.validate_python(row)
            self.by_item[reading.item] = reading
        else:
            raise KeyError(kind)

    @classmethod
    def writing(cls, path: Path) -> Self:
        """The file, opened to be added to; close it by ``with``.

        Raises:
            ReadingsError: it cannot be opened, or another process writes it.
        """
        readings = cls(path)
        readings.open(lock=True)
        return readings

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def add_reply(self, key: str, row: Mapping[str, JSON]) -> None:
        """Keep a reply; it is on the disk when this returns.

        Raises:
            ReadingsError: it cannot be written.
        """
        self.append({"kind": "reply", "key": key, **row})

    def add(self, reading: ItemReading) -> None:
        """Keep a reading; as `add_reply`."""
        self.append({"kind": "reading", **reading_to_json(reading)})
