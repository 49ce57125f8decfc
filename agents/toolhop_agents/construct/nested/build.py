"""Make one nested task: its calls, its text, and the checks on both."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from random import Random
from typing import Any

from toolhop_agents.construct.ask import Context, ItemLimitReached
from toolhop_agents.construct.talk import Failed, Judge, by
from toolhop_env.benchmarks.nestools import counts as counting
from toolhop_env.benchmarks.nestools.scorer import answer_text, gold_calls, gold_of
from toolhop_env.benchmarks.nestools.shape import depth, structure
from toolhop_env.benchmarks.nestools.values import calls_in
from toolhop_env.measures import Scorer
from toolhop_env.messages import SystemMessage, UserMessage
from toolhop_sandbox.outcome import JSON
from toolhop_tools.benchmarks.nestools.reader import item_of
from toolhop_tools.blind.votes import Ballot, ReadStatus, Vote, decide
from toolhop_tools.construct.nested.code import ChainCode, chain_findings
from toolhop_tools.construct.nested.model import Nest
from toolhop_tools.construct.nested.pool import Meaning
from toolhop_tools.construct.nested.seeds import NestSeed
from toolhop_tools.construct.nested.task import Judgements, NestCriterion, TaskText, task_findings
from toolhop_tools.construct.prompts import EXAMPLES, inputs
from toolhop_tools.construct.replies import ReplyModel
from toolhop_tools.construct.stages import Findings, Place, Problem, Stage, judged

PARTS = ("selection", "order", "param", "nested")
DISPUTED = "disputed"
"""Name of the check by readers."""


class Rejected(Exception):
    """A task was rejected; says at which stage and why."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.why)
        self.failed = failed


