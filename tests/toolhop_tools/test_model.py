from __future__ import annotations

from dataclasses import replace

import pytest

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import Raised, Returned
from toolhop_tools.benchmarks.toolhop.reader import to_rows
from toolhop_tools.errors import DataError
from toolhop_tools.model import (
    Body,
    DataSet,
    EpisodeAction,
    Item,
    RecordedTable,
    Simulated,
    Tool,
    ToolSchema,
    canonical,
)
from toolhop_tools.perturb.nearest import Nearest
from toolhop_tools.readers.folder import builtin
from toolhop_tools.review import findings

SCHEMA = ToolSchema("look_up", "Looks it up.", {"type": "object"})
UNKNOWN = Raised("KeyError", "no such record")
TABLE = RecordedTable({canonical({"a": 1, "b": [2]}): Returned('"x"')}, UNKNOWN)
BODIES: list[Body] = [
    Program("def look_up(): return 1", "look_up"),
    TABLE,
    RecordedTable({canonical({"a": 1, "b": [2]}): Returned('"y"')}, UNKNOWN),
    RecordedTable(TABLE.results, Returned("null")),
    Simulated("Answer as a weather service would."),
    Simulated("Answer as a bank would."),
    EpisodeAction.FINISH,
    EpisodeAction.ASK_USER,
]


def item(body: Body) -> Item:
    return Item("1", "Which?", "", (), "d", "", others=(Tool(SCHEMA, body),))


@pytest.mark.parametrize(
    "arguments", [{"a": 1, "b": [2]}, {"b": [2], "a": 1}, {"b": [2.0], "a": 1.0}]
)
def test_table_answers_equal_arguments_alike(arguments: dict[str, object]) -> None:
    assert TABLE.recorded(arguments) == Returned('"x"')  # type: ignore[arg-type] # JSON, in effect


@pytest.mark.parametrize("arguments", [{}, {"a": True, "b": [2]}, {"a": "1", "b": [2]}])
def test_table_holds_no_result_of_others(arguments: dict[str, object]) -> None:
    assert TABLE.recorded(arguments) is None  # type: ignore[arg-type] # JSON, in effect


def test_program_of_another_body_is_refused_by_name() -> None:
    assert Tool(SCHEMA, BODIES[0]).program is BODIES[0]
    with pytest.raises(TypeError, match=r"'look_up' has no program .* the action finish"):
        _ = Tool(SCHEMA, EpisodeAction.FINISH).program
    with pytest.raises(TypeError, match="its body is a RecordedTable"):
        _ = Tool(SCHEMA, TABLE).program


def test_digest_tells_bodies_benchmarks_and_golds_apart() -> None:
    one = item(BODIES[0])
    made = [item(body) for body in BODIES]
    made += [replace(one, benchmark="other"), replace(one, gold={"path": ["a"]})]
    made.append(replace(one, benchmark="other", gold={"path": ["a"]}))
    assert len({each.digest for each in made}) == len(made)
    assert item(BODIES[0]).digest == one.digest


def test_digest_of_the_builtin_set_is_what_it_was_before_other_bodies() -> None:
    """Runs and certificates name items by digest: a change of it makes them strangers."""
    assert builtin().items[1].digest == DIGEST


DIGEST = "bd9441bcd86cc4b5d601273474b141f0c59e719fa6a2401a551c28e7ef20feec"


def test_item_of_another_benchmark_needs_no_hops() -> None:
    one = item(TABLE)
    assert list(one.tools) == ["look_up"]
    assert findings(DataSet("made", "", (one,))) == []
    assert list(Nearest([one, *builtin().items[:1]]).others(one))


def test_official_format_refuses_what_it_cannot_hold() -> None:
    other = replace(builtin().items[0], benchmark="other")
    hop = builtin().items[1].hops[0]
    recorded = replace(builtin().items[1], hops=(replace(hop, tool=Tool(hop.tool.schema, TABLE)),))
    with pytest.raises(DataError) as caught:
        to_rows(DataSet("made", "", (other, item(TABLE), recorded)))
    rules = [problem.rule for problem in caught.value.problems]
    assert rules == ["foreign-item", "foreign-item", "no-program"]
