"""Tests an item's wording by change: the question of a changed chain, written anew, read blind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from toolhop_agents.blind.readers import BlindQuestion
from toolhop_agents.construct.context import Context
from toolhop_agents.construct.read import read, tools_of
from toolhop_agents.construct.table import Built, chain_values
from toolhop_agents.construct.talk import Passed
from toolhop_sandbox.outcome import JSON
from toolhop_tools.blind.chain import Chain
from toolhop_tools.blind.siblings import chain_of
from toolhop_tools.blind.votes import Ballot, Vote
from toolhop_tools.construct.accept import Criterion, Judged
from toolhop_tools.construct.calls import answer_of
from toolhop_tools.construct.question import question_findings
from toolhop_tools.construct.replies import FinalQuestion, ReplyModel
from toolhop_tools.construct.stages import Findings, Place, Problem, Stage, judged
from toolhop_tools.construct.text import resolved, same, says, texts
from toolhop_tools.construct.wording import ChainChange, chain_changes, drawn_changes
from toolhop_tools.model import GoldCall, Item

TRIED = 4
"""Changes that are drawn for each that is wanted: some leave the answer as it is."""


async def try_wording(
    context: Context, built: Sequence[Built], item: Item
) -> tuple[Judged, Findings]:
    """Change the chain, have its question written and read, and see the plans change with it.

    A plan that still comes to the item's own answer has not noticed the change: the question's
    words do nothing, or nobody reads the condition. Other disagreement is counted and no more.

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
        answers = await _answers(context, built, change)
        if answers is None or same(answers[-1], item.answer):
            continue
        ballot, question = await _read(context, built, item, change, answers)
        if ballot is None:
            continue
        unchanged = _comes_to(ballot, item.answer)
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
    return Judged(Criterion.WORDING, not unnoticed, figure), findings


def _stands_elsewhere(built: Sequence[Built], number: int, change: ChainChange) -> bool:
    """Whether another hop's call has the changed literal too: one alone would break the sense."""
    written = built[number - 1].call.arguments
    old = [text for name, value in written.items() if change.arguments.get(name) != value
           for text in texts(value)]  # fmt: skip
    others = [text for at, hop in enumerate(built, 1) if at != number
              for text in texts(hop.call.arguments)]  # fmt: skip
    return any(says(other, text) for text in old for other in others)


def _comes_to(ballot: Ballot, answer: str) -> bool:
    value = ballot.steps[-1]["value"] if ballot.steps else None
    return ballot.vote is Vote.DIFFERS and isinstance(value, str) and same(value, answer)


async def _answers(
    context: Context, built: Sequence[Built], change: ChainChange
) -> list[str] | None:
    """What each hop gives with the change; None where the chain breaks off."""
    answers: list[str] = []
    for number, hop in enumerate(built, 1):
        written = change.arguments if number == change.hop else hop.call.arguments
        made = resolved(dict(written), answers, hop.schema.parameters)
        [outcome] = await context.verifier.call(
            hop.tool.program, [cast("Mapping[str, JSON]", made)]
        )
        answer = answer_of(outcome, hop.call.answer_path)
        if answer is None:
            return None
        answers.append(answer)
    return answers


async def _read(
    context: Context, built: Sequence[Built], item: Item, change: ChainChange, answers: list[str]
) -> tuple[Ballot | None, str]:
    """A reader's ballot on the question of the changed chain; None without a question."""
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

    async def judge(reply: ReplyModel, before: Sequence[Problem]) -> Findings:
        return question_findings(cast("FinalQuestion", reply).question, hops)

    outcome = await talk.settle(context.asking(context.models.author), judge)
    if not isinstance(outcome, Passed):
        return None, ""
    text = cast("FinalQuestion", outcome.reply).question
    chain_hops = tuple(
        replace(own, answer=answer, arguments=None)
        for own, answer in zip(chain_of(item).hops, answers, strict=True)
    )
    key = f"{item.id}/wording/{change.hop}/{change.what}"
    question = BlindQuestion(key, text, tools_of(item), Chain(answers[-1], chain_hops))
    [ballot] = await read(context, question, 1, Stage.WORDING)
    return ballot, text