@dataclass
class NestBuilder:
    """Builds one nested task."""

    context: Context
    """Context whose readers reconstruct the calls from the text, and vote in turn."""
    seed: NestSeed
    shuffle: int
    """Seed of the order in which a reader sees the tools."""
    writes: bool
    """Whether a model writes the text; otherwise a draft keeps its rule-made text."""
    steps: list[JSON] = field(default_factory=list)
    criteria: list[JSON] = field(default_factory=list)
    reading: ReadStatus = ReadStatus.UNREAD
    ballots: list[Ballot] = field(default_factory=list)
    """Ballots on the last text that was read."""

    async def make(self) -> dict[str, JSON]:
        """Run all stages, and return the finished task's ledger row.

        Raises:
            RunLimitReached, ModelFault, LedgerError: the run must stop; replies already paid for
                stay in the ledger.
        """
        row: dict[str, JSON] = {"item": self.seed.id}
        try:
            nest = await self._make()
            row |= {"accepted": True, "row": nest.to_row(0, self.seed.topic)}
        except Rejected as rejected:
            row |= rejected.failed.row()
        except ItemLimitReached as reached:
            row |= Failed(Place(Stage.ACCEPT), str(reached)).row()
        if self.ballots:
            agree = sum(ballot.vote is Vote.AGREES for ballot in self.ballots)
            models, ballots = self.context.models, list[JSON](map(asdict, self.ballots))
            readers: list[JSON] = [reader.model.name for reader in models.readers]
            figure: JSON = {
                "readers": readers, "votes": models.votes, "agree": agree, "ballots": ballots,
            }  # fmt: skip
            holds = self.reading is ReadStatus.READ
            self.criteria.append(NestCriterion.READ.row(figure, holds=holds))
        row |= {"criteria": self.criteria, "steps": self.steps, "reading": self.reading.value}
        return row

    async def _make(self) -> Nest:
        nest = self.seed.nest
        if nest is None:
            nest = await self._chain()
            self._holds(NestCriterion.CHECKED, {"calls": len(nest.calls)})
        else:
            self._holds(NestCriterion.EXECUTED, {"calls": len(nest.calls)})
            await self._meanings(nest)
        if self.writes:
            nest = await self._text(nest)
        elif problems := (await self._read(nest)).problems:
            raise Rejected(Failed(Place(Stage.REBUILD), "readers dispute it", problems))
        figures, perfect = gold_figures(nest, self.seed.topic)
        form = {"depth": nest.depth, "width": nest.width, "official_depth": figures["depth"],
                "official_structure": figures["structure"]}  # fmt: skip
        wanted = (self.seed.depth or nest.depth, self.seed.width or nest.width, nest.depth)
        found = task_findings(nest.task, nest, self.seed.taken_values)
        fits = (nest.depth, nest.width, figures["depth"]) == wanted
        self._holds(NestCriterion.FORM, form, holds=fits)
        self._holds(NestCriterion.SCORED, figures["measures"], holds=perfect)
        self._holds(NestCriterion.TEXT, {"letters": len(nest.task)}, holds=found.ok)
        return nest

    def _holds(self, criterion: NestCriterion, figure: JSON, *, holds: bool = True) -> None:
        self.criteria.append(criterion.row(figure, holds=holds))
        if not holds:
            raise Rejected(Failed(Place(Stage.ACCEPT), f"{criterion} does not hold"))

    # -- stages -----------------------------------------------------------------------------------

    async def _asked(
        self, stage: Stage, given: dict[str, JSON], shape: type[ReplyModel], judge: Judge
    ) -> Any:  # noqa: ANN401 -- a reply of the shape
        """Ask for a stage's reply until one passes its checks.

        Raises:
            Rejected: no reply passes.
        """
        talk = self.context.talk(Place(stage), stage.value, given, shape)

        try:
            outcome = await talk.settle(self.context.asking(self.context.models.author), judge)
        finally:
            self.steps.append(talk.step())
        if isinstance(outcome, Failed):
            raise Rejected(outcome)
        return outcome

    async def _chain(self) -> Nest:
        """Have a model write tools and calls as code."""
        form = (self.seed.depth, self.seed.width)
        # Show a chain if the width is 1, otherwise alternately a fork or a join.
        turn = 1 + int(self.seed.digest[:8], 16) % 2
        name = EXAMPLES[0 if self.seed.width == 1 else turn]
        given: dict[str, JSON] = {
            "field": self.seed.topic, "depth": form[0], "width": form[1],
            "example": self.context.prompts.texts[name],
        }  # fmt: skip

        judge = by(lambda reply: chain_findings(reply.source, *form)[0])
        reply: ChainCode = await self._asked(Stage.CHAIN, given, ChainCode, judge)
        nest = chain_findings(reply.source, *form)[1]
        assert nest is not None  # noqa: S101 -- the findings were fine
        return nest

    async def _meanings(self, nest: Nest) -> None:
        """Have a model judge the references that are supported by nothing but their types."""
        counts: JSON = {**Counter(str(row["meaning"]) for row in self.seed.references)}
        doubtful = [row for row in self.seed.references if row["meaning"] == Meaning.MODEL]
        listed: list[JSON] = [
            {"reference": at, **{key: row[key] for key in ("from", "to", "value")}}
            for at, row in enumerate(doubtful, 1)
        ]

        def check(reply: Judgements) -> Findings:
            numbers = sorted(one.reference for one in reply.references)
            each = [*range(1, len(doubtful) + 1)]
            return judged("each-judged", [] if numbers == each else [f"Judge each of {each} once."])

        if doubtful:
            given = {**self._shown(nest), "references": listed}
            reply: Judgements = await self._asked(Stage.MEANING, given, Judgements, by(check))
            for verdict in reply.references:
                if not verdict.meant:
                    self.criteria.append(NestCriterion.MEANING.row(counts, holds=False))
                    why = f"a reference makes no sense: {verdict.why[:300]}"
                    raise Rejected(Failed(Place(Stage.MEANING), why))
        self._holds(NestCriterion.MEANING, counts)

    def _shown(self, nest: Nest) -> dict[str, JSON]:
        row = nest.to_row(0, self.seed.topic)
        return {"tools": row["api"], "calls": row["call"]}

    async def _text(self, nest: Nest) -> Nest:
        """Have a model write the text and readers check it."""

        async def judge(reply: TaskText, before: Sequence[Problem]) -> Findings:
            found = task_findings(reply.task, nest, self.seed.taken_values)
            return found + await self._read(replace(nest, task=reply.task)) if found.ok else found

        given: dict[str, JSON] = {**self._shown(nest), "draft": nest.task}
        reply: TaskText = await self._asked(Stage.TASK, given, TaskText, judge)
        return replace(nest, task=reply.task)

    # -- readers ----------------------------------------------------------------------------------

    async def _read(self, nest: Nest) -> Findings:
        """Have readers reconstruct the calls from the text; report their deviations if they
        disagree.
        """
        votes = self.context.models.votes
        self.ballots = [await self._ballot(nest, vote) for vote in range(votes)]
        if not self.ballots:
            return Findings()
        self.reading = decide(self.ballots, votes)
        agreed = self.reading is ReadStatus.READ
        self.steps.append({
            "stage": Stage.REBUILD.value, "hop": 0, "replies": len(self.ballots), "passed": agreed,
            "returned": not agreed, "checks": [] if agreed else [DISPUTED],
        })  # fmt: skip
        words = dict.fromkeys(ballot.words for ballot in self.ballots if ballot.words)
        return judged(DISPUTED, [] if agreed else (
            f"A reader of the text made {one} Say what is missing or unclear." for one in words
        ))  # fmt: skip

    async def _ballot(self, nest: Nest, vote: int) -> Ballot:
        prompts, readers = self.context.prompts, self.context.models.readers
        reader, sample = readers[vote % len(readers)], vote // len(readers) + 1
        tools: list[JSON] = [api.to_row(number) for number, api in enumerate(nest.apis, 1)]
        Random(f"{self.shuffle}/{self.seed.id}/{vote}").shuffle(tools)
        name = Stage.REBUILD.value
        messages = (
            SystemMessage(prompts.texts[name]),
            UserMessage(inputs(Stage.REBUILD, {"task": nest.task, "tools": tools})),
        )
        ask = self.context.asking(reader)
        text = await ask(Place(Stage.REBUILD), prompts.version(name), messages)
        verdict, words = vote_of(nest, text)
        return Ballot(reader.model.name, sample, verdict, words)


