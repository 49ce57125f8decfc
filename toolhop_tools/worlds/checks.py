"""Check drawn expressions: right, unique, no superfluous hop or word, no shortcut."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum

from toolhop_tools.worlds.expression import (
    Expression,
    Follow,
    Gap,
    Named,
    Pick,
    Read,
    Spelled,
    Sum,
    Total,
    Undefined,
    Which,
    entity,
    evaluate,
    nodes,
    parts,
    type_of,
)
from toolhop_tools.worlds.world import Value, World

FEW = 20
"""Smallest count that is hard enough to guess."""
TRIES = 5
"""Number of values tried in place of a hop's own."""


class Reason(StrEnum):
    """Why an expression is refused, in the order of the checks, cheapest first."""

    UNDEFINED = "no answer, or several"
    GUESSABLE = "the answer has few possible values"
    CIRCLE = "a relation, attribute or entity comes twice"
    SPARE_PART = "a link, condition or rank changes nothing"
    SPARE_HOP = "the result of a hop changes nothing"


def meaning(asked: Expression, world: World) -> Value | Reason:
    """Return the answer of an expression that makes a good question, regardless of tools."""
    try:
        answer = evaluate(asked, world)
    except Undefined:
        return Reason.UNDEFINED
    return next(_faults(asked, answer, world), answer)


def _faults(asked: Expression, answer: Value, world: World) -> Iterator[Reason]:
    """Yield the faults of an expression, those cheapest to detect first."""
    if isinstance(asked, Total) and asked.how is Sum.COUNT and int(answer) < FEW:
        yield Reason.GUESSABLE
    used = [column for node in nodes(asked) for column in {*_columns(node)}]
    passed = [evaluate(node, world) for node in nodes(asked) if not isinstance(node, Which | Gap)]
    if len(set(used)) < len(used) or len(set(passed)) < len(passed):
        yield Reason.CIRCLE

    def same(other: Expression) -> bool:
        return _value(other, world) == answer

    if any(same(without) for _, without in _changed(asked, _shortened)):
        yield Reason.SPARE_PART
    compared = {
        id(below) for node in nodes(asked) if isinstance(node, Which) for below in nodes(node)[:-1]
    }
    changes: dict[int, list[bool]] = defaultdict(list)
    for node, other in _changed(asked, lambda node: _replaced(node, world)):
        changes[id(node)].append(not same(other))
    for place, tries in changes.items():
        # In a comparison many entities can be the lesser one, so a single change suffices.
        if sum(tries) < (1 if place in compared else len(tries) // 2 + 1):
            yield Reason.SPARE_HOP


def spare_elsewhere(
    asked: Expression, here: World, elsewhere: Sequence[World]
) -> Expression | None:
    """Return a hop that a player can skip by knowing its result in this world; None if there is
    none.

    With that result fixed, the question keeps its right answer in at least half of the other worlds
    in which it has one.

    Args:
        asked: an expression that has a value in this world.
        here: this world.
        elsewhere: worlds with the same names and other values.
    """
    answers = [_value(asked, world) for world in elsewhere]
    for node, fixed in _changed(asked, lambda node: _fixed(node, here)):
        if node is asked:
            continue
        differ = [
            _value(fixed, world) != answer
            for world, answer in zip(elsewhere, answers, strict=True)
            if answer is not None
        ]
        if differ and 2 * sum(differ) <= len(differ):
            return node
    return None


def _fixed(node: Expression, world: World) -> Iterator[Named]:
    """Yield the `Named` entity that a hop evaluates to."""
    if not isinstance(node, Named | Read | Gap | Total | Spelled):
        yield Named(type_of(node, world), entity(node, world))


def _value(asked: Expression, world: World) -> Value | None:
    try:
        return evaluate(asked, world)
    except Undefined:
        return None


def _columns(node: Expression) -> Iterator[tuple[str, str]]:
    """Yield the relations and attributes of the node itself, with their types."""
    match node:
        case Follow(kind, relation, _):
            yield kind, relation
        case Read(kind, attribute) | Gap(kind, attribute) | Which(kind, attribute):
            yield kind, attribute
        case Pick(kind, links, conditions) | Total(type=kind, links=links, conditions=conditions):
            yield from (link.column(kind) for link in links)
            yield from ((kind, condition.attribute) for condition in conditions)
            if isinstance(node, Pick) and node.rank:
                yield kind, node.rank.attribute
            if isinstance(node, Total):
                yield kind, node.attribute


def _changed(
    asked: Expression, changes: Callable[[Expression], Iterator[Expression]]
) -> Iterator[tuple[Expression, Expression]]:
    """Yield each node with the whole expression, once for each change of the node."""
    for other in changes(asked):
        yield asked, other
    for place, part in enumerate(parts(asked)):
        for node, other in _changed(part, changes):
            yield node, _with_part(asked, place, other)


def _with_part(asked: Expression, place: int, part: Expression) -> Expression:
    """Replace a part of a node; places are numbered as in `parts`."""
    if isinstance(part, Read | Gap | Total | Spelled):
        raise TypeError(f"{part} is no entity")
    match asked:
        case Follow() | Read() | Spelled():
            return replace(asked, of=part)
        case Which() | Gap():
            return replace(asked, second=part) if place else replace(asked, first=part)
        case Pick(links=links) | Total(links=links):
            ended = [
                replace(link, end=part) if at == place else link for at, link in enumerate(links)
            ]
            return replace(asked, links=tuple(ended))
        case _:
            raise TypeError(f"{asked} has no parts")


def _shortened(asked: Expression) -> Iterator[Expression]:
    """Yield variants of a node without one of its links or conditions, or without its rank."""
    if isinstance(asked, Pick | Total):
        for link in asked.links:
            yield replace(asked, links=tuple(other for other in asked.links if other != link))
        for condition in asked.conditions:
            rest = tuple(other for other in asked.conditions if other != condition)
            yield replace(asked, conditions=rest)
    if isinstance(asked, Pick) and asked.rank:
        yield replace(asked, rank=None)


def _replaced(asked: Expression, world: World) -> Iterator[Named]:
    """Yield other entities in place of a hop's, spread over its type."""
    if isinstance(asked, Named):
        return
    kind, own = type_of(asked, world), evaluate(asked, world)
    names = [name for name in world.tables.get(kind, ()) if name != own]
    for name in names[:: max(1, len(names) // TRIES)][:TRIES]:
        yield Named(kind, name)
