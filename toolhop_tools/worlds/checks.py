"""What is kept of what is drawn: right, unique, no hop or word to spare, and not had for less."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from toolhop_tools.worlds.domain import Kind
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
    chosen,
    entity,
    evaluate,
    nodes,
    parts,
    type_of,
)
from toolhop_tools.worlds.world import Value, World

CANDIDATES = 3
"""Entities that a superlative chooses from, at least."""
FEW = 20
"""Answers have this many possible values at least, and counts are not below it: else guessed."""
TRIES = 5
"""Values put in the place of a hop's own."""


class Reason(StrEnum):
    """Why an expression is refused; in the order of the checks, the cheapest first."""

    GUESSABLE = "the answer has few possible values"
    CIRCLE = "a relation, attribute or entity comes twice"
    UNDEFINED = "no answer, or several"
    CANDIDATES = "a superlative over too few"
    SPARE_PART = "a link, condition or rank changes nothing"
    SPARE_HOP = "the result of a hop changes nothing"


@dataclass(frozen=True, slots=True)
class Refused:
    """What is not kept."""

    reason: Reason
    about: str
    """The node, the value or the calls that it is refused for."""
    answer_type: str


def meaning(asked: Expression, world: World) -> Value | Refused:
    """The answer of an expression that makes a good question; tools have no say in it."""
    answer_type = type_of(asked, world)
    if twice := _twice(asked, frozenset()):
        return Refused(Reason.CIRCLE, str(twice), answer_type)
    try:
        answer = evaluate(asked, world)
    except Undefined as error:
        return Refused(Reason.UNDEFINED, str(error), answer_type)
    for reason, about in _faults(asked, answer, world):
        return Refused(reason, str(about), answer_type)
    return answer


def _faults(asked: Expression, answer: Value, world: World) -> Iterator[tuple[Reason, object]]:
    """What is wrong with it, the cheapest to see first."""
    if _guessable(asked, answer, world):
        yield Reason.GUESSABLE, answer
    passed = [evaluate(node, world) for node in nodes(asked) if not isinstance(node, Which | Gap)]
    if len(set(passed)) < len(passed):
        yield Reason.CIRCLE, passed
    for node in nodes(asked):
        if isinstance(node, Pick) and node.rank and len(chosen(node, world)) < CANDIDATES:
            yield Reason.CANDIDATES, node

    def same(other: Expression) -> bool:
        return _value(other, world) == answer

    for part, without in _changed(asked, _shortened):
        if same(without):
            yield Reason.SPARE_PART, part
    compared = {
        id(below) for node in nodes(asked) if isinstance(node, Which) for below in nodes(node)[:-1]
    }
    changes: dict[int, list[bool]] = defaultdict(list)
    for node, other in _changed(asked, lambda node: _replaced(node, world)):
        changes[id(node)].append(not same(other))
    for node in nodes(asked):
        tries = changes[id(node)]
        # Many another entity serves as the lesser of two: one that does not shows the need.
        needed = 1 if id(node) in compared else len(tries) // 2 + 1
        if tries and sum(tries) < needed:
            yield Reason.SPARE_HOP, node


def spare_elsewhere(
    asked: Expression, here: World, elsewhere: Sequence[World]
) -> Expression | None:
    """A hop that a player may skip if he knows its result here: with that the question has its
    right answer in half or more of the other worlds in which it has one.

    Args:
        asked: an expression with a value here.
        here: its world.
        elsewhere: worlds of the same names with other values.
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
    """A hop's entity by its name."""
    if not isinstance(node, Named | Read | Gap | Total | Spelled):
        yield Named(type_of(node, world), entity(node, world))


def _value(asked: Expression, world: World) -> Value | None:
    try:
        return evaluate(asked, world)
    except Undefined:
        return None


def _guessable(asked: Expression, answer: Value, world: World) -> bool:
    match asked:
        case Total(how=Sum.COUNT):
            return int(answer) < FEW
        case Read(kind, attribute, _, _):
            of = world.domain.attribute(kind, attribute)
            if of.kind is Kind.CATEGORY:
                return len(of.values) < FEW
            spread = of.kind is Kind.DATE or of.after
            return not spread and (of.high - of.low) // of.step < FEW
        case _:
            return False


def _uses(asked: Expression) -> Iterator[tuple[str, str]]:
    """The relations and attributes of a node alone, with their types."""
    match asked:
        case Follow(kind, relation, _):
            yield kind, relation
        case Read(kind, attribute) | Gap(kind, attribute) | Which(kind, attribute):
            yield kind, attribute
        case Pick(kind, links, conditions) | Total(type=kind, links=links, conditions=conditions):
            yield from ((link.end_type if link.backward else kind, link.relation) for link in links)
            yield from ((kind, condition.attribute) for condition in conditions)
            if isinstance(asked, Pick) and asked.rank:
                yield kind, asked.rank.attribute
            if isinstance(asked, Total):
                yield kind, asked.attribute


def _twice(asked: Expression, above: frozenset[tuple[str, str]]) -> tuple[str, str] | None:
    """What is used twice on the way from the answer to a name, if anything is."""
    own = frozenset(_uses(asked))
    if own & above:
        return min(own & above)
    return next(
        (twice for part in parts(asked) if (twice := _twice(part, above | own))),
        None,
    )


def _changed(
    asked: Expression, changes: Callable[[Expression], Iterator[Expression]]
) -> Iterator[tuple[Expression, Expression]]:
    """Each node with the whole expression after each of its changes."""
    for other in changes(asked):
        yield asked, other
    for place, part in enumerate(parts(asked)):
        for node, other in _changed(part, changes):
            yield node, _with_part(asked, place, other)


def _with_part(asked: Expression, place: int, part: Expression) -> Expression:
    """A node with another expression in one of its places, which are those of `parts`."""
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
    """A node without one of its links or conditions, or without its rank."""
    if isinstance(asked, Pick | Total):
        for link in asked.links:
            yield replace(asked, links=tuple(other for other in asked.links if other != link))
        for condition in asked.conditions:
            rest = tuple(other for other in asked.conditions if other != condition)
            yield replace(asked, conditions=rest)
    if isinstance(asked, Pick) and asked.rank:
        yield replace(asked, rank=None)


def _replaced(asked: Expression, world: World) -> Iterator[Named]:
    """Other entities in the place of a hop's, spread over its type."""
    if isinstance(asked, Named):
        return
    kind, own = type_of(asked, world), evaluate(asked, world)
    names = [name for name in world.tables.get(kind, ()) if name != own]
    for name in names[:: max(1, len(names) // TRIES)][:TRIES]:
        yield Named(kind, name)
