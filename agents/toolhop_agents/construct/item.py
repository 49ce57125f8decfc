"""Makes one item out of a seed: its stages, and the proof that it can be accepted."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolhop_agents.construct.ask import ItemLimitReached
from toolhop_agents.construct.context import Context
from toolhop_agents.construct.oracle import closed_book
from toolhop_agents.construct.proof import Proof
from toolhop_agents.construct.read import read_item, try_wording
from toolhop_agents.construct.table import ItemTable
from toolhop_agents.construct.talk import Failed
from toolhop_agents.construct.walk import Walk
from toolhop_sandbox.base import Sandbox
from toolhop_sandbox.errors import SandboxFault
from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number
from toolhop_tools.blind.votes import ReadStatus
from toolhop_tools.construct.accept import Criterion, hazards
from toolhop_tools.construct.stages import Findings, Place, Stage, judged
from toolhop_tools.construct.text import same
from toolhop_tools.dates import whole_date
from toolhop_tools.model import DataSet, Item
from toolhop_tools.readers.toolhop import to_rows

log = logging.getLogger(__name__)


OWN_FAULTS = (TypeError, ValueError, ArithmeticError, LookupError, RecursionError)
"""What a check raises that did not foresee a reply."""


@dataclass
class ItemBuilder:
    """One item under way."""

    context: Context
    sandboxes: Mapping[str, Sandbox]
    """By kind: where the oracle has to be right."""
    official_safe: bool = False
    criteria: list[dict[str, Any]] = field(default_factory=list)
    """Rows of the books."""
    _rounds: int = 0
    _certificate: JSON = None
    _reading: ReadStatus = ReadStatus.UNREAD
    _refused: Item | None = None
    """The item that readers alone refuse, if they do."""

    def __post_init__(self) -> None:
        self._table = ItemTable(self.context)
        self._walk = Walk(self._table)

    async def make(self) -> dict[str, JSON]:
        """Go through all stages; the finished item's row of the ledger.

        Raises:
            RunLimitReached, ModelFault, LedgerError, SandboxUnavailable: the run is to stop; what
                was paid for is kept.
        """
        try:
            outcome = await self._make()
        except ItemLimitReached as reached:
            outcome = Failed(Place(Stage.ACCEPT), str(reached))
        except SandboxFault as fault:
            # Its tools may be what does it: the next items go on.
            outcome = Failed(Place(Stage.ACCEPT), f"the sandbox was lost: {fault}")
        except OWN_FAULTS as fault:
            # The reply is in the ledger: raised, it would end every session of the folder here.
            log.exception("a check of %s failed", self.context.seed.id)
            outcome = Failed(Place(Stage.ACCEPT), f"a check of ours failed: {fault!r}")
        steps: list[JSON] = [talk.step() for talk in self._walk.begun]
        if self._rounds:
            failed = [row["criterion"] for row in self.criteria if not row["holds"]]
            steps.append({
                **Place(Stage.ACCEPT)._asdict(), "replies": self._rounds,
                "passed": isinstance(outcome, Item), "returned": False, "checks": failed,
            })  # fmt: skip
        row: dict[str, JSON] = {"item": self.context.seed.id, "criteria": [*self.criteria]}
        row["steps"] = steps
        if isinstance(outcome, Item):
            plan: list[JSON] = [hop.written() for hop in self._table.built]
            row |= {"accepted": True, "certificate": self._certificate, "plan": plan}
            return {**row, "row": _official(outcome)}
        messages: list[JSON] = [problem.message for problem in outcome.problems[:3]]
        row |= {"accepted": False, "place": [*outcome.place], "why": outcome.why}
        row["problems"] = messages
        return row if self._refused is None else {**row, "refused": _official(self._refused)}

    async def _make(self) -> Item | Failed:
        unfit = self._table.seed_findings()
        if not unfit.ok:
            return Failed(Place(Stage.DECOMPOSE), unfit.problems[0].message, unfit.problems)
        while True:
            stopped = await self._walk.run() or self._other_answer()
            if stopped is not None:
                return stopped
            self._rounds += 1
            item = self._item()
            findings = await self._judge(item)
            if findings.ok:
                return self._item()
            if stopped := self._sent_back(findings):
                return stopped

    def _sent_back(self, findings: Findings) -> Failed | None:
        """Have the stage at fault repaired; why that cannot be, if it cannot."""
        problems = findings.problems
        place = next((problem.place for problem in problems if problem.place is not None), None)
        if place is None or self._rounds > self.context.repairs or not self._walk.has(place):
            return Failed(place or Place(Stage.ACCEPT), problems[0].message, problems)
        self._walk.send_back(place, [problem for problem in problems if problem.place == place])
        return None

    def _other_answer(self) -> Failed | None:
        wanted, built = self.context.seed.answer, self._table.built
        if not wanted or same(wanted, built[-1].answer):
            return None
        why = f"the chain gives {built[-1].answer!r}, the seed says {wanted!r}"
        return Failed(Place(Stage.CALL, len(built)), why)

    def _item(self) -> Item:
        built, seed, question = self._table.built, self.context.seed, self._table.question
        answers = [hop.answer for hop in built]
        hazard: list[JSON] = [*hazards(answers[-1], question)]
        extra: dict[str, JSON] = {
            "family": seed.id,
            "source": seed.source or "made by toolhop construct",
            "licence": seed.licence,
            "official_unsafe": hazard,
            "question_by": "seed" if question == seed.question else "model",
            "reading": self._reading.value,
        }
        return Item(
            seed.id,
            question,
            answers[-1],
            tuple(hop.hop(answers) for hop in built),
            seed.domain,
            _kind(answers[-1]),
            _kind(answers[-2]) if len(answers) > 1 else "",
            extra,
        )

    # -- acceptance -------------------------------------------------------------------------------

    async def _judge(self, item: Item) -> Findings:
        """All criteria: what is executed first, then what models are asked."""
        self._reading = ReadStatus.UNREAD
        findings, models = await self._executed(item), self.context.models
        if findings.ok and models.readers:
            figures = {row["criterion"]: row["figure"] for row in self.criteria}
            self._reading, row, more = await read_item(
                self.context, item, figures[Criterion.SIBLING]
            )
            self.criteria.append(row)
            findings += more
            self._refused = None if findings.ok else self._item()
        if findings.ok and models.readers and models.wording:
            row, more = await try_wording(self.context, self._table.built, item)
            self.criteria.append(row)
            findings += more
        if findings.ok and (asker := models.closed_book) is not None:
            holds, figure = await closed_book(
                asker, models.closed_book_samples, self.context.seed, item,
                self.context.next_number, self.context.verifier.sandbox,
            )  # fmt: skip
            self.criteria.append(Criterion.CLOSED_BOOK.row(figure, holds=holds))
            why = f"{asker.model.name} gives the answer {item.answer!r} without tools"
            findings += judged(Criterion.CLOSED_BOOK.value, () if holds else [why])
        return findings

    async def _executed(self, item: Item) -> Findings:
        context, built = self.context, self._table.built
        parts: list[JSON] = [item.digest, context.seed.licence, [*self.sandboxes]]
        parts.append(self.official_safe)
        parts.append([dict(hop.call.arguments) for hop in built])

        async def run() -> Findings:
            return await Proof(context, self.sandboxes, built, self.official_safe).findings(item)

        findings = await context.remembered("item", parts, run)
        figures: Mapping[str, Any] = findings.figures
        self.criteria = [*figures["criteria"]]
        self._certificate = figures["certificate"]
        return findings


def _official(item: Item) -> JSON:
    return to_rows(DataSet("made", "", (item,)))[0]


def _kind(answer: str) -> str:
    if plain_number(answer) is not None:
        return "number"
    return "date" if whole_date(answer) is not None else "text"
