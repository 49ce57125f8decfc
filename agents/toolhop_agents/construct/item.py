"""Makes one item out of a seed: plan, hops, question, and the proof that it can be accepted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, cast

from toolhop_agents.construct.ask import ItemLimitReached
from toolhop_agents.construct.context import Context
from toolhop_agents.construct.hop import Built, HopBuilder, Rejection
from toolhop_agents.construct.oracle import played
from toolhop_agents.construct.talk import Elsewhere, Failed, Passed, Talk
from toolhop_sandbox.base import Sandbox
from toolhop_sandbox.errors import SandboxFault
from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number
from toolhop_tools.certify.model import Certificate, HopVerdict, from_json
from toolhop_tools.certify.model import to_json as certificate_json
from toolhop_tools.certify.prove import certify
from toolhop_tools.construct.accept import (
    Criterion,
    Judged,
    attempts,
    graph_needs,
    hazards,
    lucky,
    solved,
)
from toolhop_tools.construct.calls import answer_of, literals
from toolhop_tools.construct.code import choices
from toolhop_tools.construct.facts import other_calls
from toolhop_tools.construct.plan import of_answers, plan_findings
from toolhop_tools.construct.question import question_findings
from toolhop_tools.construct.replies import SHAPES, Decomposition, FinalQuestion, StageReply
from toolhop_tools.construct.seeds import Seed
from toolhop_tools.construct.stages import Findings, Place, Problem, Stage, judged
from toolhop_tools.construct.text import resolved, same
from toolhop_tools.dates import whole_date
from toolhop_tools.model import GoldCall, Hop, Item

_FORBID = ("no derivatives", "-nd", "all rights reserved", "proprietary", "no redistribution")


@dataclass(frozen=True, slots=True)
class Accepted:
    """An item of which all criteria hold that can be judged by it alone."""

    item: Item
    certificate: Certificate
    criteria: tuple[Judged, ...]
    steps: tuple[dict[str, JSON], ...]


@dataclass(frozen=True, slots=True)
class Rejected:
    """A seed of which no item came."""

    rejection: Rejection
    criteria: tuple[Judged, ...]
    steps: tuple[dict[str, JSON], ...]


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
        if isinstance(outcome, Rejection):
            last = self._accept_step(passed=False)
            return Rejected(outcome, self.criteria, (*steps, *last))
        assert self._certificate is not None  # noqa: S101 -- an item is accepted with it
        last = self._accept_step(passed=True)
        return Accepted(outcome, self._certificate, self.criteria, (*steps, *last))

    def _talks(self) -> list[Talk]:
        return [*self.talks, *(talk for hop in self.begun for talk in hop.steps)]

    def _accept_step(self, *, passed: bool) -> list[dict[str, JSON]]:
        if not self._rounds:
            return []
        failed: list[JSON] = [one.criterion.value for one in self.criteria if not one.holds]
        step: dict[str, JSON] = {"stage": Stage.ACCEPT.value, "hop": 0, "replies": self._rounds}
        return [{**step, "passed": passed, "returned": False, "checks": failed}]

    async def _make(self) -> Item | Rejection:
        plan = await self._plan()
        if isinstance(plan, Rejection):
            return plan
        stopped = await self._hops(plan)
        if stopped is not None and self._goes_back(stopped):
            self.talks[0].send_back(stopped.problems)
            plan = await self._plan()
            if isinstance(plan, Rejection):
                return plan
            stopped = await self._hops(plan)
        if stopped is not None:
            return stopped
        question = await self._question()
        while not isinstance(question, Rejection):
            self._rounds += 1
            item = self._item(question)
            found = await self._accept(item)
            if found.ok:
                return item
            if self._rounds > self.context.repairs:
                return Rejection(Place(Stage.ACCEPT), found.problems[0].told, found.problems)
            question = await self._repaired(question, found)
        return question

    def _goes_back(self, stopped: Rejection) -> bool:
        """Whether it is the plan that has to be repaired: blamed, or a stage before the first."""
        first = stopped.place.stage in {Stage.DECOMPOSE, Stage.TOOL}
        return first and bool(self.talks) and bool(stopped.problems)

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
            told = f"the chain gives {self.built[-1].answer!r}, the seed says {wanted!r}"
            return Rejection(Place(Stage.CALL, len(self.built)), told)
        return None

    # -- plan and question ------------------------------------------------------------------------

    async def _plan(self) -> Decomposition | Rejection:
        seed = self.context.seed
        place = Place(Stage.DECOMPOSE)
        if seed.sub_task:
            plan = of_answers(seed)
            found = plan_findings(plan, seed)
            return plan if found.ok else Rejection(place, found.problems[0].told, found.problems)
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
            return question_findings(cast("FinalQuestion", reply).question, hops)

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
            return Rejection(Place(Stage.ACCEPT), found.problems[0].told, found.problems)
        problems = [one for one in found.problems if one.place == place]
        if place.stage is Stage.QUESTION:
            if self._asking is None:
                return Rejection(place, problems[0].told, tuple(problems))
            self._asking.send_back(problems)
            return await self._question()
        builder = self.hops[place.hop - 1]
        before = self.built[place.hop - 1].answer
        again = await builder.repair(place.stage, problems)
        if isinstance(again, Rejection):
            return again
        if not same(before, again.answer):
            told = f"the repair changes the answer from {before!r} to {again.answer!r}"
            return Rejection(place, told)
        self.built[place.hop - 1] = again
        return question

    async def _accept(self, item: Item) -> Findings:
        """Judge all criteria, and what is to be repaired."""
        context = self.context
        parts: list[JSON] = [item.digest, context.seed.licence, [*self.sandboxes]]
        parts.append(self.official_safe)
        parts.append([dict(one.call.arguments) for one in self.built])

        async def run() -> Findings:
            return await self._prove(item)

        found = await context.remembered("item", parts, run)
        figures: Mapping[str, Any] = found.figures
        self.criteria = tuple(
            Judged(Criterion(row["criterion"]), row["holds"], row["figure"], row["version"])
            for row in figures["criteria"]
        )
        self._certificate = from_json(figures["certificate"])
        return found

    async def _prove(self, item: Item) -> Findings:
        verifier = self.context.verifier
        certificate = await certify(item, verifier.sandbox, verifier.basis)
        found, rows = Findings(), list[Judged]()

        def add(
            criterion: Criterion, told: Sequence[str], figure: JSON, place: Place | None
        ) -> None:
            nonlocal found
            rows.append(Judged(criterion, not told, figure))
            found += judged(criterion.value, told, place)

        # Shown when each hop was built: a tool is not changed after that.
        add(Criterion.PROPERTIES, (), {"tools": len(item.hops), "properties": "all hold"}, None)
        self._hops_proven(item, certificate, add)
        outcome = await played(item, self.sandboxes)
        wrong = [f"the oracle is wrong in {k}" for k, right in outcome.oracle.items() if not right]
        wrong += [f"{name} is right without a call" for name in outcome.by_luck]
        add(Criterion.STRICT, wrong, {"oracle": dict(outcome.oracle)}, None)
        told = [] if outcome.replayed else ["the same calls gave other results"]
        add(Criterion.REPLAY, told, {"sandboxes": [*outcome.oracle]}, None)
        await self._shortcuts(item, add)
        await self._sibling(item, add)
        hazard = hazards(item.answer, item.question)
        if self.official_safe:
            add(Criterion.OFFICIAL_SAFE, hazard, [*hazard], None)
        licence = self.context.seed.licence.lower()
        told = [f"the licence is {licence}" for one in _FORBID if one in licence]
        add(Criterion.LICENCE, told[:1], self.context.seed.licence, None)
        criteria: list[JSON] = [one.to_json() for one in rows]
        figures: dict[str, JSON] = {
            "criteria": criteria,
            "certificate": certificate_json(certificate),
        }
        return found + Findings(figures=figures)

    def _hops_proven(self, item: Item, certificate: Certificate, add: Any) -> None:  # noqa: ANN401
        told, place, chances = [], None, []
        for number, (hop, proof) in enumerate(zip(item.hops, certificate.hops, strict=True), 1):
            if proof.verdict is not HopVerdict.PROVEN:
                told.append(f"Hop {number} is {proof.verdict} with this question: {proof.why}")
                place = place or Place(Stage.QUESTION)
            elif lucky(hop.answer, proof):
                told.append(f"Too many calls with other values give the answer of hop {number}.")
                place = place or Place(Stage.CODE, number)
            chances.append(proof.chance.hits if proof.chance else None)
        if not told and certificate.verdict is not HopVerdict.PROVEN:
            told.append(certificate.why)
        figure = {"verdict": certificate.verdict.value, "chance_hits": chances}
        add(Criterion.PROVEN, told, figure, place)

    async def _shortcuts(self, item: Item, add: Any) -> None:  # noqa: ANN401
        verifier = self.context.verifier
        unneeded = graph_needs(item, [one.call.arguments for one in self.built])
        told: dict[Criterion, list[tuple[str, int]]] = {
            Criterion.NEEDED: [
                (f"No later gold call takes the answer of hop {k}.", k) for k in unneeded
            ],
            Criterion.NO_JUMP: [],
            Criterion.NO_TWIN: [],
        }
        tried = dict.fromkeys(told, 0)
        needs = [one.depends_on for one in self.built]
        for one in attempts(item, needs, [built.question for built in self.built]):
            proof = await verifier.prove(one.task, f"{one.criterion}/{one.about}")
            tried[one.criterion] += 1
            if solved(proof):
                call = proof.arguments if proof.arguments is not None else (
                    proof.evidence[0].arguments if proof.evidence else {})  # fmt: skip
                text = f"{one.about} gives {one.task.hop.answer!r} by the call {call}"
                told[one.criterion].append((f"A shortcut is open: {text}; close it.", one.hop))
        for criterion, found in told.items():
            stage = Stage.REFINE if criterion is Criterion.NO_TWIN else Stage.CODE
            place = Place(stage, found[0][1]) if found else None
            add(criterion, [text for text, _ in found], {"searches": tried[criterion]}, place)

    async def _sibling(self, item: Item, add: Any) -> None:  # noqa: ANN401
        """Walk the chain from other records of the hops that it begins with."""
        ended: list[str] = []
        for at, start in enumerate(self.built):
            if start.depends_on:
                continue
            for arguments in other_calls(start.facts, start.arguments):
                answer = await self._walked(at, arguments)
                if answer is not None:
                    ended.append(answer)
                if answer is not None and not same(answer, item.answer):
                    figure: JSON = {"hop": at + 1, "arguments": arguments, "answer": answer}
                    add(Criterion.SIBLING, (), figure, None)
                    return
        told = (
            f"All {len(ended)} other records that lead to the end give {item.answer!r} too."
            if ended
            else "No other record leads to the end: later tables lack what earlier ones give."
        )
        last = len(self.built)
        place = Place(Stage.CODE if ended else Stage.FACTS, last)
        add(Criterion.SIBLING, [told], {"walked": len(ended)}, place)

    async def _walked(self, start: int, arguments: dict[str, JSON]) -> str | None:
        """The last answer with another call at one hop; None where the chain breaks off."""
        answers = [one.answer for one in self.built]
        for at, one in enumerate(self.built):
            if at < start:
                continue
            made = resolved(one.call.arguments, answers, one.schema.parameters)
            call = arguments if at == start else cast("dict[str, JSON]", made)
            [outcome] = await self.context.verifier.call(one.tool.program, [call])
            answer = answer_of(outcome, one.call.answer_path)
            if answer is None:
                return None
            answers[at] = answer
        return answers[-1]


def _no(outcome: Elsewhere | Failed) -> Rejection:
    why = outcome.why if isinstance(outcome, Failed) else outcome.problems[0].told
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
        return {**row, "accepted": True, "certificate": certificate_json(made.certificate)}
    one = made.rejection
    told: list[JSON] = [problem.told for problem in one.problems[:3]]
    place: list[JSON] = [one.place.stage.value, one.place.hop]
    return {**row, "accepted": False, "place": place, "why": one.why, "problems": told}
