"""Makes one item out of a seed: plan, hops, question, and the proof that it can be accepted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, cast

from toolhop_agents.construct.ask import Asker, ItemLimitReached
from toolhop_agents.construct.check import ItemCheck
from toolhop_agents.construct.context import Context
from toolhop_agents.construct.direct import DirectCheck
from toolhop_agents.construct.hop import Built, HopBuilder, Rejection
from toolhop_agents.construct.proof import Proof
from toolhop_agents.construct.talk import Elsewhere, Failed, Passed, Talk
from toolhop_sandbox.base import Sandbox
from toolhop_sandbox.errors import SandboxFault
from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number
from toolhop_tools.certify.model import Certificate, from_json
from toolhop_tools.certify.model import to_json as certificate_json
from toolhop_tools.construct.accept import Criterion, Judged, hazards
from toolhop_tools.construct.calls import literals
from toolhop_tools.construct.code import choices
from toolhop_tools.construct.plan import of_answers, plan_findings
from toolhop_tools.construct.question import question_findings
from toolhop_tools.construct.replies import SHAPES, Decomposition, FinalQuestion, StageReply
from toolhop_tools.construct.seeds import Seed
from toolhop_tools.construct.stages import Findings, Place, Problem, Stage, judged
from toolhop_tools.construct.text import same
from toolhop_tools.dates import whole_date
from toolhop_tools.model import GoldCall, Hop, Item


@dataclass(frozen=True, slots=True)
class Accepted:
    """An item of which all criteria hold that can be judged by it alone."""

    item: Item
    certificate: Certificate
    criteria: tuple[Judged, ...]
    steps: tuple[dict[str, JSON], ...]
    plan: tuple[dict[str, JSON], ...]
    """By hop: how it hangs on earlier answers, for other items of its family."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A seed of which no item came."""

    rejection: Rejection
    criteria: tuple[Judged, ...]
    steps: tuple[dict[str, JSON], ...]
    refused: Item | None = None
    """The last one of which all held but that another model comes to its answer."""


Made: TypeAlias = Accepted | Rejected


