"""Collect a report's data from run folders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from toolhop_agents.report.ablation import Keys, ablation_part
from toolhop_agents.report.conversation import body, row, verdict_name
from toolhop_agents.report.figures import (
    GROUP_KEY,
    Played,
    RunFigures,
    benchmark_part,
    measure_part,
    played,
)
from toolhop_agents.report.pack import Chunks
from toolhop_agents.report.pairs import EpisodeSide, headlines, level_pairs
from toolhop_agents.report.runs import RunFolder, Sources, Survey, may_be_paired
from toolhop_agents.report.selection import EPISODES, Ref, Selection
from toolhop_agents.runs.manifest import version_of
from toolhop_env.attempt import Attempt, counting
from toolhop_env.benchmarks import named
from toolhop_env.diagnosis.diagnose import diagnose_scored
from toolhop_env.diagnosis.finding import Finding
from toolhop_env.measures import CONDUCT, DIVERGENCES
from toolhop_env.runs.judgements import Judgements
from toolhop_env.trace import Trace
from toolhop_sandbox.outcome import JSON

FORMAT = 3
"""Version of the data in a page, for readers other than the page itself."""


@dataclass(frozen=True, slots=True)
class Report:
    """A report's content."""

    data: dict[str, JSON]
    """Runs, figures and one row per episode."""
    chunks: tuple[str, ...]
    """The episodes, packed."""
    episodes: int
    unfinished: int

    @property
    def shown(self) -> int:
        """Number of episodes that can be read in the page."""
        rows = self.data["rows"]
        return len(rows) if isinstance(rows, list) else 0


def collect(sources: Sources, most: int = EPISODES) -> Report:
    """Read all runs and ablations. Memory holds one row and the packed text of each episode shown.

    Args:
        sources: runs and ablations.
        most: maximum episodes in the page. If there are more, the page holds a selection; figures
            still cover all.

    Raises:
        StoreError: an ablation's traces cannot be read. Unreadable traces of a run are left out and
            named.
    """
    runs, chunks = sources.runs, Chunks()
    surveys = [run.survey() for run in runs]
    selection = None if sum(one.attempts for one in surveys) <= most else Selection(most)
    paired = may_be_paired(surveys)
    parts = [
        RunPart(number, run, chunks, survey, selection, paired=paired and not run.ablation)
        for number, (run, survey) in enumerate(zip(runs, surveys, strict=True))
    ]
    # The diagnosis reads every trace once; each part records its data along the way.
    findings = diagnose_scored({one.run.label: one.read() for one in parts})
    for one in parts:
        one.count()
    rows = [row_ for one in parts for row_ in one.rows]
    labels = [run.label for run in runs]
    _give_keys(rows, labels)
    for one in parts:
        one.give_counts()
    _give_shared_prefixes(rows, runs)
    pairs = level_pairs(side for part in parts for side in part.sides())
    said: JSON = None
    if selection is not None:
        chosen, said = selection.chosen(_discordant(pairs, parts))
        keys = {(_run(one), str(one["name"])): one["key"] for one in rows}
        rows = [row_ for part in parts for row_ in part.read_again(chosen)]
        _give_keys(rows, labels, keys)
        for part in parts:
            part.give_counts(rows)
        _give_shared_prefixes(rows, runs)
    chunks.close()
    tables = [group for one in parts for group in one.figures.groups()]
    _give_groups(rows, tables)
    benchmarks = dict.fromkeys(str(one["benchmark"]) for one in tables)
    data: dict[str, JSON] = {
        "format": FORMAT,
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "version": version_of("toolhop-env"),
        "benchmarks": {name: benchmark_part(named(name)) for name in benchmarks},
        "conduct": [measure_part(one) for one in CONDUCT],
        "divergences": [measure_part(one) for one in DIVERGENCES],
        "runs": [run.facts() for run in runs],
        "groups": list(tables),
        "ablations": _ablations(sources, rows, tables),
        "headlines": headlines([(one.label, one.store.folder) for one in runs if not one.ablation]),
        "pairs": _shown_pairs(pairs, rows),
        "findings": _findings(findings, rows, labels),
        "rows": list(rows),
    }
    if said is not None:
        data["selection"] = said
    episodes, unfinished = (sum(values) for values in zip(*(p.sizes for p in parts), strict=True))
    return Report(data, tuple(chunks.done), episodes, unfinished)


