"""What two items must not share across a split: family, tool code, domain, answers, wording."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolhop_agents.align.line import AlignError
from toolhop_agents.export.chat import SPLIT_OF
from toolhop_tools.benchmarks import READ
from toolhop_tools.errors import counted
from toolhop_tools.model import Item, canonical
from toolhop_tools.scenarios.label import family_of
from toolhop_tools.words import words

GRAM = 8
"""Words in a row that two questions must not share."""
TRAIN, VALIDATION = "train", "validation"
BY = ("family", "code", "chain", "domain")
"""What may hold items together in one split, strictest last."""
TEST_SETS = frozenset(READ)
"""Published data sets that models are tested on."""


@dataclass(frozen=True, slots=True)
class Print:
    """The parts of an item by which a leak is recognized."""

    family: str
    question: str
    code: frozenset[str]
    """Digests of the programs of the item's own hops; distractors are shared by design."""
    chain: str
    """The hops' answers; empty with fewer than two hops, where equal answers prove nothing."""
    domain: str
    grams: frozenset[tuple[str, ...]]

    @classmethod
    def of(cls, item: Item) -> Print:
        """Return the fingerprint of an item."""
        said = tuple(words(item.question))
        bodies = (hop.tool.body_parts for hop in item.hops)
        answers = [hop.answer for hop in item.hops]
        return cls(
            family_of(item) or item.id,
            " ".join(said),
            frozenset(hashlib.sha256(canonical(one).encode()).hexdigest() for one in bodies),
            canonical(answers) if len(answers) > 1 else "",
            item.domain,
            frozenset(said[at : at + GRAM] for at in range(len(said) - GRAM + 1)),
        )

    def keys(self, by: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield what holds the item together with others."""
        if "family" in by:
            yield "family", self.family
        if "code" in by:
            yield from (("code", one) for one in self.code)
        if "chain" in by and self.chain:
            yield "chain", self.chain
        if "domain" in by and self.domain:
            yield "domain", self.domain


def splits(prints: Mapping[str, Print], by: Sequence[str]) -> dict[str, str]:
    """Return the split of each item, by id; items that share one of `by` are in the same.

    Groups are drawn by a digest of their smallest family, so that the same groups are always
    divided alike. About one in `SPLIT_OF` is for validation, and at least one if there are two.

    Raises:
        AlignError: `by` is empty or holds an unknown name.
    """
    if not by or {*by} - {*BY}:
        raise AlignError(
            f"--split-by is {','.join(by) or 'empty'}", fix=f"give some of {','.join(BY)}"
        )
    parent = {identity: identity for identity in prints}

    def root(one: str) -> str:
        while parent[one] != one:
            parent[one] = parent[parent[one]]
            one = parent[one]
        return one

    first: dict[tuple[str, str], str] = {}
    for identity, one in prints.items():
        for key in one.keys(by):
            parent[root(identity)] = root(first.setdefault(key, identity))
    groups: dict[str, list[str]] = defaultdict(list)
    for identity in prints:
        groups[root(identity)].append(identity)
    ranked = sorted(groups.values(), key=lambda group: _rank(group, prints))
    held = {*(one for group in ranked[: _share(len(ranked))] for one in group)}
    return {identity: VALIDATION if identity in held else TRAIN for identity in prints}


def _rank(group: Sequence[str], prints: Mapping[str, Print]) -> bytes:
    return hashlib.sha256(min(prints[one].family for one in group).encode()).digest()


def _share(groups: int) -> int:
    return 0 if groups < 2 else max(1, round(groups / SPLIT_OF))


EVERYTHING = ("family", "question", "code", "chain", "grams")
"""What held-out data may not share."""


def leaks(
    prints: Mapping[str, Print], held: Iterable[Print], by: Sequence[str] = EVERYTHING
) -> Iterator[tuple[str, str]]:
    """Yield the id of each item that held-out items give away, with the reason."""
    other = [*held]
    keys = {key for one in other for key in one.keys(by)}
    questions = {one.question for one in other}
    grams = {gram for one in other for gram in one.grams} if "grams" in by else set()
    for identity, one in prints.items():
        shared = next((key for key in one.keys(by) if key in keys), None)
        if shared is not None:
            kind, value = shared
            yield identity, f"its {NAMES[kind]} is held out: {value[:80]}"
        elif "question" in by and one.question in questions:
            yield identity, "its question is held out"
        elif words_shared := one.grams & grams:
            yield identity, f"{GRAM} words in a row are held out: {' '.join(min(words_shared))!r}"


NAMES = {
    "family": "family",
    "code": "tool code (by digest)",
    "chain": "chain of answers",
    "domain": "domain",
}


def refuse_leaks(prints: Mapping[str, Print], held: Iterable[Item]) -> None:
    """Check that no item is given away by held-out items.

    Raises:
        AlignError: some are.
    """
    found = [*leaks(prints, map(Print.of, held))]
    if found:
        identity, reason = found[0]
        raise AlignError(
            f"{counted(len(found), 'item')} of {len(prints)} leak, such as {identity}: {reason}",
            fix="leave these items out of the data, or give other data to --against",
        )


def refuse_tests(names: Iterable[str], allowed: bool) -> None:
    """Check that no published test set is trained on.

    Raises:
        AlignError: one is, and `allowed` is False.
    """
    tests = sorted(TEST_SETS & {*names})
    if tests and not allowed:
        raise AlignError(
            f"{tests[0]} is a benchmark's test set: a model trained on it cannot be tested on it",
            fix="give other data, such as worlds:seed=7,items=1000, or pass --allow-test",
        )
