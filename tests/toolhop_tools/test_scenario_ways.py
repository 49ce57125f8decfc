"""Ways round what a scenario takes away: each is hidden among distractors, and must be found."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from tests.canned import CannedSandbox
from tests.inline import inline_sandbox
from tests.toolhop_tools.test_scenarios import LENGTH as LENGTH_OF
from tests.toolhop_tools.test_scenarios import OTHER, PEAK, families, two_hops
from tests.toolhop_tools.test_scenarios import RIVER as RIVER_OF
from toolhop_sandbox.base import Program, Sandbox, Session
from toolhop_sandbox.outcome import JSON, TimedOut
from toolhop_tools.certify.calls import KnownCalls
from toolhop_tools.model import Tool, ToolSchema
from toolhop_tools.scenarios.label import Scenario, label_of
from toolhop_tools.scenarios.make import Recipe
from toolhop_tools.scenarios.ways import Searched, Vain, Ways

TEXT: dict[str, JSON] = {"type": "string"}
WHOLE: dict[str, JSON] = {"type": "integer"}
QUESTION = "In which year was the bridge built that crosses the river flowing through Borough?"
RIVER = Vain(
    f"{QUESTION} Which river flows through Borough?", (), ("Wend", "Old Mill Bridge", "1872")
)
"""The river's tool is lost, and with it the bridge and its year."""
LENGTH = Vain(
    "How many kilometres long is the river that flows through Borough?", ("Wend",), ("927",)
)
"""The river is known, its length is not."""


def tool(name: str, body: str, **properties: dict[str, JSON]) -> Tool:
    """A tool of these parameters, all of them required."""
    source = f"def {name}({', '.join(properties)}):\n" + "".join(
        f"    {line}\n" for line in body.splitlines()
    )
    shown: dict[str, JSON] = {
        "type": "object",
        "properties": {**properties},
        "required": [*properties],
    }
    return Tool(ToolSchema(name, "A tool.", shown), Program(source, name))


def table(name: str, parameter: str, entries: dict[str, JSON]) -> Tool:
    return tool(name, f"return {entries!r}[{parameter}]", **{parameter: TEXT})


def search(
    vain: Vain, *tools: Tool, stays: tuple[str, ...] = (), sandbox: Sandbox | None = None
) -> Searched:
    """What is found with these tools, of which some have to stay."""

    async def made() -> Searched:
        async with (sandbox or inline_sandbox()).session() as session:
            return await ways(session).search(
                vain, tools, frozenset(one.name for one in tools) - {*stays}
            )

    def ways(session: Session) -> Ways:
        return Ways(session, KnownCalls(), 0)

    return anyio.run(made)


