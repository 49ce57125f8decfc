"""Families of made items for an export: siblings and twins, each shown by running.

    sibling       one record is another, and the answer with it (`toolhop_tools.construct.siblings`)
    unsolvable    a tool is gone (the scenario `missing-tool`)
    missing       a value is gone from the question (the scenario `missing-parameter`)

A sibling is held to what an item is held to that can change with a record; the properties of its
tools are those of the item's, as their code is the same. Twins are what `toolhop perturb` makes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from toolhop_agents.construct.folder import CERTIFICATES, ITEMS
from toolhop_agents.construct.ledger import StepLedger
from toolhop_agents.construct.oracle import played
from toolhop_agents.construct.reviews import Material
from toolhop_sandbox.base import Limits, Policy, Sandbox
from toolhop_sandbox.choose import Kind, open_sandbox
from toolhop_tools.certify.file import CertificateError
from toolhop_tools.certify.model import Basis, Certificate, HopVerdict
from toolhop_tools.certify.prove import certify
from toolhop_tools.construct.accept import attempts, lucky, solved
from toolhop_tools.construct.calls import answer_of
from toolhop_tools.construct.question import question_findings
from toolhop_tools.construct.reviews import Ruling, fate
from toolhop_tools.construct.siblings import Change, PlannedHop, changes, sibling
from toolhop_tools.construct.text import same
from toolhop_tools.construct.verify import prove
from toolhop_tools.model import GoldCall, Hop, Item
from toolhop_tools.scenarios.label import Scenario


class Kin(StrEnum):
    """What an export can have beside an item."""

    SIBLING = "sibling"
    UNSOLVABLE = "unsolvable"
    MISSING = "missing"


SCENARIO: Mapping[Kin, Scenario] = {
    Kin.UNSOLVABLE: Scenario.MISSING_TOOL,
    Kin.MISSING: Scenario.MISSING_PARAMETER,
}


class NoSibling(StrEnum):
    """Why an item has no sibling."""

    NO_PLAN = "its ledger is of an older version, which kept no plan"
    NO_TABLE = "no hop looks into a table in which one record gives its answer"
    NONE_HOLDS = "with no change that was tried all criteria hold"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The items of a folder that are exported."""

    items: tuple[Item, ...]
    rejected: tuple[str, ...]
    """Ids: reviewers take them out, with all of their family."""
    waiting: tuple[str, ...]
    """Ids: not enough reviewers accept them yet."""


def choose(material: Material, *, reviewed: bool = True, accepts: int = 0) -> Chosen:
    """What reviews leave of a folder.

    Args:
        material: the folder's.
        reviewed: whether reviews count at all.
        accepts: reviewers who have to accept an item, unless a third one has settled it.

    Raises:
        ReviewError: the reviews cannot be read.
    """
    if not reviewed:
        return Chosen(material.items, (), ())
    words = material.standing()
    found = {item.id: fate(words[item.id], accepts=accepts) for item in material.items}
    return Chosen(
        tuple(item for item in material.items if found[item.id] is Ruling.ACCEPT),
        tuple(name for name, one in found.items() if one is Ruling.REJECT),
        tuple(name for name, one in found.items() if one is Ruling.SKIP),
    )


@dataclass
class Siblings:
    """What came of the items that siblings were wanted of."""

    items: dict[str, Item] = field(default_factory=dict)
    """By the id of the item that each is a sibling of."""
    certificates: list[Certificate] = field(default_factory=list)
    refused: dict[str, NoSibling] = field(default_factory=dict)


async def siblings(
    material: Material, items: Sequence[Item], kind: Kind, seed: int, on_item: Callable[[], None]
) -> Siblings:
    """A sibling of each item that has one.

    Raises:
        LedgerError, CertificateError: the folder cannot be read.
        SandboxFault, SandboxUnavailable: as `Session.call`.
    """
    plans = {
        row["item"]: [PlannedHop.from_json(one) for one in row["plan"]]
        for row in StepLedger(material.folder, more=False).rows("item")
        if row.get("plan")
    }
    found = Siblings()
    certificates = certified(material, items)
    basis = next(iter(certificates.values())).basis
    limits = Limits(wall_s=basis.wall_s, memory_mib=basis.memory_mib)
    policy: Policy = "none" if basis.policy == "none" else "restricted"
    async with await open_sandbox(kind, limits=limits, policy=policy, max_workers=2) as sandbox:
        for item in items:
            made = await _sibling(item, basis, plans.get(item.id), sandbox, seed)
            if isinstance(made, NoSibling):
                found.refused[item.id] = made
            else:
                found.items[item.id] = made[0]
                found.certificates.append(made[1])
            on_item()
    return found


def certified(material: Material, items: Sequence[Item]) -> dict[str, Certificate]:
    """The certificates of items, by id.

    Raises:
        CertificateError: there are none that hold still.
    """
    if lacking := [item.id for item in items if item.id not in material.certificates]:
        path = material.folder / CERTIFICATES
        raise CertificateError(
            f"{path} has no certificate of {lacking[0]} that holds still\n"
            f"  fix: toolhop certify {material.folder / ITEMS} --out {path}"
        )
    return {item.id: material.certificates[item.id] for item in items}


async def _sibling(
    item: Item, basis: Basis, plan: Sequence[PlannedHop] | None, sandbox: Sandbox, seed: int
) -> tuple[Item, Certificate] | NoSibling:
    if not plan:
        return NoSibling.NO_PLAN
    tried = changes(item, seed)
    if not tried:
        return NoSibling.NO_TABLE
    for change in tried:
        answers = await _walked(item, plan, change, sandbox)
        if answers is None or same(answers[-1], item.answer):
            continue
        made = sibling(item, plan, change, answers)
        if not question_findings(made.question, _written(made, plan)).ok:
            continue
        proof = await certify(made, sandbox, basis)
        if await _holds(made, plan, proof, sandbox):
            return made, proof
    return NoSibling.NONE_HOLDS


async def _walked(
    item: Item, plan: Sequence[PlannedHop], change: Change, sandbox: Sandbox
) -> list[str] | None:
    """What the gold calls give with the changed table; None where the chain breaks off."""
    answers: list[str] = []
    async with sandbox.session() as session:
        for at, (hop, one) in enumerate(zip(item.hops, plan, strict=True)):
            tool = change.tool if at == change.at else hop.tool
            outcome = await session.call(tool.program, one.call(tool, answers))
            answer = answer_of(outcome, one.answer_path)
            if answer is None:
                return None
            answers.append(answer)
    return answers


def _written(item: Item, plan: Sequence[PlannedHop]) -> list[Hop]:
    """The hops with ``{k}`` in their gold calls."""
    return [
        Hop(hop.question, hop.answer, hop.tool, GoldCall(one.arguments, "written"))
        for hop, one in zip(item.hops, plan, strict=True)
    ]


async def _holds(
    item: Item, plan: Sequence[PlannedHop], proof: Certificate, sandbox: Sandbox
) -> bool:
    """Whether the criteria hold that hang on what is in a table."""
    if proof.verdict is not HopVerdict.PROVEN:
        return False
    if any(lucky(hop.answer, one) for hop, one in zip(item.hops, proof.hops, strict=True)):
        return False
    outcome = await played(item, {"one": sandbox})
    if not all(outcome.oracle.values()) or not outcome.replayed or outcome.by_luck:
        return False
    needs = [one.depends_on for one in plan]
    for one in attempts(item, needs, [hop.question for hop in plan]):
        name = f"{one.criterion}/{one.about}"
        if solved(await prove(sandbox, proof.basis, one.task, name)):
            return False
    return True
