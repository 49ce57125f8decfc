"""The episodes of runs, one by one, with what every format wants to know of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agents.runs.store import RunStore
from env.score import Score, Void, score
from env.trace import Trace


@dataclass(frozen=True, slots=True)
class Played:
    """An attempt at an episode, finished or cut off."""

    run: str
    """Name of the run (`labels`)."""
    trace: Trace
    score: Score | None
    """None for a void attempt."""
    void: str
    """Why it was void; empty where it was not."""
    counts: bool
    """Whether this is the attempt that the run's figures count: one an episode."""


def played(run: str, trace: Trace, *, counts: bool) -> Played:
    """An attempt with its verdict."""
    verdict = score(trace)
    if isinstance(verdict, Void):
        return Played(run, trace, None, verdict.reason, counts)
    return Played(run, trace, verdict, "", counts)


def labels(stores: Sequence[RunStore]) -> list[str]:
    """Names for the runs: their folders'; the whole path where two folders share a name."""
    folders = [store.folder.resolve() for store in stores]
    names = [folder.name for folder in folders]
    return [
        name if names.count(name) == 1 else str(folder)
        for name, folder in zip(names, folders, strict=True)
    ]


def attempts(stores: Sequence[RunStore]) -> Iterator[Played]:
    """Every attempt of the runs, one at a time: no more than one trace is held.

    Raises:
        StoreError: a trace cannot be read.
    """
    for label, store in zip(labels(stores), stores, strict=True):
        counting = {judged.episode for judged in store.results()}
        for trace in store.traces():
            name = trace.started.episode
            yield played(label, trace, counts=name in counting)
