"""Files of readings: replies and readings as JSON lines, appended and synced.

A reply is on the disk before it is used, so that nothing is requested twice. If an item has several
readings, the last one applies. A kill leaves at most one incomplete line, which is dropped.
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
    """A file of readings cannot be read or written; the message names it and says what to do."""


@dataclass(frozen=True, slots=True)
class ItemReading:
    """The combined verdict of the readers on one item."""

    item: str
    digest: str
    """The item's `Item.digest`; the reading applies to this version of the item only."""
    certificate: str
    """Digest of the certificate against which the plans were judged."""
    readers: Mapping[str, JSON]
    """Settings of the readers: models, votes, options, version of the prompt."""
    status: ReadStatus
    ballots: tuple[Ballot, ...]
    has_sibling: bool
    """Whether agreeing plans were also run with a sibling's literals."""
    version: int = VERSION

    def stale(self, digest: str, certificate: str) -> str:
        """Return why the reading no longer applies; empty if it does."""
        if self.digest != digest:
            return "the item has changed"
        if self.version != VERSION:
            return f"it is of version {self.version} of reading, this is {VERSION}"
        return "" if self.certificate == certificate else "the item's certificate has changed"

    def share(self, hop: int) -> float:
        """Return the share of ballots that reached the answer of a hop (from 1) by its own tool."""
        met = sum(hop in ballot.hops for ballot in self.ballots)
        return met / len(self.ballots) if self.ballots else 0.0

    @property
    def votes(self) -> dict[tuple[str, int], bool]:
        """Return whether each ballot agrees, by model and sample."""
        return {
            (ballot.model, ballot.sample): ballot.vote is Vote.AGREES for ballot in self.ballots
        }


_READING = TypeAdapter(ItemReading)


def reading_to_json(reading: ItemReading) -> dict[str, Any]:
    """Return the reading as plain JSON values."""
    row: dict[str, Any] = _READING.dump_python(reading, mode="json")
    return row


def certificate_digest(certificate: Certificate) -> str:
    """Return the first twelve hex digits of a digest of the whole certificate."""
    return hashlib.sha256(to_line(certificate)).hexdigest()[:12]


def path_beside(certificates: Path) -> Path:
    """Return the path of the readings that belong to a file of certificates."""
    return certificates.with_name(f"{certificates.stem}.readings.jsonl")


class Readings(RowFile):
    """The contents of a file of readings. `Readings.writing` also opens it for appending."""

    fault = ReadingsError
    wanted = "neither a reply nor a reading"

    def __init__(self, path: Path) -> None:
        """Read the file; a missing file counts as empty.

        Raises:
            ReadingsError: the file cannot be read, or a line does not belong in it.
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
        """Open the file for appending, as a context manager.

        Raises:
            ReadingsError: the file cannot be opened, or another process is writing it.
        """
        readings = cls(path)
        readings.open(lock=True)
        return readings

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def add_reply(self, key: str, row: Mapping[str, JSON]) -> None:
        """Append a reply; it is on the disk when this returns.

        Raises:
            ReadingsError: the file cannot be written.
        """
        self.append({"kind": "reply", "key": key, **row})

    def add(self, reading: ItemReading) -> None:
        """Append a reading; raises as `add_reply`."""
        self.append({"kind": "reading", **reading_to_json(reading)})
