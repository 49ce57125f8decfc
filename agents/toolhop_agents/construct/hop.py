"""Builds one hop: document, refinement, facts, code and gold call, each proven before the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from toolhop_agents.construct.context import Context
from toolhop_agents.construct.talk import Elsewhere, Failed, Judge, Passed, Talk
from toolhop_sandbox.outcome import JSON
from toolhop_tools.certify.candidates import Task
from toolhop_tools.certify.model import HopVerdict
from toolhop_tools.certify.prove import asked
from toolhop_tools.construct.accept import lucky
from toolhop_tools.construct.calls import answer_findings, answer_of, call_findings, part_findings
from toolhop_tools.construct.code import code_findings, no_gold, program
from toolhop_tools.construct.documents import (
    document_findings,
    given_away,
    in_words,
    refined_findings,
    schema_of,
)
from toolhop_tools.construct.facts import Wanted, expected, facts_findings, other_calls
from toolhop_tools.construct.giveaway import gives_away
from toolhop_tools.construct.remedies import Proving
from toolhop_tools.construct.replies import (
    SHAPES,
    Code,
    GoldArguments,
    NewTool,
    Pairs,
    Records,
    RefinedTool,
    StageReply,
)
from toolhop_tools.construct.stages import OF_A_HOP, Findings, Place, Problem, Stage, judged
from toolhop_tools.construct.text import filled, resolved
from toolhop_tools.construct.verify import AS_PROMISED, came
from toolhop_tools.construct.wording import other_kind
from toolhop_tools.model import GoldCall, Hop, Item, Tool, ToolSchema
from toolhop_tools.properties.model import Gold
from toolhop_tools.reading import Match, Reading
from toolhop_tools.words import as_text


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why an item is not made."""

    place: Place
    why: str
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Built:
    """A hop that holds."""

    question: str
    depends_on: tuple[int, ...]
    first: NewTool
    schema: ToolSchema
    facts: Records | Pairs
    code: str
    call: GoldArguments
    arguments: dict[str, JSON]
    """With earlier answers in place."""
    answer: str
    others: tuple[str, ...]
    """What the tool answers for other records, or other inputs."""

    @property
    def tool(self) -> Tool:
        """The tool as the product has it."""
        return Tool(self.schema, program(self.schema, self.code, self.facts))

    def written(self) -> dict[str, JSON]:
        """Question and call with ``{k}`` for earlier answers, and where the result has the answer.

        The facts of a table stand in the tool's source.
        """
        needs: list[JSON] = [*self.depends_on]
        path: list[JSON] = [*self.call.answer_path]
        return {
            "question": self.question,
            "depends_on": needs,
            "arguments": self.call.arguments,
            "answer_path": path,
        }

    def hop(self, answers: Sequence[str]) -> Hop:
        """The hop of the item."""
        reading = Reading(Match.VALUE, tuple(self.call.answer_path))
        gold = GoldCall(self.arguments, "written", reading)
        return Hop(filled(self.question, answers), self.answer, self.tool, gold)


