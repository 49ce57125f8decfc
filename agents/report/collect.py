"""Everything that a report shows, read from run folders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

from agents.diagnosis.diagnose import diagnose
from agents.diagnosis.finding import Finding
from agents.report.ablation import Keys, ablation_part
from agents.report.conversation import body, row
from agents.report.figures import Facts, counted, facts, groups
from agents.report.pack import Chunks
from agents.report.pairs import level_pairs
from agents.report.runs import RunFolder, Sources
from env.score import solved_hops
from env.summary import judge
from env.trace import Trace
from sandbox.outcome import JSON

FORMAT = 1
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
        StoreError: an ablation's traces cannot be read. A run's that cannot are left out and told.
    """
    runs, chunks = sources.runs, Chunks()
    kept = [Kept(number, run, chunks) for number, run in enumerate(runs)]
    # The diagnosis reads every trace; what the report keeps of it is taken on the way.
    findings = diagnose({one.run.label: one.read() for one in kept})
    chunks.close()
    rows = [row_ for one in kept for row_ in one.rows]
    tables = [group.plain() for one in kept for group in groups(one.number, one.episodes)]
    for one in kept:
        one.mark_counted()
    _give_keys(rows, [run.label for run in runs])
    _give_groups(rows, tables)
    _give_trunks(rows, runs)
    data: dict[str, JSON] = {
        "format": FORMAT,
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "version": _version(),
        "runs": [run.facts() for run in runs],
        "groups": list(tables),
        "ablations": _ablations(sources, rows),
        "pairs": level_pairs([row for row in rows if not runs[_run(row)].ablation]),
        "findings": _findings(findings, rows, [run.label for run in runs]),
        "rows": list(rows),
    }
    unfinished = sum(one["verdict"] == "unfinished" for one in rows)
    return Report(data, tuple(chunks.done), len(rows), unfinished)


@dataclass
class Kept:
    """What a report keeps of one run."""

    number: int
    run: RunFolder
    chunks: Chunks
    rows: list[dict[str, JSON]] = field(default_factory=list)
    episodes: list[Facts] = field(default_factory=list)

    def read(self) -> Iterator[Trace]:
        """The run's traces, each kept before it is handed on."""
        domains = self.run.domains()
        for trace in self.run.traces():
            # Judged once: the chain is the dear part, and three views need it.
            judged, solved = judge(trace), solved_hops(trace)
            chunk, place = self.chunks.add(body(trace, solved))
            domain = domains.get(trace.started.item, "")
            more: dict[str, JSON] = {"run": self.number, "domain": domain, "at": [chunk, place]}
            self.rows.append({**row(trace, judged.verdict, solved), **more})
            self.episodes.append(facts(trace, judged, solved))
            yield trace

    def mark_counted(self) -> None:
        """Say of each row whether its episode enters the figures."""
        keep = counted(self.episodes)
        for one in self.rows:
            ended = one["verdict"] != "unfinished"
            one["counts"] = ended and (one["name"], one["attempt"]) in keep


def _run(row_: dict[str, JSON]) -> int:
    return int(str(row_["run"]))


def _ablations(sources: Sources, rows: Iterable[dict[str, JSON]]) -> list[JSON]:
    keys = {(sources.runs[_run(one)].label, str(one["name"])): str(one["key"]) for one in rows}

    def under(label: str) -> Keys:
        return lambda arm, name: keys.get((f"{label}/{arm}", name))

    return [ablation_part(label, folder, under(label)) for label, folder in sources.ablations]


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


def _give_groups(rows: Iterable[dict[str, JSON]], tables: Sequence[JSON]) -> None:
    """Which row of the table each episode belongs to."""
    names = ("run", "player", "mode", "level", "dialect")
    places = {
        tuple(one[name] for name in names): index
        for index, one in enumerate(tables)
        if isinstance(one, dict)
    }
    for row_ in rows:
        row_["group"] = places[tuple(row_[name] for name in names)]


def _give_trunks(rows: Iterable[dict[str, JSON]], runs: Sequence[RunFolder]) -> None:
    """The key of the episode that each branch goes on from; empty where it is not in the report.

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
        one["trunk"] = found if parent and found != one["key"] else None


def _version() -> str:
    try:
        return version("toolhop-env")
    except PackageNotFoundError:
        return ""
