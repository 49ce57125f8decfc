"""Another model reads an item: its plan, made of the question and the documents, is run and has to
come to what the chain gives. Where it does not, the sub-questions are asked to find the hop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from toolhop_agents.construct.ask import Asker
from toolhop_agents.construct.context import Context
from toolhop_agents.construct.talk import Passed, Talk
from toolhop_env.messages import Message
from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.accept import Criterion, Judged
from toolhop_tools.construct.calls import answer_of
from toolhop_tools.construct.documents import invalid_call
from toolhop_tools.construct.prompts import inputs
from toolhop_tools.construct.rebuild import (
    CHECK,
    MOST_STEPS,
    MOST_VALUE,
    RebuiltPlan,
    RebuiltStep,
    StepRun,
    difference,
    form_findings,
    quoted,
    shown_tools,
    wanted_of,
)
from toolhop_tools.construct.replies import StageReply
from toolhop_tools.construct.stages import Findings, Place, Problem, Stage, judged
from toolhop_tools.construct.text import resolved
from toolhop_tools.construct.verify import called, came
from toolhop_tools.model import Item, ToolSchema, canonical

REPAIRS = 1
"""Of a plan that is none by its form; what comes of its calls is never said."""


@dataclass(frozen=True, slots=True)
class Read:
    """What came of asking the other model once."""

    why: str
    """How it differs from the chain; empty where it agrees."""
    steps: tuple[dict[str, JSON], ...] = ()
    usable: bool = True
    """Whether it replied with a plan at all."""
    tool: str = ""
    """That gave its last value; empty where none did."""


@dataclass
class ItemCheck:
    """The other model, and one item under way."""

    context: Context
    checker: Asker
    _steps: dict[int, dict[str, Any]] = field(default_factory=dict)
    """By hop, 0 for the whole question: for the books."""
    _known: dict[str, Read] = field(default_factory=dict)
    """Sub-questions that were asked before, of the same tools."""

    async def judge(self, item: Item, plan: Sequence[str]) -> tuple[Judged, Findings]:
        """Have the whole question read; where that differs from the chain, the sub-questions too.

        A sub-question that is read otherwise as well points at its hop; else the question is at
        fault. A reply that is no plan points at nobody.

        Args:
            item: the whole item, which holds otherwise.
            plan: its sub-questions with ``{k}``.

        Raises:
            RunLimitReached, ItemLimitReached, ModelFault, LedgerError: as `Asker.ask`.
            SandboxFault, SandboxUnavailable: as `Session.call`.
        """
        read = await self._read(item, 0)
        figure: dict[str, JSON] = {
            "model": self.checker.model.name,
            "questions": self._steps[0]["asked"],
            "agreed_at_first": _at_first(self._steps[0]),
            "steps": [*read.steps],
        }
        if not read.why:
            return Judged(Criterion.REBUILT, True, figure), judged(CHECK, ())
        figure["why"] = read.why
        noted, place = f"Another model does not read the question: {read.why}", None
        if read.usable:
            noted, place = await self._blamed(item, plan, read)
            figure["fault"] = str(place)
        return Judged(Criterion.REBUILT, False, figure), judged(CHECK, [noted], place)

    async def _blamed(self, item: Item, plan: Sequence[str], read: Read) -> tuple[str, Place]:
        """What is sent back, and to which stage."""
        for hop, question in enumerate(plan, 1):
            own = await self._read(item, hop)
            if own.why and own.usable:
                return _of_hop(item, hop, question, own)
        noted = (
            f"Another model, which sees the question and the tools alone, reads it otherwise: "
            f"{read.why}. Ask for what the sub-questions ask, in words that have one sense."
        )
        return noted, Place(Stage.QUESTION)

    def steps(self) -> tuple[dict[str, JSON], ...]:
        """For the books: the whole question, and each sub-question that was asked."""
        return tuple(
            {key: value for key, value in step.items() if key != "asked"}
            for _, step in sorted(self._steps.items())
        )

    # -- asking ------------------------------------------------------------------------------------

    async def _read(self, item: Item, hop: int) -> Read:
        stage, question = Stage.REBUILD, item.question
        if hop:
            stage, question = Stage.REBUILD_HOP, item.hops[hop - 1].question
        tools = shown_tools(item, f"{self.context.verifier.basis.seed}/{self.context.seed.id}")
        listed: list[JSON] = [one.to_openai()["function"] for one in tools]
        text = inputs(stage, {"question": question, "tools": listed})
        parts = canonical([text, [one.tool.body_parts for one in item.hops]])
        if hop and parts in self._known:
            return self._known[parts]
        read = await self._asked(item, Place(stage, hop), text, {one.name: one for one in tools})
        self._known[parts] = read
        return read

    async def _asked(
        self, item: Item, place: Place, text: str, tools: Mapping[str, ToolSchema]
    ) -> Read:
        prompts, name = self.context.prompts, place.stage.value.replace("-", "_")
        talk = Talk(place, prompts, name, text, RebuiltPlan, REPAIRS)
        most = 1 if place.hop else MOST_STEPS

        async def ask(place: Place, version: str, messages: Sequence[Message]) -> str:
            number = self.context.next_number()
            return await self.checker.ask(self.context.seed, place, number, version, messages)

        async def judge(reply: StageReply, before: Sequence[Problem]) -> Findings:
            return form_findings(cast("RebuiltPlan", reply), tools, most)

        outcome = await talk.settle(ask, judge)
        if isinstance(outcome, Passed):
            read = await self._compared(item, place, cast("RebuiltPlan", outcome.reply))
        else:
            why = outcome.problems[0].message if outcome.problems else ""
            read = Read(f"its reply is no plan: {quoted(why)}", usable=False)
        self._keep(talk, agrees=not read.why)
        return read

    def _keep(self, talk: Talk, *, agrees: bool) -> None:
        """Add what was asked to the step of the question, or of the sub-question."""
        place = talk.place
        empty: dict[str, Any] = {
            "stage": place.stage.value, "hop": place.hop, "replies": 0, "passed": False,
            "returned": False, "checks": [], "asked": 0,
        }  # fmt: skip
        step = self._steps.setdefault(place.hop, empty)
        step["replies"] += talk.replies
        step["asked"] += 1
        step["passed"] = agrees
        step["returned"] |= not agrees
        found = [*talk.checks, *([] if agrees else [CHECK])]
        step["checks"] = [*dict.fromkeys([*step["checks"], *found])]

    # -- running -----------------------------------------------------------------------------------

    async def _compared(self, item: Item, place: Place, plan: RebuiltPlan) -> Read:
        wanted = wanted_of(item, place.hop)

        async def run() -> Findings:
            runs = await self._run(item, plan)
            why = difference(plan, runs, wanted)
            rows: list[JSON] = [one.to_json() for one in runs]
            return judged(CHECK, [why] if why else []) + Findings(figures={"steps": rows})

        tools: list[JSON] = [
            [hop.tool.schema.to_openai(), hop.tool.body_parts, hop.answer] for hop in item.hops
        ]
        parts: list[JSON] = [place.stage.value, place.hop, tools, plan.model_dump(mode="json")]
        found = await self.context.remembered(place.stage.value, parts, run)
        steps = cast("list[dict[str, JSON]]", found.figures["steps"])
        why = found.problems[0].message if found.problems else ""
        gave = bool(steps) and steps[-1]["value"] is not None
        return Read(why, (*steps,), tool=str(steps[-1]["tool"]) if gave else "")

    async def _run(self, item: Item, plan: RebuiltPlan) -> list[StepRun]:
        """Run the steps one after another, up to the first that gives no value."""
        runs: list[StepRun] = []
        for step in plan.steps:
            one = await self._step(item, step, [run.value or "" for run in runs])
            runs.append(one)
            if one.value is None:
                break
        return runs

    async def _step(self, item: Item, step: RebuiltStep, values: Sequence[str]) -> StepRun:
        tool = next(hop.tool for hop in item.hops if hop.tool.name == step.tool)
        parameters = tool.schema.parameters
        made = cast("dict[str, JSON]", resolved(step.arguments, values, parameters))
        if wrong := [*invalid_call(parameters, step.arguments, values)]:
            return StepRun(step, made, None, wrong[0])
        [outcome] = await self.context.verifier.call(tool.program, [made])
        value = answer_of(outcome, step.answer_path)
        short = None if value is None or len(value) > MOST_VALUE else value
        return StepRun(step, made, short, came(outcome))


def _at_first(step: Mapping[str, Any]) -> bool:
    """As the funnel counts it."""
    return bool(step["passed"] and step["replies"] <= 1 and not step["returned"])


def _of_hop(item: Item, number: int, question: str, read: Read) -> tuple[str, Place]:
    """The finding for a hop whose sub-question is read otherwise, and the stage that repairs it.

    The stage that refines a tool does not know its sub-question.
    """
    hop = item.hops[number - 1]
    if read.tool == hop.tool.name:
        gold = called(hop.tool.name, hop.gold.arguments if hop.gold else {})
        noted = (
            f"By this document another model makes another call: {read.why}. What is meant is "
            f"{gold}: have the document leave no other reading."
        )
        return noted, Place(Stage.REFINE, number)
    noted = (
        f"Asked {quoted(question)} with the documents of all tools, another model does not get "
        f"it of this one: {read.why}. Sub-question and tool have to be of the same thing."
    )
    return noted, Place(Stage.TOOL, number)