@dataclass
class HopBuilder:
    """One hop under way. Its replies are kept, so that it can be sent back to any stage."""

    context: Context
    number: int
    question: str
    depends_on: tuple[int, ...]
    earlier: Sequence[Built]
    seed_answer: str = ""
    talks: dict[Stage, Talk] = field(default_factory=dict)
    steps: list[Talk] = field(default_factory=list)
    replies: dict[Stage, StageReply] = field(default_factory=dict)
    _back: set[Stage] = field(default_factory=set)
    """Stages that have had the one before them repaired; each may once."""
    _stuck: Failed | None = None
    """Where it was that no repair helped, until that stage is passed."""
    _answer: str = ""
    _others: tuple[str, ...] = ()

    @property
    def answers(self) -> list[str]:
        """Of the earlier hops."""
        return [one.answer for one in self.earlier]

    async def build(self) -> Built | Rejection:
        """Go through the stages from the first."""
        return await self._run(0)

    async def repair(self, stage: Stage, problems: Sequence[Problem]) -> Built | Rejection:
        """Have a stage's reply repaired, and go through those after it again."""
        at = OF_A_HOP.index(stage)
        self._send_back(at, problems)
        return await self._run(at)

    async def _run(self, at: int) -> Built | Rejection:
        while at < len(OF_A_HOP):
            stage = OF_A_HOP[at]
            talk = self.talks.get(stage) or self._begin(stage)
            outcome = await talk.settle(self.context.ask, self._judge(stage))
            match outcome:
                case Passed(reply):
                    self.replies[stage] = reply
                    if self._stuck is not None and self._stuck.place.stage is stage:
                        self._stuck = None
                    at += 1
                case Elsewhere(place, problems):
                    if place.hop != self.number or place.stage not in OF_A_HOP:
                        return Rejection(place, problems[0].message, problems)
                    at = OF_A_HOP.index(place.stage)
                    self._send_back(at, problems)
                case Failed(problems=problems):
                    self._stuck = self._stuck or outcome
                    if at == 0 or stage in self._back:
                        first = self._stuck
                        return Rejection(first.place, first.why, first.problems)
                    self._back.add(stage)
                    at -= 1
                    self._send_back(at, problems)
        return self._built()

    def _begin(self, stage: Stage) -> Talk:
        first = cast("NewTool", self.replies.get(Stage.TOOL))
        shape, prompt = SHAPES.get(stage), stage.value
        if stage is Stage.FACTS:
            looks = first.kind == "lookup"
            shape, prompt = (Records, "facts_lookup") if looks else (Pairs, "facts_compute")
        assert shape is not None  # noqa: S101 -- every stage of a hop has one
        talk = self.context.talk(Place(stage, self.number), prompt, self._inputs(stage), shape)
        self.talks[stage] = talk
        self.steps.append(talk)
        return talk

    def _send_back(self, at: int, problems: Sequence[Problem]) -> None:
        """Stages after it start anew: what they were given has changed."""
        for stage in OF_A_HOP[at + 1 :]:
            self.talks.pop(stage, None)
        own = self.number
        plain = [replace(one, place=None) if one.place and one.place.hop == own else one
                 for one in problems]  # fmt: skip
        self.talks[OF_A_HOP[at]].send_back(plain)

    # -- what each stage is given ---------------------------------------------------------------

    @property
    def _first(self) -> NewTool:
        return cast("NewTool", self.replies[Stage.TOOL])

    @property
    def _schema(self) -> ToolSchema:
        return schema_of(cast("RefinedTool", self.replies[Stage.REFINE]).tool)

    @property
    def _facts(self) -> Records | Pairs:
        return cast("Records | Pairs", self.replies[Stage.FACTS])

    def _made(self, schema: ToolSchema | None = None) -> dict[str, JSON]:
        """The first document's call, with earlier answers in place."""
        parameters = (schema or self._schema).parameters
        return cast("dict[str, JSON]", resolved(self._first.arguments, self.answers, parameters))

    def _wanted(self) -> Wanted:
        uses, others = [], tuple[str, ...]()
        for name, value in self._first.arguments.items():
            for k in self.depends_on:
                if value == f"{{{k}}}":
                    uses.append(name)
                    others = others or self.earlier[k - 1].others
        allowed = self.context.seed.facts or ()
        said = in_words(self._schema, self.question)
        return Wanted(self._made(), others, tuple(uses), self.seed_answer, allowed, said)

    def _inputs(self, stage: Stage) -> dict[str, JSON]:
        values: dict[str, JSON] = {"hop": self.number}
        about: dict[str, JSON] = {
            "sub_question": self.question,
            "asked": filled(self.question, self.answers),
        }
        if stage is Stage.TOOL:
            tools: list[JSON] = [
                {"name": one.schema.name, "description": one.schema.description}
                for one in self.earlier
            ]
            return {**values, **about, "answers": [*self.answers], "tools": tools}
        if stage is Stage.REFINE:
            return {**values, "tool": self._first.tool.model_dump(mode="json")}
        values["tool"] = self._schema.to_openai()["function"]
        if stage is Stage.FACTS:
            wanted = self._wanted()
            call: dict[str, JSON] = {"call": dict(wanted.arguments)}
            if self._first.kind == "lookup":
                call |= {**about, "others": [*wanted.others]}
                call["facts"] = [dict(one) for one in wanted.allowed]
                if wanted.answer:
                    call["answer"] = wanted.answer
            return {**values, **call}
        if stage is Stage.CODE:
            facts = self._facts
            if isinstance(facts, Records):
                gold = expected(facts, self._made())
                shown = [one for one in facts.records if one.get(facts.lookup.answer) != gold][:2]
                records: list[JSON] = [dict(one) for one in shown]
                values |= {"records": records, "lookup": facts.lookup.model_dump(mode="json")}
            return values
        first: JSON = self._first.arguments
        return {**values, **about, "answers": [*self.answers], "first_call": first}

    # -- what each stage is held to ---------------------------------------------------------------

    def _judge(self, stage: Stage) -> Judge:
        judges: dict[Stage, Judge] = {
            Stage.TOOL: self._judge_tool,
            Stage.REFINE: self._judge_refined,
            Stage.FACTS: self._judge_facts,
            Stage.CODE: self._judge_code,
            Stage.CALL: self._judge_call,
        }
        return judges[stage]

    async def _judge_tool(self, reply: StageReply, before: Sequence[Problem]) -> Findings:
        question = filled(self.question, self.answers)
        earlier = [one.schema for one in self.earlier]
        new, of_seed = cast("NewTool", reply), bool(self.seed_answer)
        return document_findings(new, question, self.answers, earlier, of_seed=of_seed)

    async def _judge_refined(self, reply: StageReply, before: Sequence[Problem]) -> Findings:
        document = cast("RefinedTool", reply).tool
        earlier = [one.schema for one in self.earlier]
        return refined_findings(document, self._first, self.answers, earlier)

    async def _judge_facts(self, reply: StageReply, before: Sequence[Problem]) -> Findings:
        facts, schema = cast("Records | Pairs", reply), self._schema
        found = facts_findings(facts, schema.parameters, self._wanted())
        if found.ok and isinstance(facts, Records):
            gold = as_text(expected(facts, self._made()))
            place = Place(Stage.REFINE, self.number)
            found += judged("answer-not-in-document", given_away(schema, gold), place)
        return found

    async def _judge_code(self, reply: StageReply, before: Sequence[Problem]) -> Findings:
        code, schema, facts = cast("Code", reply).code, self._schema, self._facts
        gold = expected(facts, self._made())
        found = code_findings(
            code, schema, facts, as_text(gold) if isinstance(facts, Records) else None
        )
        if not found.ok:
            return found
        tool = Tool(schema, program(schema, code, facts))

        async def run() -> Findings:
            holds = await self.context.verifier.facts_hold(tool, facts)
            if not holds.ok:
                return holds
            promised = await self.context.verifier.as_promised(tool, facts)
            return holds + promised + await self.context.verifier.properties(tool, (), before)

        parts: list[JSON] = [
            tool.schema.to_openai(), tool.body_parts, facts.model_dump(mode="json"),
            [one.to_json() for one in before],
        ]  # fmt: skip
        found += await self.context.remembered("code", parts, run)
        return found.at(Place(Stage.REFINE, self.number), AS_PROMISED)

    async def _judge_call(self, reply: StageReply, before: Sequence[Problem]) -> Findings:
        call, schema = cast("GoldArguments", reply), self._schema
        found = call_findings(
            call, schema, self._first, self.depends_on, self.answers, self.question
        )
        if not found.ok:
            return found
        code = cast("Code", self.replies[Stage.CODE]).code
        tool = Tool(schema, program(schema, code, self._facts))
        arguments = cast("dict[str, JSON]", resolved(call.arguments, self.answers,
                                                     schema.parameters))  # fmt: skip
        calls = [arguments, *other_calls(self._facts, arguments)]
        outcomes = await self.context.verifier.call(tool.program, calls)
        answer = answer_of(outcomes[0], call.answer_path)
        others = (answer_of(one, call.answer_path) for one in outcomes[1:])
        self._others = tuple(dict.fromkeys(one for one in others if one and one != answer))
        question = filled(self.question, self.answers)
        found += answer_findings(
            answer, came(outcomes[0]), expected(self._facts, arguments), self.seed_answer, question,
            call.answer_path,
        )  # fmt: skip
        found += part_findings(outcomes[0], call.answer_path, arguments, question)
        if answer is None or not found.ok:
            return found
        self._answer = answer
        found += self._leaks(answer, schema, code)
        if not found.ok:
            return found
        parts: list[JSON] = [
            tool.schema.to_openai(), tool.body_parts, dict(arguments), answer, question,
            [*self.answers],
        ]  # fmt: skip

        async def run() -> Findings:
            return await self._proven(tool, arguments, call, answer)

        return found + await self.context.remembered("call", parts, run)

    def _leaks(self, answer: str, schema: ToolSchema, code: str) -> Findings:
        question = filled(self.question, self.answers)
        noted = (
            [f"The sub-question says its own answer, {answer!r}."]
            if gives_away(question, answer)
            else []
        )
        if word := other_kind(self.question, answer):
            noted.append(f"Hop {self.number} asks {word!r}, and its answer is {answer!r}.")
        asked = [*(one.question for one in self.earlier), self.question]
        noted += [
            f"The question of hop {at} says {known!r}, the answer of hop {of}; write {{{of}}} "
            "where it is meant."
            for at, text in enumerate(asked, 1)
            for of, known in enumerate([*self.answers, answer], 1)
            if (at, of) != (self.number, self.number) and gives_away(text, known)
        ]
        found = judged("not-in-question", noted, Place(Stage.DECOMPOSE))
        refine = Place(Stage.REFINE, self.number)
        found += judged("not-in-document", given_away(schema, answer), refine)
        hidden = no_gold(code, answer, self._facts)
        return found + hidden.at(Place(Stage.CODE, self.number))

    async def _proven(
        self, tool: Tool, arguments: dict[str, JSON], call: GoldArguments, answer: str
    ) -> Findings:
        """By the gold call, and without it."""
        golds = [Gold(arguments, answer, "written", certified=True)]
        found = await self.context.verifier.properties(tool, golds, only=("gold-call",))
        reading = Reading(Match.VALUE, tuple(call.answer_path))
        gold = GoldCall(arguments, "written", reading)
        hop = Hop(filled(self.question, self.answers), answer, tool, gold)
        earlier = [one.hop(self.answers[:n]) for n, one in enumerate(self.earlier)]
        at = len(earlier)

        def reworded(text: str) -> Task:
            own = replace(hop, question=text)
            item = Item(self.context.seed.id, text, answer, (*earlier, own), "", "")
            return Task(own, asked(item, at, {}))

        proving = Proving(
            reworded, self.number, hop.question, self._first.arguments, arguments,
            fixed=bool(self.context.seed.sub_task),
        )  # fmt: skip
        task = proving.task
        with_gold = await self.context.verifier.prove(task, f"{at}")
        without = await self.context.verifier.prove(
            Task(replace(hop, gold=None), task.asked), f"{at}"
        )
        found += proving.findings("proven", "The gold call does not prove the hop", with_gold)
        if without.verdict in {HopVerdict.AMBIGUOUS, HopVerdict.DEFECTIVE}:
            found += proving.findings("proven-by-search", "Without the gold call", without)
        if lucky(answer, with_gold):
            noted = "Too many calls with other values give the answer as well."
            found += judged("seldom-by-chance", [noted], Place(Stage.CODE, self.number))
        return found

    def _built(self) -> Built:
        call = cast("GoldArguments", self.replies[Stage.CALL])
        parameters = self._schema.parameters
        return Built(
            self.question,
            self.depends_on,
            self._first,
            self._schema,
            self._facts,
            cast("Code", self.replies[Stage.CODE]).code,
            call,
            cast("dict[str, JSON]", resolved(call.arguments, self.answers, parameters)),
            self._answer,
            self._others,
        )
