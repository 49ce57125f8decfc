"""Certification of items: the search for each hop, and its consequences for the item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from toolhop_sandbox.base import Sandbox
from toolhop_tools.answers import same_answer
from toolhop_tools.certify.candidates import Task
from toolhop_tools.certify.mentions import mentions
from toolhop_tools.certify.model import Basis, Certificate, Defect, HopProof, HopVerdict
from toolhop_tools.certify.readable import Asked, Ground, ground
from toolhop_tools.certify.search import Search
from toolhop_tools.certify.shapes import shape
from toolhop_tools.certify.standing import is_named
from toolhop_tools.dates import notations_named
from toolhop_tools.english import counts_from_zero
from toolhop_tools.errors import shown
from toolhop_tools.model import Item

MOST_LOST = 2
"""Number of times an item is started again after its worker was lost."""


def asked(item: Item, at: int, returned: Mapping[int, str]) -> Asked:
    """Return the question of hop `at` (from 0); `returned` has answers as tools spelled them."""
    hop, earlier = item.hops[at], tuple(hop.answer for hop in item.hops[:at])
    found = mentions(hop.question, earlier)
    return Asked(hop.answer, found, earlier, item.question, dict(returned))


async def certify(item: Item, sandbox: Sandbox, basis: Basis) -> Certificate:
    """Search for every hop's gold call, in one session.

    Raises:
        SandboxFault, SandboxUnavailable: the worker was lost, or none could be started.
    """
    proofs: list[HopProof] = []
    returned: dict[int, str] = {}
    async with sandbox.session() as session:
        for at, hop in enumerate(item.hops):
            seed = f"{basis.seed}/{item.id}/{at}"
            task = Task(hop, asked(item, at, returned))
            proof = await Search(session, task, basis, seed).prove()
            if proof.answer is not None and proof.answer != hop.answer:
                returned[at] = proof.answer
            proofs.append(proof)
    chain_fault = _chain_fault(item, proofs, returned)
    verdict, why, defect = _verdict(item, proofs, chain_fault)
    return Certificate(
        item=item.id,
        digest=item.digest,
        basis=basis,
        verdict=verdict,
        why=why,
        shape=shape([proof.edges for proof in proofs]).value,
        hops=tuple(proofs),
        defect=defect,
        executed=all(proof.executed for proof in proofs) and not chain_fault,
        determined=all(proof.determined for proof in proofs),
    )


_WORST_FIRST = (
    *(HopVerdict.DEFECTIVE, HopVerdict.REFUSED, HopVerdict.UNPROVEN, HopVerdict.AMBIGUOUS),
)


def _verdict(
    item: Item, proofs: Sequence[HopProof], chain_fault: str
) -> tuple[HopVerdict, str, Defect | None]:
    for wanted in _WORST_FIRST:
        for number, proof in enumerate(proofs, 1):
            if proof.verdict is wanted:
                return wanted, f"hop {number} ({proof.tool}): {proof.why}", None
    if not same_answer(item.answer, item.hops[-1].answer):
        why = "the last hop's answer is not the item's"
        return HopVerdict.DEFECTIVE, why, Defect.OTHER_ANSWER
    if chain_fault:
        return HopVerdict.UNPROVEN, chain_fault, None
    return HopVerdict.PROVEN, "every hop's call gives its gold answer", None


def _chain_fault(item: Item, proofs: Sequence[HopProof], returned: Mapping[int, str]) -> str:
    """Return why the proven hops do not lead from the question to the answer; empty if they do.

    Each value of a call must come from the item's question, a document or an earlier answer, and
    each answer but the last must be used by a later call.
    """
    calls = [proof.arguments for proof in proofs]
    used = {edge.hop for proof in proofs if proof.arguments is not None for edge in proof.edges}
    for at, (hop, proof) in enumerate(zip(item.hops, proofs, strict=True)):
        arguments = calls[at]
        if arguments is None:
            continue
        earlier = tuple(other.answer for other in item.hops[:at])
        alone = Asked(hop.answer, mentions(item.question, earlier), earlier, "", dict(returned))
        task = Task(hop, asked(item, at, returned))
        for leaf in task.leaves(arguments):
            # Values that a document lists do not count as words of the question.
            named = " ".join(notations_named(leaf.about))
            about = leaf.about if counts_from_zero(leaf.about) else named
            plain = replace(leaf, schema={}, about=about)
            own_text = isinstance(leaf.value, str) and not leaf.is_option
            said = own_text and leaf.value != leaf.schema.get("default")
            said = said and ground(task.asked, plain) is not Ground.NOWHERE
            if (said or is_named(task, leaf)) and ground(alone, plain) is Ground.NOWHERE:
                return (
                    f"hop {at + 1} ({proof.tool}) is given {shown(leaf.value)}, which the item's "
                    "question, the documents and the earlier answers do not have"
                )
        if at + 1 < len(proofs) and at + 1 not in used:
            return f"no later call takes the answer of hop {at + 1} ({proof.tool})"
    given = proofs[-1].answer
    if given is not None and not same_answer(item.answer, given):
        return "the last result gives the answer in another spelling, which the strict rule refuses"
    return ""
