"""Makes one item out of a seed: its stages, and the proof that it can be accepted."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from toolhop_agents.construct.ask import ItemLimitReached
from toolhop_agents.construct.context import Context
from toolhop_agents.construct.proof import Proof
from toolhop_agents.construct.read import Reading, read_item
from toolhop_agents.construct.table import ItemTable
from toolhop_agents.construct.walk import Rejection, Walk
from toolhop_agents.construct.wording import try_wording
from toolhop_sandbox.base import Sandbox
from toolhop_sandbox.errors import SandboxFault
from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number
from toolhop_tools.blind.votes import ReadStatus
from toolhop_tools.certify.model import Certificate, from_json
from toolhop_tools.certify.model import to_json as certificate_json
from toolhop_tools.construct.accept import Criterion, Judged, hazards
from toolhop_tools.construct.seeds import Seed
from toolhop_tools.construct.stages import Findings, Place, Stage, judged
from toolhop_tools.construct.text import same
from toolhop_tools.dates import whole_date
from toolhop_tools.model import Item

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Accepted:
    """An item that meets all criteria that can be judged by it alone."""

    item: Item
    certificate: Certificate
    criteria: tuple[Judged, ...]
    steps: tuple[dict[str, JSON], ...]
    plan: tuple[dict[str, JSON], ...]
    """By hop: how it hangs on earlier answers, for other items of its family."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A seed without an item."""

    rejection: Rejection
    criteria: tuple[Judged, ...]
    steps: tuple[dict[str, JSON], ...]
    refused: Item | None = None
    """The item that readers alone refused, if they did."""


Made: TypeAlias = Accepted | Rejected
OWN_FAULTS = (TypeError, ValueError, ArithmeticError, LookupError, RecursionError)
"""What a check raises that did not foresee a reply."""