@dataclass
class ItemBuilder:
    """One item under way."""

    context: Context
    sandboxes: Mapping[str, Sandbox]
    """By kind: where the oracle has to be right."""
    official_safe: bool = False
    hops: list[HopBuilder] = field(default_factory=list)
    begun: list[HopBuilder] = field(default_factory=list)
    """With those of a plan that was sent back."""
    built: list[Built] = field(default_factory=list)
    talks: list[Talk] = field(default_factory=list)
    """Of the item as a whole."""
    criteria: tuple[Judged, ...] = ()
    _rounds: int = 0
    _asking: Talk | None = None
    _certificate: Certificate | None = None
    _check: ItemCheck | None = None
    _refused: Item | None = None

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
        steps = tuple(talk.step() for talk in self._talks())
        steps += self._check.steps() if self._check else ()
        if isinstance(outcome, Rejection):
            last = self._accept_step(passed=False)
            return Rejected(outcome, self.criteria, (*steps, *last), self._refused)
        assert self._certificate is not None  # noqa: S101 -- an item is accepted with it
        last = self._accept_step(passed=True)
        plan = tuple(one.written() for one in self.built)
        return Accepted(outcome, self._certificate, self.criteria, (*steps, *last), plan)

    def _talks(self) -> list[Talk]:
        return [*self.talks, *(talk for hop in self.begun for talk in hop.steps)]

    def _accept_step(self, *, passed: bool) -> list[dict[str, JSON]]:
        if not self._rounds:
            return []
        failed: list[JSON] = [one.criterion.value for one in self.criteria if not one.holds]
        step: dict[str, JSON] = {"stage": Stage.ACCEPT.value, "hop": 0, "replies": self._rounds}
        return [{**step, "passed": passed, "returned": False, "checks": failed}]

    async def _make(self) -> Item | Rejection:
        made = await self._planned()
        if isinstance(made, Rejection) and self._goes_back(made):
            self.talks[0].send_back(made.problems)
            made = await self._planned()
        return made

    async def _planned(self) -> Item | Rejection:
        """From a plan, as it is or repaired, to the end."""
        plan = await self._plan()
        if isinstance(plan, Rejection):
            return plan
        stopped = await self._hops(plan)
        if stopped is not None:
            return stopped
        self._asking = None
        question = await self._question()
        while not isinstance(question, Rejection):
            self._rounds += 1
            item = self._item(question)
            found = await self._accept(item)
            if found.ok:
                return item
            if self._rounds > self.context.repairs:
                return Rejection(Place(Stage.ACCEPT), found.problems[0].message, found.problems)
            question = await self._repaired(question, found)
        return question

    def _goes_back(self, stopped: Rejection) -> bool:
        """Whether it is the plan that has to be repaired: blamed, or a stage before the first."""
        first = stopped.place.stage in {Stage.DECOMPOSE, Stage.TOOL}
        planned = bool(self.talks) and self.talks[0].place.stage is Stage.DECOMPOSE
        return first and planned and bool(stopped.problems)

    async def _hops(self, plan: Decomposition) -> Rejection | None:
        """Build the hops; why that ends, where it does."""
        self.hops, self.built = [], []
        for number, hop in enumerate(plan.hops, 1):
            answers = self.context.seed.sub_task
            builder = HopBuilder(
                self.context, number, hop.question, tuple(hop.depends_on), tuple(self.built),
                answers[number - 1][1] if answers else "",
            )  # fmt: skip
            self.hops.append(builder)
            self.begun.append(builder)
            built = await builder.build()
            if isinstance(built, Rejection):
                return built
            self.built.append(built)
        wanted = self.context.seed.answer
        if wanted and not same(wanted, self.built[-1].answer):
            noted = f"the chain gives {self.built[-1].answer!r}, the seed says {wanted!r}"
            return Rejection(Place(Stage.CALL, len(self.built)), noted)
        return None

    # -- plan and question ------------------------------------------------------------------------

    async def _plan(self) -> Decomposition | Rejection:
        seed = self.context.seed
        place = Place(Stage.DECOMPOSE)
        if seed.sub_task:
            plan = of_answers(seed)
            found = plan_findings(plan, seed)
            return plan if found.ok else Rejection(place, found.problems[0].message, found.problems)
        if not self.talks:
            self.talks.append(self._planning())
        talk = self.talks[0]

        async def judge(reply: StageReply, before: Sequence[Problem]) -> Findings:
            return plan_findings(cast("Decomposition", reply), seed)

        outcome = await talk.settle(self.context.ask, judge)
        return cast("Decomposition", outcome.reply) if isinstance(outcome, Passed) else _no(outcome)

    def _planning(self) -> Talk:
        seed = self.context.seed
        given: dict[str, JSON] = {"least": seed.least, "most": seed.most}
        if seed.question:
            given |= {"question": seed.question, "facts": [dict(one) for one in seed.facts]}
        name = "decompose" if seed.question else "propose"
        place = Place(Stage.DECOMPOSE)
        return self.context.talk(place, name, given, SHAPES[Stage.DECOMPOSE])

    async def _question(self) -> str | Rejection:
        """The seed's own, where it says all that it has to; else one that is asked for."""
        seed, hops = self.context.seed, self._written()
        if seed.question and question_findings(seed.question, hops).ok:
            return seed.question
        if self._asking is None:
            values: list[JSON] = [*dict.fromkeys(
                value for hop in hops for value in literals(
                    hop.gold.arguments if hop.gold else {},
                    frozenset(name for name, _ in choices(hop.tool.schema.parameters)),
                )
            )]  # fmt: skip
            given: dict[str, JSON] = {
                "sub_questions": [one.question for one in self.built],
                "answers": [one.answer for one in self.built],
                "values": values,
            }
            if seed.question:
                given["question"] = seed.question
            place = Place(Stage.QUESTION)
            self._asking = self.context.talk(
                place, Stage.QUESTION.value, given, SHAPES[Stage.QUESTION]
            )
            self.talks.append(self._asking)

        async def judge(reply: StageReply, before: Sequence[Problem]) -> Findings:
            plan = [one.question for one in self.built]
            return question_findings(cast("FinalQuestion", reply).question, hops, plan)

        outcome = await self._asking.settle(self.context.ask, judge)
        if isinstance(outcome, Passed):
            return cast("FinalQuestion", outcome.reply).question
        return _no(outcome)

    def _written(self) -> list[Hop]:
        """The hops with ``{k}`` in their gold calls."""
        answers = [one.answer for one in self.built]
        return [
            replace(one.hop(answers), gold=GoldCall(one.call.arguments, "written"))
            for one in self.built
        ]

    def _item(self, question: str) -> Item:
        answers = [one.answer for one in self.built]
        seed = self.context.seed
        hazard: list[JSON] = [*hazards(answers[-1], question)]
        extra: dict[str, JSON] = {
            "family": seed.id,
            "source": seed.source or "made by toolhop construct",
            "licence": seed.licence,
            "official_unsafe": hazard,
            "question_by": "seed" if question == seed.question else "model",
        }
        return Item(
            seed.id,
            question,
            answers[-1],
            tuple(one.hop(answers) for one in self.built),
            seed.domain,
            _kind(answers[-1]),
            _kind(answers[-2]) if len(answers) > 1 else "",
            extra,
        )

    # -- acceptance -------------------------------------------------------------------------------

    async def _repaired(self, question: str, found: Findings) -> str | Rejection:
        """Have what a criterion blames repaired; the answers have to stay as they are."""
        place = next((one.place for one in found.problems if one.place is not None), None)
        if place is None:
            return Rejection(Place(Stage.ACCEPT), found.problems[0].message, found.problems)
        problems = [one for one in found.problems if one.place == place]
        if place.stage is Stage.QUESTION:
            if self._asking is None:
                return Rejection(place, problems[0].message, tuple(problems))
            self._asking.send_back(problems)
            return await self._question()
        builder = self.hops[place.hop - 1]
        before = self.built[place.hop - 1].answer
        again = await builder.repair(place.stage, problems)
        if isinstance(again, Rejection):
            return again
        if not same(before, again.answer):
            noted = f"the repair changes the answer from {before!r} to {again.answer!r}"
            return Rejection(place, noted)
        self.built[place.hop - 1] = again
        return question

    async def _accept(self, item: Item) -> Findings:
        """Judge all criteria, and what is to be repaired."""
        context = self.context
        parts: list[JSON] = [item.digest, context.seed.licence, [*self.sandboxes]]
        parts.append(self.official_safe)
        parts.append([dict(one.call.arguments) for one in self.built])

        async def run() -> Findings:
            proof = Proof(context, self.sandboxes, self.built, self.official_safe)
            return await proof.findings(item)

        found = await context.remembered("item", parts, run)
        figures: Mapping[str, Any] = found.figures
        self.criteria = tuple(
            Judged(Criterion(row["criterion"]), row["holds"], row["figure"], row["version"])
            for row in figures["criteria"]
        )
        self._certificate = from_json(figures["certificate"])
        if found.ok and context.checker is not None:
            found += await self._rebuilt(item, context.checker)
        if found.ok and context.direct is not None:
            found += await self._direct(item, context.direct)
        return found

    async def _rebuilt(self, item: Item, checker: Asker) -> Findings:
        """Before what a model knows without tools: a repair changes the question that it is
        asked.
        """
        self._check = self._check or ItemCheck(self.context, checker)
        plan = [one.question for one in self.built]
        one, found = await self._check.judge(item, plan)
        self.criteria = (*self.criteria, one)
        self._refused = None if found.ok else item
        return found

    async def _direct(self, item: Item, direct: DirectCheck) -> Findings:
        """The last of all, as it costs money: nobody is asked about an item that fails anyway."""
        context = self.context
        one = await direct.judge(item, context.seed, context.next_number, context.verifier.sandbox)
        self.criteria = (*self.criteria, one)
        noted = f"{direct.name} gives the answer {item.answer!r} without tools"
        return judged(one.criterion.value, () if one.holds else [noted])


def _no(outcome: Elsewhere | Failed) -> Rejection:
    why = outcome.why if isinstance(outcome, Failed) else outcome.problems[0].message
    return Rejection(outcome.place, why, outcome.problems)


def _kind(answer: str) -> str:
    if plain_number(answer) is not None:
        return "number"
    return "date" if whole_date(answer) is not None else "text"


def of_books(seed: Seed, made: Made) -> dict[str, JSON]:
    """What the ledger keeps of a finished item."""
    criteria: list[JSON] = [one.to_json() for one in made.criteria]
    steps: list[JSON] = [*made.steps]
    row: dict[str, JSON] = {"item": seed.id, "criteria": criteria, "steps": steps}
    if isinstance(made, Accepted):
        plan: list[JSON] = [*made.plan]
        proof = certificate_json(made.certificate)
        return {**row, "accepted": True, "certificate": proof, "plan": plan}
    one = made.rejection
    noted: list[JSON] = [problem.message for problem in one.problems[:3]]
    place: list[JSON] = [one.place.stage.value, one.place.hop]
    return {**row, "accepted": False, "place": place, "why": one.why, "problems": noted}
