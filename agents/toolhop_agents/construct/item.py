"""Make one item from a seed: walk its stages, and prove that the item is acceptable.

Every repair restarts the walk from the first stage. A stage whose inputs have not changed is judged
again but not asked again, so a repair costs replies only where something changed.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from toolhop_agents.construct.ask import Context, ItemLimitReached
from toolhop_agents.construct.proof import Proof, closed_book
from toolhop_agents.construct.read import read_item, try_wording
from toolhop_agents.construct.table import ItemTable
from toolhop_agents.construct.talk import Elsewhere, Failed, Talk
from toolhop_sandbox.base import Sandbox
from toolhop_sandbox.errors import SandboxFault
from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number
from toolhop_tools.benchmarks.toolhop.reader import to_rows
from toolhop_tools.blind.votes import ReadStatus
from toolhop_tools.construct.accept import Criterion, hazards
from toolhop_tools.construct.replies import ReplyModel
from toolhop_tools.construct.stages import Findings, Place, Problem, Stage, judged
from toolhop_tools.construct.text import same
from toolhop_tools.dates import whole_date
from toolhop_tools.model import DataSet, Item

MOST_WALKS = 60
"""Maximum number of walks per item, since two stages could send each other back forever."""


@dataclass
class Walk:
    """The conversations of one item."""

    table: ItemTable
    begun: list[Talk] = field(default_factory=list)
    """All conversations in order, including those whose inputs have changed since."""
    _talks: dict[Place, Talk] = field(default_factory=dict)
    _back: set[Place] = field(default_factory=set)
    """Stages that have had the previous stage repaired; each may do so once."""
    _stuck: Failed | None = None
    """The first failure that no repair fixed; cleared when that stage passes."""
    _walks: int = 0

    async def run(self) -> Failed | None:
        """Walk until every stage holds; return the failure if that is impossible.

        Raises:
            RunLimitReached, ItemLimitReached, ModelFault, LedgerError: as `Asker.ask`.
            SandboxFault, SandboxUnavailable: as `Session.call`.
        """
        while self._walks < MOST_WALKS:
            self._walks += 1
            places, at = self.table.places(), 0
            while at < len(places):
                outcome = await self._settle(places[at])
                if isinstance(outcome, Failed):
                    return outcome
                if outcome is None:
                    break
                places, at = self.table.places(), at + 1
            else:
                return None
        return Failed(Place(Stage.ACCEPT), f"{MOST_WALKS} walks through its stages are used up")

    def has(self, place: Place) -> bool:
        """Whether a stage was asked and can be sent back."""
        return place in self._talks

    def send_back(self, place: Place, problems: Sequence[Problem]) -> None:
        """Have a stage's reply repaired in the next walk."""
        self._talks[place].send_back([replace(problem, place=None) for problem in problems])

    async def _settle(self, place: Place) -> ReplyModel | Failed | None:
        """Return a stage's reply or failure; None if an earlier stage was sent back."""
        talk, ask, judge = self.table.stage(place)
        known = self._talks.get(place)
        # Start a new conversation if the stage's inputs have changed.
        if known is None or (known.inputs, known.prompt) != (talk.inputs, talk.prompt):
            self._talks[place] = talk
            self.begun.append(talk)
        outcome = await self._talks[place].settle(ask, judge)
        match outcome:
            case Elsewhere(other, problems=problems):
                if not self.has(other):
                    return outcome
                self.send_back(other, problems)
                return None
            case Failed(problems=problems):
                self._stuck = self._stuck or outcome
                before = self.table.before(place)
                if before is None or place in self._back or not problems:
                    return self._stuck
                self._back.add(place)
                self.send_back(before, problems)
                return None
            case reply:
                self.table.replies[place] = reply
                if self._stuck is not None and self._stuck.place == place:
                    self._stuck = None
                return reply


log = logging.getLogger(__name__)


OWN_FAULTS = (TypeError, ValueError, ArithmeticError, LookupError, RecursionError)
"""Exceptions raised by a check that did not anticipate a reply."""


