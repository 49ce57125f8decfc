"""The calls of one hop's search: in batches, alone, and at random; what came of each is kept."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from toolhop_sandbox.base import Session
from toolhop_sandbox.outcome import JSON, Died, Outcome, OutOfMemory, Returned, TimedOut
from toolhop_tools.batch import run_batch
from toolhop_tools.certify.audit import Chance, empty_ones, randomised
from toolhop_tools.certify.candidates import Candidate, Provenance, Task, texts_of
from toolhop_tools.certify.defects import Tried
from toolhop_tools.certify.honesty import leaked
from toolhop_tools.certify.judging import judge
from toolhop_tools.certify.model import Basis
from toolhop_tools.certify.words import as_text, scalars
from toolhop_tools.reading import Path, Reading, read_result

MOST_CUT = 3
"""Calls that may run out of time or memory, or die, before a search gives up."""
_CUT = (TimedOut, OutOfMemory, Died)


@dataclass(frozen=True, slots=True)
class Hit:
    """A call that gave the gold answer, alone in its process."""

    candidate: Candidate
    outcome: Returned
    reading: Reading


@dataclass
class Calls:
    """The calls of one hop, and how its results are read."""

    session: Session
    task: Task
    basis: Basis
    seed: str
    """Of the random arguments."""
    executions: int = 0
    tried: list[Tried] = field(default_factory=list)
    cut: int = 0
    """Calls that ran out of time or memory, or died, and calls not made because of them."""
    _audit: tuple[dict[str, JSON], list[Tried]] | None = None

    async def _run(self, batch: Sequence[Candidate]) -> list[Tried]:
        if self.cut >= MOST_CUT:
            return []
        program = self.task.hop.tool.program
        sets = [one.arguments for one in batch]
        runs = await run_batch(self.session, program, sets, most_cut=MOST_CUT - self.cut)
        self.executions += len(batch)
        self.cut += sum(run is None or isinstance(run.outcome, _CUT) for run in runs)
        tried = [
            Tried(candidate, run.outcome, alone=run.alone)
            for candidate, run in zip(batch, runs, strict=True)
            if run is not None
        ]
        self.tried += tried
        return tried

    def _reading(self, tried: Tried) -> Reading | None:
        if not isinstance(tried.outcome, Returned):
            return None
        value = read_result(tried.outcome.json_text)
        return judge(self.task.asked.gold, value, tried.candidate.arguments)

    async def _confirmed(self, candidate: Candidate) -> Hit | None:
        return self._hit(Tried(candidate, await self._alone(candidate)))

    def _hit(self, tried: Tried) -> Hit | None:
        reading = self._reading(tried)
        if isinstance(tried.outcome, Returned) and reading is not None:
            return Hit(tried.candidate, tried.outcome, reading)
        return None

    async def _alone(self, candidate: Candidate) -> Outcome:
        self.executions += 1
        return await self.session.call(self.task.hop.tool.program, candidate.arguments)

    async def _chance(self, arguments: dict[str, JSON]) -> Chance:
        """How often random arguments of a call's shape give the gold."""
        ran = await self._audited(arguments)
        return Chance(len(ran), sum(self._reading(tried) is not None for tried in ran))

    async def _audited(self, arguments: dict[str, JSON]) -> list[Tried]:
        """The random calls of a call's shape that ran; those of the last call are kept."""
        if self._audit is None or self._audit[0] != arguments:
            sets = randomised(self.task, arguments, self.basis.audit, self.seed)
            self._audit = arguments, await self._ran(sets)
        return self._audit[1]

    async def _ran(self, sets: Sequence[dict[str, JSON]]) -> list[Tried]:
        """Calls beside the search, which are not counted in it."""
        runs = await run_batch(self.session, self.task.hop.tool.program, sets)
        return [
            Tried(Candidate(one, Provenance.SEARCH), run.outcome)
            for one, run in zip(sets, runs, strict=True)
            if run is not None
        ]

    async def _same_for_all(self, hit: Hit) -> Tried | None:
        """Another call, where every other call gives the very same result: no call means anything.

        A tool without parameters cannot but do so. One that gives the answer in different words,
        or to all but an empty name, is not meant here: the rate of the audit tells of it.
        """
        given = hit.candidate.arguments
        own, asked = Tried(hit.candidate, hit.outcome), self.task.asked
        others = await self._audited(given) if self.task.properties else []
        others = [one for one in others if not leaked(asked, one.candidate.arguments)]
        if not all(self._alike(tried, own) for tried in others):
            return None
        if self.task.properties:
            others = others + await self._ran(
                [{**given, **one} for one in empty_ones(self.task, given)]
            )
        same = bool(others) and all(self._alike(tried, own) for tried in others)
        return others[0] if same else None

    def _alike(self, one: Tried, other: Tried) -> bool:
        """Whether two calls give the gold in the same words, save what each repeats of its own."""
        if one.outcome == other.outcome:
            return True
        return self._reading(one) is not None and _own_words(one) == _own_words(other)

    async def _again(self, tried: Tried) -> Tried:
        """The same call alone: evidence is what anyone sees who repeats it."""
        return tried if tried.alone else Tried(tried.candidate, await self._alone(tried.candidate))


def _own_words(tried: Tried) -> list[tuple[Path, str]]:
    """A result's leaves without what they repeat of the arguments."""
    value = read_result(tried.outcome.json_text) if isinstance(tried.outcome, Returned) else None
    given = sorted(filter(None, texts_of(tried.candidate.arguments)), key=len, reverse=True)
    repeated = re.compile("|".join(rf"(?<!\w){re.escape(text)}(?!\w)" for text in given) or r"(?!)")
    return [(path, repeated.sub("", as_text(leaf))) for path, leaf in scalars(value)]
