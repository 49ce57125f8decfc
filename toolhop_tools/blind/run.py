"""Execution of a reader's plan, step by step, with any function that runs programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toolhop_sandbox.outcome import JSON, Outcome, Returned
from toolhop_tools.blind.chain import ChainHop
from toolhop_tools.blind.plan import SHOWN, Plan, Step, quoted
from toolhop_tools.construct.calls import Call, came, part_at
from toolhop_tools.construct.documents import invalid
from toolhop_tools.construct.text import REFERENCE, as_json, called, resolved, says
from toolhop_tools.failures import tells_of_error
from toolhop_tools.leaves import inner
from toolhop_tools.model import Tool
from toolhop_tools.reading import leaf_text, read_result
from toolhop_tools.words import scalars

MOST_VALUE = 1_000
"""Maximum length of a step's value, in characters; a later argument may repeat it several times."""


@dataclass(frozen=True, slots=True)
class StepRun:
    """A step that was run, or that the schema refused."""

    step: Step
    arguments: Mapping[str, JSON]
    """Arguments with the values of earlier steps filled in."""
    value: str | None
    """Value of the step as text; None if there is none, which ends the plan."""
    result: str
    """Outcome of the call, in words."""
    part: JSON = None
    """Value as in the result, so that a list can be passed to a later call as a list."""

    def __str__(self) -> str:
        gives = self.result[:SHOWN] if self.value is None else quoted(self.value)
        return f"{called(self.step.tool, self.arguments)[: 3 * SHOWN]} gives {gives}"

    def to_json(self) -> dict[str, JSON]:
        """Return a row for a file; long texts are cut."""
        row: dict[str, JSON] = {"asks": self.step.asks[:SHOWN], "tool": self.step.tool}
        row |= {"arguments": dict(self.arguments), "value": self.value}
        return row if self.value is not None else {**row, "result": self.result[:SHOWN]}


async def run_plan(
    plan: Plan, tools: Mapping[str, Tool], call: Call, hops: Sequence[ChainHop] = ()
) -> tuple[StepRun, ...]:
    """Run the steps of a plan up to the first without a value.

    Args:
        plan: a plan without form problems.
        tools: tools shown to the reader, by name; their bodies are programs.
        hops: hops of the chain. If a step does not state the path of its value, the value is read
            where a hop with the same tool has its answer.

    Raises:
        Exception: whatever `call` raises.
    """
    runs: list[StepRun] = []
    for step in plan.steps:
        own_hops = [hop for hop in hops if hop.tool == step.tool]
        runs.append(await _run_step(step, tools[step.tool], runs, call, own_hops))
        if runs[-1].value is None:
            break
    return tuple(runs)


async def _run_step(
    step: Step, tool: Tool, runs: Sequence[StepRun], call: Call, hops: Sequence[ChainHop]
) -> StepRun:
    schema = tool.schema.parameters
    arguments: dict[str, JSON] = {
        name: _filled(value, runs, inner(schema, name, schema), schema)
        for name, value in step.arguments.items()
    }
    for hop in hops:
        arguments = hop.spelled(arguments)
    if problem := invalid(schema, arguments):
        return StepRun(step, arguments, None, f"arguments that the schema refuses: {problem}")
    outcome = await call(tool.program, arguments)
    result = came(outcome)
    part = value_of(outcome, step.answer_path, hops)
    text = as_json(part) if isinstance(part, list) else "" if part is None else leaf_text(part)
    if len(text) > MOST_VALUE:
        result = f"a value of {len(text):,} characters; at most {MOST_VALUE:,} are read"
        return StepRun(step, arguments, None, result)
    return StepRun(step, arguments, text or None, result, part)


def _filled(
    value: JSON, runs: Sequence[StepRun], schema: Mapping[str, JSON], root: Mapping[str, JSON]
) -> JSON:
    """Return an argument with ``{k}`` replaced by the values of earlier steps."""
    if isinstance(value, dict):
        return {k: _filled(v, runs, inner(schema, k, root), root) for k, v in value.items()}
    if isinstance(value, list):
        return [_filled(part, runs, inner(schema, 0, root), root) for part in value]
    whole = REFERENCE.fullmatch(value) if isinstance(value, str) else None
    if whole and isinstance(part := runs[int(whole[1]) - 1].part, list | dict | bool):
        return part
    return resolved(value, [run.value or "" for run in runs], schema)


def value_of(outcome: Outcome, path: Sequence[str | int] | None, hops: Sequence[ChainHop]) -> JSON:
    """Return the value of a step from its result, or None if it is missing or ambiguous.

    `path` has the keys and indexes to the value; `hops` are the hops of the chain with this tool.

    An object is never a value. If `path` is None or leads to an object, the value is the part where
    a hop has its answer, or else a scalar equal to a hop's answer, or else the only scalar.
    """
    value = read_result(outcome.json_text) if isinstance(outcome, Returned) else None
    if value is None or tells_of_error(value):
        return None
    part = part_at(value, path or ())
    if path is None or isinstance(part, dict):
        part = _placed(value, part, hops)
    if isinstance(part, str):
        # The hop's own result contains the answer within a text.
        within = [hop.answer for hop in hops if hop.reading and hop.reading.span is not None]
        part = next((answer for answer in within if says(part, answer)), part.strip())
    return None if part == "" or isinstance(part, dict) else part


def _placed(result: JSON, part: JSON, hops: Sequence[ChainHop]) -> JSON:
    """Return the value of a step whose plan does not state the path."""
    placed = [(hop, part_at(result, hop.reading.path)) for hop in hops if hop.reading is not None]
    present = [(hop, value) for hop, value in placed if value is not None]
    if present:
        return next((value for hop, value in present if hop.holds(value)), present[0][1])
    leaves = [leaf for _, leaf in scalars(part) if leaf is not None]
    answers = (leaf for hop in hops for leaf in leaves if hop.holds(leaf))
    return next(answers, leaves[0] if len(leaves) == 1 else None)
