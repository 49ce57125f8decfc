"""Second implementations, changes of a chain, and licences: what is decided without a model."""

from __future__ import annotations

import pytest

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.replies import Pairs, Records
from toolhop_tools.construct.second import (
    Difference,
    call_set,
    decided,
    differences,
    invented,
)
from toolhop_tools.construct.seeds import forbids
from toolhop_tools.construct.stages import Stage
from toolhop_tools.construct.wording import chain_changes, drawn_changes
from toolhop_tools.model import ToolSchema

SCHEMA = ToolSchema("fare", "Looks up a fare.", {
    "type": "object",
    "properties": {
        "port": {"type": "string", "maxLength": 40},
        "kind": {"type": "string", "enum": ["single", "return"], "default": "single"},
        "seats": {"type": "integer", "minimum": 1, "maximum": 20, "default": 1},
    },
    "required": ["port"],
    "additionalProperties": False,
})  # fmt: skip
FACTS = Records.model_validate({
    "records": [{"port": f"Port {n}", "fare": 10 + n} for n in range(8)],
    "lookup": {"parameters": {"port": "port"}, "fixed": {}, "answer": "fare"},
})  # fmt: skip


def test_two_functions_are_called_with_all_records_all_choices_and_other_values() -> None:
    calls = call_set(SCHEMA, FACTS, 0)
    assert {"port": "Port 3"} in calls
    assert {"port": "Port 3", "kind": "return"} in calls
    assert any(not str(call["port"]).startswith("Port") for call in calls)
    assert any({*call} == {"port", "kind", "seats"} for call in calls)
    assert calls == call_set(SCHEMA, FACTS, 0) != call_set(SCHEMA, FACTS, 1)
    assert len(invented(FACTS)) == 2
    pairs = Pairs.model_validate({"pairs": [{"arguments": {"port": "A"}, "result": 1}]})
    assert invented(pairs) == [pairs]


def test_the_shortest_call_comes_first_and_errors_are_alike() -> None:
    calls: list[dict[str, JSON]] = [{"port": "Long name"}, {"port": "B"}, {"port": "C"}]
    unlike = differences(calls, [1, 2, {"error": "x"}], [2, 3, {"error": "y"}])
    assert [row.call["port"] for row in unlike] == ["B", "Long name"]


UNLIKE = [Difference({"port": "B"}, 2, 3), Difference({"port": "C"}, 5, 6)]


@pytest.mark.parametrize(
    ("third", "fault", "word"),
    [
        ([2, 5], None, ""),
        ([3, 6], Stage.CODE, '{"port": "B"} the code gives 2'),
        ([2, 6], Stage.CODE, '{"port": "C"} the code gives 5'),
        ([4, 6], Stage.REFINE, "give 2, 3, 4. State it"),
        (None, Stage.REFINE, 'does not say what the arguments {"port": "B"} give'),
    ],
)
def test_a_third_function_tells_whose_fault_a_difference_is(
    third: list[JSON] | None, fault: Stage | None, word: str
) -> None:
    decision, why = decided(UNLIKE, third)
    assert decision is fault
    assert word in why


def test_a_chain_is_changed_in_its_own_literals_and_in_nothing_that_is_taken_over() -> None:
    written: dict[str, JSON] = {"port": "Port 3", "kind": "return", "seats": 4}
    texts = {change.what for change in chain_changes(1, SCHEMA, FACTS, written)}
    assert "kind left out, which was 'return'" in texts
    assert "kind='single' in place of 'return'" in texts
    assert {"seats=5 in place of 4", "seats=3 in place of 4"} <= texts
    assert any(text.startswith("port='Port") for text in texts)
    taken = [*chain_changes(2, SCHEMA, FACTS, {"port": "{1}"})]
    assert taken == []


def test_changes_are_drawn_of_as_many_hops_as_there_are() -> None:
    changes = [
        change
        for hop in (1, 2, 3)
        for change in chain_changes(hop, SCHEMA, FACTS, {"port": "Port 3", "seats": 4})
    ]
    for seed in map(str, range(5)):
        drawn = drawn_changes(changes, 3, seed)
        assert {change.hop for change in drawn} == {1, 2, 3}
        assert drawn == drawn_changes(changes, 3, seed)


@pytest.mark.parametrize(
    "licence", ["CC BY-ND 4.0", "cc by\u2011nc\u2011nd", "NoDerivs", "\u00a9 X"]
)
def test_a_licence_that_forbids_changed_copies_is_known_in_any_spelling(licence: str) -> None:
    assert forbids(licence)


@pytest.mark.parametrize("licence", ["CC BY-SA 4.0", "MIT", "CC0", "Unlicense", "own", "ODbL"])
def test_a_licence_that_allows_it_passes(licence: str) -> None:
    assert not forbids(licence)