TOWNS: dict[str, JSON] = {"Aldmere": "Tessin", "Borough": "Wend", "Carrow": "Ilm"}
LENGTHS: dict[str, JSON] = {"Tessin": 411, "Wend": 927, "Ilm": 638}
CODES = table("code_of", "river", {"Tessin": "R-7", "Wend": "R-2", "Ilm": "R-5"})
RECORDS: list[JSON] = [
    {"town": "Aldmere", "waters": {"main": "Tessin"}},
    {"town": "Borough", "waters": {"main": "Wend"}},
]
ROUND: dict[str, tuple[Vain, tuple[Tool, ...]]] = {
    "under another name": (RIVER, (table("whereabouts", "key", TOWNS),)),
    "keyed by lower case": (
        RIVER,
        (table("stream", "q", {"aldmere": "Tessin", "borough": "Wend"}),),
    ),
    "a list without arguments": (RIVER, (tool("everything", f"return {RECORDS!r}"),)),
    "a page of a list": (
        RIVER,
        (tool("page_of", f"return {RECORDS!r}[page:page + 1]", page=WHOLE),),
    ),
    "the answer as a key": (
        RIVER,
        (tool("by_river", "return {'Tessin': 'Aldmere', 'Wend': 'Borough'}"),),
    ),
    "in the middle of a sentence": (
        RIVER,
        (
            tool(
                "tell",
                "return f'{place} stands on the {dict(Borough=\"Wend\")[place]}, 9 m deep'",
                place=TEXT,
            ),
        ),
    ),
    "over the lost hop": (
        RIVER,
        (table("year_by_town", "town", {"Borough": 1872, "Carrow": 1901}),),
    ),
    "a date with the year": (RIVER, (table("opened", "town", {"Borough": "1872-05-03"}),)),
    "two tools together": (LENGTH, (CODES, table("by_code", "code", {"R-2": 927, "R-7": 411}))),
    "three tools together": (
        LENGTH,
        (
            CODES,
            table("station", "code", {"R-2": "gauge nine"}),
            table("measured", "station", {"gauge nine": 927, "gauge one": 12}),
        ),
    ),
    "an option among many": (
        LENGTH,
        (
            tool(
                "fact",
                "return {'Wend': {'depth': 4, 'length': 927}}[river][want]",
                river=TEXT,
                want={"type": "string", "enum": ["depth", "length"]},
            ),
        ),
    ),
    "by a list of names": (
        LENGTH,
        (
            tool(
                "many",
                f"return [{LENGTHS!r}[one] for one in names]",
                names={"type": "array", "items": {"type": "string"}},
            ),
        ),
    ),
    "by a number of another": (
        LENGTH,
        (
            table("number_of", "river", {"Wend": 4711, "Ilm": 4712}),
            tool("by_number", "return {4711: 927, 4712: 638}[number]", number=WHOLE),
        ),
    ),
    "an error that names it": (
        RIVER,
        (tool("sells", "raise LookupError(f'{shop}: it is none of Wend, Ilm')", shop=TEXT),),
    ),
    "by a value that stands in an error alone": (
        LENGTH,
        (
            tool("number_of", "raise LookupError(f'{river} (4711) has moved')", river=TEXT),
            tool("by_number", "return {4711: 927, 4712: 638}[number]", number=WHOLE),
        ),
    ),
    "by two numbers of a result, joined": (
        LENGTH,
        (
            table("place_of", "river", {"Wend": [46.2, 11.5], "Ilm": [46.4, 11.9]}),
            tool("at", "return {'46.2,11.5': 927, '46.4,11.9': 638}[place]", place=TEXT),
        ),
    ),
    "by three numbers of a result": (
        LENGTH,
        (
            table("sheet_of", "river", {"Wend": [9, 20, 7], "Ilm": [6, 30, 8]}),
            tool(
                "written",
                "return f'{a}{b // 10}{c}'",
                a=WHOLE,
                b=WHOLE,
                c=WHOLE,
            ),
        ),
    ),
}


@pytest.mark.parametrize("way", ROUND)
def test_a_way_round_is_found(way: str) -> None:
    vain, tools = ROUND[way]
    found = search(vain, *tools)
    assert found.out
    assert not found.fault
    assert not search(vain, *(one for one in tools if one.name not in found.out)).out


@pytest.mark.parametrize("way", [name for name in ROUND if "error" not in name])
def test_a_way_by_tools_that_stay_defeats_the_label(way: str) -> None:
    vain, tools = ROUND[way]
    stays = tuple(one.name for one in tools)
    assert search(vain, *tools, stays=stays).fault in stays


@pytest.mark.parametrize(
    "harmless",
    [
        tool("echo", "return {'said': text}", text=TEXT),
        tool("backwards", "return text[::-1]", text=TEXT),
        tool("sum_of", "return first + second", first=WHOLE, second=WHOLE),
        table("founded", "town", {"Borough": 1311, "Aldmere": 1404}),
        table("digits", "town", {"Borough": "9" * 400, "Aldmere": 10**400}),
    ],
    ids=lambda one: one.name,
)
def test_echo_and_other_facts_are_no_way(harmless: Tool) -> None:
    for vain in (RIVER, LENGTH):
        found = search(vain, harmless)
        assert (found.out, found.fault) == (frozenset(), "")
        assert found.calls


