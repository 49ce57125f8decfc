"""A file for each episode that counts, in a folder for each run; one trace is held at a time."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from toolhop_agents.export.episodes import Exported, Plain, exported, places
from toolhop_agents.export.files import atomic, check_free
from toolhop_agents.export.parquet import Written
from toolhop_env.runs.files import file_name
from toolhop_env.runs.store import RunStore
from toolhop_tools.model import Item

STAGING = ".writing"
"""Where a file stands until it is whole: looking for what a killed export left costs the more the
more files stand beside it."""

Lines = Callable[[Exported, Item | None, str, str], Iterable[Plain]]
"""An attempt, its item, its name among all that are written, and the version of the package that
played it, as JSON objects, one a line."""


def write_episodes(
    stores: Sequence[RunStore], folder: Path, suffix: str, lines: Lines, *, overwrite: bool = False
) -> Written:
    """Write `folder`/RUN/EPISODE`suffix` for each episode that counts.

    Files of other names that are there stay.

    Raises:
        ExportError: a file cannot be written; or a run's folder has files, and `overwrite` is not
            given.
        StoreError: a run cannot be read.
    """
    targets = [folder / place for place in places(stores)]
    for target in targets:
        check_free(target.iterdir() if target.is_dir() else [target], overwrite)
    count = 0
    for store, target in zip(stores, targets, strict=True):
        place = target.relative_to(folder).as_posix()
        version = _version(store)
        for one, item in with_items([store]):
            if one.counts:
                name = one.trace.started.episode
                written = lines(one, item, f"{place}/{name}", version)
                _write(target, file_name(name) + suffix, written)
                count += 1
        with contextlib.suppress(OSError):
            (target / STAGING).rmdir()
    return Written(tuple(targets), {"episodes": count})


def with_items(stores: Sequence[RunStore]) -> Iterator[tuple[Exported, Item | None]]:
    """Every attempt of the runs with its item; None where the run does not hold it."""
    for store in stores:
        settings = store.manifest.get("settings") or {}
        items = store.items(last_wins=settings.get("last_wins") is True).by_id
        for one in exported([store]):
            yield one, items.get(one.attempt.item)


def _write(folder: Path, name: str, lines: Iterable[Plain]) -> None:
    staged = folder / STAGING / name
    with atomic(folder / name, staged) as beside, beside.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def _version(store: RunStore) -> str:
    return store.manifest.get("versions", {}).get("toolhop-env") or ""
