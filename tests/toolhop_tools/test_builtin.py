"""The built-in data set itself: every promise that it makes, checked without a sandbox.

Its code is ours, so the gold calls run here in process.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import jsonschema_rs
import pytest

import toolhop_tools
from tests.toolhop_tools.rows import write
from toolhop_sandbox.outcome import JSON
from toolhop_tools import review
from toolhop_tools.benchmarks.toolhop import reader as official
from toolhop_tools.certify.file import SHIPPED
from toolhop_tools.model import Hop, Item, Tool
from toolhop_tools.pairing import parse_source, property_names, top_functions
from toolhop_tools.readers.folder import builtin

ITEMS = builtin().items
HOPS = [pytest.param(hop, id=f"{i.id}/{n}") for i in ITEMS for n, hop in enumerate(i.hops, 1)]
TOOLS = {hop.tool.name: hop.tool for item in ITEMS for hop in item.hops}
by_item = pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)
by_tool = pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)


def function(tool: Tool) -> Callable[..., object]:
    space: dict[str, Any] = {}
    exec(compile(tool.program.source, tool.name, "exec"), space)  # noqa: S102 - our own code
    return cast("Callable[..., object]", space[tool.program.function])


def leaves(value: object) -> Iterator[object]:
    match value:
        case list() | tuple():
            for part in value:
                yield from leaves(part)
        case dict():
            for part in value.values():
                yield from leaves(part)
        case _:
            yield value


def says(value: object, answer: str) -> bool:
    """Whether a value is the answer: as text, as JSON, or as a number of the same value."""
    if isinstance(value, str):
        return value == answer
    if isinstance(value, bool | None):
        return json.dumps(value) == answer.lower()
    try:
        return bool(json.loads(answer) == value)
    except ValueError:
        return False


def feeds(earlier: Hop, later: Hop) -> bool:
    assert later.gold is not None
    arguments = dict(later.gold.arguments)
    return any(says(part, earlier.answer) for part in (*leaves(arguments), *arguments.values()))


def edges(item: Item) -> set[tuple[int, int]]:
    """Which hop's answer is an argument of which later hop; of equal answers the nearest."""
    found = set()
    for late, later in enumerate(item.hops):
        answers = {hop.answer: early for early, hop in enumerate(item.hops[:late])}
        found |= {(early, late) for early in answers.values() if feeds(item.hops[early], later)}
    return found


def shape(item: Item) -> str:
    used = Counter(early for early, _ in edges(item))
    needs = Counter(late for _, late in edges(item))
    roots = sum(late not in needs for late in range(len(item.hops)))
    if max(needs.values(), default=0) < 2:
        return "linear" if max(used.values(), default=0) < 2 and roots == 1 else "branch"
    return "branch and join" if max(used.values()) > 1 else "join"


# --- the set


def test_it_is_as_large_and_varied_as_promised() -> None:
    assert len(ITEMS) >= 30
    assert len({item.domain for item in ITEMS}) >= 12
    assert {len(item.hops) for item in ITEMS} == {3, 4, 5, 6, 7}
    assert {item.answer_type for item in ITEMS} == {"number", "string", "date", "letter"}


def test_parameters_are_of_every_json_type() -> None:
    kinds: set[str] = set()
    for tool in TOOLS.values():
        for value in cast(
            "dict[str, dict[str, Any]]", tool.schema.parameters["properties"]
        ).values():
            kind = value.get("type", [])
            kinds |= {kind} if isinstance(kind, str) else set(kind)
    assert kinds >= {"string", "integer", "number", "boolean", "array", "object"}


def test_chains_are_of_every_shape() -> None:
    shapes = Counter(shape(item) for item in ITEMS)
    assert shapes["linear"]
    assert shapes["join"] + shapes["branch and join"]
    assert shapes["branch"] + shapes["branch and join"]


def test_names_and_questions_are_unique() -> None:
    programs: dict[str, set[str]] = {}
    for item in ITEMS:
        for tool in item.tools.values():
            programs.setdefault(tool.name, set()).add(tool.program.digest)
    assert {name for name, codes in programs.items() if len(codes) > 1} == set()
    assert [q for q, n in Counter(item.question for item in ITEMS).items() if n > 1] == []


def test_nothing_in_it_is_suspicious() -> None:
    found = review.findings(builtin())
    assert [str(finding) for finding in found] == []


def test_every_file_is_used() -> None:
    root = Path(toolhop_tools.__file__).parent / "builtin"
    stems = {path.stem for path in root.glob("*/*.json")} - {"items"}
    assert stems == {path.stem for path in root.glob("*/*.py")}
    assert stems == set(TOOLS)
    assert [path.name for path in root.iterdir() if not path.is_dir()] == [SHIPPED]


def test_items_are_in_the_order_of_folders() -> None:
    folders = list(dict.fromkeys(item.id.rsplit("-", 1)[0] for item in ITEMS))
    assert folders == sorted(folders)


def test_it_survives_export(tmp_path: Path) -> None:
    rows = official.to_rows(builtin())
    assert official.read(write(tmp_path, rows)).items == ITEMS


# --- items


@by_item
def test_the_last_hop_answers_the_question(item: Item) -> None:
    assert item.hops[-1].answer == item.answer


@by_item
def test_every_answer_is_used_and_every_hop_but_a_root_needs_one(item: Item) -> None:
    used = {early for early, _ in edges(item)}
    assert used == set(range(len(item.hops) - 1))


@by_item
def test_the_answer_is_not_in_the_question(item: Item) -> None:
    words = item.question.lower().replace("?", " ").replace(",", " ").replace(".", " ").split()
    assert item.answer_type == "letter" or item.answer.lower() not in words


# --- tools


@pytest.mark.parametrize("hop", HOPS)
def test_the_gold_call_returns_the_answer(hop: Hop) -> None:
    assert hop.gold is not None
    assert hop.gold.source == "written"
    arguments = dict(hop.gold.arguments)
    jsonschema_rs.validate(dict(hop.tool.schema.parameters), arguments)
    result = function(hop.tool)(**arguments)
    json.dumps(result, allow_nan=False)
    assert says(result, hop.answer), result


@by_tool
def test_the_signature_is_the_documents(tool: Tool) -> None:
    tree = parse_source(tool.program.source)
    assert tree is not None
    args = top_functions(tree)[tool.program.function].args
    names = [arg.arg for arg in args.args]
    parameters = tool.schema.parameters
    assert set(names) == property_names(parameters)
    required = names[: len(names) - len(args.defaults)]
    assert sorted(required) == sorted(cast("list[str]", parameters.get("required", [])))
    properties = cast("dict[str, dict[str, JSON]]", parameters["properties"])
    for name, default in zip(names[len(required) :], args.defaults, strict=True):
        stated = properties[name].get("default", None)
        assert stated == ast.literal_eval(default), name
