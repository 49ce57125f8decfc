"""Storage of counter-examples between runs: a folder of small JSON files.

There is one file for each tool, property and failure class. Stored examples are always called
first, even if they passed the last time: what failed once may fail again. Files are written under a
temporary name and renamed, so they are always complete. Unreadable files are kept and reported.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from toolhop_sandbox.outcome import JSON
from toolhop_tools.atomic import atomic
from toolhop_tools.errors import ToolsError
from toolhop_tools.properties.model import CounterExample, Subject

FORMAT = 1
REPLAYED = (
    *("valid-input", "json-result", "same-result", "bad-input"),
    *("arguments-kept", "independent", "policy"),
)
"""Properties with drawn examples, which might not be drawn again."""
FOLDER = Path(".toolhop") / "counterexamples"


class StoreFault(ToolsError):
    """A counter-example cannot be stored."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A counter-example as stored in a file."""

    property: str
    kind: str
    arguments: dict[str, JSON]
    earlier: tuple[dict[str, JSON], ...] = ()
    about: Mapping[str, str] = field(default_factory=dict)
    """See `CounterExample`."""


@dataclass
class Store:
    """The counter-examples of one data set."""

    folder: Path
    dataset: str
    unreadable: list[Path] = field(default_factory=list)
    """Files that were skipped, to be reported to the user."""

    @property
    def home(self) -> Path:
        """Folder of the data set."""
        return self.folder / _plain(self.dataset)

    def kept(self, subject: Subject) -> list[Stored]:
        """Return the stored counter-examples of a tool, sorted by file name."""
        try:
            paths = sorted(self.home.glob(f"{_stem(subject)}.*.json"))
        except OSError:
            return []
        return [stored for path in paths for stored in self._read(path)]

    def _read(self, path: Path) -> Iterator[Stored]:
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            value = None
        match value:
            case {
                "format": 1,
                "property": str(name),
                "kind": str(kind),
                "arguments": dict(arguments),
                "earlier": list(earlier),
                "about": dict(about),
            } if all(isinstance(one, dict) for one in earlier):
                texts = {str(key): str(text) for key, text in about.items()}
                yield Stored(name, kind, arguments, tuple(earlier), texts)
            case _:
                self.unreadable.append(path)

    def keep(self, subject: Subject, found: CounterExample) -> Path | None:
        """Store a counter-example and return its path, or None if that is unnecessary.

        Properties without drawn examples are checked completely every time.

        Raises:
            StoreFault: the folder cannot be written.
        """
        if found.arguments is None or found.property not in REPLAYED:
            return None
        mark = hashlib.sha256(found.kind.encode()).hexdigest()[:8]
        path = self.home / f"{_stem(subject)}.{found.property}.{mark}.json"
        record: dict[str, JSON] = {
            "format": FORMAT,
            "item": subject.item,
            "tool": subject.tool.name,
            "property": found.property,
            "kind": found.kind,
            "reported": found.reported,
            "arguments": dict(found.arguments),
            "earlier": [dict(one) for one in found.earlier],
            "about": dict(found.about),
        }
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic(path) as beside:
                beside.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise StoreFault(
                f"the counter-example {path} cannot be written: {error.strerror}\n"
                "  fix: pass --store FOLDER, one that can be written"
            ) from None
        return path


def _plain(text: str) -> str:
    """Return a readable part of a file name that is unique to the text."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", text)[:60] or "-"
    return plain if plain == text else f"{plain}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _stem(subject: Subject) -> str:
    return f"{_plain(subject.item)}.{_plain(subject.tool.name)}"
