"""An ablation's folder: its settings, and a run's folder for each arm.

    ablation.json    the `Ablation`; written once, before anything is played
    ARM/             a run (`toolhop_env.runs.store`)

Everything else is computed from these. A killed ablation therefore loses no finished work, and is
resumed arm by arm, like any run.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from toolhop_agents.ablate.contrasts import Arms
from toolhop_agents.ablate.design import Ablation, Arm, Factor
from toolhop_agents.ablate.parts import NO_LEAKS, Leaks
from toolhop_agents.runs.manifest import folder_name
from toolhop_env.formats import Document, FormatError, checked, upgraded
from toolhop_env.leaks import leaks
from toolhop_env.pairs.pair import by_key
from toolhop_env.runs.files import (
    EPISODES,
    MANIFEST,
    SEGMENTS,
    StoreError,
    check_own,
    fresh_folder,
    write_atomic,
)
from toolhop_env.runs.manifest_formats import renamed_settings
from toolhop_env.runs.store import RunStore
from toolhop_tools import regular
from toolhop_tools.errors import why

ABLATION = "ablation.json"


def m001_words_of_the_field(ablation: Document) -> Document:
    """Rename the settings of format 2 as manifests of format 3 do."""
    base = ablation.get("base")
    return {**ablation, "base": renamed_settings(base)} if isinstance(base, dict) else ablation


STEPS = (m001_words_of_the_field,)
"""Migrations of older ablations; newer ones are refused."""


@dataclass(frozen=True, slots=True)
class AblationFolder:
    """An ablation on disk."""

    path: Path
    ablation: Ablation

    @classmethod
    def create(cls, ablation: Ablation) -> AblationFolder:
        """Create an ablation's folder below the settings' ``log_dir``.

        Raises:
            StoreError: it cannot be created.
        """
        at, agent = folder_name(ablation.base).split("_", 1)
        folder = fresh_folder(ablation.base.log_dir, f"{at}_ablate-{ablation.factor}_{agent}")
        text = json.dumps({"format": len(STEPS) + 1, **ablation.model_dump(mode="json")}, indent=2)
        try:
            write_atomic(folder / ABLATION, f"{text}\n".encode())
        except StoreError:
            folder.rmdir()
            raise
        return cls(folder, ablation)

    @classmethod
    def open(cls, path: Path) -> AblationFolder:
        """Open an existing ablation.

        Raises:
            StoreError: the folder is not an ablation, or cannot be read.
        """
        file = path / ABLATION
        if not file.is_file():
            raise StoreError(_no_ablation(path))
        try:
            loaded = json.loads(regular.content(file))
            found = checked(loaded.pop("format", None), STEPS, "ablation")
            return cls(path, Ablation.model_validate(upgraded(loaded, found, STEPS)))
        except (
            OSError,
            ValueError,
            TypeError,
            AttributeError,
            FormatError,
            RecursionError,
        ) as error:
            raise StoreError(f"{file} cannot be read: {why(error)}") from error

    def store(self, arm: Arm) -> RunStore | None:
        """Return an arm's run; None if it has not begun.

        Raises:
            StoreError: something else is in its place.
        """
        return begun(self.path / arm.name)

    def stores(self) -> list[tuple[Arm, RunStore]]:
        """Return the arms that have begun, with their runs."""
        stores = [(arm, self.store(arm)) for arm in self.ablation.arms]
        return [(arm, store) for arm, store in stores if store is not None]

    def planned(self) -> int:
        """Return the number of episodes per base arm, including those that have not begun.

        Raises:
            StoreError: a manifest cannot be read.
        """
        plans = [store.manifest for arm, store in self.stores() if not arm.forked]
        # An arm of a scenario only has the items that could be made.
        played = ((one.get("data") or {}).get("played") or () for one in plans)
        return min(map(len, played), default=0) * self.ablation.base.epochs

    def leaks(self) -> Leaks:
        """Audit the feedback of every attempt that counts; empty for other factors.

        Raises:
            StoreError, ToolsError: a trace or the items cannot be read.
        """
        if self.ablation.factor is not Factor.FEEDBACK:
            return NO_LEAKS
        found = Leaks({level: Counter() for level in self.ablation.levels}, set())
        for arm, store in self.stores():
            items = store.items(last_wins=self.ablation.base.last_wins).by_id
            for key, one in by_key(store.attempts()).items():
                audited = [*leaks(store.trace(one), items[one.item])] if one.failure else []
                for _, leaked in audited:
                    found.counts[arm.level].update({"messages": 1, "leaking": bool(leaked)})
                    found.counts[arm.level].update(kind.value for kind in leaked)
                own = arm.forked or self.ablation.continuations == 1
                if own and any(kinds for call, kinds in audited if call.turn == audited[0][0].turn):
                    found.forks.add((arm.prefix or arm.level, arm.level, key))
        return found

    def episodes(self) -> Arms:
        """Return all attempts by name of the arm, for every arm that has begun.

        Raises:
            StoreError: a trace cannot be read.
        """
        return {arm.name: tuple(store.attempts()) for arm, store in self.stores()}


def begun(folder: Path) -> RunStore | None:
    """Return the run of an arm's folder; None if it has not begun.

    Raises:
        StoreError: something else is in its place.
    """
    check_own(folder)
    if (folder / MANIFEST).is_file():
        return RunStore(folder)
    if any(any((folder / name).glob("*")) for name in (EPISODES, SEGMENTS)):
        raise StoreError(f"{folder} has episodes and no {MANIFEST}; put it back")
    return None


def clear(folder: Path) -> None:
    """Remove the remains of an arm that was killed before it had a manifest.

    Raises:
        StoreError: they cannot be removed.
    """
    if begun(folder) is not None or not folder.exists():
        return
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise StoreError(f"{folder} cannot be removed: {error}") from error


def _no_ablation(path: Path) -> str:
    """Say why a folder is not an ablation, and which folder to give instead."""
    if not path.exists():
        return f"there is no folder {path}; give the one that `toolhop ablate` printed"
    if (path.parent / ABLATION).is_file():
        return f"{path} is an arm; give its ablation's folder, {path.parent}"
    return (
        f"{path} is not an ablation: it has no {ABLATION}. Give the folder that `toolhop ablate` "
        "printed; for a run there are `toolhop score` and `toolhop show`"
    )


def opened(folders: Sequence[Path]) -> list[tuple[str, RunStore]]:
    """Return the runs in `folders`, each once; every folder is a run or an ablation.

    An arm is named ``ARM`` or, if other folders are given too, ``FOLDER/ARM``; a run given by
    itself has an empty name.

    Raises:
        StoreError: a folder is neither a run nor an ablation, or no arm has begun.
    """
    # Distinguish by name too: an arm given beside its ablation is a run of its own.
    found: dict[tuple[str, Path], tuple[str, RunStore]] = {}
    for folder in folders:
        prefix = f"{folder.resolve().name}/" if len(folders) > 1 else ""
        for name, store in _runs(folder, prefix):
            found.setdefault((name, store.folder.resolve()), (name, store))
    return [*found.values()]


def _runs(folder: Path, prefix: str) -> list[tuple[str, RunStore]]:
    if not (folder / ABLATION).is_file():
        return [("", RunStore.open(folder))]
    begun = AblationFolder.open(folder).stores()
    if not begun:
        raise StoreError(
            f"no arm of {folder} was begun; `toolhop ablate --resume {folder}` plays it"
        )
    return [(prefix + arm.name, store) for arm, store in begun]
