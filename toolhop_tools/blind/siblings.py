"""Siblings of certified items: the same chain, started from another record that the tools know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import same_answer
from toolhop_tools.blind.chain import Chain, ChainHop, Sibling
from toolhop_tools.blind.plan import Plan, Step
from toolhop_tools.blind.run import run_plan
from toolhop_tools.blind.votes import comes_through
from toolhop_tools.certify.audit import randomised
from toolhop_tools.certify.candidates import Task
from toolhop_tools.certify.model import Certificate
from toolhop_tools.certify.prove import asked
from toolhop_tools.construct.calls import Call
from toolhop_tools.model import Item
from toolhop_tools.words import as_text, scalars

TRIES = 40
"""Records tried as a new start, for each hop that starts a chain."""


def chain_of(item: Item, certificate: Certificate | None = None) -> Chain:
    """Return an item's gold chain, with the calls of its certificate or else its author's."""
    hops = []
    for at, hop in enumerate(item.hops):
        call = hop.gold if certificate is None else certificate.hops[at]
        reading, arguments = (call.reading, call.arguments) if call else (None, None)
        edges = () if certificate is None else certificate.hops[at].edges
        takes = frozenset(edge.argument.split(".")[0] for edge in edges if edge.argument)
        hops.append(ChainHop(at + 1, hop.tool.name, hop.answer, reading, arguments, takes))
    return Chain(item.answer, tuple(hops))


def gold_plan(item: Item, certificate: Certificate) -> Plan | None:
    """Return the certified calls as a plan.

    None if a hop has no call or takes an answer in another form.
    """
    steps: list[Step] = []
    for hop, proof in zip(item.hops, certificate.hops, strict=True):
        if proof.arguments is None or any(not edge.equal for edge in proof.edges):
            return None
        taken = {edge.argument: f"{{{edge.hop}}}" for edge in proof.edges if edge.argument}
        arguments = _referring(proof.arguments, taken)
        steps.append(Step(asks=hop.question[:2000], tool=hop.tool.name, arguments=arguments))
    return Plan(steps=steps)


def _referring(arguments: Mapping[str, JSON], taken: Mapping[str, str]) -> dict[str, JSON]:
    """Replace arguments by references, at paths such as ``values.0`` that take an answer."""

    def part(value: JSON, path: str) -> JSON:
        if path in taken:
            return taken[path]
        if isinstance(value, dict):
            return {key: part(inner, f"{path}.{key}") for key, inner in value.items()}
        if isinstance(value, list):
            return [part(inner, f"{path}.{at}") for at, inner in enumerate(value)]
        return value

    return {name: part(value, name) for name, value in arguments.items()}


async def sibling_of(item: Item, certificate: Certificate, call: Call, seed: int) -> Sibling | None:
    """Return the chain from another record, or None if no record leads to a different answer.

    The certificate must have a call for every hop. The records tried depend on `seed`.

    Raises:
        Exception: whatever `call` raises.
    """
    plan, chain = gold_plan(item, certificate), chain_of(item, certificate)
    if plan is None:
        return None
    tools = item.all_tools
    for at, step in enumerate(plan.steps):
        if step.takes:
            continue
        task = Task(item.hops[at], asked(item, at, {}))
        for variant in randomised(task, step.arguments, TRIES, f"{seed}/{item.id}/{at}/sibling"):
            replaced = replaced_by(step.arguments, variant)
            other = plan.of(Sibling(replaced, tuple(hop.answer for hop in chain.hops)))
            # Do not look for the item's own answers in the results for another record.
            hops = [replace(hop, answer="") for hop in chain.hops]
            runs = await run_plan(other, tools, call, hops) if replaced else ()
            if not runs or not comes_through(other, runs):
                continue
            answers = tuple(run.value or "" for run in runs)
            if not same_answer(item.answer, answers[-1]):
                return Sibling(replaced, answers)
    return None


def replaced_by(arguments: Mapping[str, JSON], variant: Mapping[str, JSON]) -> dict[str, str]:
    """Map a call's literals to those of a variant; empty if the mapping is not unique."""
    before, after = dict(scalars(dict(arguments))), dict(scalars(dict(variant)))
    if before.keys() != after.keys():
        return {}
    changed = {
        (as_text(before[path]), as_text(after[path]))
        for path in before
        if before[path] != after[path]
    }
    replaced = dict(changed)
    return replaced if len(replaced) == len(changed) else {}
