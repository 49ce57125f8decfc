"""The study of worlds reports a wrong gold call, a wrong answer and a repeated question."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import anyio

from studies.worlds import CELLS, block_row, engines_agree, executed, report, shortcut
from toolhop_tools.worlds.items import Making, seed_of
from toolhop_tools.worlds.spec import parse

CELL = "hops=3"


def making() -> Making:
    (spec,) = parse(f"seed={CELLS.index(CELL)},{CELL}").specs
    return Making(spec.knobs, seed_of(spec, 0), Counter())


def test_a_row_says_what_was_kept_and_that_it_holds() -> None:
    row = block_row(CELL, 0)
    assert row["items"] == row["executed"] == row["agree"] > 5
    assert row["refused"] > row["items"]
    text = report([row, {**row, "block": 1, "shortcuts": [("number", "chance")]}])
    assert f"duplicates: {row['items']}" in text
    assert "{('number', 'chance'): 1}" in text


def test_a_wrong_gold_or_answer_is_seen() -> None:
    made = making()
    asked, item = next(made.kept())
    first = item.hops[0]
    wrong = replace(item, hops=(replace(first, answer=f"{first.answer}?"), *item.hops[1:]))
    assert anyio.run(executed, [item]) == 1
    assert anyio.run(executed, [wrong, replace(item, answer=f"{item.answer}?")]) == 0
    assert engines_agree(made, asked, item.answer)
    assert not engines_agree(made, asked, f"{item.answer}?")


def test_a_shortcut_is_seen_where_the_chain_is_longer_than_it_has_to_be() -> None:
    made = making()
    asked, item = next(made.kept())
    assert shortcut(made, asked, item) == ""
    longer = replace(item, hops=(*item.hops, item.hops[-1]))
    assert shortcut(made, asked, longer) == "structure"
