"""The sources of a report: run folders, and ablations, whose arms are runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolhop_agents.ablate.folder import ABLATION, AblationFolder
from toolhop_env.attempt import Attempt, Met, Place
from toolhop_env.levels import Verbosity
from toolhop_env.runs.catalog import Recorded
from toolhop_env.runs.files import StoreError
from toolhop_env.runs.judgements import Judgements
from toolhop_env.runs.store import ITEMS, RunStore
from toolhop_env.trace import Trace
from toolhop_sandbox.outcome import JSON
from toolhop_tools import regular
from toolhop_tools.perturb.order import tool_order
from toolhop_tools.replied import object_in

HIDDEN_SETTINGS = frozenset(
    {"cache", "certificates", "chat_template", "data", "gguf", "log_dir", "segments_to", "template"}
)
"""Settings that a report leaves out: local paths, and long texts."""


@dataclass(frozen=True, slots=True)
class Survey:
    """The size and feedback levels of a run."""

    attempts: int
    met: Met
    """Episodes of the attempts that have ended."""
    levels: frozenset[Verbosity]
    """Feedback levels at the start of the episodes."""
    branches: bool
    """Whether any episode resumes from another, perhaps at another level."""

    @classmethod
    def of(cls, attempts: Iterable[Attempt]) -> Survey:
        """Survey a run's attempts."""
        met, count, branches = Met(), 0, False
        levels = set()
        for one in attempts:
            count += 1
            levels.add(one.feedback)
            branches = branches or bool(one.parent)
            if one.ended:
                met.add(one)
        return cls(count, met, frozenset(levels), branches)


def may_be_paired(runs: Sequence[Survey]) -> bool:
    """Whether episodes of these runs may differ in their feedback level."""
    levels = frozenset[Verbosity]().union(*(one.levels for one in runs))
    return len(levels) > 1 or any(one.branches for one in runs)


@dataclass
class RunFolder:
    """One run on disk, finished or still active."""

    label: str
    """The folder's name, made unique in the report."""
    store: RunStore
    manifest: dict[str, Any]
    ablation: str = ""
    """Label of the ablation that the run belongs to; empty if it belongs to none."""
    unreadable: list[str] = field(default_factory=list)
    """Why trace files could not be read, one message per file; filled by `episodes`."""

    def survey(self) -> Survey:
        """Survey the run, using its index if that is readable."""
        return Survey.of(self.store.attempts(faults=lambda _: None))

    def episodes(self) -> Iterator[tuple[Trace, Attempt]]:
        """Yield every readable trace, unfinished ones included, packed ones first.

        Traces that cannot be read or scored are recorded and skipped, so that one bad file does not
        hide the run.
        """
        said = self.store.judgements()
        for one in self.store.recorded():
            yield from self._read(one, said)

    def read_again(
        self, file: str, place: Place | None, said: Judgements
    ) -> Iterator[tuple[Trace, Attempt]]:
        """Yield one trace again; nothing if it has been deleted or damaged since."""
        try:
            one = self.store.stored(file, place)
        except StoreError as error:
            self.unreadable.append(str(error))
        else:
            yield from self._read(one, said)

    def _read(self, one: Recorded, said: Judgements) -> Iterator[tuple[Trace, Attempt]]:
        try:
            trace = one.trace()
            found = (trace, one.scored(trace, said).attempt) if trace.events else None
        except StoreError as error:
            self.unreadable.append(str(error))
        else:
            if found is not None:
                yield found

    def domains(self) -> dict[str, str]:
        """Return the domain by item id; empty if the run has no readable items."""
        try:
            text = regular.content(self.store.folder / ITEMS).decode(errors="replace")
        except OSError:
            return {}
        found = {}
        for line in text.splitlines():
            row = object_in(line)
            if "id" in row and isinstance(row.get("domain"), str):
                found[str(row["id"])] = str(row["domain"])
        return found

    def facts(self) -> dict[str, JSON]:
        """Return the report's facts about the run."""
        settings = self.manifest.get("settings", {})
        data = self.manifest.get("data", {})
        shown = {
            name: value
            for name, value in settings.items()
            if name not in HIDDEN_SETTINGS
            and not name.endswith("base_url")
            and value not in (None, "", [])
        }
        if judge := self.store.judgements().panel:
            shown["judge"] = judge
        return {
            "label": self.label,
            "arm": self.label.removeprefix(f"{self.ablation}/") if self.ablation else "",
            "status": str(self.manifest.get("status", "unknown")),
            "fault": str(self.manifest.get("fault") or ""),
            "started_at": str(self.manifest.get("started_at", "")),
            "ended_at": str(self.manifest.get("ended_at", "")),
            "agent": str(settings.get("model") or settings.get("agent") or ""),
            "data": str(data.get("name", "")),
            "digest": str(data.get("digest", "")),
            "settings": {"tool_order": tool_order(str(settings.get("perturbation"))), **shown},
            "versions": self.manifest.get("versions", {}),
            "sandbox": self.manifest.get("sandbox", {}),
            "unreadable": list(self.unreadable),
        }


@dataclass(frozen=True, slots=True)
class Sources:
    """Everything that a report reads."""

    runs: tuple[RunFolder, ...]
    ablations: tuple[tuple[str, AblationFolder], ...]
    """Ablations with their labels."""

    @property
    def folder(self) -> Path:
        """Folder of the first run or ablation."""
        first = self.runs[0]
        return first.store.folder.parent if first.ablation else first.store.folder


def open_sources(folders: Sequence[Path]) -> Sources:
    """Open the runs and ablations in `folders`, each once and with a unique label.

    Raises:
        StoreError: a folder holds neither a run nor an ablation, or cannot be read.
    """
    runs: list[RunFolder] = []
    ablations: list[tuple[str, AblationFolder]] = []
    seen: Counter[str] = Counter()
    for folder in {folder.resolve(): folder for folder in folders}.values():
        name = folder.resolve().name
        seen[name] += 1
        label = name if seen[name] == 1 else f"{name} ({seen[name]})"
        if (folder / ABLATION).is_file():
            ablation = AblationFolder.open(folder)
            ablations.append((label, ablation))
            runs.extend(_arms(label, ablation))
        else:
            store = RunStore.open(folder)
            runs.append(RunFolder(label, store, store.manifest))
    if not runs:
        raise StoreError("no arm of the ablation has begun; there is nothing to report yet")
    return Sources(tuple(runs), tuple(ablations))


def _arms(label: str, ablation: AblationFolder) -> Iterator[RunFolder]:
    for arm, store in ablation.stores():
        yield RunFolder(f"{label}/{arm.name}", store, store.manifest, label)
