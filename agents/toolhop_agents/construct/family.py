"""Families of made items for an export: siblings and twins, each verified by execution.

    sibling       another record, hence another answer (`toolhop_tools.construct.siblings`)
    unsolvable    a tool is removed (the scenario `missing-tool`)
    missing       a value is removed from the question (the scenario `missing-parameter`)

A sibling is checked against the criteria that can change with a record; its tools share the code,
and so the properties, of the item's tools. `toolhop perturb` makes the twins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from toolhop_agents.construct.folder import CERTIFICATES, ITEMS, StepLedger
from toolhop_agents.construct.proof import played
from toolhop_agents.construct.reviews import Material
from toolhop_sandbox.base import Limits, Policy, Sandbox
from toolhop_sandbox.choose import Kind, open_sandbox
from toolhop_tools.certify.file import CertificateError
from toolhop_tools.certify.model import Basis, Certificate, HopVerdict
from toolhop_tools.certify.prove import certify
from toolhop_tools.construct.accept import attempts, lucky
from toolhop_tools.construct.calls import walked
from toolhop_tools.construct.plan import question_findings
from toolhop_tools.construct.replies import WrittenHop
from toolhop_tools.construct.reviews import Ruling, fate
from toolhop_tools.construct.siblings import changes, sibling
from toolhop_tools.construct.text import same
from toolhop_tools.construct.verify import prove
from toolhop_tools.model import GoldCall, Item
from toolhop_tools.scenarios.label import Scenario


class Kin(StrEnum):
    """The kinds of related item that an export can add."""

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
    """The items of a folder that are selected for export."""

    items: tuple[Item, ...]
    rejected: tuple[str, ...] = ()
    """Ids of items that reviewers rejected; their whole families are left out."""
    waiting: tuple[str, ...] = ()
    """Ids of items that too few reviewers have accepted so far."""


def choose(material: Material, *, reviewed: bool = True, accepts: int = 0) -> Chosen:
    """Select the items of a folder that its reviews permit.

    `accepts` reviewers have to accept an item unless a third reviewer has settled it; `reviewed`
    says whether reviews count at all.

    Raises:
        ReviewError: the reviews cannot be read.
    """
    if not reviewed:
        return Chosen(material.items)
    reviews = material.standing()
    fates = {item.id: fate(reviews[item.id], accepts=accepts) for item in material.items}
    return Chosen(
        tuple(item for item in material.items if fates[item.id] is Ruling.ACCEPT),
        tuple(name for name, ruling in fates.items() if ruling is Ruling.REJECT),
        tuple(name for name, ruling in fates.items() if ruling is Ruling.SKIP),
    )


@dataclass
class Siblings:
    """Siblings made, and the reasons why others failed."""

    items: dict[str, Item] = field(default_factory=dict)
    """Siblings by the id of their original item."""
    certificates: list[Certificate] = field(default_factory=list)
    refused: dict[str, NoSibling] = field(default_factory=dict)


async def siblings(
    material: Material, items: Sequence[Item], kind: Kind, seed: int, on_item: Callable[[], None]
) -> Siblings:
    """Make a sibling of each item that has one.

    Raises:
        LedgerError, CertificateError: the folder cannot be read.
        SandboxFault, SandboxUnavailable: as `Session.call`.
    """
    plans = {
        row["item"]: [WrittenHop.model_validate(hop) for hop in row["plan"]]
        for row in StepLedger(material.folder, more=False).rows("item")
        if row.get("plan")
    }
    made = Siblings()
    basis = next(iter(certified(material, items).values())).basis
    limits = Limits(wall_s=basis.wall_s, memory_mib=basis.memory_mib)
    policy: Policy = "none" if basis.policy == "none" else "restricted"
    async with await open_sandbox(kind, limits=limits, policy=policy, max_workers=2) as sandbox:
        for item in items:
            own = await _sibling(item, plans.get(item.id), basis, sandbox, seed)
            if isinstance(own, NoSibling):
                made.refused[item.id] = own
            else:
                made.items[item.id] = own[0]
                made.certificates.append(own[1])
            on_item()
    return made


def certified(material: Material, items: Sequence[Item]) -> dict[str, Certificate]:
    """Return the items' certificates by id.

    Raises:
        CertificateError: no certificate is still valid.
    """
    if lacking := [item.id for item in items if item.id not in material.certificates]:
        path = material.folder / CERTIFICATES
        raise CertificateError(
            f"{path} has no certificate of {lacking[0]} that holds still\n"
            f"  fix: toolhop certify --data {material.folder / ITEMS} --out {path}"
        )
    return {item.id: material.certificates[item.id] for item in items}


async def _sibling(
    item: Item, plan: Sequence[WrittenHop] | None, basis: Basis, sandbox: Sandbox, seed: int
) -> tuple[Item, Certificate] | NoSibling:
    if not plan:
        return NoSibling.NO_PLAN
    tried = changes(item, seed)
    for change in tried:
        async with sandbox.session() as session:
            answers = await walked(zip(change.tools(item), plan, strict=True), session.call)
        if not answers or same(answers[-1], item.answer):
            continue
        made = sibling(item, plan, change, answers)
        proof = await certify(made, sandbox, basis)
        if await _holds(made, plan, proof, sandbox):
            return made, proof
    return NoSibling.NONE_HOLDS if tried else NoSibling.NO_TABLE


async def _holds(
    item: Item, plan: Sequence[WrittenHop], proof: Certificate, sandbox: Sandbox
) -> bool:
    """Whether the sibling meets the criteria that depend on the contents of a table."""
    written = [replace(hop, gold=GoldCall(own.arguments, "written"))
               for hop, own in zip(item.hops, plan, strict=True)]  # fmt: skip
    by_luck = any(lucky(hop.answer, own) for hop, own in zip(item.hops, proof.hops, strict=True))
    if proof.verdict is not HopVerdict.PROVEN or by_luck:
        return False
    if not question_findings(item.question, written).ok:
        return False
    outcome = await played(item, {"one": sandbox})
    if not all(outcome.oracle.values()) or not outcome.replayed or outcome.by_luck:
        return False
    for attempt in attempts(item, [own.depends_on for own in plan], [own.question for own in plan]):
        name = f"{attempt.criterion}/{attempt.about}"
        if (await prove(sandbox, proof.basis, attempt.task, name)).executed:
            return False
    return True
