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
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from toolhop_sandbox.outcome import JSON
from toolhop_tools.errors import ToolsError
from toolhop_tools.growing import RowFile

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


class StepLedger(RowFile):
    """The ledger of a folder. One process has it open for more at a time."""

    fault = LedgerError
    wanted = "no line of a ledger"

    def __init__(self, folder: Path, *, more: bool = True) -> None:
        """Read what is there.

        Args:
            folder: of the items.
            more: whether lines are to be added. Another process may be adding where this one only
                reads.

        Raises:
            LedgerError: it cannot be read or written, or has a line that does not fit.
        """
        self._rows: dict[tuple[str, str], dict[str, Any]] = {}
        super().__init__(folder / NAME)
        if more:
            self.open()

    def take(self, row: dict[str, Any]) -> None:
        """See `RowFile`."""
        if not WANTED[row["kind"]] <= row.keys():
            raise KeyError(row["kind"])
        self._rows[row["kind"], row["key"]] = row

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
        self.append({"kind": kind, "key": key, **row})
        return self._rows[kind, key]