@pytest.mark.parametrize("stays", [(), ("slow",)])
def test_calls_that_are_cut_off_leave_a_tool_undecided(stays: tuple[str, ...]) -> None:
    sandbox = CannedSandbox(lambda _program, _arguments: TimedOut(2.0))
    found = search(LENGTH, table("slow", "river", {}), stays=stays, sandbox=sandbox)
    assert found.undecided == ("slow" if stays else "")
    assert {*found.out} == (set() if stays else {"slow"})
    assert not found.fault


def test_what_the_budget_leaves_is_counted() -> None:
    wide = tool("wide", "return 0", **{f"text_{at}": TEXT for at in range(4)})
    assert search(LENGTH, wide).untried > 0
    assert search(LENGTH, table("narrow", "river", {"Wend": "deep"})).untried == 0


@pytest.mark.parametrize("closed", [True, False])
def test_what_is_lost_may_be_known_unless_the_data_declares_a_closed_world(closed: bool) -> None:
    item = two_hops("rivers", RIVER_OF, LENGTH_OF)
    item = replace(item, extra={**item.extra, "closed_world": closed})
    kinds = (Scenario.MISSING_TOOL, Scenario.MISSING_PARAMETER)
    family = families([item, OTHER], Recipe(kinds), chosen=[item])["rivers"]
    assert family is not None
    lost = [label for label in family.labels if label.lost]
    assert {label.scenario for label in lost} == {*kinds}
    assert all(label.knowable == (() if closed else label.lost) for label in lost)


def test_an_items_own_distractors_stay_on_offer_and_one_that_does_the_lost_job_does_not() -> None:
    twin = table("waters", "place", TOWNS)
    own = (twin, table("mayor_of", "town", {"Borough": "Ansgar"}), table("bakers", "town", {}))
    item = two_hops("rivers", RIVER_OF, LENGTH_OF)
    item = replace(item, others=own, order=(*item.tools, *(one.name for one in own)))
    for seed in range(4):
        family = families(
            [item, OTHER, PEAK], Recipe((Scenario.MISSING_TOOL,), seed), chosen=[item]
        )
        rivers = family["rivers"]
        assert rivers is not None
        made, sibling = rivers.items
        label = label_of(made.gold)
        assert {"mayor_of", "bakers"} <= made.tools.keys() & sibling.tools.keys()
        assert ("waters" in label.checks.taken_out) is (label.lost == (1,))
        assert ("waters" in made.tools) is ("waters" in sibling.tools) is (label.lost == (2,))
        assert len(made.order) == len(sibling.order)
        assert (label.checks.depth, label.checks.calls > 0) == (3, True)


def test_numbers_that_nobody_gave_make_no_way_of_a_sum() -> None:
    adds = tool("sum_of", "return first + second", first=WHOLE, second=WHOLE)
    few = Vain("How many bridges cross the river that flows through Borough?", ("Wend",), ("13",))
    assert not search(few, adds, stays=("sum_of",)).fault
    assert search(replace(few, known=("6", "7")), adds, stays=("sum_of",)).fault == "sum_of"


def test_a_tool_of_the_chain_that_takes_any_text_for_all_of_its_rows_is_a_way() -> None:
    rows = {"Wend": 927, "Ilm": 638}
    lists = tool(
        "lists", f"rows = {rows}\nreturn rows if river == '*' else rows[river]", river=TEXT
    )
    missing = Vain("How long is the river?", (), ("927",))
    assert search(missing, lists, stays=("lists",)).fault == "lists"
    strict = tool("strict", f"return {rows}[river]", river=TEXT)
    assert not search(missing, strict, stays=("strict",)).fault
