"""Everything that a report shows, read from run folders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

from toolhop_agents.report.ablation import Keys, ablation_part
from toolhop_agents.report.conversation import body, row
from toolhop_agents.report.figures import (
    GROUP_KEY,
    Played,
    benchmark_part,
    counted,
    groups,
    measure_part,
    played,
)
from toolhop_agents.report.pack import Chunks
from toolhop_agents.report.pairs import EpisodeSide, headlines, level_pairs
from toolhop_agents.report.runs import RunFolder, Sources
from toolhop_env.benchmarks import named
from toolhop_env.diagnosis.diagnose import diagnose
from toolhop_env.diagnosis.finding import Finding
from toolhop_env.measures import CONDUCT
from toolhop_env.trace import Trace
from toolhop_sandbox.outcome import JSON

FORMAT = 2
"""Version of the data in a page, for whoever reads it by other means than the page."""


@dataclass(frozen=True, slots=True)
class Report:
    """A report's content."""

    data: dict[str, JSON]
    """Runs, figures and a row an episode."""
    chunks: tuple[str, ...]
    """The episodes themselves, packed."""
    episodes: int
    unfinished: int


def collect(sources: Sources) -> Report:
    """Read everything. Memory holds a row an episode and the packed episodes, no traces.

    Raises:
        StoreError: an ablation's traces cannot be read. A run's that cannot are left out and
            named.
    """
    runs, chunks = sources.runs, Chunks()
    parts = [RunPart(number, run, chunks) for number, run in enumerate(runs)]
    # The diagnosis reads every trace; what the report keeps of it is taken on the way.
    findings = diagnose(
        {one.run.label: one.read() for one in parts},
        {run.label: run.store.judgements() for run in runs},
    )
    chunks.close()
    rows = [row_ for one in parts for row_ in one.rows]
    tables = [group for one in parts for group in groups(one.number, one.episodes)]
    _give_keys(rows, [run.label for run in runs])
    _give_groups(parts, tables)
    _give_shared_prefixes(rows, runs)
    benchmarks = dict.fromkeys(str(one["benchmark"]) for one in rows)
    data: dict[str, JSON] = {
        "format": FORMAT,
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "version": _version(),
        "benchmarks": {name: benchmark_part(named(name)) for name in benchmarks},
        "conduct": [measure_part(one) for one in CONDUCT],
        "runs": [run.facts() for run in runs],
        "groups": list(tables),
        "ablations": _ablations(sources, rows),
        "headlines": headlines([(one.label, one.store.folder) for one in runs if not one.ablation]),
        "pairs": level_pairs(side for part in parts for side in part.sides()),
        "findings": _findings(findings, rows, [run.label for run in runs]),
        "rows": list(rows),
    }
    unfinished = sum(one["verdict"] == "unfinished" for one in rows)
    return Report(data, tuple(chunks.done), len(rows), unfinished)


@dataclass
class RunPart:
    """What a report keeps of one run."""

    number: int
    run: RunFolder
    chunks: Chunks
    rows: list[dict[str, JSON]] = field(default_factory=list)
    episodes: list[Played] = field(default_factory=list)
    """One for each row, in the same order."""

    def read(self) -> Iterator[Trace]:
        """The run's traces, each kept before it is handed on."""
        domains, judgements = self.run.domains(), self.run.store.judgements()
        for trace, attempt in self.run.episodes():
            benchmark = named(attempt.benchmark)
            chunk, place = self.chunks.add(
                body(trace, benchmark, judgements.of(trace.started.episode))
            )
            domain = domains.get(attempt.item, "")
            more: dict[str, JSON] = {"run": self.number, "domain": domain, "at": [chunk, place]}
            self.rows.append({**row(trace, attempt, benchmark), **more})
            self.episodes.append(played(trace, attempt))
            yield trace

    def sides(self) -> Iterator[EpisodeSide]:
        """What may be paired by feedback level; an ablation has pairs of its own."""
        for row_, one in zip(self.rows, self.episodes, strict=True):
            if not self.run.ablation:
                prefix = row_["shared_prefix"]
                yield EpisodeSide(
                    key=str(row_["key"]),
                    attempt=one.attempt,
                    last_level=str(row_["last_level"]),
                    counts=bool(row_["counts"]),
                    shared_prefix=None if prefix is None else str(prefix),
                )


def _run(row_: dict[str, JSON]) -> int:
    return int(str(row_["run"]))


def _ablations(sources: Sources, rows: Iterable[dict[str, JSON]]) -> list[JSON]:
    rows = list(rows)
    keys = {(sources.runs[_run(one)].label, str(one["name"])): str(one["key"]) for one in rows}
    benchmarks = {sources.runs[_run(one)].ablation: one["benchmark"] for one in rows}

    def under(label: str) -> Keys:
        return lambda arm, name: keys.get((f"{label}/{arm}", name))

    return [
        {**ablation_part(label, folder, under(label)), "benchmark": benchmarks[label]}
        for label, folder in sources.ablations
        if label in benchmarks
    ]


def _findings(
    found: Iterable[Finding], rows: Iterable[dict[str, JSON]], labels: Sequence[str]
) -> list[JSON]:
    """The findings, with the keys of their episodes: they name the run where there are several."""
    several = len(labels) > 1
    keys = {
        f"{labels[_run(one)]}/{one['name']}" if several else str(one["name"]): one["key"]
        for one in rows
    }
    return [
        {
            "kind": one.kind,
            "severity": str(one.severity),
            "text": one.text,
            "episodes": [keys[name] for name in one.episodes if name in keys],
        }
        for one in found
    ]


def _give_keys(rows: Iterable[dict[str, JSON]], labels: Sequence[str]) -> None:
    """A name for each episode that is unique in the report: its own, with the run's if need be."""
    rows = list(rows)
    often = Counter(str(one["name"]) for one in rows)
    seen: Counter[str] = Counter()
    for one in rows:
        name = str(one["name"])
        key = name if often[name] == 1 else f"{labels[_run(one)]}/{name}"
        seen[key] += 1
        one["key"] = key if seen[key] == 1 else f"{key}~{seen[key]}"


def _give_groups(parts: Iterable[RunPart], tables: Sequence[dict[str, JSON]]) -> None:
    """Which row of the tables each episode belongs to, and whether it enters the figures."""
    places = {tuple(one[name] for name in GROUP_KEY): place for place, one in enumerate(tables)}
    for part in parts:
        keep = counted(part.episodes)
        for row_, one in zip(part.rows, part.episodes, strict=True):
            row_["group"] = places[tuple(row_[name] for name in GROUP_KEY)]
            row_["counts"] = one.attempt.ended and one.attempt.episode in keep


def _give_shared_prefixes(rows: Iterable[dict[str, JSON]], runs: Sequence[RunFolder]) -> None:
    """The key of the episode that each branch resumes from; empty where it is not in the report.

    A parent is named as its run names it; in an ablation, with its arm before it.
    """
    rows = list(rows)
    here = {(_run(one), one["name"]): one["key"] for one in rows}
    below = {f"{runs[_run(one)].label}/{one['name']}": one["key"] for one in rows}
    anywhere = {one["name"]: one["key"] for one in rows}
    for one in rows:
        parent = one["parent"]
        arm = f"{runs[_run(one)].ablation}/{parent}"
        found = here.get((_run(one), parent)) or below.get(arm) or anywhere.get(parent)
        one["shared_prefix"] = found if parent and found != one["key"] else None


def _version() -> str:
    try:
        return version("toolhop-env")
    except PackageNotFoundError:
        return ""
