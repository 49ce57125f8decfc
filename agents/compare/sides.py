"""A run as one side of a comparison: its settings, and the episode that counts for each key."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from agents.runs.settings import RunSettings
from agents.runs.store import EPISODES, ITEMS, RunStore, StoreError, read_trace
from env.reading import tagged_answer
from env.score import Void
from env.summary import Judged, counting
from env.trace import TraceError, from_lines
from sandbox.outcome import JSON

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


_DEFAULTS: Mapping[str, JSON] = RunSettings().model_dump(mode="json")
"""What a setting was in runs that were made before there was one."""


class NotComparable(Exception):
    """Runs that are not to be compared as asked; says what differs, and what would be allowed."""


class Key(NamedTuple):
    """What pairs two episodes of different runs."""

    item: str
    mode: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Played:
    """An episode, as far as a comparison needs it."""

    judged: Judged
    digest: str
    """Of the item as it was played."""
    trace: Path

    def answer(self) -> str:
        """The answer that was given; empty where the episode ended without one.

        Raises:
            StoreError: the trace cannot be read.
        """
        text = read_trace(self.trace).final_text
        if text is None:
            return ""
        given = tagged_answer(text)
        return text if given is None else given


@dataclass(frozen=True, slots=True)
class Side:
    """A run."""

    letter: str
    folder: Path
    settings: Mapping[str, JSON]
    facts: Mapping[str, JSON]
    """What the manifest says beside the settings."""
    asked: Sequence[str]
    """Ids of the items that were to be played."""
    episodes: Mapping[Key, Played]
    """Of an episode's attempts the one that counts."""

    @property
    def player(self) -> str:
        """Who played."""
        return str(self.settings.get("model") or self.settings.get("agent") or "unnamed")

    @property
    def modes(self) -> tuple[str, ...]:
        """Modes that were to be played."""
        given = self.settings.get("modes")
        if isinstance(given, list) and given:
            return tuple(str(mode) for mode in given)
        return tuple(dict.fromkeys(key.mode for key in self.episodes))

    @property
    def epochs(self) -> int:
        """How often each item was to be played."""
        given = self.settings.get("epochs")
        return given if isinstance(given, int) else max((k.epoch for k in self.episodes), default=1)

    @property
    def digests(self) -> dict[str, str]:
        """Digest by item id, of the items that an episode was begun of."""
        return {key.item: one.digest for key, one in self.episodes.items()}

    @property
    def data_digest(self) -> str | None:
        """Of the whole data set, before items were chosen and shown; None where unknown."""
        data = self.facts.get("data")
        found = data.get("digest") if isinstance(data, dict) else None
        return found if isinstance(found, str) else None

    @property
    def void(self) -> int:
        """Episodes that no mean holds."""
        return sum(isinstance(one.judged.verdict, Void) for one in self.episodes.values())


def played(store: RunStore) -> Iterator[Played]:
    """Every episode of a run, all attempts. The only place that reads what was played.

    Raises:
        StoreError: a trace cannot be read.
    """
    for attempt in store.attempts():
        path = store.folder / EPISODES / attempt.file
        yield Played(attempt.judged, _digest(path), path)


def _digest(path: Path) -> str:
    """The item's digest, which stands in a trace's first line."""
    try:
        with path.open("rb") as file:
            return from_lines([file.readline()]).started.item_digest
    except (OSError, TraceError) as error:
        raise StoreError(f"{path} cannot be read as a trace: {error}") from error


def read_side(letter: str, folder: Path) -> Side:
    """A run's folder as a side.

    Raises:
        StoreError: it is no run, or cannot be read.
    """
    store = RunStore.open(folder)
    manifest: Any = store.manifest
    settings = manifest.get("settings") if isinstance(manifest, dict) else None
    if not isinstance(settings, dict):
        raise StoreError(f"{folder} has a manifest without settings: it was not written by a run")
    every = {one.judged.episode: one for one in played(store)}
    chosen = [every[one.episode] for one in counting(one.judged for one in every.values())]
    episodes = {Key(p.judged.item, p.judged.mode, p.judged.epoch): p for p in chosen}
    data = manifest.get("data")
    asked = data.get("played") if isinstance(data, dict) else None
    if not isinstance(asked, list):
        asked = list(dict.fromkeys(key.item for key in episodes))
    return Side(
        letter=letter,
        folder=folder,
        settings={**_DEFAULTS, **settings},
        facts={name: value for name, value in manifest.items() if name != "settings"},
        asked=[str(item) for item in asked],
        episodes=episodes,
    )


def read_sides(folders: Sequence[Path]) -> list[Side]:
    """The runs in order, the first being the baseline.

    Raises:
        NotComparable: a run is given twice, or there are more than letters.
        StoreError: a folder is no run.
    """
    if len(folders) > len(LETTERS):
        raise NotComparable(f"{len(folders)} runs are given; at most {len(LETTERS)} are compared")
    seen: dict[Path, Path] = {}
    for folder in folders:
        if folder.resolve() in seen:
            raise NotComparable(f"{folder} is given twice; a run is compared with another run")
        seen[folder.resolve()] = folder
    return [read_side(letter, folder) for letter, folder in zip(LETTERS, folders, strict=False)]


def domains(sides: Sequence[Side]) -> dict[str, str]:
    """Domain by item id, from the items that the runs kept.

    Raises:
        StoreError: they cannot be read.
    """
    found: dict[str, str] = {}
    for side in sides:
        path = side.folder / ITEMS
        try:
            rows = [json.loads(line) for line in path.read_bytes().splitlines() if line.strip()]
            found |= {str(row["id"]): str(row.get("domain") or "unknown") for row in rows}
        except (OSError, ValueError, TypeError, AttributeError, KeyError) as error:
            raise StoreError(f"{path} cannot be read for the items' domains: {error}") from error
    return found
