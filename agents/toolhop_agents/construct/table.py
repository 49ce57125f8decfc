"""The stages of an item with hops: the prompt inputs of each stage, and the checks on its reply."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias, TypeVar, cast

from toolhop_agents.construct.ask import Context
from toolhop_agents.construct.compared import Compared
from toolhop_agents.construct.talk import Ask, Judge, Talk, by
from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.calls import answer_findings, answer_of, call_findings, came
from toolhop_tools.construct.code import code_findings, no_gold, program
from toolhop_tools.construct.contract import schema_of
from toolhop_tools.construct.documents import document_findings, given_away, refined_findings
from toolhop_tools.construct.facts import Wanted, expected, facts_findings, other_calls
from toolhop_tools.construct.plan import leaks, of_answers, plan_findings, question_findings
from toolhop_tools.construct.replies import (
    Code,
    Contract,
    Decomposition,
    FinalQuestion,
    GoldArguments,
    NewTool,
    Pairs,
    PlannedHop,
    Records,
    RefinedTool,
    ReplyModel,
)
from toolhop_tools.construct.stages import OF_A_HOP, Findings, Place, Problem, Stage, judged
from toolhop_tools.construct.text import filled, resolved
from toolhop_tools.construct.verify import SHOWN_CHARS
from toolhop_tools.model import GoldCall, Hop, Tool, ToolSchema
from toolhop_tools.properties.model import Gold
from toolhop_tools.reading import Match, Reading
from toolhop_tools.words import as_text

Shape = TypeVar("Shape", bound=ReplyModel)
Given: TypeAlias = tuple[dict[str, JSON], Judge]
"""Inputs and judge of a stage."""
PLAN, QUESTION = Place(Stage.DECOMPOSE), Place(Stage.QUESTION)


@dataclass(frozen=True, slots=True)
class Built:
    """A finished hop."""

    question: str
    depends_on: tuple[int, ...]
    schema: ToolSchema
    facts: Records | Pairs
    code: str
    call: GoldArguments
    arguments: dict[str, JSON]
    """Arguments of the call, with earlier answers filled in."""
    answer: str

    @property
    def tool(self) -> Tool:
        """The tool with its program."""
        return Tool(self.schema, program(self.schema, self.code, self.facts))

    def written(self) -> dict[str, JSON]:
        """Return the hop as a `WrittenHop` for the ledger."""
        own: dict[str, JSON] = {"question": self.question, "depends_on": [*self.depends_on]}
        return {**own, **self.call.model_dump(mode="json")}

    def hop(self, answers: Sequence[str]) -> Hop:
        """Return the hop with earlier `answers` filled in."""
        reading = Reading(Match.VALUE, tuple(self.call.answer_path))
        gold = GoldCall(self.arguments, "written", reading)
        return Hop(filled(self.question, answers), self.answer, self.tool, gold)


@dataclass
class ItemTable:
    """The stages of one item, and the replies that passed."""

    context: Context
    replies: dict[Place, ReplyModel] = field(default_factory=dict)
    _answers: dict[int, str] = field(default_factory=dict)
    _others: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Answers of a hop's tool for other records or inputs, by hop."""
    _thirds: dict[str, str | None] = field(default_factory=dict)

    # -- the table --------------------------------------------------------------------------------

    def places(self) -> Sequence[Place]:
        """Return the stages known so far, in order."""
        places = [] if self.context.seed.sub_task else [PLAN]
        stages = [s for s in OF_A_HOP if s is not Stage.SECOND or self.context.models.second]
        for number in range(1, len(self.plan) + 1):
            places += [Place(stage, number) for stage in stages]
        if self.plan and not self.own_question_will_do():
            places.append(QUESTION)
        return places

    def before(self, place: Place) -> Place | None:
        """Return the stage to send back once if no repair of this one helps.

        That is the previous stage of the hop, or the plan for a tool.
        """
        if place.stage is Stage.TOOL and not self.context.seed.sub_task:
            return PLAN
        before = {
            Stage.REFINE: Stage.TOOL, Stage.FACTS: Stage.REFINE, Stage.CODE: Stage.FACTS,
            Stage.SECOND: Stage.CODE, Stage.CALL: Stage.CODE,
        }.get(place.stage)  # fmt: skip
        return Place(before, place.hop) if before else None

    def stage(self, place: Place) -> tuple[Talk, Ask, Judge]:
        """Return a stage's conversation, asking function and judge, given the earlier replies."""
        stages: Mapping[Stage, tuple[type[ReplyModel], Callable[[int], Given]]] = {
            Stage.DECOMPOSE: (Decomposition, self._decompose),
            Stage.TOOL: (NewTool, self._tool),
            Stage.REFINE: (RefinedTool, self._refine),
            Stage.FACTS: (Records, self._facts_stage),
            Stage.CODE: (Code, self._code_stage),
            Stage.SECOND: (Code, self._second),
            Stage.CALL: (GoldArguments, self._call),
            Stage.QUESTION: (FinalQuestion, self._question),
        }
        (shape, given), prompt = stages[place.stage], place.stage.value
        values, judge = given(place.hop)
        if place.stage is Stage.DECOMPOSE and not self.context.seed.question:
            prompt = "propose"
        if place.stage is Stage.FACTS:
            looks = self._first(place.hop).kind == "lookup"
            shape, prompt = (Records, "facts_lookup") if looks else (Pairs, "facts_compute")
        models = self.context.models
        asker = models.second if place.stage is Stage.SECOND and models.second else models.author
        return self.context.talk(place, prompt, values, shape), self.context.asking(asker), judge

    # -- results of the replies -------------------------------------------------------------------

    @property
    def plan(self) -> Sequence[PlannedHop]:
        """Planned hops; empty before the plan exists."""
        if self.context.seed.sub_task:
            return of_answers(self.context.seed).hops
        plan = self.replies.get(PLAN)
        return plan.hops if isinstance(plan, Decomposition) else ()

    def seed_findings(self) -> Findings:
        """Check the plan of a seed that has its own sub-questions."""
        seed = self.context.seed
        return plan_findings(of_answers(seed), seed) if seed.sub_task else Findings()

    @property
    def built(self) -> list[Built]:
        """The finished hops, available once all stages hold."""
        return [self._built(number) for number in range(1, len(self.plan) + 1)]

    @property
    def question(self) -> str:
        """The item's question."""
        reply = self.replies.get(QUESTION)
        return reply.question if isinstance(reply, FinalQuestion) else self.context.seed.question

    def own_question_will_do(self) -> bool:
        """Whether the seed's own question can be used as it is."""
        question = self.context.seed.question
        if not question or len(self._answers) < len(self.plan):
            return bool(question)
        return question_findings(question, self.written_hops()).ok

    def written_hops(self) -> list[Hop]:
        """Return the hops with ``{k}`` placeholders in their gold calls."""
        built = self.built
        answers = [hop.answer for hop in built]
        return [
            replace(hop.hop(answers), gold=GoldCall(hop.call.arguments, "written")) for hop in built
        ]

    def _built(self, number: int) -> Built:
        planned, call = self.plan[number - 1], self._reply(GoldArguments, Stage.CALL, number)
        schema = self._schema(number)
        return Built(
            planned.question, tuple(planned.depends_on), schema, self._facts(number),
            self._code(number), call, call.call(schema.parameters, self._earlier(number)),
            self._answers[number],
        )  # fmt: skip

    def _reply(self, shape: type[Shape], stage: Stage, hop: int) -> Shape:
        return cast("Shape", self.replies[Place(stage, hop)])

    def _first(self, hop: int) -> NewTool:
        return self._reply(NewTool, Stage.TOOL, hop)

    def _contract(self, hop: int) -> Contract:
        return self._reply(RefinedTool, Stage.REFINE, hop).contract

    def _schema(self, hop: int) -> ToolSchema:
        return schema_of(self._reply(RefinedTool, Stage.REFINE, hop).tool, self._contract(hop))

    def _facts(self, hop: int) -> Records | Pairs:
        return cast("Records | Pairs", self.replies[Place(Stage.FACTS, hop)])

    def _code(self, hop: int) -> str:
        return self._reply(Code, Stage.CODE, hop).code

    def _earlier(self, hop: int) -> list[str]:
        return [self._answers[number] for number in range(1, hop)]

    def _seed_answer(self, hop: int) -> str:
        tasks = self.context.seed.sub_task
        return tasks[hop - 1][1] if tasks else ""

    def _gold_arguments(self, hop: int) -> dict[str, JSON]:
        """Return the arguments of the first document's call, with earlier answers filled in."""
        parameters = self._schema(hop).parameters
        made = resolved(self._first(hop).arguments, self._earlier(hop), parameters)
        return cast("dict[str, JSON]", made)

    def _about(self, hop: int) -> dict[str, JSON]:
        question = self.plan[hop - 1].question
        return {"sub_question": question, "asked": filled(question, self._earlier(hop))}

    # -- stages: inputs and judges ----------------------------------------------------------------

    def _decompose(self, hop: int) -> Given:
        seed = self.context.seed
        values: dict[str, JSON] = {"least": seed.least, "most": seed.most}
        if seed.question:
            values |= {"question": seed.question, "facts": [dict(fact) for fact in seed.facts]}
        return values, by(lambda reply: plan_findings(reply, seed))

    def _tool(self, hop: int) -> Given:
        answers, schemas = self._earlier(hop), [self._schema(number) for number in range(1, hop)]
        tools: list[JSON] = [{"name": s.name, "description": s.description} for s in schemas]
        values: dict[str, JSON] = {"hop": hop, **self._about(hop)}
        values |= {"answers": [*answers], "tools": tools}
        return values, by(lambda reply: document_findings(reply, answers, schemas))

    def _refine(self, hop: int) -> Given:
        first, answers = self._first(hop), self._earlier(hop)
        values: dict[str, JSON] = {"hop": hop, "tool": first.tool.model_dump(mode="json")}
        values["contract"] = first.contract.model_dump(mode="json")
        return values, by(lambda reply: refined_findings(reply, first, answers))

    def _documented(self, hop: int) -> dict[str, JSON]:
        tool = self._schema(hop).to_openai()["function"]
        contract = self._contract(hop).model_dump(mode="json")
        return {"hop": hop, "tool": tool, "contract": contract}

    def _facts_stage(self, hop: int) -> Given:
        wanted, schema, contract = self._wanted(hop), self._schema(hop), self._contract(hop)
        values = {**self._documented(hop), "call": dict(wanted.arguments)}
        if self._first(hop).kind == "lookup":
            facts: list[JSON] = [dict(record) for record in wanted.allowed]
            values |= {**self._about(hop), "others": [*wanted.others], "facts": facts}
            if wanted.answer:
                values["answer"] = wanted.answer

        def check(facts: Records | Pairs) -> Findings:
            findings = facts_findings(facts, schema.parameters, contract, wanted)
            if findings.ok and isinstance(facts, Records):
                gold = as_text(expected(facts, wanted.arguments))
                place = Place(Stage.REFINE, hop)
                findings += judged("answer-not-in-document", given_away(schema, gold), place)
            return findings

        return values, by(check)

    def _wanted(self, hop: int) -> Wanted:
        taken = [
            (name, self._others[k])
            for name, value in self._first(hop).arguments.items()
            for k in self.plan[hop - 1].depends_on
            if value == f"{{{k}}}"
        ]
        others = next((others for _, others in taken if others), ())
        uses, gold = tuple(name for name, _ in taken), self._gold_arguments(hop)
        return Wanted(gold, others, uses, self._seed_answer(hop), self.context.seed.facts)

    def _function(self, hop: int) -> dict[str, JSON]:
        """Return the inputs for writing the function, with two records other than the gold one."""
        values, facts = self._documented(hop), self._facts(hop)
        if isinstance(facts, Records):
            gold, answer = expected(facts, self._gold_arguments(hop)), facts.lookup.answer
            others = [record for record in facts.records if record.get(answer) != gold]
            shown: list[JSON] = [dict(record) for record in others[:2]]
            values |= {"records": shown, "lookup": facts.lookup.model_dump(mode="json")}
        return values

    def _code_stage(self, hop: int) -> Given:
        schema, contract, facts = self._schema(hop), self._contract(hop), self._facts(hop)
        gold = expected(facts, self._gold_arguments(hop))
        hidden = as_text(gold) if isinstance(facts, Records) else None
        verifier = self.context.verifier

        async def judge(reply: Code, before: Sequence[Problem]) -> Findings:
            findings = code_findings(reply.code, schema, facts, hidden)
            if not findings.ok:
                return findings
            tool = Tool(schema, program(schema, reply.code, facts))

            async def run() -> Findings:
                holds = await verifier.facts_hold(tool, facts)
                holds += await verifier.kept(tool, contract, facts)
                return holds + await verifier.properties(tool, before) if holds.ok else holds

            tried = Findings(problems=(*before,)).to_json()["problems"]
            parts = [*_parts(tool), contract.model_dump(mode="json")]
            parts += [facts.model_dump(mode="json"), tried]
            return findings + await self.context.remembered("code", parts, run)

        return self._function(hop), judge

    def _second(self, hop: int) -> Given:
        own, values, facts = self._code(hop), self._function(hop), self._facts(hop)
        compared = Compared(self.context, hop, self._schema(hop), facts, values, self._thirds)

        async def judge(reply: Code, before: Sequence[Problem]) -> Findings:
            return await compared.findings(own, reply.code)

        return values, judge

    def _call(self, hop: int) -> Given:
        schema, first, answers = self._schema(hop), self._first(hop), self._earlier(hop)
        values = {"hop": hop, "tool": schema.to_openai()["function"], **self._about(hop)}
        values |= {"answers": [*answers], "first_call": first.arguments}
        needs = self.plan[hop - 1].depends_on

        async def judge(call: GoldArguments, before: Sequence[Problem]) -> Findings:
            findings = call_findings(call, schema, first, needs, answers)
            return findings + await self._ran(hop, call) if findings.ok else findings

        return values, judge

    async def _ran(self, hop: int, call: GoldArguments) -> Findings:
        """Run a gold call, check its answer, and collect the answers for other records."""
        schema, facts, code = self._schema(hop), self._facts(hop), self._code(hop)
        tool = Tool(schema, program(schema, code, facts))
        arguments = call.call(schema.parameters, self._earlier(hop))
        calls = [arguments, *other_calls(facts, arguments)]
        outcomes = await self.context.verifier.call(tool.program, calls)
        answer = answer_of(outcomes[0], call.answer_path)
        result, known = came(outcomes[0])[:SHOWN_CHARS], expected(facts, arguments)
        findings = answer_findings(answer, result, known, self._seed_answer(hop), call.answer_path)
        if answer is None or not findings.ok:
            return findings
        others = (answer_of(outcome, call.answer_path) for outcome in outcomes[1:])
        self._others[hop] = tuple(dict.fromkeys(o for o in others if o and o != answer))
        self._answers[hop] = answer
        findings += self._leaks(hop, answer, schema, code)
        if not self._others[hop]:
            same = "Other records, or other inputs, all give the same answer."
            findings += judged("another-answer", [same], Place(Stage.CODE, hop))
        if not findings.ok:
            return findings
        gold = Gold(arguments, answer, "written", certified=True)
        run = partial(self.context.verifier.properties, tool, gold=gold)
        parts = [*_parts(tool), dict(arguments), answer]
        return findings + await self.context.remembered("call", parts, run)

    def _leaks(self, hop: int, answer: str, schema: ToolSchema, code: str) -> Findings:
        questions = [planned.question for planned in self.plan]
        # A seed's own sub-questions may manipulate the text of a name that they contain.
        looked = hop == len(self.plan) or not self.context.seed.sub_task
        findings = judged("not-in-question", leaks(questions, answer) if looked else (), PLAN)
        refine = Place(Stage.REFINE, hop)
        findings += judged("not-in-document", given_away(schema, answer), refine)
        return findings + no_gold(code, answer, self._facts(hop), Place(Stage.CODE, hop))

    def _question(self, hop: int) -> Given:
        built, seed = self.built, self.context.seed
        values = chain_values(built, [hop.call.arguments for hop in built])
        if seed.question:
            values["question"] = seed.question
        return values, by(lambda reply: question_findings(reply.question, self.written_hops()))


def _parts(tool: Tool) -> list[JSON]:
    """Return the parts of a tool that determine a verdict on it."""
    return [tool.schema.to_openai(), tool.body_parts]


def chain_values(built: Sequence[Built], written: Sequence[Mapping[str, JSON]]) -> dict[str, JSON]:
    """Return a chain's inputs for writing its question; `written` are the calls with ``{k}``."""
    chain: list[JSON] = [
        {
            "sub_question": hop.question,
            "call": {"tool": hop.schema.name, "arguments": dict(arguments)},
            "document": hop.schema.to_openai()["function"],
        }
        for hop, arguments in zip(built, written, strict=True)
    ]
    return {"chain": chain, "answers": [hop.answer for hop in built]}
