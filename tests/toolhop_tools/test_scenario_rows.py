"""Items of the benchmark ``scenarios`` as rows, and back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from toolhop_tools.errors import DataError
from toolhop_tools.load import load
from toolhop_tools.model import DataSet, Flaky, GoldCall, Item
from toolhop_tools.readers.native import from_rows, to_row
from toolhop_tools.reading import Match, Reading
from toolhop_tools.review import findings
from toolhop_tools.scenarios.label import (
    Checks,
    Hidden,
    Label,
    Scenario,
    label_of,
    labelled,
)


def test_a_row_keeps_readings_a_flaky_tool_and_the_label() -> None:
    item = load("builtin").items[0]
    first = item.hops[0]
    tool = replace(first.tool, body=Flaky(first.tool.program, 2, "busy"))
    gold = GoldCall({"a": 1}, "question", Reading(Match.WORDS, ("x", 0), (1, 3)))
    changed = replace(item, hops=(replace(first, tool=tool, gold=gold), *item.hops[1:]))
    label = Label(
        Scenario.MISSING_PARAMETER, item.id, False, lost=(1,), hidden=(Hidden(1, "a", 1, "n"),),
        recovery={"t": {"a": 1}}, checks=Checks(2, ("u",)),
    )  # fmt: skip
    made = labelled(changed, label, "x")

    read = _again(made)

    assert read == made
    assert label_of(read.gold) == label


def test_what_fails_at_first_is_part_of_the_digest() -> None:
    item = load("builtin").items[0]
    first = item.hops[0]
    once, twice = (
        replace(item, hops=(replace(first, tool=replace(first.tool, body=body)), *item.hops[1:]))
        for body in (Flaky(first.tool.program, 1, "busy"), Flaky(first.tool.program, 2, "busy"))
    )

    assert once.digest != twice.digest != item.digest


def _again(item: Item) -> Item:
    return from_rows([to_row(item)], name="x", origin="x").items[0]


def test_a_row_of_before_reads_as_written() -> None:
    item = load("builtin").items[0]
    row = to_row(replace(item, benchmark="scenarios"))
    for hop in row["hops"]:  # type: ignore[union-attr]
        del hop["source"]  # type: ignore[union-attr,arg-type]

    read = from_rows([row], name="x", origin="x")

    assert isinstance(read, DataSet)
    assert {hop.gold.source for hop in read.items[0].hops if hop.gold} == {"written"}


def test_a_row_that_offers_an_unknown_tool_is_refused() -> None:
    row = to_row(replace(load("builtin").items[0], benchmark="scenarios"))
    row["order"] = ["nobody_knows"]

    with pytest.raises(DataError, match="nobody_knows"):
        from_rows([row], name="x", origin="x")


@pytest.mark.parametrize(
    ("label", "told"),
    [
        pytest.param(None, "a scenario's label", id="none"),
        pytest.param(Label(Scenario.MISSING_TOOL, "x", False, lost=(99,)), "99", id="a hop"),
        pytest.param(Label(Scenario.RESERVE, "x", False, reserve=("no",)), "no", id="a tool"),
    ],
)
def test_what_a_label_says_wrong_is_found(label: Label | None, told: str) -> None:
    item = replace(load("builtin").items[0], benchmark="scenarios")
    item = item if label is None else labelled(item, label, "x")

    found = [one for one in findings(DataSet("x", "x", (item,))) if one.rule == "label"]

    assert any(told in str(one) for one in found)
