"""An item before its readers: votes on its question, by plans that are run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from toolhop_agents.blind.readers import BlindQuestion
from toolhop_agents.construct.context import Context
from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON, Outcome
from toolhop_tools.blind.chain import Sibling
from toolhop_tools.blind.siblings import chain_of
from toolhop_tools.blind.votes import Ballot, ReadStatus, Vote, decide
from toolhop_tools.construct.accept import Criterion, Judged
from toolhop_tools.construct.stages import Findings, Place, Stage, judged
from toolhop_tools.model import Item, Tool

SHOWN_CHARS = 400
"""Of a plan that a repair shows."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the readers of an item said."""

    status: ReadStatus
    ballots: tuple[Ballot, ...]
    votes: int
    with_sibling: bool
    """Whether plans were run with a sibling's entity as well."""

    def row(self) -> Judged:
        """For the books: votes apart by model."""
        ballots: list[JSON] = [
            {**asdict(ballot), "vote": ballot.vote.value, "hops": [*ballot.hops],
             "steps": [*ballot.steps]}
            for ballot in self.ballots
        ]  # fmt: skip
        figure: dict[str, JSON] = {
            "readers": [*sorted({ballot.model for ballot in self.ballots})],
            "votes": self.votes,
            "agree": sum(ballot.vote is Vote.AGREES for ballot in self.ballots),
            "sibling": self.with_sibling,
            "ballots": ballots,
        }
        return Judged(Criterion.READ, self.status is ReadStatus.READ, figure)

    def findings(self) -> Findings:
        """Two plans with their results, for whoever writes the question; none if they agree."""
        if self.status is ReadStatus.READ:
            return judged(Criterion.READ.value, ())
        other = [ballot for ballot in self.ballots if ballot.vote is not Vote.AGREES]
        agreeing = [ballot for ballot in self.ballots if ballot.vote is Vote.AGREES]
        shown = [*other[:2], *agreeing[:1]][:2]
        plans = "; ".join(map(said, shown))
        why = (
            f"Readers who see the question and the documents alone do not all come to the chain: "
            f"{plans}. Write the question so that it can be read in one way, that of the chain."
        )
        return judged(Criterion.READ.value, [why], Place(Stage.QUESTION))


def said(ballot: Ballot) -> str:
    """A ballot in words: the calls that were made, or why there are none."""
    calls = ", then ".join(
        f"{step['tool']}({step['arguments']}) = {step['value']!r}" for step in ballot.steps
    )
    words = f" ({ballot.words})" if ballot.words else ""
    return f"one {ballot.vote.value}{words}: {calls or 'no calls'}"[:SHOWN_CHARS]


async def read_item(context: Context, item: Item, sibling: Mapping[str, Any]) -> Reading:
    """Have an item read.

    Args:
        context: has the readers.
        item: as its chain was executed.
        sibling: the figure of the criterion `sibling`.

    Raises:
        RunLimitReached, ItemLimitReached, ModelFault, LedgerError: as `Asker.ask`.
        SandboxFault, SandboxUnavailable: as `Session.call`.
    """
    models = context.models
    twin = None
    if sibling.get("replaced"):
        twin = Sibling(sibling["replaced"], tuple(sibling["answers"]))
    question = BlindQuestion(item.id, item.question, tools_of(item), chain_of(item), twin)
    ballots = await read(context, question, models.votes, Stage.READ)
    return Reading(decide(ballots, models.votes), tuple(ballots), models.votes, twin is not None)


async def read(
    context: Context, question: BlindQuestion, votes: int, stage: Stage
) -> Sequence[Ballot]:
    """The ballots of a question; raises as `read_item`."""

    async def call(program: Program, arguments: Mapping[str, JSON]) -> Outcome:
        [outcome] = await context.verifier.call(program, [arguments])
        return outcome

    return await context.readers(votes, stage).read(question, call)


def tools_of(item: Item) -> tuple[Tool, ...]:
    """All that a reader is shown."""
    return tuple(hop.tool for hop in item.hops)
