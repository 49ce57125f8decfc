"""The ledger: a line a finished step, on the disk before it is used.

    reply      a model's reply, under the digest of everything that it hangs on
    verdict    what a check in the sandbox found
    item       an item that is finished, accepted or not

A kill loses what is under way and leaves at most one line without its end, which the next session
takes away. A reply in it is never asked for again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from toolhop_sandbox.outcome import JSON
from toolhop_tools.errors import ToolsError
from toolhop_tools.growing import append

NAME = "ledger.jsonl"


WANTED: Mapping[str, frozenset[str]] = {
    "reply": frozenset({"key", "item", "text", "usage", "retries", "model"}),
    "verdict": frozenset({"key", "findings"}),
    "item": frozenset({"key", "item", "accepted", "criteria", "steps"}),
}
"""What a row of each kind has at least."""


class LedgerError(ToolsError):
    """A ledger that cannot be read or written; says which, and what to do."""


def key_of(*parts: JSON) -> str:
    """The digest of what a step hangs on."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


class StepLedger:
    """The ledger of a folder. One process has it open for more at a time."""

    def __init__(self, folder: Path, *, more: bool = True) -> None:
        """Read what is there.

        Args:
            folder: of the items.
            more: whether lines are to be added; a last line without its end is then taken away.
                Another process may be adding where this one only reads.

        Raises:
            LedgerError: it cannot be read or written, or has a line that does not fit.
        """
        self.path = folder / NAME
        self._rows: dict[tuple[str, str], dict[str, Any]] = {}
        self._descriptor = -1
        try:
            whole = self._read() if self.path.exists() else 0
            if more:
                flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
                self._descriptor = os.open(self.path, flags, 0o644)
                os.ftruncate(self._descriptor, whole)
        except OSError as error:
            raise LedgerError(f"{self.path} cannot be opened: {error.strerror}") from None

    def _read(self) -> int:
        """Keep the rows; the bytes of all lines that have an end."""
        whole = self.path.read_bytes().rpartition(b"\n")[0]
        for number, line in enumerate(whole.split(b"\n") if whole else (), 1):
            try:
                row = json.loads(line)
                if not WANTED[row["kind"]] <= row.keys():
                    raise KeyError(row["kind"])
                self._rows[row["kind"], row["key"]] = row
            except (ValueError, LookupError, TypeError, AttributeError):
                raise LedgerError(
                    f"{self.path}: line {number} is no line of a ledger"
                    "\n  fix: take the line out; what it held is asked for again"
                ) from None
        return len(whole) + bool(whole)

    def get(self, kind: str, key: str) -> dict[str, Any] | None:
        """The row of a finished step; None where there is none."""
        return self._rows.get((kind, key))

    def rows(self, kind: str) -> Iterator[dict[str, Any]]:
        """All rows of a kind, in the order in which they were written."""
        return (row for (own, _), row in self._rows.items() if own == kind)

    def add(self, kind: str, key: str, row: Mapping[str, JSON]) -> dict[str, Any]:
        """Write a row; it is on the disk when this returns.

        Raises:
            LedgerError: it cannot be written.
        """
        whole: dict[str, Any] = {"kind": kind, "key": key, **row}
        text = json.dumps(whole, ensure_ascii=False) + "\n"
        try:
            append(self._descriptor, text.encode("utf-8", "backslashreplace"), sync=True)
        except OSError as error:
            raise LedgerError(f"{self.path} cannot be written: {error.strerror}") from None
        self._rows[kind, key] = whole
        return whole

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
