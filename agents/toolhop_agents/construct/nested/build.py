"""Makes one nested task: its calls, its text, and what has to hold of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from toolhop_agents.construct.ask import ItemLimitReached
from toolhop_agents.construct.context import Context
from toolhop_agents.construct.hop import Rejection
from toolhop_agents.construct.nested.scored import gold_figures, read_back, rebuilt_figures
from toolhop_agents.construct.talk import Elsewhere, Failed, Passed, Talk
from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.nested.accept import NestCriterion, judged_row
from toolhop_tools.construct.nested.code import Wanted, chain_findings
from toolhop_tools.construct.nested.model import Nest
from toolhop_tools.construct.nested.pool import Meaning
from toolhop_tools.construct.nested.prompts import example
from toolhop_tools.construct.nested.replies import (
    ChainCode,
    Judgements,
    Rebuilt,
    TaskText,
)
from toolhop_tools.construct.nested.seeds import NestSeed, Way
from toolhop_tools.construct.nested.task import task_findings
from toolhop_tools.construct.replies import StageReply
from toolhop_tools.construct.stages import Findings, Place, Problem, Stage, judged

CHECK = "rebuilt"
"""Name of the check by another model."""


@dataclass
class NestBuilder:
    """One nested task under way."""

    context: Context
    seed: NestSeed
    checker: Context | None = None
    """Asks the model that rebuilds the calls."""
    writes: bool = True
    """Whether a model writes the text; else a draft keeps the one made by rule."""
    talks: list[Talk] = field(default_factory=list)
    criteria: list[dict[str, JSON]] = field(default_factory=list)
    _rebuilt: Mapping[str, JSON] = field(default_factory=dict)

    async def make(self) -> dict[str, JSON]:
        """Go through all stages; the finished task's row of the ledger.

        Raises:
            RunLimitReached, ModelFault, LedgerError: the run is to stop; what was paid for is kept.
        """
        try:
            made = await self._make()
        except ItemLimitReached as reached:
            made = Rejection(Place(Stage.ACCEPT), str(reached))
        criteria: list[JSON] = [*self.criteria]
        steps: list[JSON] = [talk.step() for talk in self.talks]
        row: dict[str, JSON] = {"item": self.seed.id, "criteria": criteria, "steps": steps}
        if isinstance(made, Nest):
            return {**row, "accepted": True, "row": made.to_row(0, self.seed.topic)}
        noted: list[JSON] = [one.message for one in made.problems[:3]]
        place: list[JSON] = [made.place.stage.value, made.place.hop]
        return {**row, "accepted": False, "place": place, "why": made.why, "problems": noted}

    async def _make(self) -> Nest | Rejection:
        nest = self.seed.nest
        if nest is None:
            chain = await self._chain()
            if isinstance(chain, Rejection):
                return chain
            nest = chain
            self._holds(NestCriterion.CHECKED, {"calls": len(nest.calls)})
        else:
            self._holds(NestCriterion.EXECUTED, {"calls": len(nest.calls)})
            stopped = await self._meanings(nest)
            if stopped is not None:
                return stopped
        if self.writes or self.seed.way is Way.CODE:
            text = await self._text(nest)
            if isinstance(text, Rejection):
                return text
            nest = replace(nest, task=text)
        return self._accepted(nest)

    def _holds(self, criterion: NestCriterion, figure: JSON, *, holds: bool = True) -> None:
        self.criteria.append(judged_row(criterion, figure, holds=holds))

    # -- stages -----------------------------------------------------------------------------------

    async def _chain(self) -> Nest | Rejection:
        seed = self.seed
        wanted = Wanted(seed.depth, seed.width)
        given: dict[str, JSON] = {
            "field": seed.topic, "depth": seed.depth, "width": seed.width,
            "example": example(self.context.prompts, seed),
        }  # fmt: skip
        talk = self._begin(Stage.CHAIN, given, ChainCode)

        async def judge(reply: StageReply, before: Sequence[Problem]) -> Findings:
            return chain_findings(cast("ChainCode", reply).source, wanted)[0]

        outcome = await talk.settle(self.context.ask, judge)
        if not isinstance(outcome, Passed):
            return _no(outcome)
        nest = chain_findings(cast("ChainCode", outcome.reply).source, wanted)[1]
        assert nest is not None  # noqa: S101 -- the findings were fine
        return nest

    def _begin(self, stage: Stage, given: dict[str, JSON], shape: Any) -> Talk:  # noqa: ANN401 -- a class of replies
        talk = self.context.talk(Place(stage), stage.value, given, shape)
        self.talks.append(talk)
        return talk

    async def _meanings(self, nest: Nest) -> Rejection | None:
        """Have a model say whether references make sense that nothing else speaks for."""
        rows = cast("list[dict[str, Any]]", self.seed.executed.get("references", []))
        counts: dict[str, JSON] = {
            one.value: sum(row["meaning"] == one for row in rows) for one in Meaning
        }
        doubtful = [row for row in rows if row["meaning"] == Meaning.MODEL]
        if doubtful:
            plain = nest.to_row(0, self.seed.topic)
            listed: list[JSON] = [
                {"reference": at, **{key: row[key] for key in ("from", "to", "value")}}
                for at, row in enumerate(doubtful, 1)
            ]
            given: dict[str, JSON] = {
                "tools": plain["api"], "calls": plain["call"], "references": listed,
            }  # fmt: skip
            talk = self._begin(Stage.MEANING, given, Judgements)

            async def judge(reply: StageReply, before: Sequence[Problem]) -> Findings:
                numbers = [one.reference for one in cast("Judgements", reply).references]
                each = [*range(1, len(doubtful) + 1)]
                wrong = [] if sorted(numbers) == each else [f"Judge each of {each} once."]
                return judged("each-judged", wrong)

            outcome = await talk.settle(self.context.ask, judge)
            if not isinstance(outcome, Passed):
                return _no(outcome)
            verdicts = cast("Judgements", outcome.reply).references
            if against := [one for one in verdicts if not one.meant]:
                self._holds(NestCriterion.MEANING, counts, holds=False)
                noted = f"a reference makes no sense: {against[0].why[:300]}"
                return Rejection(Place(Stage.MEANING), noted)
        self._holds(NestCriterion.MEANING, counts)
        return None

    async def _text(self, nest: Nest) -> str | Rejection:
        plain = nest.to_row(0, self.seed.topic)
        given: dict[str, JSON] = {
            "tools": plain["api"], "calls": plain["call"], "draft": nest.task,
        }  # fmt: skip
        talk = self._begin(Stage.TASK, given, TaskText)
        results = self.seed.taken_values

        async def judge(reply: StageReply, before: Sequence[Problem]) -> Findings:
            found = task_findings(cast("TaskText", reply).task, nest, results)
            if not found.ok or self.checker is None:
                return found
            return found + await self._rebuild(nest, cast("TaskText", reply).task)

        outcome = await talk.settle(self.context.ask, judge)
        if isinstance(outcome, Passed):
            return cast("TaskText", outcome.reply).task
        return _no(outcome)

    async def _rebuild(self, nest: Nest, task: str) -> Findings:
        """Have another model make the calls from a text."""
        checker = self.checker
        assert checker is not None  # noqa: S101 -- the caller looked
        item = read_back(replace(nest, task=task), self.seed.topic)
        place = Place(Stage.REBUILD)
        given: dict[str, JSON] = {"task": task, "tools": item.tools}
        talk = checker.talk(place, Stage.REBUILD.value, given, Rebuilt)
        checker.asked = self.context.asked

        async def judge(reply: StageReply, before: Sequence[Problem]) -> Findings:
            return Findings()

        outcome = await talk.settle(checker.ask, judge)
        self.context.asked = checker.asked
        answer = cast("Rebuilt", outcome.reply).answer if isinstance(outcome, Passed) else ""
        self._rebuilt, differs = rebuilt_figures(item, answer)
        talk.passed = not differs
        self.talks.append(talk)
        return judged(CHECK, differs)

    # -- acceptance -------------------------------------------------------------------------------

    def _accepted(self, nest: Nest) -> Nest | Rejection:
        item = read_back(nest, self.seed.topic)
        figures, perfect = gold_figures(item)
        official = int(str(figures["depth"]))
        form: dict[str, JSON] = {"depth": nest.depth, "width": nest.width,
                                 "official_depth": official,
                                 "official_structure": figures["structure"]}  # fmt: skip
        wanted = (self.seed.depth or nest.depth, self.seed.width or nest.width)
        fits = (nest.depth, nest.width) == wanted and official == nest.depth
        self._holds(NestCriterion.FORM, form, holds=fits)
        self._holds(NestCriterion.SCORED, figures["measures"], holds=perfect)
        found = task_findings(nest.task, nest, self.seed.taken_values)
        self._holds(NestCriterion.TEXT, {"letters": len(nest.task)}, holds=found.ok)
        if self.checker is not None:
            self._holds(NestCriterion.REBUILT, dict(self._rebuilt))
        failed = [str(one["criterion"]) for one in self.criteria if not one["holds"]]
        return Rejection(Place(Stage.ACCEPT), f"{failed[0]} does not hold") if failed else nest


def _no(outcome: Elsewhere | Failed) -> Rejection:
    why = outcome.why if isinstance(outcome, Failed) else outcome.problems[0].message
    return Rejection(outcome.place, why, outcome.problems)