@dataclass
class RunPart:
    """A report's data on one run."""

    number: int
    run: RunFolder
    chunks: Chunks
    survey: Survey
    selection: Selection | None
    """Selection of the page's episodes; None if the page holds all."""
    paired: bool
    """Whether episodes may be paired by their feedback level."""
    rows: list[dict[str, JSON]] = field(default_factory=list)
    """Rows of all episodes. With a selection they hold only the fields that pairing needs, and
    are empty unless `paired`."""
    attempts: list[Attempt] = field(default_factory=list)
    """The attempt of each row, in the same order."""
    figures: RunFigures = field(init=False)
    sizes: tuple[int, int] = (0, 0)
    """Number of episodes, and of unfinished ones among them."""
    _left: dict[str, tuple[int, Played]] = field(default_factory=dict)
    """Attempts at items tried several times, by name; `count` determines which of them count."""
    _counted: set[str] = field(default_factory=set)
    """Names of the attempts in `_left` that count."""
    _unfinished: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.figures = RunFigures(self.number)

    def read(self) -> Iterator[tuple[Trace, Attempt]]:
        """Yield the run's traces with their attempts, after recording each."""
        domains, said = self.run.domains(), self.run.store.judgements()
        for rank, (trace, attempt) in enumerate(self.run.episodes()):
            self.sizes = rank + 1, self.sizes[1] + (not attempt.ended)
            if not attempt.ended:
                self.figures.add_unfinished(attempt)
                self._unfinished.add(attempt.episode)
            elif self.survey.met.is_alone(attempt):
                self.figures.add(played(trace, attempt), rank)
            else:
                self._left[attempt.episode] = rank, played(trace, attempt)
            if self.selection is None:
                self.rows.append(self._row(trace, attempt, domains, said))
                self.attempts.append(attempt)
            else:
                self._offer(self.selection, trace, attempt, rank)
            yield trace, attempt

    def _offer(self, selection: Selection, trace: Trace, attempt: Attempt, rank: int) -> None:
        ref = Ref.of(self.number, rank, attempt)
        verdict = verdict_name(attempt, named(attempt.benchmark).lead)
        selection.add(ref, attempt, len(trace.tool_calls), verdict)
        if attempt.ended and self.survey.met.is_alone(attempt):
            selection.add_counting(ref, attempt, verdict)
        if self.paired:
            self.rows.append(
                {
                    "run": self.number,
                    "name": attempt.episode,
                    "parent": attempt.parent,
                    "last_level": str(trace.level),
                    "rank": rank,
                }
            )
            self.attempts.append(attempt)

    def _row(
        self, trace: Trace, attempt: Attempt, domains: Mapping[str, str], said: Judgements
    ) -> dict[str, JSON]:
        benchmark = named(attempt.benchmark)
        chunk, place = self.chunks.add(body(trace, benchmark, said.of(trace.started.episode)))
        domain = domains.get(attempt.item, "")
        more: dict[str, JSON] = {"run": self.number, "domain": domain, "at": [chunk, place]}
        return {**row(trace, attempt, benchmark), **more}

    def count(self) -> None:
        """Add the attempt that counts of each episode with several, after all traces are read."""
        for one in counting(found.attempt for _, found in self._left.values()):
            rank, found = self._left[one.episode]
            self._counted.add(one.episode)
            self.figures.add(found, rank)
            if self.selection is not None:
                verdict = verdict_name(one, named(one.benchmark).lead)
                self.selection.add_counting(Ref.of(self.number, rank, one), one, verdict)

    def give_counts(self, rows: Iterable[dict[str, JSON]] | None = None) -> None:
        """Set in each of the run's rows whether the episode enters the figures."""
        for one in self.rows if rows is None else rows:
            name = str(one["name"])
            left = name in self._left and name not in self._counted
            if _run(one) == self.number:
                one["counts"] = not left and name not in self._unfinished

    def read_again(self, chosen: Iterable[Ref]) -> Iterator[dict[str, JSON]]:
        """Yield the rows of the run's episodes among `chosen`."""
        domains, said = self.run.domains(), self.run.store.judgements()
        for ref in chosen:
            if ref.run == self.number:
                for trace, attempt in self.run.read_again(ref.file, ref.place, said):
                    yield self._row(trace, attempt, domains, said)

    def sides(self) -> Iterator[EpisodeSide]:
        """Yield episodes that may be paired by feedback level; none in an ablation, which has
        its own pairs.
        """
        for row_, one in zip(self.rows, self.attempts, strict=True):
            if not self.run.ablation:
                prefix = row_["shared_prefix"]
                yield EpisodeSide(
                    key=str(row_["key"]),
                    attempt=one,
                    last_level=str(row_["last_level"]),
                    counts=bool(row_["counts"]),
                    shared_prefix=None if prefix is None else str(prefix),
                )

    def refs(self) -> Iterator[tuple[str, Ref]]:
        """Yield the key of each episode that may be paired, with its reference for reading it
        again.
        """
        for row_, one in zip(self.rows, self.attempts, strict=True):
            yield str(row_["key"]), Ref.of(self.number, int(str(row_["rank"])), one)


