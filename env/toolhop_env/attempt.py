"""An attempt at an episode, read back from its trace: the unit behind every figure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from toolhop_env.benchmarks import named, score
from toolhop_env.divergence import first_divergence
from toolhop_env.fork import Failure, first_failure
from toolhop_env.levels import Verbosity
from toolhop_env.messages import Count
from toolhop_env.questions import NO_ANSWERS, Answers
from toolhop_env.reading import CallFormat
from toolhop_env.results import InjectionLabel, injection_label
from toolhop_env.score import Errored, Score, Verdict
from toolhop_env.spending import Spent, spent
from toolhop_env.trace import Trace

FAMILY = "family"
"""Facet whose items are siblings or twins, so not independent draws."""


class Key(NamedTuple):
    """Identifies an episode across runs, so that its attempts can be paired."""

    item: str
    mode: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Place:
    """Location of a trace inside a segment of packed traces (`toolhop_env.runs.segments`)."""

    segment: str
    """Name of the segment."""
    offset: Count
    length: Count
    """Packed length in bytes."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at an episode, whatever its outcome. Small: it does not hold the conversation."""

    episode: str
    """Name of the episode, unique in the run."""
    benchmark: str
    item: str
    item_digest: str
    agent: str
    mode: str
    epoch: Count
    attempt: Count
    """Number of the attempt, from 1."""
    feedback: Verbosity
    call_format: CallFormat
    verdict: Verdict
    ended: bool = True
    """False if the attempt was cut off or is still running; its verdict is then errored."""
    parent: str = ""
    """Episode whose first turns this one resumes from; empty if none."""
    prefix_turns: Count = 0
    spent: Spent = field(default_factory=Spent)
    """Replies, tokens, cost and calls of this attempt itself."""
    failure: Failure | None = None
    """The first failed call; None if no call failed."""
    milestones: tuple[bool, ...] = ()
    """Whether each milestone of the benchmark was reached (ToolHop: each hop)."""
    facets: Mapping[str, str] = field(default_factory=dict)
    """Groups that the item belongs to, from the benchmark's `Grouping.facets`."""
    perturbation: str = "as-is"
    """How the item's tools were altered (`toolhop_tools.perturb`)."""
    file: str = ""
    """Name of the trace file in the run's folder; empty if the trace is not in a run."""
    place: Place | None = None
    """Location of the trace in its segment; None if the trace has a file of its own."""
    proven: bool | None = None
    """Whether a certificate proves the item; None if unknown."""
    injection: InjectionLabel | None = None
    """What the agent did about an injected instruction; None if results have none."""
    treatment: str = ""
    """Treatment of results and phrasing of the prompt in its run, such as ``padded=60, brief``."""
    judge: str = ""
    """Judge that answered the benchmark's questions for this run; empty if none."""

    @property
    def key(self) -> Key:
        """Item, mode and epoch of the episode."""
        return Key(self.item, self.mode, self.epoch)

    @property
    def stored_in(self) -> str:
        """Path of the file that holds the trace, relative to the run's folder."""
        if self.place is None:
            return f"episodes/{self.file}"
        return f"segments/{self.place.segment}.traces.jsonl.gz"

    @property
    def stored_at(self) -> str:
        """Path of the file for display, with the episode's name if the file holds several."""
        return self.stored_in if self.place is None else f"{self.stored_in} ({self.episode})"

    @property
    def cluster(self) -> str:
        """Unit by which errors are clustered: the item, or the family it belongs to."""
        return self.facets.get(FAMILY, self.item)

    @property
    def score(self) -> Score | None:
        """The verdict if it is a score; None if the attempt is errored."""
        return self.verdict if isinstance(self.verdict, Score) else None

    @property
    def errored(self) -> str:
        """Why the attempt has no score; empty if it has one."""
        return self.verdict.reason if isinstance(self.verdict, Errored) else ""


def attempt_of(
    trace: Trace, answers: Answers = NO_ANSWERS, *, file: str = "", place: Place | None = None
) -> Attempt:
    """Build the attempt recorded in a trace that has at least begun.

    Args:
        trace: a trace of any installed benchmark.
        answers: the judge's answers, by question id.
        file: name of the trace file.
        place: location of the trace if it is packed.

    Raises:
        UnknownBenchmark: the trace's benchmark is not installed here.
    """
    start = trace.started
    benchmark = named(start.benchmark)
    return Attempt(
        episode=start.episode,
        benchmark=start.benchmark,
        item=start.item,
        item_digest=start.item_digest,
        agent=start.agent,
        mode=start.mode,
        epoch=start.epoch,
        attempt=start.attempt,
        feedback=start.feedback,
        call_format=start.call_format,
        verdict=_verdict(trace, answers),
        ended=trace.ended is not None,
        parent=start.parent,
        prefix_turns=start.prefix_turns,
        spent=spent(trace),
        failure=first_failure(trace),
        milestones=tuple(one.reached for one in benchmark.presentation.milestones(trace)),
        facets=benchmark.grouping.facets(start.gold),
        perturbation=start.perturbation,
        injection=injection_label(trace),
        file=file,
        place=place,
    )


def _verdict(trace: Trace, answers: Answers) -> Verdict:
    found = score(trace, answers)
    if isinstance(found, Errored):
        return found
    kinds = tuple(one.kind for one in first_divergence(trace, answers=answers).all)
    return replace(found, conduct=replace(found.conduct, divergences=kinds))


def counting(attempts: Iterable[Attempt]) -> list[Attempt]:
    """Return one attempt per episode of one run: the first that is not errored, else the last.

    Reduce several runs one at a time: an item that occurs twice in one run means two attempts at
    one episode; in two runs, two episodes.
    """
    best: dict[tuple[str, Key], Attempt] = {}
    # By name too, as the reading order depends on which traces are packed.
    for one in sorted(attempts, key=lambda found: (found.attempt, found.file)):
        key = (one.agent, one.key)
        if key not in best or isinstance(best[key].verdict, Errored):
            best[key] = one
    return list(best.values())


BLOCK = 1024
"""Number of epochs per bit field."""


class Met:
    """The set of episodes seen so far, one bit each, and those seen more than once."""

    def __init__(self) -> None:
        self._bits: dict[tuple[str, str, str], dict[int, int]] = defaultdict(dict)
        self.several: set[tuple[str, Key]] = set()
        """Agent and key of each episode with more than one attempt."""

    def add(self, one: Attempt) -> bool:
        """Record an attempt; return whether it is the first at its episode."""
        blocks = self._bits[one.agent, one.item, one.mode]
        block, place = divmod(one.epoch, BLOCK)
        before = blocks.get(block, 0)
        blocks[block] = before | 1 << place
        if before == blocks[block]:
            self.several.add((one.agent, one.key))
        return before != blocks[block]

    def is_alone(self, one: Attempt) -> bool:
        """Whether an attempt is the only one at its episode."""
        return (one.agent, one.key) not in self.several


def counting_streamed(
    read: Callable[[], Iterable[Attempt]], first: Callable[[], Iterable[Attempt]] | None = None
) -> Iterator[Attempt]:
    """Yield the attempts that `counting` returns, in another order, holding only a few in memory.

    Args:
        read: returns the attempts of one run; called again, it returns the same attempts.
        first: a faster source of attempts at the same episodes, used for the first pass.
    """
    met, again = Met(), Met()
    for one in (first or read)():
        met.add(one)
    left: list[Attempt] = []
    for one in read():
        if not met.is_alone(one):
            left.append(one)
        elif again.add(one):  # in a running run another attempt may have ended meanwhile
            yield one
    yield from counting(left)
