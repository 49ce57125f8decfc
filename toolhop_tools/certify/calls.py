"""The calls of one hop's search: run in batches or alone, counted, and recorded."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from toolhop_sandbox.base import Program, Session
from toolhop_sandbox.outcome import JSON, Died, OutOfMemory, Returned, TimedOut
from toolhop_tools.batch import Arguments, CallRun, run_batch
from toolhop_tools.certify.candidates import Candidate, Provenance, Tried

MOST_CUT = 3
"""Number of calls that may run out of time or memory, or die, before a search gives up."""
_CUT = (TimedOut, OutOfMemory, Died)
KEPT_CHARS = 20_000_000
"""Maximum total length of the recorded arguments and results of an item, in characters."""


RunBatch: TypeAlias = Callable[..., Awaitable[list[CallRun | None]]]
"""Function that runs a batch of calls, with the interface of `toolhop_tools.batch.run_batch`."""


@dataclass
class KnownCalls:
    """A batch runner that runs no call twice, for searches that share calls.

    It serves a single item; results are recorded by code and arguments.
    """

    spared: int = 0
    """Number of calls answered from the record."""
    found: dict[tuple[Program, str], CallRun] = field(default_factory=dict)
    chars: int = 0

    async def __call__(
        self,
        session: Session,
        program: Program,
        sets: Sequence[Arguments],
        *,
        most_cut: int = MOST_CUT,
    ) -> list[CallRun | None]:
        """See `RunBatch`."""
        # Unsorted, since the order of names can matter; 1 and 1.0 differ.
        keys = [(program, json.dumps(dict(arguments))) for arguments in sets]
        runs = [self.found.get(key) for key in keys]
        left = [at for at, run in enumerate(runs) if run is None]
        most_cut -= sum(run is not None and isinstance(run.outcome, _CUT) for run in runs)
        self.spared += len(sets) - len(left)
        if left and most_cut > 0:
            new = await run_batch(session, program, [sets[at] for at in left], most_cut=most_cut)
            for at, run in zip(left, new, strict=True):
                runs[at] = run
                if run is not None:
                    self._keep(keys[at], run)
        return runs

    def _keep(self, key: tuple[Program, str], run: CallRun) -> None:
        size = len(key[1]) + (
            len(run.outcome.json_text) if isinstance(run.outcome, Returned) else 100
        )
        if self.chars + size <= KEPT_CHARS:
            self.chars += size
            self.found[key] = run


@dataclass
class Calls:
    """A tool in a session, with the calls tried so far."""

    session: Session
    program: Program
    run_batch: RunBatch = run_batch
    executions: int = 0
    tried: list[Tried] = field(default_factory=list)
    cut: int = 0
    """Number of calls that ran out of time or memory or died, and of calls skipped after those."""

    async def run(self, batch: Sequence[Candidate]) -> list[Tried]:
        """Run and record calls of the search; return an empty list once too many were cut off.

        Raises:
            SandboxFault, SandboxUnavailable: as `Session.call`; so do the other methods.
        """
        if self.cut >= MOST_CUT:
            return []
        sets = [one.arguments for one in batch]
        runs = await self.run_batch(self.session, self.program, sets, most_cut=MOST_CUT - self.cut)
        self.executions += len(batch)
        self.cut += sum(run is None or isinstance(run.outcome, _CUT) for run in runs)
        pairs = zip(batch, runs, strict=True)
        tried = [Tried(one, run.outcome) for one, run in pairs if run is not None]
        self.tried += tried
        return tried

    async def beside(self, sets: Sequence[dict[str, JSON]]) -> list[Tried]:
        """Run calls for comparison with a hit, without recording them."""
        if not sets:
            return []
        self.executions += len(sets)
        found = await self.run_batch(self.session, self.program, sets)
        runs = zip(sets, found, strict=True)
        return [Tried(Candidate(one, Provenance.SEARCH), run.outcome) for one, run in runs if run]

    async def alone(self, candidate: Candidate) -> Tried:
        """Run a call in a process of its own."""
        self.executions += 1
        outcome = await self.session.call(self.program, candidate.arguments)
        return Tried(candidate, outcome)
