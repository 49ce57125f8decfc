"""An attempt at an episode, read back from its trace: what every figure is made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from toolhop_env.benchmarks import named, score
from toolhop_env.fork import Failure, first_failure
from toolhop_env.levels import Verbosity
from toolhop_env.messages import Count
from toolhop_env.questions import NO_ANSWERS, Answers
from toolhop_env.reading import CallFormat
from toolhop_env.score import Errored, Score, Verdict
from toolhop_env.spending import Spent, spent, spent_on
from toolhop_env.trace import Trace

FAMILY = "family"
"""A benchmark's facet: items of one value are not independent draws, as siblings and twins."""


class Key(NamedTuple):
    """What episodes of different runs are paired by."""

    item: str
    mode: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where a trace lies that was packed with others (`toolhop_env.runs.segments`)."""

    segment: str
    """Name of the segment."""
    offset: Count
    length: Count
    """Bytes as packed."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at an episode, whatever became of it. Small: no conversation is in it."""

    episode: str
    """Its name, unique in the run."""
    benchmark: str
    item: str
    item_digest: str
    agent: str
    mode: str
    epoch: Count
    attempt: Count
    """From 1."""
    feedback: Verbosity
    call_format: CallFormat
    verdict: Verdict
    ended: bool = True
    """Not so for one that was cut off or is under way; its verdict is errored."""
    parent: str = ""
    """The episode whose first turns it resumes from; empty for none."""
    prefix_turns: Count = 0
    spent: Spent = field(default_factory=Spent)
    """What this attempt took itself."""
    failure: Failure | None = None
    """Its first failed call."""
    to_failure: Spent = field(default_factory=Spent)
    """What the turns up to the first failed call took, whoever paid for them."""
    milestones: tuple[bool, ...] = ()
    """By milestone of the benchmark (ToolHop: by hop): whether it was reached."""
    facets: Mapping[str, str] = field(default_factory=dict)
    """Groups that the item belongs to, as the benchmark says (`Grouping.facets`)."""
    perturbation: str = "as-is"
    """How the item's tools were shown (`toolhop_tools.perturb`)."""
    file: str = ""
    """The trace file's name in the run's folder; empty for a trace that is in none."""
    place: Place | None = None
    """Where the trace lies since it was packed; None for a file of its own."""
    proven: bool | None = None
    """Whether a certificate proves the item; None where nothing is known of it."""
    judge: str = ""
    """Who answered the benchmark's questions on its run; empty for nobody."""

    @property
    def key(self) -> Key:
        """What it is an attempt at."""
        return Key(self.item, self.mode, self.epoch)

    @property
    def stored_in(self) -> str:
        """The file that holds the trace, from the run's folder on."""
        if self.place is None:
            return f"episodes/{self.file}"
        return f"segments/{self.place.segment}.traces.jsonl.gz"

    @property
    def stored_at(self) -> str:
        """The same for people, with the episode's name where the file holds many."""
        return self.stored_in if self.place is None else f"{self.stored_in} ({self.episode})"

    @property
    def cluster(self) -> str:
        """What errors are clustered by: the item, or the family that it shares with others."""
        return self.facets.get(FAMILY, self.item)

    @property
    def score(self) -> Score | None:
        """The verdict where it is a score, None where the attempt is errored."""
        return self.verdict if isinstance(self.verdict, Score) else None

    @property
    def errored(self) -> str:
        """Why the attempt has no score; empty where it has one."""
        return self.verdict.reason if isinstance(self.verdict, Errored) else ""


def attempt_of(
    trace: Trace, answers: Answers = NO_ANSWERS, *, file: str = "", place: Place | None = None
) -> Attempt:
    """What a trace that has begun comes to.

    Args:
        trace: of any benchmark that is installed.
        answers: what a judge said of it, by the question's id.
        file: the trace file's name.
        place: where it lies if it is packed.

    Raises:
        UnknownBenchmark: the trace's benchmark is not installed here.
    """
    start, failure = trace.started, first_failure(trace)
    benchmark = named(start.benchmark)
    before = [one.reply for one in trace.replies if failure and one.turn <= failure.turn]
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
        verdict=score(trace, answers),
        ended=trace.ended is not None,
        parent=start.parent,
        prefix_turns=start.prefix_turns,
        spent=spent(trace),
        failure=failure,
        to_failure=spent_on(before),
        milestones=tuple(one.reached for one in benchmark.presentation.milestones(trace)),
        facets=benchmark.grouping.facets(start.gold),
        perturbation=start.perturbation,
        file=file,
        place=place,
    )


def counting(attempts: Iterable[Attempt]) -> list[Attempt]:
    """One attempt an episode of one run: the first that is not errored, else the last.

    Several runs are reduced one by one: the same item twice is one attempt in a run, and two
    episodes in two runs.
    """
    best: dict[tuple[str, Key], Attempt] = {}
    # By name too: in which order traces are read depends on which are packed.
    for one in sorted(attempts, key=lambda found: (found.attempt, found.file)):
        key = (one.agent, one.key)
        if key not in best or isinstance(best[key].verdict, Errored):
            best[key] = one
    return list(best.values())


BLOCK = 1024
"""Epochs that one number stands for."""


class Met:
    """Which episodes attempts were met of, in a bit each; several attempts are remembered."""

    def __init__(self) -> None:
        self._bits: dict[tuple[str, str, str], dict[int, int]] = defaultdict(dict)
        self.several: set[tuple[str, Key]] = set()
        """Agent and key of the episodes that more than one attempt was met of."""

    def add(self, one: Attempt) -> bool:
        """Take in an attempt of one run; returns whether it is the first at its episode."""
        blocks = self._bits[one.agent, one.item, one.mode]
        block, place = divmod(one.epoch, BLOCK)
        before = blocks.get(block, 0)
        blocks[block] = before | 1 << place
        if before == blocks[block]:
            self.several.add((one.agent, one.key))
        return before != blocks[block]

    def is_alone(self, one: Attempt) -> bool:
        """Whether an attempt is the only one at its episode: then it counts."""
        return (one.agent, one.key) not in self.several


def counting_streamed(
    read: Callable[[], Iterable[Attempt]], first: Callable[[], Iterable[Attempt]] | None = None
) -> Iterator[Attempt]:
    """The attempts that `counting` gives, in another order, and few of them held at a time.

    Args:
        read: gives the attempts of one run, and the same again.
        first: gives attempts at the same episodes, where that is quicker the first time.
    """
    met, again = Met(), Met()
    for one in (first or read)():
        met.add(one)
    left: list[Attempt] = []
    for one in read():
        if not met.is_alone(one):
            left.append(one)
        elif again.add(one):  # of a run under way another may have ended meanwhile
            yield one
    yield from counting(left)
