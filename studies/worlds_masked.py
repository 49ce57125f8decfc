"""Items of worlds whose questions say nothing, for somebody who has not read the generator.

    python -m studies.worlds_masked {words,names,other} SPEC FILE

SPEC is settings of worlds (``seed=7,items=20,hops=3-5``). FILE gets the items as JSON lines, their
tools and documents whole; `toolhop run --data FILE --agent ...` plays them. In the place of its
question an item has the question with every word masked that is neither a name nor a number
(`words`); the names and numbers alone, so that sentences' lengths and marks are hidden too
(`names`); or the question of an item of another world with an answer of the same type, where there
is one (`other`). What is answered rightly is had without English.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from toolhop_tools.model import Item
from toolhop_tools.readers.native import to_row
from toolhop_tools.readers.worlds import item_at
from toolhop_tools.worlds.spec import FIELD, parse

MASK = "____"
_SENTENCE = re.compile(r"(?<=[.?]) ")
_LABEL = re.compile(r"\b[a-z]+ [A-H]\b(?! [A-Z])")
_WORD = re.compile(r"\b[a-z]+\b(?!-)")


def masked(question: str) -> str:
    """With its names and numbers left; a label (``ship A``) is none of them."""
    sentences = (each[0].lower() + each[1:] for each in _SENTENCE.split(question))
    return " ".join(_WORD.sub(MASK, _LABEL.sub(MASK, each)) for each in sentences)


def names_alone(question: str) -> str:
    """Its names and numbers in order, with one mask between two of them."""
    tokens = [token.strip(".,;:?") for token in masked(question).split()]
    runs = groupby(tokens, key=lambda token: MASK in token or not token)
    return f" {MASK} ".join(" ".join(run) for is_hidden, run in runs if not is_hidden)


def family(item: Item) -> object:
    """Its world's."""
    return item.extra["family"]


def exchanged(items: Sequence[Item]) -> list[Item]:
    """Those for which another world's item has an answer of the same type, with its question."""
    rows = []
    for at, item in enumerate(items):
        # The next ones first, so that few questions serve twice.
        places = [*range(at + 1, len(items)), *range(at)]
        others = (items[place] for place in places if family(items[place]) != family(item))
        fitting = (each.question for each in others if each.answer_type == item.answer_type)
        if question := next(fitting, None):
            rows.append(replace(item, question=question))
    return rows


def main() -> None:
    """Write the file."""
    about = __doc__ or ""
    parser = argparse.ArgumentParser(description=about.split("\n", 1)[0])
    parser.add_argument("way", choices=("words", "names", "other"))
    parser.add_argument("spec")
    parser.add_argument("file", type=Path)
    given = parser.parse_args()
    series = parse(given.spec)
    items = [item_at(*series.place(index)) for index in range(len(series))]
    if given.way == "other":
        changed = exchanged(items)
    else:
        hide = masked if given.way == "words" else names_alone
        changed = [replace(item, question=hide(item.question)) for item in items]
    # With its place in the series an item could be made anew, question and all.
    rows = [replace(item, extra={**item.extra, FIELD: None}) for item in changed]
    given.file.write_text("".join(json.dumps(to_row(item)) + "\n" for item in rows), "utf-8")
    print(f"{len(rows)} of {len(items)} items in {given.file}")


if __name__ == "__main__":
    main()