def _discordant(pairs: Iterable[Any], parts: Iterable[RunPart]) -> Iterator[tuple[Ref, Ref]]:
    refs = {key: ref for part in parts for key, ref in part.refs()}
    for one in pairs:
        for first, second in one["discordant"]:
            yield refs[first], refs[second]


def _shown_pairs(pairs: Iterable[Any], rows: Iterable[dict[str, JSON]]) -> list[JSON]:
    """Return the pairs by level, with only those discordant pairs whose episodes are in the
    page.
    """
    here = {one["key"] for one in rows}
    return [
        {**one, "discordant": [both for both in one["discordant"] if here.issuperset(both)]}
        for one in pairs
    ]


def _run(row_: dict[str, JSON]) -> int:
    return int(str(row_["run"]))


def _ablations(
    sources: Sources, rows: Iterable[dict[str, JSON]], tables: Iterable[dict[str, JSON]]
) -> list[JSON]:
    keys = {(sources.runs[_run(one)].label, str(one["name"])): str(one["key"]) for one in rows}
    benchmarks = {sources.runs[_run(one)].ablation: one["benchmark"] for one in tables}

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
    """Return the findings with their episodes' keys; with several runs, findings use names with
    labels.
    """
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
            "count": len(one.episodes),
            "episodes": [keys[name] for name in one.episodes if name in keys],
        }
        for one in found
    ]


def _give_keys(
    rows: Iterable[dict[str, JSON]],
    labels: Sequence[str],
    known: Mapping[tuple[int, str], JSON] = MappingProxyType({}),
) -> None:
    """Give each episode a key that is unique in the report: its name, with the run's label if
    needed.

    Args:
        rows: rows of the episodes.
        labels: labels of the runs.
        known: keys already given, by run and name.
    """
    rows = list(rows)
    often = Counter(str(one["name"]) for one in rows)
    seen: Counter[str] = Counter()
    for one in rows:
        name = str(one["name"])
        key = name if often[name] == 1 else f"{labels[_run(one)]}/{name}"
        seen[key] += 1
        found = key if seen[key] == 1 else f"{key}~{seen[key]}"
        one["key"] = known.get((_run(one), name), found)


def _give_groups(rows: Iterable[dict[str, JSON]], tables: Sequence[dict[str, JSON]]) -> None:
    """Set the `group` of each row: the index of its row in the tables."""
    places = {tuple(one[name] for name in GROUP_KEY): place for place, one in enumerate(tables)}
    for one in rows:
        one["group"] = places[tuple(one[name] for name in GROUP_KEY)]


def _give_shared_prefixes(rows: Iterable[dict[str, JSON]], runs: Sequence[RunFolder]) -> None:
    """Set the key of the episode that each branch resumes from; None if it is not in the report.

    A parent is named as in its run or, in an ablation, with its arm in front.
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