# -- checks by this product's NesTools reader and scorer ------------------------------------------


def gold_figures(nest: Nest, topic: str) -> tuple[Mapping[str, JSON], bool]:
    """Score the gold answer with both scorers.

    Returns:
        The measures with depth and structure as the released code counts them, and whether both
            scores are perfect.

    Raises:
        DataError: the format's reader refuses the task's row.
    """
    read_back = gold_of(item_of(nest.to_row(1, topic)))
    gold, predicted = gold_calls(read_back), calls_in(answer_text(read_back))
    both = {
        Scorer.OFFICIAL: counting.official(gold, predicted),
        Scorer.STRICT: counting.strict(gold, predicted),
    }
    measures: JSON = {who.value: {**_f1(counts), "tree": counts.tree}
                      for who, counts in both.items()}  # fmt: skip
    figures: dict[str, JSON] = {
        "depth": depth(gold), "structure": structure(gold), "measures": measures,
    }  # fmt: skip
    return figures, all(counts.tree for counts in both.values())


def _f1(counts: counting.Counts) -> dict[str, JSON]:
    parts: dict[str, counting.Count] = {name: getattr(counts, name) for name in PARTS}
    return {
        name: 2 * part.correct / whole if (whole := part.predicted + part.gold) else 1.0
        for name, part in parts.items()
    }


def vote_of(nest: Nest, answer: str) -> tuple[Vote, str]:
    """Return the vote of a reader's answer, and a description of its deviation from the task.

    The reader saw the tools numbered from 1. A vote agrees if every F1 of the strict scorer is 1.
    It breaks off if a call has an unknown tool or parameter, or lacks a required one.
    """
    predicted = calls_in(answer)
    if not predicted:
        return Vote.MALFORMED, "no calls could be made from the text"
    gold = gold_calls(gold_of(item_of(nest.to_row(1, ""))))
    counts = counting.strict(gold, predicted)
    if counts.tree:
        return Vote.AGREES, ""
    low = ", ".join(f"{name} {part:.2f}" for name, part in _f1(counts).items() if part != 1)
    plain = [{name: call[name] for name in ("api_name", "parameters")} for call in predicted]
    shown = json.dumps(plain, ensure_ascii=False, default=str)[:1500]
    words = f"other calls than yours ({low}): {shown}"
    return Vote.DIFFERS if all(_taken(nest, call) for call in predicted) else Vote.BREAKS, words


def _taken(nest: Nest, call: Mapping[str, Any]) -> bool:
    """Whether a tool of the task accepts the parameters of a call."""
    api, given = nest.by_name.get(call["api_name"]), call["parameters"]
    return api is not None and {*api.required} <= {*given} <= {*api.parameters}
