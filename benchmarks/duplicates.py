"""Overlap with test sets: eight words in a row alone, against the rules of --against.

    python -m benchmarks.duplicates [FILE]      FILE: official rows, such as ToolHop's

Copies are made of items by a word put in after every few others, and by saying all in other words.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import replace

from toolhop_tools.construct.duplicates import GRAM, Against, grams
from toolhop_tools.load import load
from toolhop_tools.model import Item
from toolhop_tools.words import words


def asked(item: Item) -> list[str]:
    return [item.question, *(hop.question for hop in item.hops)]


def eight_words(tests: Iterable[Item]) -> Callable[[Item], bool]:
    """Whether any eight words in a row stand in a test item."""
    known = {gram for item in tests for text in asked(item) for gram in grams(words(text), GRAM)}
    return lambda item: any(
        gram in known for text in asked(item) for gram in grams(words(text), GRAM)
    )


def reworded(item: Item, text: Callable[[str], str]) -> Item:
    hops = tuple(replace(hop, question=text(hop.question)) for hop in item.hops)
    return replace(item, id="copy", question=text(item.question), hops=hops)


def spelled(each: int) -> Callable[[str], str]:
    """A word put in before every `each`-th."""

    def text(given: str) -> str:
        found = given.split()
        return " ".join(f"indeed {w}" if n % each == each - 1 else w for n, w in enumerate(found))

    return text


def row(title: str, tests: Iterable[Item], items: list[Item]) -> None:
    tests = [*tests]
    plain, against = eight_words(tests), Against(tests)
    counts = sum(map(plain, items)), sum(bool(against.overlap(item)) for item in items)
    print(f"{title:<58} {len(items):>4} {counts[0]:>12} {counts[1]:>8}")


def main() -> None:
    print(f"{'':<58} {'of':>4} {'eight words':>12} {'rules':>8}")
    for name in ("builtin", *sys.argv[1:2]):
        items = [*load(name).items]
        half = len(items) // 2
        row(f"{name}: second half like the first", items[:half], items[half:])
        for each in (7, 5, 3):
            copies = [reworded(item, spelled(each)) for item in items]
            row(f"{name}: copies, a word put in before each {each}th", items, copies)
        other = [reworded(item, lambda text: f"What of {len(text)}?") for item in items]
        row(f"{name}: copies in other words", items, other)


if __name__ == "__main__":
    main()
