"""The episodes of runs, with the facts that every export format needs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from toolhop_env.attempt import Attempt
from toolhop_env.benchmark import Benchmark
from toolhop_env.benchmarks import named
from toolhop_env.measures import Measure
from toolhop_env.runs.store import RunStore
from toolhop_env.score import Score
from toolhop_env.trace import Trace

Plain = dict[str, Any]
"""A JSON object."""


@dataclass(frozen=True, slots=True)
class Exported:
    """An attempt at an episode, finished or interrupted, with its trace."""

    run: str
    """Name of the run (see `labels`)."""
    trace: Trace
    attempt: Attempt
    counts: bool
    """Whether this is the one attempt of the episode that counts in the run's figures."""
    copied_turns: int = 0
    """Turns copied from an episode of another unit, as in the shared prefix of an ablation.
    Turns kept from an attempt that this one replaces are not included, because that attempt does
    not count."""

    @property
    def benchmark(self) -> Benchmark:
        """The benchmark whose measures score the attempt."""
        return named(self.attempt.benchmark)


def labels(stores: Sequence[RunStore]) -> list[str]:
    """Return a name for each run: its folder's name, or the full path if two folders share one."""
    folders = [store.folder.resolve() for store in stores]
    names = [folder.name for folder in folders]
    return [
        name if names.count(name) == 1 else str(folder)
        for name, folder in zip(names, folders, strict=True)
    ]


def places(stores: Sequence[RunStore]) -> list[str]:
    """Return a relative path for each run: its name, or its path below the common parent."""
    names = labels(stores)
    whole = [name for name in names if Path(name).is_absolute()]
    common = os.path.commonpath(whole) if whole else ""
    return [
        Path(name).relative_to(common).as_posix() if Path(name).is_absolute() else name
        for name in names
    ]


def benchmarks_of(stores: Sequence[RunStore]) -> list[Benchmark]:
    """Return the benchmarks of the runs' episodes, in order of appearance.

    Raises:
        StoreError: a trace cannot be read, or its benchmark is not installed.
    """
    attempts = (one for store in stores for one in store.attempts())
    return [named(name) for name in dict.fromkeys(one.benchmark for one in attempts)]


def exported(stores: Sequence[RunStore]) -> Iterator[Exported]:
    """Yield every attempt of the runs; only one trace at a time is in memory.

    Raises:
        StoreError: a trace cannot be read, or its benchmark is not installed.
    """
    for label, store in zip(labels(stores), stores, strict=True):
        counting = {one.episode for one in store.results()}
        replaced = {one.episode: one for one in store.attempts() if one.episode not in counting}
        said = store.judgements()
        for trace in store.traces():
            attempt = said.attempt(trace)
            copied = copied_turns(attempt, replaced)
            yield Exported(label, trace, attempt, attempt.episode in counting, copied)


def copied_turns(attempt: Attempt, replaced: Mapping[str, Attempt]) -> int:
    """Count the turns that an attempt copied from an episode of another unit.

    Args:
        attempt: an attempt of the run.
        replaced: the run's attempts that do not count, by episode name.
    """
    found, copied = attempt, attempt.prefix_turns
    while copied:
        before = replaced.get(found.parent)
        if before is None or before.key != found.key or before.attempt >= found.attempt:
            return copied
        found, copied = before, min(copied, before.prefix_turns)
    return 0


def facts(one: Exported) -> Plain:
    """Return an attempt's settings and score; an errored attempt has no score."""
    start = one.trace.started
    plain: Plain = {
        "episode": start.episode,
        "attempt": start.attempt,
        "mode": start.mode,
        "call_format": start.call_format.value,
        "feedback": start.feedback.value,
        "seed": start.seed,
        "tools": list(start.tools),
        "parent": start.parent,
    }
    score = one.attempt.score
    if score is None:
        return plain
    values = {measure.name: value_of(measure, score) for measure in one.benchmark.measures}
    return {**plain, "score": {**values, **asdict(score.conduct)}}


def value_of(measure: Measure, score: Score) -> bool | float | None:
    """Return True or False for a binary measure, else the ratio; None if there is no value."""
    parts = measure.of(score)
    if parts is None or not parts[1]:
        return None
    return parts[0] > 0 if measure.binary else parts[0] / parts[1]
