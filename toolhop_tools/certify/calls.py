"""The calls of one hop's search: made in batches or alone, counted, and kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from toolhop_sandbox.base import Program, Session
from toolhop_sandbox.outcome import JSON, Died, OutOfMemory, TimedOut
from toolhop_tools.batch import run_batch
from toolhop_tools.certify.candidates import Candidate, Provenance, Tried

MOST_CUT = 3
"""Calls that may run out of time or memory, or die, before a search gives up."""
_CUT = (TimedOut, OutOfMemory, Died)


@dataclass
class Calls:
    """A tool in a session, and what was tried of it."""

    session: Session
    program: Program
    executions: int = 0
    tried: list[Tried] = field(default_factory=list)
    cut: int = 0
    """Calls that ran out of time or memory, or died, and calls not made because of them."""

    async def run(self, batch: Sequence[Candidate]) -> list[Tried]:
        """Calls of the search, which are kept; none once too many were cut.

        Raises:
            SandboxFault, SandboxUnavailable: as `Session.call`; so do the other ways to call.
        """
        if self.cut >= MOST_CUT:
            return []
        sets = [one.arguments for one in batch]
        runs = await run_batch(self.session, self.program, sets, most_cut=MOST_CUT - self.cut)
        self.executions += len(batch)
        self.cut += sum(run is None or isinstance(run.outcome, _CUT) for run in runs)
        pairs = zip(batch, runs, strict=True)
        tried = [Tried(one, run.outcome) for one, run in pairs if run is not None]
        self.tried += tried
        return tried

    async def beside(self, sets: Sequence[dict[str, JSON]]) -> list[Tried]:
        """Calls that a hit is compared with."""
        if not sets:
            return []
        self.executions += len(sets)
        runs = zip(sets, await run_batch(self.session, self.program, sets), strict=True)
        return [Tried(Candidate(one, Provenance.SEARCH), run.outcome) for one, run in runs if run]

    async def alone(self, candidate: Candidate) -> Tried:
        """A call in a process of its own."""
        self.executions += 1
        outcome = await self.session.call(self.program, candidate.arguments)
        return Tried(candidate, outcome)
