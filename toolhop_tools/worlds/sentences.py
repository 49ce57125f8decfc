"""Which sentences a question has.

A long expression is cut into sentences, each of which introduces one entity ("Take the longest
ship registered at Velmora Haven.") that a later one refers back to ("that ship"). A sentence says
two relations and one superlative at most. Only the last one asks.
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
    Total,
    Which,
    nodes,
    parts,
    type_of,
)
from toolhop_tools.worlds.world import World

LONGEST = 2.0
"""Relations in a sentence at most; a condition is half a one."""


@dataclass(frozen=True)
class Plan:
    """Which entities get a sentence of their own, and how later ones refer to them."""

    asked: Expression
    steps: tuple[Entity, ...] = ()
    """Entities in the order in which they are introduced."""
    back: dict[Expression, str] = field(default_factory=dict)
    """``that ship``, of each entity that is introduced."""
    labelled: tuple[Entity, ...] = ()
    """Entities that are introduced by a label, ``ship A``."""
    pair: tuple[Entity, ...] = ()
    """Two of one type that are introduced together, or none."""
    values: dict[Entity, Named] = field(default_factory=dict)
    """Entities that are named in the place of the phrase."""


def planned(asked: Expression, world: World, drawn: random.Random) -> Plan:
    """The plan with the fewest sentences that are short and refer back without a label."""
    # In this order each thread is told to its end before the next one begins.
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
    """Sentences; each label counts as three more, what has to be avoided as a hundred."""
    cost = len(plan.steps) + 3.0 * len(plan.labelled)
    for step in (*plan.steps, plan.asked):
        said = list(_said(step, plan.back))
        cost += 100 * max(0.0, sum(_weight(node) for node in said) - LONGEST)
        cost += 100 * max(0, sum(isinstance(node, Pick) and bool(node.rank) for node in said) - 1)
        cost += 100 * max(0, sum(isinstance(node, Which) for node in said) - 1)
        cost += sum(_awkward(node, plan, world, is_first=node is step) for node in said)
    return cost


def _awkward(node: Expression, plan: Plan, world: World, *, is_first: bool) -> float:
    """What a node adds to the cost where a part of it is long."""
    long = sum(is_long(part, plan.back) for part in parts(node))
    phrases = sum(not isinstance(part, Named) and part not in plan.back for part in parts(node))
    cost = 100.0 * max(0, long - 1)
    if isinstance(node, Which) and not is_first:
        cost += 0 if plan.pair == parts(node) else 100
    if isinstance(node, Pick) and node.conditions and not is_first:
        cost += 1.5
    match node:
        case Read(kind, attribute):
            read = world.domain.attribute(kind, attribute)
            if read.verb or read.counted:  # "the depot where it is kept completed" stumbles
                cost += 1.5 * phrases + 3 * long
        case Which() | Gap() if plan.pair != parts(node):
            cost += 2 * (long + sum(part in plan.back for part in parts(node)) > 1)
            cost += 50 * long + 3 * (phrases > 1)
            if isinstance(node, Gap) and world.domain.attribute(node.type, node.attribute).verb:
                cost += 4 * phrases  # "the fellow to whom she belongs born" stumbles
        case Pick() | Total() if node.conditions or len(node.links) > 1:
            cost += 60 * phrases
        case Pick(rank=Rank(attribute, most)) if not is_first:
            ranked = world.domain.attribute(node.type, attribute)
            cost += 0 if superlative(ranked, most=most) else 100
        case Follow():
            link = world.domain.relation(node.type, node.relation)
            cost += 1.5 * (isinstance(node.of, Pick) and phrases and not is_first)
            stands_in = not link.clause.endswith("{}") and link.noun == noun_of(node, world)
            cost += 40 * phrases * stands_in
            if not link.clause.endswith("{}") and noun_of(node, world) not in link.noun:
                cost += 1.5 * phrases * (plan.back.get(node) == f"that {noun_of(node, world)}")
        case _:
            pass
    return cost


def _weight(node: Expression) -> float:
    """Relations, or half of one for each condition."""
    match node:
        case Pick(links=links) | Total(links=links):
            return len(links) + len(node.conditions) / 2
        case Follow():
            return 1
        case _:
            return 0


def is_long(node: Expression, back: dict[Expression, str]) -> bool:
    """Whether a phrase cannot stand in the middle."""
    if isinstance(node, Follow) and node not in back:
        node = node.of
    return not isinstance(node, Named) and node not in back


def _said(node: Expression, back: dict[Expression, str]) -> Iterator[Expression]:
    """The nodes that the sentence of one says, without those that it refers back to."""
    yield node
    for part in parts(node):
        if part not in back:
            yield from _said(part, back)


def _cut(asked: Expression, cuts: tuple[Entity, ...], world: World) -> Plan:
    """How entities that get sentences of their own are introduced and referred to."""
    back: dict[Expression, str] = dict.fromkeys(cuts, "")
    both = [parts(node) for node in nodes(asked)]
    pair = next((ends for ends in both if _are_paired(ends, back, world)), ())
    steps = [node for node in dict.fromkeys(cuts) if node not in pair[:1]]
    if pair:
        steps.insert(steps.index(pair[1]), pair[0])
    labelled: list[Entity] = []
    nouns: Counter[str] = Counter()
    for step in (*steps, asked):
        for part in (part for node in _said(step, back) for part in parts(node) if part in back):
            back[part] = back[part] if part in pair else _back(part, nouns, world)
            if not back[part] and part not in labelled:
                labelled.append(part)
        if step in pair[1:]:
            noun = noun_of(step, world)
            back.update(zip(pair, (f"the first {noun}", f"the second {noun}"), strict=True))
        for node in _said(step, back):
            if isinstance(node, Entity):
                nouns.update(_called(node, world))
    labelled.sort(key=steps.index)  # A comes before B
    for letter, node in zip("ABCDEFGH", labelled, strict=False):
        back[node] = f"{noun_of(node, world)} {letter}"
    return Plan(asked, tuple(steps), back, tuple(labelled), pair)


def _are_paired(ends: tuple[Entity, ...], back: dict[Expression, str], world: World) -> bool:
    """Whether two entities are of one type, and both get sentences of their own."""
    kinds = {type_of(end, world) for end in ends}
    return len(ends) == 2 and len(kinds) == 1 and all(end in back for end in ends)


def _back(node: Entity, nouns: Counter[str], world: World) -> str:
    """How to refer to an entity: by what no other was called; empty if there is no such noun."""
    noun, relation = called = [noun_of(node, world), relation_of(node, world)]
    is_role = (
        isinstance(node, Follow) and not world.domain.relation(node.type, node.relation).clause
    )
    if is_role and noun not in relation:
        called.reverse()
    return next((f"that {noun}" for noun in called if nouns[noun] == 1), "")


def _called(node: Entity, world: World) -> set[str]:
    """The nouns that a phrase may say; of a name its noun, where it is said or part of the name."""
    if isinstance(node, Named) and not node.by_code:
        of = world.domain.types[node.type]
        return {of.noun} if of.is_said or of.noun in node.name.lower() else set()
    return {noun_of(node, world), relation_of(node, world)} - {""}


def noun_of(node: Entity, world: World) -> str:
    """What an entity is called by its type."""
    return world.domain.types[type_of(node, world)].noun


def relation_of(node: Entity, world: World) -> str:
    """What an entity is to the one it is reached from; empty if it is reached otherwise."""
    return world.domain.relation(node.type, node.relation).noun if isinstance(node, Follow) else ""


def superlative(of: Attribute, *, most: bool) -> str:
    """An adjective, ``longest``; empty where the attribute has none."""
    return of.most if most else of.least


def ranks(of: Attribute) -> bool:
    """Whether its verb says which is first: "the first to be first described" says it twice."""
    return bool(of.verb) and not of.verb.startswith("first ")
