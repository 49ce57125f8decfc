"""Certification of any item by search, and of a generated item also by running its chain."""

from __future__ import annotations

import logging
from dataclasses import replace

from toolhop_sandbox.base import Sandbox, Session
from toolhop_sandbox.errors import SandboxFault
from toolhop_sandbox.outcome import Returned
from toolhop_tools.certify.candidates import Provenance
from toolhop_tools.certify.model import (
    RESULT_CHARS,
    Basis,
    Certificate,
    Evidence,
    HopProof,
    HopVerdict,
)
from toolhop_tools.certify.prove import MOST_LOST, asked, certify
from toolhop_tools.certify.shapes import edges, shape
from toolhop_tools.errors import shown
from toolhop_tools.model import Item
from toolhop_tools.readers.worlds import is_made
from toolhop_tools.reading import answer_at, read_result
from toolhop_tools.worlds import items

log = logging.getLogger(__name__)


async def certify_surely(item: Item, sandbox: Sandbox, basis: Basis) -> Certificate:
    """Certify an item, starting again if its worker was lost.

    If this version of the generator produces exactly this item, and the calls of its chain return
    its answers in this sandbox, the verdict is `HopVerdict.CONSTRUCTED`.

    Raises:
        SandboxFault: workers were lost repeatedly.
        SandboxUnavailable: as `certify`.
    """
    for _ in range(MOST_LOST):
        try:
            return await _certified(item, sandbox, basis)
        except SandboxFault as fault:
            log.warning("item %s is certified anew: %s", item.id, fault)
    return await _certified(item, sandbox, basis)


async def _certified(item: Item, sandbox: Sandbox, basis: Basis) -> Certificate:
    found = await certify(item, sandbox, basis)
    if not is_made(item):
        return found
    async with sandbox.session() as session:
        proofs = [await _executed(item, at, session) for at in range(len(item.hops))]
    failed = [number for number, proof in enumerate(proofs, 1) if not proof.executed]
    if failed:
        proof = proofs[failed[0] - 1]
        why = f"hop {failed[0]} ({proof.tool}): {proof.why}"
        return replace(found, verdict=HopVerdict.UNPROVEN, why=why, hops=tuple(proofs), defect=None)
    return replace(
        found,
        verdict=HopVerdict.CONSTRUCTED,
        why=f"generator {items.VERSION} makes this item, and every call of its chain was executed",
        shape=shape([proof.edges for proof in proofs]).value,
        hops=tuple(proofs),
        defect=None,
        executed=True,
        determined=True,
        generator=items.VERSION,
        searched=found.hops,
    )


async def _executed(item: Item, at: int, session: Session) -> HopProof:
    """Run the chain's call of one hop of a generated item and return the proof."""
    hop = item.hops[at]
    if hop.gold is None or hop.gold.reading is None:
        raise ValueError(f"hop {at + 1} of {item.id} is made without a call")
    arguments = dict(hop.gold.arguments)
    outcome = await session.call(hop.tool.program, arguments)
    text = outcome.json_text if isinstance(outcome, Returned) else ""
    answer = answer_at(read_result(text), hop.gold.reading) if text else None
    if answer != hop.answer:
        why = f"the chain's call gives {shown(answer)} here, and its answer is {shown(hop.answer)}"
        seen = (Evidence.of(arguments, outcome),)
        return HopProof(hop.tool.name, HopVerdict.UNPROVEN, why, 1, evidence=seen)
    return HopProof(
        tool=hop.tool.name,
        verdict=HopVerdict.CONSTRUCTED,
        why="the chain's call gives the answer",
        executions=1,
        arguments=arguments,
        result=text[:RESULT_CHARS],
        answer=answer,
        reading=hop.gold.reading,
        provenance=Provenance.CHAIN,
        edges=edges(asked(item, at, {}), arguments),
        executed=True,
        determined=True,
    )
