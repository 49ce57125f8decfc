"""Read an item blind: vote on its question with executed plans, and test its wording by changing
the chain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, cast

from toolhop_agents.blind.readers import BlindQuestion
from toolhop_agents.construct.ask import Context
from toolhop_agents.construct.table import Built, chain_values
from toolhop_agents.construct.talk import Failed, by
from toolhop_sandbox.outcome import JSON
from toolhop_tools.blind.chain import Chain, Sibling
from toolhop_tools.blind.siblings import chain_of
from toolhop_tools.blind.votes import Ballot, ReadStatus, Vote, decide
from toolhop_tools.construct.accept import Criterion
from toolhop_tools.construct.calls import walked
from toolhop_tools.construct.plan import question_findings
from toolhop_tools.construct.replies import FinalQuestion
from toolhop_tools.construct.stages import Findings, Place, Stage, judged
from toolhop_tools.construct.text import same, says, texts
from toolhop_tools.construct.wording import ChainChange, chain_changes, drawn_changes
from toolhop_tools.model import GoldCall, Item

SHOWN_CHARS = 400
"""Characters of a plan shown for a repair."""


def said(ballot: Ballot) -> str:
    """Describe a ballot: the calls that were made, or why there are none."""
    calls = ", then ".join(
        f"{step['tool']}({step['arguments']}) = {step['value']!r}" for step in ballot.steps
    )
    words = f" ({ballot.words})" if ballot.words else ""
    return f"one {ballot.vote.value}{words}: {calls or 'no calls'}"[:SHOWN_CHARS]


async def read_item(
    context: Context, item: Item, sibling: Mapping[str, Any]
) -> tuple[ReadStatus, dict[str, JSON], Findings]:
    """Have readers read an item.

    `item` has its chain as executed. Plans are also run with the entity of `sibling`, the figure of
    the sibling criterion.

    Returns:
        The readers' verdict; the votes by model, for the books; and, if readers disagree, two plans
            with their results for the question's author.

    Raises:
        RunLimitReached, ItemLimitReached, ModelFault, LedgerError: as `Asker.ask`.
        SandboxFault, SandboxUnavailable: as `Session.call`.
    """
    votes, twin = context.models.votes, None
    if sibling.get("replaced"):
        twin = Sibling(sibling["replaced"], tuple(sibling["answers"]))
    tools = [hop.tool for hop in item.hops]
    question = BlindQuestion(item.id, item.question, tools, chain_of(item), twin)
    ballots = await context.read(question, votes, Stage.READ)
    status = decide(ballots, votes)
    agreeing = [ballot for ballot in ballots if ballot.vote is Vote.AGREES]
    other = [ballot for ballot in ballots if ballot.vote is not Vote.AGREES]
    listed: list[JSON] = [asdict(ballot) for ballot in ballots]
    figure: dict[str, JSON] = {
        "readers": [*sorted({ballot.model for ballot in ballots})], "votes": votes,
        "agree": len(agreeing), "sibling": twin is not None, "ballots": listed,
    }  # fmt: skip
    plans = "; ".join(map(said, [*other[:2], *agreeing[:1]][:2]))
    why = (
        "Readers who see the question and the documents alone do not all come to the chain: "
        f"{plans}. Write the question so that it can be read in one way, that of the chain."
    )
    wrong = [] if status is ReadStatus.READ else [why]
    row = Criterion.READ.row(figure, holds=not wrong)
    return status, row, judged(Criterion.READ.value, wrong, Place(Stage.QUESTION))


# -- wording: rewrite the question of a changed chain, and have it read ----------------------------

TRIED = 4
"""Changes drawn per wanted change, since some do not affect the answer."""


async def try_wording(
    context: Context, built: Sequence[Built], item: Item
) -> tuple[dict[str, JSON], Findings]:
    """Change the chain, have its question rewritten and read, and check that plans change with it.

    If a plan still reaches the item's own answer, the question's words have no effect or the reader
    ignored the condition. Other disagreement is only counted.

    Raises:
        RunLimitReached, ItemLimitReached, ModelFault, LedgerError: as `Asker.ask`.
        SandboxFault, SandboxUnavailable: as `Session.call`.
    """
    wanted = context.models.wording
    changes = [
        change
        for number, hop in enumerate(built, 1)
        for change in chain_changes(number, hop.schema, hop.facts, hop.call.arguments)
        if not _stands_elsewhere(built, number, change)
    ]
    drawn = drawn_changes(changes, TRIED * wanted, f"{context.verifier.basis.seed}/{item.id}")
    rows: list[JSON] = []
    unnoticed: list[str] = []
    for change in drawn:
        if len(rows) == wanted:
            break
        hops = [(hop.tool, hop.call) for hop in built]
        changed = built[change.hop - 1].call.model_copy(update={"arguments": change.arguments})
        hops[change.hop - 1] = built[change.hop - 1].tool, changed
        answers = await walked(hops, context.verifier.once)
        if not answers or same(answers[-1], item.answer):
            continue
        ballot, question = await _reread(context, built, item, change, answers)
        if ballot is None:
            continue
        value = ballot.steps[-1]["value"] if ballot.vote is Vote.DIFFERS else None
        unchanged = isinstance(value, str) and same(value, item.answer)
        rows.append({
            "hop": change.hop, "change": change.what, "question": question,
            "vote": ballot.vote.value, "noticed": not unchanged,
        })  # fmt: skip
        if unchanged:
            unnoticed.append(
                f"With {change.what} in the call of hop {change.hop} the question was written "
                f"{question!r}, and a reader's plan came to {item.answer!r} as before: say what "
                "the call hangs on so that it is read."
            )
    figure: dict[str, JSON] = {"wanted": wanted, "changes": rows}
    findings = judged(Criterion.WORDING.value, unnoticed, Place(Stage.QUESTION))
    return Criterion.WORDING.row(figure, holds=not unnoticed), findings


def _stands_elsewhere(built: Sequence[Built], number: int, change: ChainChange) -> bool:
    """Whether another hop's call also has the changed literal, so that changing only one would
    break the sense.
    """
    written = built[number - 1].call.arguments
    old = [text for name, value in written.items() if change.arguments.get(name) != value
           for text in texts(value)]  # fmt: skip
    others = [text for at, hop in enumerate(built, 1) if at != number
              for text in texts(hop.call.arguments)]  # fmt: skip
    return any(says(other, text) for text in old for other in others)


async def _reread(
    context: Context, built: Sequence[Built], item: Item, change: ChainChange, answers: list[str]
) -> tuple[Ballot | None, str]:
    """Return a reader's ballot on the changed chain's question; None if no question was written."""
    written = [hop.call.arguments for hop in built]
    written[change.hop - 1] = dict(change.arguments)
    changed = [replace(hop, answer=answer) for hop, answer in zip(built, answers, strict=True)]
    place = Place(Stage.WORDING, change.hop)
    values = chain_values(changed, written)
    talk = context.talk(place, Stage.QUESTION.value, values, FinalQuestion, repairs=1)
    hops = [
        replace(hop.hop(answers), gold=GoldCall(dict(arguments), "written"))
        for hop, arguments in zip(changed, written, strict=True)
    ]

    judge = by(lambda reply: question_findings(reply.question, hops))
    outcome = await talk.settle(context.asking(context.models.author), judge)
    if isinstance(outcome, Failed):
        return None, ""
    text = cast("FinalQuestion", outcome).question
    chain_hops = tuple(
        replace(own, answer=answer, arguments=None)
        for own, answer in zip(chain_of(item).hops, answers, strict=True)
    )
    key = f"{item.id}/wording/{change.hop}/{change.what}"
    tools = [hop.tool for hop in item.hops]
    question = BlindQuestion(key, text, tools, Chain(answers[-1], chain_hops))
    [ballot] = await context.read(question, 1, Stage.WORDING)
    return ballot, text
