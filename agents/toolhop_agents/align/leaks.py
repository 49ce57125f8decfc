"""What two items must not share across a split: family, tool code, domain, answers, wording."""

from __future__ import annotations

import ast
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from toolhop_agents.align.kinds import AlignError
from toolhop_agents.align.line import digest
from toolhop_agents.export.chat import SPLIT_OF
from toolhop_tools.benchmarks import READ
from toolhop_tools.errors import counted
from toolhop_tools.load import licence_of
from toolhop_tools.model import TOOLHOP, Item, canonical
from toolhop_tools.scenarios.label import family_of
from toolhop_tools.words import words

GRAM = 8
"""Two questions that share a run of this many words are taken for the same."""
_PART = re.compile(r"(?s).{1,3900}(?:\s|$)|.{1,4000}")
"""Parts of a text that are short enough for `words`."""
TRAIN, VALIDATION = "train", "validation"
BY = ("family", "code", "chain", "domain")
"""What may hold items together in one split, strictest last."""
EVERYTHING = ("family", "question", "code", "chain", "words")
"""What held-out data may not share."""
NAMES = {"code": "tool code (by digest)", "chain": "chain of answers",
         "words": f"run of {GRAM} words"}  # fmt: skip
Marks: TypeAlias = Mapping[str, frozenset[str]]
"""What an item is recognized by: values by the names of `BY` and `EVERYTHING`."""


def all_words(text: str) -> tuple[str, ...]:
    """Return the words of a text of any length, without invisible characters."""
    seen = "".join(one for one in text if unicodedata.category(one) != "Cf")
    return tuple(word for part in _PART.findall(seen) for word in words(part))


@lru_cache(maxsize=4096)
def _code(source: str) -> str:
    """Return the digest of code, without comments and layout; of other text as it is."""
    try:
        return digest(ast.dump(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return digest(source)


def marks_of(item: Item) -> Marks:
    """Return the marks of an item.

    Its tool code is that of its own hops: distractors are shared by design. A chain has two hops
    or more: equal answers of one prove nothing.
    """
    said, answers = all_words(item.question), [all_words(hop.answer) for hop in item.hops]
    return {
        "family": frozenset({family_of(item) or item.id}),
        "question": frozenset({" ".join(said)}),
        "code": frozenset(_code("\n".join(map(str, hop.tool.body_parts))) for hop in item.hops),
        "chain": frozenset({canonical(answers)} if len(answers) > 1 else ()),
        "domain": frozenset({item.domain} if item.domain else ()),
        "words": frozenset(" ".join(said[n : n + GRAM]) for n in range(len(said) - GRAM + 1)),
    }


def splits(marks: Mapping[str, Marks], by: Sequence[str]) -> dict[str, str]:
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
    parent = {identity: identity for identity in marks}

    def root(one: str) -> str:
        while parent[one] != one:
            parent[one] = one = parent[parent[one]]
        return one

    first: dict[tuple[str, str], str] = {}
    for identity, own in marks.items():
        for key in ((name, value) for name in by for value in own[name]):
            parent[root(identity)] = root(first.setdefault(key, identity))
    groups: dict[str, list[str]] = defaultdict(list)
    for identity in marks:
        groups[root(identity)].append(identity)
    ranked = sorted(
        groups.values(), key=lambda group: digest(min(min(marks[one]["family"]) for one in group))
    )
    share = max(1, round(len(ranked) / SPLIT_OF)) if len(ranked) > 1 else 0
    held = {identity for group in ranked[:share] for identity in group}
    return {identity: VALIDATION if identity in held else TRAIN for identity in marks}


def leaks(
    marks: Mapping[str, Marks], held: Iterable[Marks], by: Sequence[str] = EVERYTHING
) -> Iterator[tuple[str, str]]:
    """Yield the id of each item that held-out items give away, with the reason."""
    held = [*held]
    known = {name: frozenset[str]().union(*(one[name] for one in held)) for name in by}
    for identity, own in marks.items():
        shared = next((name for name in by if own[name] & known[name]), None)
        if shared is not None:
            value = min(own[shared] & known[shared])
            yield identity, f"its {NAMES.get(shared, shared)} is held out: {value[:80]}"


def refuse_leaks(marks: Mapping[str, Marks], held: Iterable[Item]) -> None:
    """Check that no item is given away by held-out items.

    Raises:
        AlignError: some are.
    """
    found = [*leaks(marks, map(marks_of, held))]
    if found:
        identity, reason = found[0]
        raise AlignError(
            f"{counted(len(found), 'item')} of {len(marks)} leak, such as {identity}: {reason}",
            fix="leave these items out of the data, or give other data to --against",
        )


def test_set(item: Item) -> str:
    """Return the benchmark whose test set an item was made from; empty if none is known."""
    origin = item.extra.get("origin")
    if origin in READ:
        return str(origin)
    return TOOLHOP if item.previous_answer_type else ""  # a label of its official rows alone


def licence(item: Item, origin: str) -> str:
    """Return the licence of an item of the data set `origin`; empty if unknown."""
    return str(item.extra.get("licence") or licence_of(test_set(item) or origin))


def refuse_tests(name: str, items: Iterable[Item], allowed: bool) -> None:
    """Check that a data set is no published test set, and none of its items is from one.

    Raises:
        AlignError: it is one, and `allowed` is False.
    """
    name = next(filter(None, map(test_set, items)), name)
    if name in READ and not allowed:
        raise AlignError(
            f"{name} is a benchmark's test set: a model trained on it cannot be tested on it",
            fix="give other data, such as worlds:seed=7,items=1000, or pass --allow-test",
        )
