"""Another model's plan of a question, run and compared with the chain that was proven. Pure.

The plan comes from the question and the tools' documents alone. Its words and arguments are
untrusted: words are quoted and cut, arguments go to the sandbox by the schema or not at all.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Annotated, Self

from pydantic import Field, model_validator

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.documents import invalid_call
from toolhop_tools.construct.replies import PARSE, ReplyModel, Text
from toolhop_tools.construct.stages import Findings, Problem, judged
from toolhop_tools.construct.text import REFERENCE, references, same, texts
from toolhop_tools.construct.verify import called
from toolhop_tools.declared import declared, required
from toolhop_tools.model import Item, ToolSchema
from toolhop_tools.words import scalars

CHECK = "rebuilt"
"""Name of the check."""
MOST_STEPS = 20
MOST_CHARS = 20_000
"""Of a plan: no question of seven hops needs a tenth of it."""
MOST_VALUE = 1_000
"""Characters of what a step gives, which a later argument may hold several times."""
SHOWN = 200
"""Characters of the other model's own words, wherever they are shown."""
Words = Annotated[str, Field(max_length=2_000)]


class RebuiltStep(ReplyModel):
    """One call; ``{1}`` in an argument stands for what step 1 gives."""

    asks: Words
    tool: Text
    arguments: dict[str, JSON]
    answer_path: list[str | int] = Field(default_factory=list, max_length=20)

    @model_validator(mode="after")
    def _has_numbers_of_json(self) -> Self:
        for path, value in scalars(self.arguments):
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"{'.'.join(map(str, path))} is too large for a number")
        return self


class RebuiltPlan(ReplyModel):
    """The calls that answer a question, or why there are none."""

    steps: list[RebuiltStep] = Field(default_factory=list, max_length=MOST_STEPS)
    not_given: Words = ""
    """What the question asks for that no tool gives."""
    ambiguous: Words = ""
    """What can be read in two ways."""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        said = [bool(self.steps), bool(self.not_given.strip()), bool(self.ambiguous.strip())]
        if sum(said) != 1:
            raise ValueError("give steps, or not_given, or ambiguous, and one of these alone")
        return self

    @classmethod
    def read(cls, text: str) -> Self | Problem:
        """See `ReplyModel.read`; a plan is short."""
        if len(text) > MOST_CHARS:
            noted = f"it has {len(text):,} characters, and at most {MOST_CHARS:,} are read"
            return Problem(PARSE, f"The reply does not parse: {noted}")
        return super().read(text)


def shown_tools(item: Item, seed: str) -> list[ToolSchema]:
    """The documents of an item's tools, in an order that says nothing of the chain.

    Args:
        item: the whole item.
        seed: the same gives the same order.
    """
    schemas = {hop.tool.name: hop.tool.schema for hop in item.hops}
    names = sorted(schemas)
    Random(f"{seed}/tools").shuffle(names)
    return [schemas[name] for name in names]


def form_findings(plan: RebuiltPlan, tools: Mapping[str, ToolSchema], most: int) -> Findings:
    """What is wrong with a plan before it runs: by the plan and the documents alone, so that a
    repair says nothing of the chain.

    Args:
        plan: what the other model replied.
        tools: all that it was shown, by name.
        most: steps that are wanted at most.
    """
    steps = plan.steps
    known = [(at, one, tools[one.tool]) for at, one in enumerate(steps, 1) if one.tool in tools]
    many = [f"There are {len(steps)} steps; at most {most} are wanted."] * (len(steps) > most)
    return (
        judged("step-count", many)
        + judged("known-tool", _unknown(steps, tools))
        + judged("references", _references(steps))
        + judged("each-step-needed", _unneeded(steps))
        + judged("valid-call", (text for one in known for text in _invalid(*one)))
    )


def _unknown(steps: Sequence[RebuiltStep], tools: Mapping[str, ToolSchema]) -> Iterator[str]:
    for at, step in enumerate(steps, 1):
        if step.tool not in tools:
            yield f"Step {at} calls {quoted(step.tool)}; the tools are {', '.join(sorted(tools))}."


def _taken(step: RebuiltStep) -> list[int]:
    return references(" ".join(texts(step.arguments)))


