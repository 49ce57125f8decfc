"""The episodes of runs, one by one, with what every format wants to know of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from toolhop_env.attempt import Attempt
from toolhop_env.benchmark import Benchmark
from toolhop_env.benchmarks import named
from toolhop_env.runs.store import RunStore
from toolhop_env.trace import Trace


@dataclass(frozen=True, slots=True)
class Exported:
    """An attempt at an episode, finished or cut off, with its trace."""

    run: str
    """Name of the run (`labels`)."""
    trace: Trace
    attempt: Attempt
    counts: bool
    """Whether this is the attempt that the run's figures count: one an episode."""

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
        said = store.judgements()
        for trace in store.traces():
            attempt = said.attempt(trace)
            yield Exported(label, trace, attempt, counts=attempt.episode in counting)