@dataclass
class ItemBuilder:
    """Builds one item."""

    context: Context
    sandboxes: Mapping[str, Sandbox]
    """Sandboxes by kind; the oracle has to be right in each."""
    official_safe: bool = False
    criteria: list[dict[str, Any]] = field(default_factory=list)
    """Criteria rows for the books."""
    _rounds: int = 0
    _certificate: JSON = None
    _reading: ReadStatus = ReadStatus.UNREAD
    _refused: Item | None = None
    """The item, if readers alone refused it."""

    def __post_init__(self) -> None:
        self._table = ItemTable(self.context)
        self._walk = Walk(self._table)

    async def make(self) -> dict[str, JSON]:
        """Run all stages, and return the finished item's ledger row.

        Raises:
            RunLimitReached, ModelFault, LedgerError, SandboxUnavailable: the run must stop; replies
                already paid for stay in the ledger.
        """
        try:
            outcome = await self._make()
        except ItemLimitReached as reached:
            outcome = Failed(Place(Stage.ACCEPT), str(reached))
        except SandboxFault as fault:
            # The item's own tools may be the cause, so continue with the next items.
            outcome = Failed(Place(Stage.ACCEPT), f"the sandbox was lost: {fault}")
        except OWN_FAULTS as fault:
            # Do not raise: the reply is in the ledger, so every later session would end here too.
            log.exception("a check of %s failed", self.context.seed.id)
            outcome = Failed(Place(Stage.ACCEPT), f"a check of ours failed: {fault!r}")
        steps: list[JSON] = [talk.step() for talk in self._walk.begun]
        if self._rounds:
            failed = [row["criterion"] for row in self.criteria if not row["holds"]]
            steps.append({
                **Place(Stage.ACCEPT)._asdict(), "replies": self._rounds,
                "passed": isinstance(outcome, Item), "returned": False, "checks": failed,
            })  # fmt: skip
        row: dict[str, JSON] = {
            "item": self.context.seed.id, "criteria": [*self.criteria], "steps": steps,
        }  # fmt: skip
        if isinstance(outcome, Item):
            plan: list[JSON] = [hop.written() for hop in self._table.built]
            row |= {"accepted": True, "certificate": self._certificate, "plan": plan}
            return {**row, "row": _official(outcome)}
        row |= outcome.row()
        return row if self._refused is None else {**row, "refused": _official(self._refused)}

    async def _make(self) -> Item | Failed:
        if problems := self._table.seed_findings().problems:
            return Failed(Place(Stage.DECOMPOSE), problems[0].message, problems)
        while True:
            stopped = await self._walk.run() or self._other_answer()
            if stopped is not None:
                return stopped
            self._rounds += 1
            problems = (await self._judge(self._item())).problems
            if not problems:
                return self._item()
            place = next((problem.place for problem in problems if problem.place is not None), None)
            if place is None or self._rounds > self.context.repairs or not self._walk.has(place):
                return Failed(place or Place(Stage.ACCEPT), problems[0].message, problems)
            self._walk.send_back(place, [row for row in problems if row.place == place])

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
        hops = tuple(hop.hop(answers) for hop in built)
        before = _kind(answers[-2]) if len(answers) > 1 else ""
        kind = _kind(answers[-1])
        return Item(seed.id, question, answers[-1], hops, seed.domain, kind, before, extra)

    # -- acceptance -------------------------------------------------------------------------------

    async def _judge(self, item: Item) -> Findings:
        """Judge all criteria: those checked by execution first, then those that need models."""
        self._reading = ReadStatus.UNREAD
        context = self.context
        findings, models = await self._executed(item), context.models
        if findings.ok and models.readers:
            figures = {row["criterion"]: row["figure"] for row in self.criteria}
            self._reading, row, more = await read_item(context, item, figures[Criterion.SIBLING])
            self.criteria.append(row)
            findings += more
            self._refused = None if findings.ok else self._item()
        if findings.ok and models.readers and models.wording:
            row, more = await try_wording(context, self._table.built, item)
            self.criteria.append(row)
            findings += more
        if findings.ok and (asker := models.closed_book) is not None:
            holds, figure = await closed_book(context, asker, item)
            self.criteria.append(Criterion.CLOSED_BOOK.row(figure, holds=holds))
            why = f"{asker.model.name} gives the answer {item.answer!r} without tools"
            findings += judged(Criterion.CLOSED_BOOK.value, () if holds else [why])
        return findings

    async def _executed(self, item: Item) -> Findings:
        context, built = self.context, self._table.built
        calls: list[JSON] = [dict(hop.call.arguments) for hop in built]
        parts: list[JSON] = [
            item.digest, context.seed.licence, [*self.sandboxes], self.official_safe, calls,
        ]  # fmt: skip
        proof = Proof(context, self.sandboxes, built, self.official_safe)
        findings = await context.remembered("item", parts, partial(proof.findings, item))
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
