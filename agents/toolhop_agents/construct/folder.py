"""A folder of made items: its settings, its ledger, and the files computed from them.

    settings.json        settings, read again when the folder is resumed
    seeds.jsonl          the source of each item
    ledger.jsonl         every finished step, on disk before it is used
    items.jsonl          accepted items as official rows: a data set like any other
    certificates.jsonl   certificates of the accepted items
    books.jsonl          one line per item: criteria with figures, steps, provenance, cost
    funnel.json          counts of items that passed, by stage
    refused.jsonl        with readers: official rows of items that readers alone refused

All files but the first three are rewritten at the end of each session, in the order of the seeds.
The same seeds, settings and replies give the same bytes, even after the process was killed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from toolhop_sandbox.outcome import JSON
from toolhop_tools.atomic import atomic
from toolhop_tools.construct.seeds import Seed
from toolhop_tools.errors import ToolsError
from toolhop_tools.growing import RowFile

SETTINGS, SEEDS = "settings.json", "seeds.jsonl"
ITEMS, CERTIFICATES, BOOKS, FUNNEL, REFUSED = (
    "items.jsonl", "certificates.jsonl", "books.jsonl", "funnel.json", "refused.jsonl",
)  # fmt: skip
FORMAT = 2
"""Version of the settings and the ledger. Format 1 had no contracts, so its replies do not fit
today's stages."""


class FolderError(ToolsError):
    """A folder cannot be used; the message says why and what to do."""


def make(folder: Path, settings: Mapping[str, JSON], seeds: Sequence[Seed]) -> None:
    """Create a folder with its settings and seeds.

    Raises:
        FolderError: the folder already has settings, or cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FolderError(f"{folder} cannot be written: {error.strerror}") from None
    if (folder / SETTINGS).exists():
        raise FolderError(
            f"{folder} has items that are being made, or were\n"
            f"  fix: give --resume {folder} to go on, or another --out"
        )
    write_lines(folder / SEEDS, map(asdict, seeds))
    text = json.dumps({**settings, "format": FORMAT}, indent=1, sort_keys=True)
    write_text(folder / SETTINGS, text)


def is_made(folder: Path) -> bool:
    """Whether the folder was made by `toolhop construct`."""
    return (folder / SETTINGS).is_file() and (folder / SEEDS).is_file()


def read_settings(folder: Path) -> dict[str, Any]:
    """Return the settings that a folder was created with.

    Raises:
        FolderError: the folder was not made by `toolhop construct`.
    """
    try:
        return {**json.loads((folder / SETTINGS).read_text(encoding="utf-8"))}
    except (OSError, ValueError, TypeError):
        raise FolderError(
            f"{folder} has no {SETTINGS} that can be read\n"
            "  fix: give a folder that `toolhop construct` made"
        ) from None


def own_settings(folder: Path) -> dict[str, Any]:
    """Return the settings with which a session resumes.

    Raises:
        FolderError: as `read_settings`, or an earlier version of this product created the folder.
    """
    settings = read_settings(folder)
    if settings.pop("format", 1) != FORMAT:
        raise FolderError(
            f"{folder} was begun by an earlier version, whose stages and checks were others; its "
            "items can be shown, reviewed and exported, and not gone on with\n"
            "  fix: begin another folder with --out"
        )
    return settings


def read_seeds(folder: Path, of: type[Seed] = Seed) -> Sequence[Seed]:
    """Return the seeds of a folder in order, as instances of `of`.

    Raises:
        FolderError: they cannot be read.
    """
    try:
        return [TypeAdapter(of).validate_python(row) for row in _rows(folder / SEEDS)]
    except (OSError, ValueError):
        raise FolderError(f"{folder}/{SEEDS} cannot be read; make the items anew") from None


def read_books(folder: Path) -> list[dict[str, Any]]:
    """Return the books written by the last session; empty before the first.

    Raises:
        FolderError: the folder was not made by `toolhop construct`, or its books cannot be read.
    """
    read_settings(folder)
    path = folder / BOOKS
    try:
        return _rows(path)
    except FileNotFoundError:
        return []
    except (OSError, ValueError):
        raise FolderError(
            f"{path} cannot be read\n  fix: toolhop construct resume {folder} writes it anew"
        ) from None


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    try:
        with atomic(path) as beside:
            yield beside
    except OSError as error:
        raise FolderError(
            f"{path} cannot be written: {error.strerror}\n"
            "  fix: make room, and resume; what was paid for is in the ledger"
        ) from None


def write_text(path: Path, text: str) -> None:
    """Write a file atomically.

    Raises:
        FolderError: it cannot be written.
    """
    with _whole(path) as beside:
        beside.write_text(text + "\n", encoding="utf-8")


def write_lines(path: Path, rows: Iterable[Mapping[str, JSON]]) -> None:
    """Write a JSON Lines file atomically.

    Raises:
        FolderError: it cannot be written.
    """
    with _whole(path) as beside, beside.open("wb") as file:
        for row in rows:
            text = json.dumps(dict(row), ensure_ascii=False)
            file.write(text.encode("utf-8", "backslashreplace") + b"\n")


# -- the ledger ------------------------------------------------------------------------------------


LEDGER = "ledger.jsonl"
WANTED: Mapping[str, frozenset[str]] = {
    "reply": frozenset({"key", "item", "text", "usage", "retries", "model"}),
    "verdict": frozenset({"key", "findings"}),
    "item": frozenset({"key", "item", "accepted", "criteria", "steps"}),
}
"""Required fields of each kind of row."""


class LedgerError(ToolsError):
    """A ledger cannot be read or written; the message names it and says what to do."""


def key_of(*parts: JSON) -> str:
    """Return the digest of everything that determines a step."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


class StepLedger(RowFile):
    """The ledger of a folder. Only one process at a time may write to it. Its kinds of rows:

    reply      a model's reply, under the digest of everything that determines it
    verdict    findings of a check in the sandbox
    item       a finished item, accepted or not
    """

    fault = LedgerError
    wanted = "no line of a ledger"

    def __init__(self, folder: Path, *, more: bool = True) -> None:
        """Read an existing ledger.

        Args:
            folder: the folder of items.
            more: whether to open the ledger for writing. Another process may be writing while this
                one only reads.

        Raises:
            LedgerError: it cannot be read or written, or a line is not valid.
        """
        self._rows: dict[tuple[str, str], dict[str, Any]] = {}
        super().__init__(folder / LEDGER)
        if more:
            self.open()

    def take(self, row: dict[str, Any]) -> None:
        """Store a row that was read; overrides `RowFile.take`."""
        if not WANTED[row["kind"]] <= row.keys():
            raise KeyError(row["kind"])
        self._rows[row["kind"], row["key"]] = row

    def get(self, kind: str, key: str) -> dict[str, Any] | None:
        """Return the row of a finished step, or None."""
        return self._rows.get((kind, key))

    def rows(self, kind: str) -> Iterator[dict[str, Any]]:
        """Yield all rows of a kind in the order in which they were written."""
        return (row for (own, _), row in self._rows.items() if own == kind)

    def add(self, kind: str, key: str, row: Mapping[str, JSON]) -> dict[str, Any]:
        """Append a row and flush it to disk before returning.

        Raises:
            LedgerError: it cannot be written.
        """
        self.append({"kind": kind, "key": key, **row})
        return self._rows[kind, key]
