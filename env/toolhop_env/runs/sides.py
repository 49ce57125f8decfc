"""A run as one side of a comparison: its settings, and the attempt that counts for each episode."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolhop_env.attempt import Attempt, Key
from toolhop_env.benchmark import Benchmark
from toolhop_env.benchmarks import named
from toolhop_env.pairs.pair import by_key
from toolhop_env.runs.files import StoreError
from toolhop_env.runs.store import ITEMS, RunStore
from toolhop_sandbox.outcome import JSON
from toolhop_tools import regular

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class NotComparable(Exception):
    """Runs cannot be compared as requested; the message says what differs, and what is allowed."""


@dataclass(frozen=True, slots=True)
class Side:
    """One run in a comparison."""

    letter: str
    folder: Path
    settings: Mapping[str, JSON]
    facts: Mapping[str, JSON]
    """The manifest without its settings."""
    asked: Sequence[str]
    """Ids of the items that were to be played."""
    episodes: Mapping[Key, Attempt]
    """The attempt that counts for each episode."""

    @property
    def agent(self) -> str:
        """The model, or the scripted agent."""
        return str(self.settings.get("model") or self.settings.get("agent") or "unnamed")

    @property
    def perturbation(self) -> str:
        """Label of the tools' perturbation."""
        return str(self.settings.get("perturbation") or "")

    @property
    def modes(self) -> tuple[str, ...]:
        """Modes that were to be played."""
        given = self.settings.get("modes")
        if isinstance(given, list) and given:
            return tuple(str(mode) for mode in given)
        return tuple(dict.fromkeys(key.mode for key in self.episodes))

    @property
    def epochs(self) -> int:
        """Number of times each item was to be played."""
        given = self.settings.get("epochs")
        return given if isinstance(given, int) else max((k.epoch for k in self.episodes), default=1)

    @property
    def digests(self) -> dict[str, str]:
        """Digest by item id, for items with at least one started episode."""
        return {key.item: one.item_digest for key, one in self.episodes.items()}

    @property
    def data_digest(self) -> str | None:
        """Digest of the whole data set, before selection and perturbation; None if unknown."""
        data = self.facts.get("data")
        found = data.get("digest") if isinstance(data, dict) else None
        return found if isinstance(found, str) else None

    @property
    def errored(self) -> int:
        """Number of errored episodes, which no mean includes."""
        return sum(bool(one.errored) for one in self.episodes.values())

    def stored_at(self, attempt: Attempt) -> str:
        """Path of an attempt's trace, for display."""
        return str(self.folder / attempt.stored_at)

    def answer(self, attempt: Attempt) -> str:
        """Return the answer as scored; empty if the episode ended without one.

        Raises:
            StoreError: the trace cannot be read.
        """
        return (
            named(attempt.benchmark).presentation.given(RunStore(self.folder).trace(attempt)) or ""
        )


def read_side(letter: str, folder: Path, defaults: Mapping[str, JSON] | None = None) -> Side:
    """Read a run's folder as one side of a comparison.

    Args:
        letter: label of the run in the comparison.
        folder: the run's folder.
        defaults: values of settings that did not exist yet when the run was made.

    Raises:
        StoreError: the folder is not a run, or cannot be read.
    """
    store = RunStore.open(folder)
    manifest: Any = store.manifest
    settings = manifest.get("settings")
    if not isinstance(settings, dict):
        raise StoreError(f"{folder} has a manifest without settings: it was not written by a run")
    episodes = by_key(store.attempts())
    # A resumed run may have changed its judge; the one that answered counts.
    judge = next((one.judge for one in episodes.values() if one.judge), None)
    data = manifest.get("data")
    asked = data.get("played") if isinstance(data, dict) else None
    if not isinstance(asked, list):
        asked = list(dict.fromkeys(key.item for key in episodes))
    return Side(
        letter=letter,
        folder=folder,
        settings={**(defaults or {}), **settings, **({"judge": judge} if judge else {})},
        facts={name: value for name, value in manifest.items() if name != "settings"},
        asked=[str(item) for item in asked],
        episodes=episodes,
    )


def read_sides(folders: Sequence[Path], defaults: Mapping[str, JSON] | None = None) -> list[Side]:
    """Read the runs in order; the first is the baseline.

    Raises:
        NotComparable: a run is given twice, or there are more runs than letters.
        StoreError: a folder is not a run.
    """
    if len(folders) > len(LETTERS):
        raise NotComparable(f"{len(folders)} runs are given; at most {len(LETTERS)} are compared")
    places = [folder.resolve() for folder in folders]
    for folder, place in zip(folders, places, strict=True):
        if places.count(place) > 1:
            raise NotComparable(f"{folder} is given twice; a run is compared with another run")
    return [read_side(one, folder, defaults) for one, folder in zip(LETTERS, folders, strict=False)]


def benchmark_of(runs: Mapping[str, Iterable[Attempt]]) -> Benchmark | None:
    """Return the benchmark that all attempts share; None if there are no attempts.

    Raises:
        NotComparable: there are several benchmarks, whose measures differ.
    """
    found = {name: {one.benchmark for one in attempts} for name, attempts in runs.items()}
    names = set().union(*found.values())
    if len(names) > 1:
        listed = "; ".join(f"{name}: {', '.join(sorted(of))}" for name, of in found.items())
        raise NotComparable(
            f"the benchmarks differ, and so do their measures ({listed}); compare runs of one "
            "benchmark"
        )
    return named(names.pop()) if names else None


def domains(sides: Sequence[Side]) -> dict[str, str]:
    """Return the domain by item id, from the items stored with the runs.

    Raises:
        StoreError: they cannot be read.
    """
    found: dict[str, str] = {}
    for side in sides:
        path = side.folder / ITEMS
        try:
            rows = [json.loads(line) for line in regular.content(path).splitlines() if line.strip()]
            found |= {str(row["id"]): str(row.get("domain") or "unknown") for row in rows}
        except (OSError, ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
            raise StoreError(f"{path} cannot be read for the items' domains: {error}") from error
    return found