@dataclass
class ItemBuilder:
    """One item under way."""

    context: Context
    sandboxes: Mapping[str, Sandbox]
    """By kind: where the oracle has to be right."""
    official_safe: bool = False
    criteria: tuple[Judged, ...] = ()
    _rounds: int = 0
    _certificate: Certificate | None = None
    _reading: Reading | None = None
    _refused: Item | None = None

    def __post_init__(self) -> None:
        self._table = ItemTable(self.context)
        self._walk = Walk(self.context, self._table)

    async def make(self) -> Made:
        """Go through all stages.

        Raises:
            RunLimitReached, ModelFault, LedgerError, SandboxUnavailable: the run is to stop; what
                was paid for is kept.
        """
        try:
            outcome = await self._make()
        except ItemLimitReached as reached:
            outcome = Rejection(Place(Stage.ACCEPT), str(reached))
        except SandboxFault as fault:
            # Its tools may be what does it: the next items go on.
            outcome = Rejection(Place(Stage.ACCEPT), f"the sandbox was lost: {fault}")
        except OWN_FAULTS as fault:
            # The reply is in the ledger: raised, it would end every session of the folder here.
            log.exception("a check of %s failed", self.context.seed.id)
            outcome = Rejection(Place(Stage.ACCEPT), f"a check of ours failed: {fault!r}")
        steps = tuple(talk.step() for talk in self._walk.begun)
        if self._rounds:
            steps += (self._accept_step(passed=isinstance(outcome, Item)),)
        if isinstance(outcome, Rejection):
            return Rejected(outcome, self.criteria, steps, self._refused)
        assert self._certificate is not None  # noqa: S101 -- an item is accepted with it
        plan = tuple(hop.written() for hop in self._table.built)
        return Accepted(outcome, self._certificate, self.criteria, steps, plan)

    def _accept_step(self, *, passed: bool) -> dict[str, JSON]:
        failed: list[JSON] = [row.criterion.value for row in self.criteria if not row.holds]
        step: dict[str, JSON] = {"stage": Stage.ACCEPT.value, "hop": 0, "replies": self._rounds}
        return {**step, "passed": passed, "returned": False, "checks": failed}

    async def _make(self) -> Item | Rejection:
        unfit = self._table.seed_findings()
        if not unfit.ok:
            return Rejection(Place(Stage.DECOMPOSE), unfit.problems[0].message, unfit.problems)
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

    def _sent_back(self, findings: Findings) -> Rejection | None:
        """Have the stage at fault repaired; why that cannot be, if it cannot."""
        problems = findings.problems
        place = next((problem.place for problem in problems if problem.place is not None), None)
        if place is None or self._rounds > self.context.repairs or not self._walk.has(place):
            return Rejection(place or Place(Stage.ACCEPT), problems[0].message, problems)
        self._walk.send_back(place, [problem for problem in problems if problem.place == place])
        return None

    def _other_answer(self) -> Rejection | None:
        wanted, built = self.context.seed.answer, self._table.built
        if not wanted or same(wanted, built[-1].answer):
            return None
        why = f"the chain gives {built[-1].answer!r}, the seed says {wanted!r}"
        return Rejection(Place(Stage.CALL, len(built)), why)

    def _item(self) -> Item:
        built, seed, question = self._table.built, self.context.seed, self._table.question
        answers = [hop.answer for hop in built]
        hazard: list[JSON] = [*hazards(answers[-1], question)]
        status = ReadStatus.UNREAD if self._reading is None else self._reading.status
        extra: dict[str, JSON] = {
            "family": seed.id,
            "source": seed.source or "made by toolhop construct",
            "licence": seed.licence,
            "official_unsafe": hazard,
            "question_by": "seed" if question == seed.question else "model",
            "reading": status.value,
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
        self._reading = None
        findings = await self._executed(item)
        models = self.context.models
        if findings.ok and models.readers:
            findings += await self._read(item)
        if findings.ok and models.readers and models.wording:
            row, more = await try_wording(self.context, self._table.built, item)
            findings += self._add(row, more)
        if findings.ok and models.closed_book is not None:
            sandbox, number = self.context.verifier.sandbox, self.context.next_number
            row = await models.closed_book.judge(item, self.context.seed, number, sandbox)
            why = f"{models.closed_book.name} gives the answer {item.answer!r} without tools"
            findings += self._add(row, judged(row.criterion.value, () if row.holds else [why]))
        return findings

    def _add(self, row: Judged, findings: Findings) -> Findings:
        self.criteria = (*self.criteria, row)
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
        self.criteria = tuple(
            Judged(Criterion(row["criterion"]), row["holds"], row["figure"], row["version"])
            for row in figures["criteria"]
        )
        self._certificate = from_json(figures["certificate"])
        return findings

    async def _read(self, item: Item) -> Findings:
        figures = {row.criterion: row.figure for row in self.criteria}
        sibling = cast("Mapping[str, Any]", figures[Criterion.SIBLING])
        self._reading = await read_item(self.context, item, sibling)
        findings = self._add(self._reading.row(), self._reading.findings())
        self._refused = None if findings.ok else self._item()
        return findings


def _kind(answer: str) -> str:
    if plain_number(answer) is not None:
        return "number"
    return "date" if whole_date(answer) is not None else "text"


def of_books(seed: Seed, made: Made) -> dict[str, JSON]:
    """What the ledger keeps of a finished item."""
    criteria: list[JSON] = [row.to_json() for row in made.criteria]
    steps: list[JSON] = [*made.steps]
    row: dict[str, JSON] = {"item": seed.id, "criteria": criteria, "steps": steps}
    if isinstance(made, Accepted):
        plan: list[JSON] = [*made.plan]
        proof = certificate_json(made.certificate)
        return {**row, "accepted": True, "certificate": proof, "plan": plan}
    rejection = made.rejection
    messages: list[JSON] = [problem.message for problem in rejection.problems[:3]]
    place: list[JSON] = [rejection.place.stage.value, rejection.place.hop]
    return {**row, "accepted": False, "place": place, "why": rejection.why, "problems": messages}
