"""An ablation's folder: what was asked for, and a run's folder an arm.

    ablation.json    the `Ablation`; written once, before anything is played
    ARM/             a run (`agents.runs.store`)

Everything else is computed from these. So an ablation that was killed loses nothing finished, and
is gone on with arm by arm as every run is.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from agents.ablate.design import Ablation, Arm
from agents.ablate.pairs import Arms, Played, played
from agents.runs.store import (
    EPISODES,
    MANIFEST,
    RunStore,
    StoreError,
    fresh_folder,
    held,
    write_aside,
)

ABLATION = "ablation.json"
FORMAT = 1
"""Version of ``ablation.json``; newer ones are refused."""


@dataclass(frozen=True, slots=True)
class AblationFolder:
    """An ablation on disk."""

    path: Path
    ablation: Ablation

    @classmethod
    def create(cls, ablation: Ablation) -> AblationFolder:
        """Make a new one below the settings' ``log_dir``.

        Raises:
            StoreError: it cannot be made.
        """
        folder = fresh_folder(ablation.base.log_dir, _name(ablation))
        text = json.dumps({"format": FORMAT, **ablation.model_dump(mode="json")}, indent=2)
        try:
            write_aside(folder / ABLATION, f"{text}\n".encode())
        except StoreError:
            folder.rmdir()
            raise
        return cls(folder, ablation)

    @classmethod
    def open(cls, path: Path) -> AblationFolder:
        """An existing one.

        Raises:
            StoreError: it is none, or cannot be read.
        """
        file = path / ABLATION
        if not path.exists():
            raise StoreError(
                f"there is no folder {path}; give the one that `toolhop ablate` printed"
            )
        if not file.is_file():
            if (path.parent / ABLATION).is_file():
                raise StoreError(f"{path} is an arm; give its ablation's folder, {path.parent}")
            raise StoreError(
                f"{path} is no ablation: it has no {ABLATION}. Give the folder that `toolhop "
                "ablate` printed; for a run there are `toolhop score` and `toolhop show`"
            )
        try:
            loaded = json.loads(file.read_bytes())
            version = loaded.pop("format")
            if version != FORMAT:
                raise StoreError(
                    f"{file} has format {version}, this version reads {FORMAT}; use the "
                    "toolhop-env that wrote it, or a newer one"
                )
            return cls(path, Ablation.model_validate(loaded))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            raise StoreError(f"{file} cannot be read: {place}: {first['msg']}") from error
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise StoreError(f"{file} cannot be read: {error}") from error

    def held(self) -> AbstractContextManager[None]:
        """Be the one process that plays this ablation: what begins an arm may clear its folder.

        Raises:
            StoreError: another process plays it.
        """
        return held(self.path)

    def store(self, arm: Arm) -> RunStore | None:
        """The run of an arm, None where it was not begun.

        Raises:
            StoreError: there is something else in its place.
        """
        folder = self.path / arm.name
        if (folder / MANIFEST).is_file():
            return RunStore(folder)
        if folder.exists() and any((folder / EPISODES).glob("*")):
            raise StoreError(f"{folder} has episodes and no {MANIFEST}; put it back")
        return None

    def clear(self, arm: Arm) -> None:
        """Take away what is left of an arm that was killed before it had a manifest.

        Raises:
            StoreError: it cannot be taken away.
        """
        folder = self.path / arm.name
        if self.store(arm) is not None or not folder.exists():
            return
        try:
            shutil.rmtree(folder)
        except OSError as error:
            raise StoreError(f"{folder} cannot be removed: {error}") from error

    def episodes(self) -> Arms:
        """Every attempt of every arm that was begun; one trace is held at a time.

        Raises:
            StoreError: a trace cannot be read.
        """
        stores = ((arm, self.store(arm)) for arm in self.ablation.arms)
        return {arm.name: tuple(_played(arm, store)) for arm, store in stores if store is not None}


def opened(folders: Sequence[Path]) -> list[tuple[str, RunStore]]:
    """The runs in `folders`, of which each is a run or an ablation; one given twice counts once.

    With each the arm that it is, as ``ARM`` or, beside other folders, ``FOLDER/ARM``; empty for
    a run that was given itself.

    Raises:
        StoreError: a folder is neither, or no arm was begun.
    """
    found: list[tuple[str, RunStore]] = []
    for folder in folders:
        if not (folder / ABLATION).is_file():
            found.append(("", RunStore.open(folder)))
            continue
        prefix = f"{folder.resolve().name}/" if len(folders) > 1 else ""
        ablation = AblationFolder.open(folder)
        stores = [(prefix + arm.name, ablation.store(arm)) for arm in ablation.ablation.arms]
        begun = [(name, store) for name, store in stores if store is not None]
        if not begun:
            raise StoreError(
                f"no arm of {folder} was begun; `toolhop ablate --resume {folder}` plays it"
            )
        found += begun
    # By name too: an arm given itself, beside its ablation, is a run of its own.
    once: dict[tuple[str, Path], tuple[str, RunStore]] = {}
    for name, store in found:
        once.setdefault((name, store.folder.resolve()), (name, store))
    return [*once.values()]


def _played(arm: Arm, store: RunStore) -> Iterator[Played]:
    for trace in store.traces():
        yield played(trace, arm.name)


def _name(ablation: Ablation) -> str:
    player = "".join(c if c.isalnum() or c in "-._" else "-" for c in ablation.base.player)[:60]
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S")
    return f"{at}_ablate-{ablation.factor}_{player}"
