"""Plans of readers: calls that answer a question, planned from question and documents only. Pure.

A plan is untrusted. Its words are quoted and cut wherever they are shown; its arguments reach the
sandbox only if the schema accepts them.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from random import Random
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from toolhop_sandbox.outcome import JSON
from toolhop_tools.blind.chain import Sibling
from toolhop_tools.construct.documents import invalid
from toolhop_tools.construct.replies import ReplyModel
from toolhop_tools.construct.text import REFERENCE, references, texts
from toolhop_tools.declared import required, undeclared
from toolhop_tools.errors import faults
from toolhop_tools.model import Tool, ToolSchema
from toolhop_tools.replied import json_in
from toolhop_tools.words import scalars

MOST_STEPS = 20
MOST_CHARS = 200_000
"""Maximum length of a reply including its reasoning, in characters."""
MOST_PLAN_CHARS = 20_000
"""Maximum length of the plan itself, in characters; seven hops need a tenth of this."""
SHOWN = 200
"""Longest excerpt of a reader's remarks, in characters."""
Words = Annotated[str, Field(max_length=2_000)]


class Step(ReplyModel):
    """A planned call. ``{1}`` in an argument stands for the value of step 1."""

    asks: Words = ""
    tool: Annotated[str, Field(min_length=1, max_length=200)]
    arguments: dict[str, JSON]
    answer_path: Annotated[list[str | int], Field(max_length=20)] | None = None
    """Keys and indexes to the value in the result; None if the documents do not say."""

    @field_validator("arguments")
    @classmethod
    def _finite(cls, value: dict[str, JSON]) -> dict[str, JSON]:
        for path, scalar in scalars(value):
            if isinstance(scalar, float) and not math.isfinite(scalar):
                raise ValueError(f"{'.'.join(map(str, path))} is not a finite number")
        return value

    @property
    def takes(self) -> list[int]:
        """Numbers of the steps whose values this step uses."""
        return references(" ".join(texts(self.arguments)))


class Plan(BaseModel):
    """The planned calls, or the reason why there are none."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    steps: Annotated[list[Step], Field(max_length=MOST_STEPS)] = Field(default_factory=list)
    not_given: Words = ""
    """What the question asks for and no tool provides."""
    ambiguous: Words = ""
    """Two interpretations of the question that need different calls."""

    @model_validator(mode="before")
    @classmethod
    def _without_null(cls, fields: Any) -> Any:  # noqa: ANN401 -- whatever a model writes
        """Drop null values, which models write for an empty text or list."""
        if not isinstance(fields, dict):
            return fields
        return {name: value for name, value in fields.items() if value is not None}

    @model_validator(mode="after")
    def _states_one_thing(self) -> Self:
        given = [bool(self.steps), bool(self.not_given.strip()), bool(self.ambiguous.strip())]
        if sum(given) != 1:
            raise ValueError("give exactly one of steps, not_given and ambiguous")
        return self

    @property
    def doubt(self) -> str:
        """The reader's reason for not giving a plan; empty if there is a plan."""
        return self.not_given.strip() or self.ambiguous.strip()

    def of(self, sibling: Sibling) -> Plan:
        """Return the plan with the sibling's literals."""
        return Plan(steps=[
            step.model_copy(update={"arguments": sibling.swapped(step.arguments)})
            for step in self.steps
        ])  # fmt: skip


def read_plan(text: str, tools: Mapping[str, ToolSchema]) -> Plan | tuple[str, ...]:
    """Return the plan in a reply, or the problems with its form, for a repair.

    Reasoning, code fences and prose around the JSON object are ignored. `tools` are the schemas
    shown to the reader, by name.
    """
    if len(text) > MOST_CHARS:
        return (f"The reply has {len(text):,} characters; at most {MOST_CHARS:,} are read.",)
    text = json_in(text)
    if len(text) > MOST_PLAN_CHARS:
        return (f"The plan has {len(text):,} characters; at most {MOST_PLAN_CHARS:,} are read.",)
    try:
        plan = Plan.model_validate_json(text)
    except ValidationError as error:
        return tuple(faults(error)[:5])
    return tuple(form_problems(plan, tools)) or plan


def form_problems(plan: Plan, tools: Mapping[str, ToolSchema]) -> Iterator[str]:
    """Yield reasons why a plan cannot be run, judging by the plan and the schemas alone.

    `tools` are the schemas shown to the reader, by name.
    """
    for number, step in enumerate(plan.steps, 1):
        if step.tool in tools:
            yield from _invalid(number, step, tools[step.tool].parameters)
        else:
            names = ", ".join(sorted(tools))
            yield f"Step {number} calls {quoted(step.tool)}; the tools are {names}."
        for k in step.takes:
            if not 1 <= k < number:
                yield f"Step {number} uses {{{k}}}; it can use the values of earlier steps only."
    used = {k for step in plan.steps for k in step.takes}
    for number in range(1, len(plan.steps)):
        if number not in used:
            yield f"No later step uses {{{number}}}; leave step {number} out, or use its value."


def _invalid(number: int, step: Step, schema: Mapping[str, JSON]) -> Iterator[str]:
    """Check arguments against the schema, as far as possible without earlier steps' values."""
    start = f"Step {number}: the arguments of {step.tool} are not valid"
    missing = [name for name in required(schema) if name not in step.arguments]
    unknown = undeclared(schema, step.arguments)
    for what, names in (("missing", missing), ("unknown", unknown)):
        if names:
            yield f"{start}: {what}: {', '.join(map(quoted, names))}"
    if missing or unknown or any(REFERENCE.search(text) for text in texts(step.arguments)):
        return
    if problem := invalid(schema, step.arguments):
        yield f"{start}: {problem}"


# -- what a reader is shown ------------------------------------------------------------------------


@cache
def prompt(name: str) -> str:
    """Return a packaged prompt: ``plan`` or ``repair``."""
    return (files(__package__) / "prompts" / f"{name}.txt").read_text(encoding="utf-8")


@cache
def prompt_version() -> str:
    """Return twelve hex digits that change whenever either prompt does."""
    return hashlib.sha256((prompt("plan") + prompt("repair")).encode()).hexdigest()[:12]


def shown(question: str, tools: Sequence[Tool], seed: str) -> str:
    """Return what a reader sees: the question, and the documents in an order drawn from the seed.

    The code of the tools is not included.
    """
    documents = {tool.name: tool.schema.to_openai()["function"] for tool in tools}
    names = sorted(documents)
    Random(f"{seed}/tools").shuffle(names)
    listed = [documents[name] for name in names]
    return json.dumps({"question": question, "tools": listed}, ensure_ascii=False, indent=1)


def repair(problems: Sequence[str]) -> str:
    """Return the message that asks for a malformed plan to be corrected."""
    return prompt("repair").replace("{problems}", "\n".join(f"- {problem}" for problem in problems))


def quoted(text: str) -> str:
    """Return a reader's words in quotes, cut to `SHOWN` characters."""
    short = text if len(text) <= SHOWN else text[:SHOWN] + "..."
    return json.dumps(short, ensure_ascii=False)
