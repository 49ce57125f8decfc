"""The episodes of runs, one by one, with what every format wants to know of them."""

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
    """An attempt at an episode, finished or cut off, with its trace."""

    run: str
    """Name of the run (`labels`)."""
    trace: Trace
    attempt: Attempt
    counts: bool
    """Whether this is the attempt that the run's figures count: one an episode."""
    copied_turns: int = 0
    """Turns taken over from an episode of another unit: those of an ablation's shared prefix. What
    an attempt keeps of the one that it replaces is its own: that one does not count."""

    @property
    def benchmark(self) -> Benchmark:
        """Whose measures it is scored by."""
        return named(self.attempt.benchmark)


def labels(stores: Sequence[RunStore]) -> list[str]:
    """Names for the runs: their folders'; the whole path where two folders share a name."""
    folders = [store.folder.resolve() for store in stores]
    names = [folder.name for folder in folders]
    return [
        name if names.count(name) == 1 else str(folder)
        for name, folder in zip(names, folders, strict=True)
    ]


def places(stores: Sequence[RunStore]) -> list[str]:
    """A relative path for each run: its name, below the folder where a shared name parts."""
    names = labels(stores)
    whole = [name for name in names if Path(name).is_absolute()]
    common = os.path.commonpath(whole) if whole else ""
    return [
        Path(name).relative_to(common).as_posix() if Path(name).is_absolute() else name
        for name in names
    ]


def benchmarks_of(stores: Sequence[RunStore]) -> list[Benchmark]:
    """The benchmarks of the runs' episodes, in order of appearance.

    Raises:
        StoreError: a trace cannot be read, or its benchmark is not installed here.
    """
    attempts = (one for store in stores for one in store.attempts())
    return [named(name) for name in dict.fromkeys(one.benchmark for one in attempts)]


def exported(stores: Sequence[RunStore]) -> Iterator[Exported]:
    """Every attempt of the runs, one at a time: no more than one trace is held.

    Raises:
        StoreError: a trace cannot be read, or its benchmark is not installed here.
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
    """Turns that an attempt has of an episode of another unit.

    Args:
        attempt: of a run.
        replaced: the run's attempts that do not count, by name.
    """
    found, copied = attempt, attempt.prefix_turns
    while copied:
        before = replaced.get(found.parent)
        if before is None or before.key != found.key or before.attempt >= found.attempt:
            return copied
        found, copied = before, min(copied, before.prefix_turns)
    return 0


def facts(one: Exported) -> Plain:
    """How an attempt was played and scored; without a score where it is errored."""
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
    """Yes or no, or the numerator by the denominator; None where there is no figure."""
    parts = measure.of(score)
    if parts is None or not parts[1]:
        return None
    return parts[0] > 0 if measure.binary else parts[0] / parts[1]
