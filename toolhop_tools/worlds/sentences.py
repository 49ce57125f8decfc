"""Divide a question into sentences.

A long expression is cut into sentences, each of which introduces one entity ("Take the longest ship
registered at Velmora Haven.") to which a later one refers back ("that ship"). A sentence has at
most two relations and one superlative. Only the last one asks.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

from toolhop_tools.worlds.domain import Attribute
from toolhop_tools.worlds.expression import (
    Entity,
    Expression,
    Follow,
    Gap,
    Named,
    Pick,
    Rank,
    Read,
    Spelled,
    Text,
    Total,
    Which,
    nodes,
    parts,
    type_of,
)
from toolhop_tools.worlds.world import World

NEAR = 2
"""Maximum distance, in sentences, at which "that ship" can refer back; beyond it, a label is
used."""
LONGEST = 2.0
"""Maximum number of relations in a sentence; a condition counts as half."""


@dataclass(frozen=True)
class Plan:
    """Entities with sentences of their own, and how later sentences refer to them."""

    asked: Expression
    steps: tuple[Entity, ...] = ()
    """Entities in the order of their introduction."""
    back: dict[Expression, str] = field(default_factory=dict)
    """Back-reference for each introduced entity, such as ``that ship``."""
    labelled: tuple[Entity, ...] = ()
    """Entities introduced by a label, such as ``ship A``."""
    pair: tuple[Entity, ...] = ()
    """Two compared entities that are introduced together; may be empty."""
    values: dict[Entity, Named] = field(default_factory=dict)
    """Entities that are replaced by their names."""


def planned(asked: Expression, world: World, drawn: random.Random) -> Plan:
    """Return the plan with the fewest sentences that are short and refer back without a label."""
    # In this order each branch is finished before the next one begins.
    able = [node for node in nodes(asked)[:-1] if isinstance(node, Follow | Pick | Which)]
    best: list[Plan] = []
    least = math.inf
    for count in range(len(able) + 1):
        if least <= count:
            break
        for cuts in combinations(able, count):
            plan = _cut(asked, cuts, world)
            cost = _cost(plan, world)
            best = [*best, plan] if cost == least else [plan] if cost < least else best
            least = min(cost, least)
    return drawn.choice(best)


def _cost(plan: Plan, world: World) -> float:
    """Return the number of sentences plus penalties: 3 per label, 1.5 for a pair, 100 per fault."""
    cost = len(plan.steps) + 3.0 * len(plan.labelled) + 1.5 * bool(plan.pair)
    for step in (*plan.steps, plan.asked):
        said = list(_said(step, plan.back))
        cost += 100 * max(0.0, sum(_weight(node) for node in said) - LONGEST)
        cost += 100 * max(0, sum(isinstance(node, Pick) and bool(node.rank) for node in said) - 1)
        cost += 100 * max(0, sum(isinstance(node, Which) for node in said) - 1)
        cost += sum(_awkward(node, plan, world, is_first=node is step) for node in said)
    return cost


def _awkward(node: Expression, plan: Plan, world: World, *, is_first: bool) -> float:
    """Return the penalty for a node with long parts."""
    long = sum(is_long(part, plan.back) for part in parts(node))
    uncut = [part for part in parts(node) if part not in plan.back]
    phrases = sum(not isinstance(part, Named) for part in uncut)
    cost = 100.0 * max(0, long - 1)
    if isinstance(node, Which) and not is_first:
        cost += 0 if plan.pair == parts(node) else 100
    if isinstance(node, Pick) and node.conditions and not is_first:
        cost += 1.5
    if _ends_in_a_verb(node, world):  # avoids "was the depot where it is kept completed"
        cost += 5 * phrases
    match node:
        case Which() | Gap() if plan.pair != parts(node):
            cost += 2 * (long + sum(part in plan.back for part in parts(node)) > 1)
            cost += 50 * long + 3 * (phrases > 1)
            if isinstance(node, Gap) and world.domain.attribute(node.type, node.attribute).verb:
                cost += 4 * phrases  # avoids "the fellow to whom she belongs born"
        case Pick() | Total() if node.conditions or len(node.links) > 1:
            cost += 60 * phrases
        case Pick() | Total() if any(isinstance(part, Which) for part in uncut):
            cost += 4
        case Pick(rank=Rank(attribute, most)) if not is_first:
            ranked = world.domain.attribute(node.type, attribute)
            cost += 0 if superlative(ranked, most=most) else 100
        case Follow():
            link = world.domain.relation(node.type, node.relation)
            if isinstance(node.of, Pick) and phrases:
                cost += 1.5 * (not is_first or said_with_whose(node.of, world))
            stands_in = not link.clause.endswith("{}") and link.noun == noun_of(node, world)
            cost += 40 * phrases * stands_in
        case _:
            pass
    return cost


def _ends_in_a_verb(asked: Expression, world: World) -> bool:
    """Whether a question encloses its subject: "when was it built"."""
    if isinstance(asked, Read):
        read = world.domain.attribute(asked.type, asked.attribute)
        return bool(read.verb or read.counted)
    return isinstance(asked, Spelled) and asked.how is Text.DIGITS


def _weight(node: Expression) -> float:
    """Return the number of relations plus half the number of conditions."""
    match node:
        case Pick(links=links) | Total(links=links):
            return len(links) + len(node.conditions) / 2
        case Follow():
            return 1
        case _:
            return 0


def is_long(node: Expression, back: dict[Expression, str]) -> bool:
    """Whether a phrase is too long for the middle of a sentence."""
    if isinstance(node, Follow) and node not in back:
        node = node.of
    return not isinstance(node, Named) and node not in back


def _said(node: Expression, back: dict[Expression, str]) -> Iterator[Expression]:
    """Yield the nodes in the sentence of a node, without those to which it refers back."""
    yield node
    for part in parts(node):
        if part not in back:
            yield from _said(part, back)


def _cut(asked: Expression, cuts: tuple[Entity, ...], world: World) -> Plan:
    """Plan how entities with their own sentences are introduced and referred to."""
    back: dict[Expression, str] = dict.fromkeys(cuts, "")
    both = [parts(node) for node in nodes(asked) if isinstance(node, Which | Gap)]
    pair = next((ends for ends in both if all(_pairs(end, back, world) for end in ends)), ())
    steps = [node for node in dict.fromkeys(cuts) if node not in pair[:1]]
    if pair:
        steps.insert(steps.index(pair[1]), pair[0])
    labelled: list[Entity] = []
    nouns: Counter[str] = Counter()
    for step in (*steps, asked):
        at = steps.index(step) if step in steps else len(steps)
        for part in (part for node in _said(step, back) for part in parts(node) if part in back):
            is_near = at - steps.index(part) <= NEAR
            if isinstance(step, Follow | Pick):  # "which ship ... that ship"
                is_near = is_near and noun_of(step, world) != noun_of(part, world)
            noun = noun_of(part, world)
            back[part] = f"that {noun}" if is_near and nouns[noun] == 1 else ""
            if not back[part] and part not in (*labelled, *pair):
                labelled.append(part)
        for node in _said(step, back):
            if isinstance(node, Entity):
                called = {noun_of(node, world)}  # a name could be meant too
                if isinstance(node, Follow):
                    called.add(world.domain.relation(node.type, node.relation).noun)
                nouns.update(called)
    labelled.sort(key=steps.index)  # A comes before B
    for letter, node in zip("ABCDEFGH", labelled, strict=False):
        back[node] = f"{noun_of(node, world)} {letter}"
    return Plan(asked, tuple(steps), back, tuple(labelled), pair)


def _pairs(node: Entity, back: dict[Expression, str], world: World) -> bool:
    """Whether an entity has its own sentence that can begin with "one is"."""
    if node in back and isinstance(node, Pick) and node.rank and not repeated(node, world):
        ranked = world.domain.attribute(node.type, node.rank.attribute)
        return bool(superlative(ranked, most=node.rank.most))
    return node in back


def noun_of(node: Entity, world: World) -> str:
    """Return the noun of an entity's type."""
    return world.domain.types[type_of(node, world)].noun


def superlative(of: Attribute, *, most: bool) -> str:
    """Return a superlative adjective such as ``longest``; empty if the attribute has none."""
    return of.most if most else of.least


def said_with_whose(node: Pick, world: World) -> bool:
    """Whether the candidates of a pick are described in a clause: "whose cast included Asta"."""
    return any(
        world.domain.relation(node.type, link.relation).linked.startswith(("who", "that"))
        for link in node.links
        if not link.backward
    )


def repeated(node: Pick, world: World) -> str:
    """Return the verb shared by a relation and the rank, as in "discovered by Asta"; or empty."""
    if node.rank is None:
        return ""
    ranked = world.domain.attribute(node.type, node.rank.attribute)
    verb = "" if superlative(ranked, most=node.rank.most) else ranked.verb
    links = [
        world.domain.relation(node.type, link.relation).linked
        for link in node.links
        if not link.backward
    ]
    return verb if verb and any(said.startswith(f"{verb} ") for said in links) else ""
