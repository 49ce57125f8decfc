"""Nesting of an item's hops: which argument comes from which earlier answer. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import same_answer
from toolhop_tools.certify.model import Edge
from toolhop_tools.certify.readable import Asked
from toolhop_tools.words import as_text, letters, name_words, number_of, runs, scalars, words

SHORTEST = 3
"""Minimum number of letters for a text to count as a part of an answer, not as a coincidence."""


class Shape(StrEnum):
    """The form of an item's chain."""

    LINEAR = "linear"
    BRANCH = "branch"
    """Several later hops use the same answer."""
    JOIN = "join"
    """A hop uses several earlier answers."""
    BRANCH_AND_JOIN = "branch and join"
    PARTLY = "partly nested"
    """Some hops are not connected to any other, or there are several chains."""
    INDEPENDENT = "independent"
    """No hop uses another's answer."""


def edges(asked: Asked, arguments: Mapping[str, JSON]) -> tuple[Edge, ...]:
    """Return which arguments come from earlier answers: mentioned answers first, then any."""
    free = [hop for hop, _ in asked.mentions.answers]
    others = [hop for hop in reversed(range(len(asked.earlier))) if hop not in free]
    found: list[Edge] = []
    for name, value in arguments.items():
        if isinstance(value, list) and (hop := _whole(asked, value)) is not None:
            found.append(Edge(hop + 1, name, equal=True))
            continue
        for path, leaf in scalars(value):
            if leaf is None or isinstance(leaf, bool):
                continue
            edge = _edge(asked, as_text(leaf), ".".join(map(str, (name, *path))), free, others)
            if edge is not None:
                found.append(edge)
    return tuple(found)


def _whole(asked: Asked, value: list[JSON]) -> int | None:
    """Return the earlier hop whose answer is this list, or None."""
    written = letters("".join(as_text(leaf) for _, leaf in scalars(value)))
    lists = [hop for hop, one in enumerate(asked.earlier) if one.strip().startswith(("[", "("))]
    same = [hop for hop in lists if written and letters(asked.earlier[hop]) == written]
    return same[-1] if same else None


def _edge(
    asked: Asked, text: str, path: str, free: list[int], others: Sequence[int]
) -> Edge | None:
    for hop in free:
        if same_answer(asked.earlier[hop], text):
            # If two answers are equal, the next argument gets the other one.
            free.append(free.pop(free.index(hop)))
            return Edge(hop + 1, path, equal=True)
    asked_words = words(asked.mentions.text)
    own = any(same_answer(number, text) for number in asked.mentions.numbers)
    for hop in others:
        if not own and same_answer(asked.earlier[hop], text) and not runs(words(text), asked_words):
            return Edge(hop + 1, path, equal=True)
    for hop in (*free, *others):
        if _made_of(asked.earlier[hop], text):
            return Edge(hop + 1, path, equal=False)
    return None


def _made_of(answer: str, text: str) -> bool:
    number, whole = number_of(text), number_of(answer)
    if number is not None or whole is not None:
        return number is not None and whole is not None and number == -whole != whole
    part, words_of_it = name_words(text), name_words(answer)
    within = runs(part, words_of_it) or runs(words_of_it, part)
    return bool(within) and min(len(letters(text)), len(letters(answer))) >= SHORTEST


def shape(hops: Sequence[Sequence[Edge]]) -> Shape:
    """Return the form of a chain, given the edges of each hop."""
    pairs = {(edge.hop, at) for at, own in enumerate(hops, 1) for edge in own}
    if not pairs:
        return Shape.INDEPENDENT
    if not _connected(len(hops), pairs):
        return Shape.PARTLY
    branch = len({source for source, _ in pairs}) < len(pairs)
    join = len({target for _, target in pairs}) < len(pairs)
    if branch:
        return Shape.BRANCH_AND_JOIN if join else Shape.BRANCH
    return Shape.JOIN if join else Shape.LINEAR


def _connected(count: int, pairs: set[tuple[int, int]]) -> bool:
    reached = {1}
    for _ in range(count):
        reached |= {hop for pair in pairs if not reached.isdisjoint(pair) for hop in pair}
    return len(reached) == count