def _references(steps: Sequence[RebuiltStep]) -> Iterator[str]:
    for at, step in enumerate(steps, 1):
        for k in _taken(step):
            if not 1 <= k < at:
                yield f"Step {at} refers to step {k}; it can refer to steps before it alone."


def _unneeded(steps: Sequence[RebuiltStep]) -> Iterator[str]:
    used = {k for step in steps for k in _taken(step)}
    for at in range(1, len(steps)):
        if at not in used:
            yield f"No later step takes what step {at} gives; leave it out, or build on it."


def _invalid(at: int, step: RebuiltStep, schema: ToolSchema) -> Iterator[str]:
    """Against the schema, as far as that can be said before earlier values are there."""
    parameters = schema.parameters
    if not any(REFERENCE.search(text) for text in texts(step.arguments)):
        for text in invalid_call(parameters, step.arguments, ()):
            yield f"Step {at}: {text[:1000]}"
        return
    lacking = [name for name in required(parameters) if name not in step.arguments]
    extra = [name for name in step.arguments if name not in declared(parameters)]
    if lacking or extra:
        noted = "; ".join(
            f"{what}: {', '.join(map(quoted, names))}"
            for what, names in (("missing", lacking), ("unknown", extra))
            if names
        )
        yield f"Step {at}: the call of {step.tool} is not valid under the parameters: {noted}"


@dataclass(frozen=True, slots=True)
class StepRun:
    """A step that was run, or that the schema does not take."""

    step: RebuiltStep
    arguments: Mapping[str, JSON]
    """With earlier values in place."""
    value: str | None
    """What stands at its answer path; None where nothing does, which ends the plan."""
    came: str
    """What came of the call, in words."""

    def to_json(self) -> dict[str, JSON]:
        """For the books."""
        return {
            "asks": self.step.asks[:SHOWN],
            "tool": self.step.tool,
            "arguments": dict(self.arguments),
            "value": self.value,
        }

    def __str__(self) -> str:
        gives = self.came[:SHOWN] if self.value is None else quoted(self.value)
        path = f" at {json.dumps(self.step.answer_path)[:SHOWN]}" if self.step.answer_path else ""
        call = called(self.step.tool, self.arguments)[: 2 * SHOWN]
        return f"{call} gives {gives}{path}, for {quoted(self.step.asks)}"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a plan has to come to."""

    answer: str
    hops: tuple[tuple[int, str, str], ...]
    """Number, tool and answer of each hop whose answer its own tool has to give on the way."""


def wanted_of(item: Item, hop: int) -> Wanted:
    """Of the whole question for hop 0, else of one sub-question."""
    rows = tuple((at, one.tool.name, one.answer) for at, one in enumerate(item.hops, 1))
    return Wanted(rows[hop - 1][2], rows[hop - 1 : hop]) if hop else Wanted(item.answer, rows)


def difference(plan: RebuiltPlan, runs: Sequence[StepRun], wanted: Wanted) -> str:
    """How a plan that was run differs from the chain, in words for a repair; empty where it comes
    to the same answer through every hop. Answers of the chain are said only as far as the plan
    came to them.

    Args:
        plan: what the other model replied.
        runs: its steps, up to the first that gives no value.
        wanted: answers of the chain, compared by the strict rule.
    """
    if plan.not_given.strip():
        return f"it says that no tool gives this: {quoted(plan.not_given)}"
    if plan.ambiguous.strip():
        return f"it can be read in two ways: {quoted(plan.ambiguous)}"
    listed = "; ".join(f"{at}. {one}" for at, one in enumerate(runs, 1))
    last = runs[-1].value
    if last is None or len(runs) < len(plan.steps):
        return f"its calls break off: {listed}"
    if not same(last, wanted.answer):
        return f"its calls come to {quoted(last)}, which the chain does not: {listed}"
    for at, tool, answer in wanted.hops:
        if not any(
            one.step.tool == tool and one.value is not None and same(one.value, answer)
            for one in runs
        ):
            return f"its calls leave out what {tool} gives for hop {at}: {listed}"
    return ""


def quoted(text: str) -> str:
    """Another's words, cut and in quotes."""
    short = text if len(text) <= SHOWN else text[:SHOWN] + "..."
    return json.dumps(short, ensure_ascii=False)
