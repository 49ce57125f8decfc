"""Recheck labels: run the gold calls of scenario items on the tools on offer.

`toolhop perturb` does the search; this checks what a few calls per item can show. It detects a
changed label, or a file whose tools were changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from toolhop_sandbox.base import Program, Session
from toolhop_sandbox.outcome import JSON, Outcome, Returned
from toolhop_tools.certify.judging import judge
from toolhop_tools.declared import compiled, fits
from toolhop_tools.errors import DataProblem
from toolhop_tools.failures import tells_of_error
from toolhop_tools.model import Hop, Tool, canonical
from toolhop_tools.reading import read_result
from toolhop_tools.scenarios.families import Labelled
from toolhop_tools.scenarios.label import Scenario
from toolhop_tools.scenarios.masking import spans
from toolhop_tools.scenarios.missing import surroundings


@dataclass
class Results:
    """Outcomes of program calls; each call is made once."""

    session: Session
    found: dict[tuple[Program, str], Outcome] = field(default_factory=dict)

    async def __call__(self, tool: Tool, arguments: dict[str, JSON]) -> Outcome | None:
        """Return the outcome; None if the tool's schema rejects the arguments.

        Raises:
            SandboxFault, SandboxUnavailable: as `Session.call`.
        """
        schema = tool.schema.parameters
        if not fits(compiled(schema), schema, arguments):
            return None
        key = tool.program, canonical(arguments)
        if key not in self.found:
            self.found[key] = await self.session.call(tool.program, arguments)
        return self.found[key]


async def broken(one: Labelled, results: Results) -> list[DataProblem]:
    """Return the claims of an item's label that do not hold.

    Raises:
        SandboxFault, SandboxUnavailable: as `Session.call`.
    """
    found = [*_said(one)]
    lost = () if one.label.hidden else one.label.lost
    for number, hop in enumerate(one.item.hops, start=1):
        if number in lost:
            found += await _still_solved(one, number, hop, results)
        elif hop.gold is None:
            found.append(_problem(one, number, "a gold call", "none"))
        elif hop.tool.name not in one.shown:
            given = f"{hop.tool.name} is not on offer"
            found.append(_problem(one, number, "a hop that can be solved, or one in `lost`", given))
        elif not _answers(hop, await results(one.shown[hop.tool.name], dict(hop.gold.arguments))):
            expected = f"the answer {hop.answer!r} of the gold call of {hop.tool.name}"
            found.append(_problem(one, number, expected, "another result, or none"))
    return found


async def _still_solved(
    one: Labelled, number: int, hop: Hop, results: Results
) -> list[DataProblem]:
    if hop.gold is None:  # only the solvable sibling has the call of a second job
        return []
    arguments = dict(hop.gold.arguments)
    return [
        _problem(one, number, "a lost hop that no tool on offer solves", f"{tool.name} solves it")
        for tool in one.shown.values()
        if _answers(hop, await results(tool, arguments))
    ]


def _answers(hop: Hop, outcome: Outcome | None) -> bool:
    if not isinstance(outcome, Returned) or hop.gold is None:
        return False
    value = read_result(outcome.json_text)
    held = judge(hop.answer, value, dict(hop.gold.arguments)) is not None
    return held and not tells_of_error(value)


def _said(one: Labelled) -> Iterator[DataProblem]:
    """Yield claims of the label that the item contradicts, without making calls."""
    label, item = one.label, one.item
    if label.solvable is bool(label.lost):
        given = f"solvable {str(label.solvable).lower()}, lost {list(label.lost)}"
        yield _problem(one, 0, "lost hops where it is not solvable, and only there", given)
    if not label.solvable and not label.checks.tools:
        yield _problem(one, 0, "a label that a search has shown", "no tool was tried")
    if any(not 1 <= number <= len(item.hops) for number in label.lost):
        yield _problem(one, 0, f"hops from 1 to {len(item.hops)}", f"lost {list(label.lost)}")
    for hidden in label.hidden:
        if isinstance(hidden.value, str | int | float) and spans(item.question, hidden.value):
            yield _problem(one, hidden.hop, f"{hidden.value!r} hidden", "the question says it")
    if label.scenario is Scenario.POTENTIAL_TOOL and not surroundings(label.decoys):
        given = ", ".join(label.decoys) or "none"
        yield _problem(one, 0, "the decoys of one of the texts about surroundings", given)
    if offered := _among(label.decoys, one.shown):
        yield _problem(one, 0, "decoys that no tool on offer is", offered)


def _among(names: Iterable[str], shown: Iterable[str]) -> str:
    return ", ".join(sorted({*names} & {*shown}))


def _problem(one: Labelled, hop: int, expected: str, given: str) -> DataProblem:
    place = f"hops[{hop - 1}]" if hop else "gold.scenario"
    return DataProblem("false-label", f"id {one.item.id}", place, expected, given)
