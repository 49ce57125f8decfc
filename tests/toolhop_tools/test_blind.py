"""Blind plans: what is read in a reply, how a plan is run, and what votes come to."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.agents.items import small_item
from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON, Outcome, Raised, Returned
from toolhop_tools.blind.chain import Chain, ChainHop, Sibling
from toolhop_tools.blind.claims import Claim, claim_named, selection
from toolhop_tools.blind.file import ItemReading, Readings, ReadingsError
from toolhop_tools.blind.plan import Plan, Step, read_plan, shown
from toolhop_tools.blind.run import StepRun, run_plan, value_of
from toolhop_tools.blind.votes import (
    Ballot,
    ReadStatus,
    Vote,
    decide,
    hops_met,
    sibling_vote,
    unfed,
    vote_of,
)
from toolhop_tools.model import Tool, ToolSchema
from toolhop_tools.reading import Match, Reading
from toolhop_tools.replied import json_in

OBJECT = '{"a": {"b": "}"}}'
REPLIES = {
    "bare": OBJECT,
    "in a fence": f"```json\n{OBJECT}\n```",
    "after its thoughts": f'<think>or {{"a": 0}}?</think>\n{OBJECT}',
    "after thoughts that were opened in the prompt": f'{{"a": 0}}</think>{OBJECT}',
    "within prose": f"With {{1}} for step 1:\n{OBJECT}\nThe {{1}} is the city.",
    "after a draft": f'First {{"a": 0}}, better: {OBJECT}',
    "after a brace that is left open": f"The set {{1, 2 and so on.\n{OBJECT}",
    "after thoughts with a draft that breaks off": f'<think>{{"a": {{"b</think>{OBJECT}',
    "before a remark": f'{OBJECT}\nDone {{"ok": 1}}',
}


@pytest.mark.parametrize("name", REPLIES)
def test_the_object_of_a_reply(name: str) -> None:
    assert json_in(REPLIES[name]) == OBJECT


def test_a_broken_object_is_no_other_object() -> None:
    assert json_in('so: {"a": {"b": 1},}.') == '{"a": {"b": 1},}'
    assert json_in('<think>{"a": 1}') == ""
    assert json_in("no object") == "no object"
    assert json_in('{"a": "</think>{"}') == '{"a": "</think>{"}'
    assert json_in('it is {"a": 1') == '{"a": 1'
    assert json_in('it is {"a": {"b": 1}, "c') == '{"a": {"b": 1}, "c'


def test_a_tag_in_a_string_of_a_fenced_object_ends_no_thoughts() -> None:
    written = '{"a": "</think> {"}'
    assert json_in(f'<think>{{"b": 1}}</think>\n```json\n{written}\n```') == written


@pytest.mark.parametrize(
    "part", ['{"a"}\n{1} ', '{"a": {"b": ', "{ {1 {", '{"a</think>', "</think>"]
)
def test_long_replies_are_read_in_time(part: str) -> None:
    start = time.process_time()
    json_in(part * (200_000 // len(part)))
    assert time.process_time() - start < 1


# -- form ------------------------------------------------------------------------------------------

Function = Callable[..., object]


def tool(name: str, types: Mapping[str, str], required: Sequence[str] | None = None) -> Tool:
    properties: dict[str, JSON] = {key: {"type": kind} for key, kind in types.items()}
    needed: list[JSON] = [*(types if required is None else required)]
    schema: dict[str, JSON] = {"type": "object", "properties": properties, "required": needed}
    return Tool(ToolSchema(name, "A tool.", schema), Program(f"def {name}(): pass", name))


TOOLS = {
    one.name: one
    for one in (
        tool("birth", {"person": "string", "detail": "string"}, ["person"]),
        tool("add", {"first": "integer", "second": "integer"}),
        tool("names", {"letter": "string"}),
        tool("count", {"of": "array"}),
    )
}
YEARS = {"Ada": 1815, "Alan": 1912}
FUNCTIONS: dict[str, Function] = {
    "birth": lambda person, detail="": {"name": person, "year": YEARS[person]},
    "add": lambda first, second: first + second,
    "names": lambda letter: [letter, letter * 2],
    "count": len,
}


async def call(program: Program, arguments: Mapping[str, JSON]) -> Outcome:
    function = FUNCTIONS[program.function]
    given = [arguments["of"]] if program.function == "count" else []
    try:
        value = function(*given, **({} if given else arguments))
    except KeyError as error:
        return Raised("KeyError", str(error))
    return Returned(json.dumps(value))


def step(name: str, path: list[str | int] | None = None, **arguments: JSON) -> Step:
    return Step(tool=name, arguments=arguments, answer_path=path)


BIRTH = step("birth", ["year"], person="Ada")
ADD = step("add", [], first="{1}", second=36)
ADA = Plan(steps=[BIRTH, ADD])
CHAIN = Chain("1851", (ChainHop(1, "birth", "1815"), ChainHop(2, "add", "1851")))


def form(*steps: Step) -> object:
    text = Plan(steps=[*steps]).model_dump_json()
    return read_plan(text, {name: one.schema for name, one in TOOLS.items()})


FAULTS = {
    "unknown tool": ([step("death", person="Ada")], 'Step 1 calls "death"'),
    "later step": ([step("add", first="{2}", second=1), BIRTH], "Step 1 uses {2}"),
    "own value": ([BIRTH, step("add", first="{2}", second="{1}")], "Step 2 uses {2}"),
    "step for nothing": ([BIRTH, step("add", first=1, second=2)], "No later step uses {1}"),
    "missing": ([step("add", first=1)], 'missing: "second"'),
    "unknown argument": ([step("birth", person="Ada", of="x")], 'unknown: "of"'),
    "missing beside a reference": ([BIRTH, step("add", first="{1}")], 'missing: "second"'),
    "type": ([step("add", first="one", second=2)], "first:"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_of_form(name: str) -> None:
    steps, message = FAULTS[name]
    problems = form(*steps)
    assert isinstance(problems, tuple)
    assert message in " ".join(problems)


def test_a_sound_plan_is_read() -> None:
    assert form(*ADA.steps) == ADA
    # null stands for nothing; what a model adds beside the plan is passed over.
    doubt = read_plan('{"steps": null, "not_given": "x", "ambiguous": null, "why": 1}', {})
    assert isinstance(doubt, Plan)
    assert doubt.doubt == "x"


@pytest.mark.parametrize(
    "text",
    [
        "{}", '{"steps": []}', '{"not_given": "a", "ambiguous": "b"}', "[]", "",
        '{"steps": [{"tool": "add", "arguments": {"first": 1e999}}]}',
        '{"steps": [{"tool": "add", "arguments": {}, "filter": "x"}]}',
        '{"not_given": "' + "x" * 20_000 + '"}',
        "x" * 200_001,
    ],
)  # fmt: skip
def test_what_is_no_plan(text: str) -> None:
    assert isinstance(read_plan(text, {}), tuple)


def test_readers_see_documents_in_an_order_of_their_own() -> None:
    texts = {shown("Who?", [*TOOLS.values()], str(seed)) for seed in range(20)}
    assert len(texts) > 5
    assert all("def " not in text for text in texts)
    assert shown("Who?", [*TOOLS.values()], "1") == shown("Who?", [*TOOLS.values()][::-1], "1")


# -- running ---------------------------------------------------------------------------------------


def run(plan: Plan, chain: Chain = CHAIN) -> tuple[StepRun, ...]:
    return anyio.run(partial(run_plan, plan, TOOLS, call, chain.hops))


def test_values_go_on_in_the_type_that_is_wanted() -> None:
    first, second = run(ADA)
    assert (first.value, second.arguments, second.value) == (
        "1815", {"first": 1815, "second": 36}, "1851",
    )  # fmt: skip
    listed = run(Plan(steps=[step("names", [], letter="a"), step("count", [], of="{1}")]))
    assert (listed[1].arguments, listed[1].value) == ({"of": ["a", "aa"]}, "2")


def test_values_are_spelled_as_the_tool_knows_them() -> None:
    known = ChainHop(1, "birth", "1815", arguments={"person": "Ada", "detail": "year"})
    spelled = Plan(steps=[step("birth", ["year"], person="ADA"), ADD])
    assert run(spelled)[0].value is None
    first, _ = run(spelled, Chain("1851", (known,)))
    assert (first.arguments, first.value) == ({"person": "Ada"}, "1815")
    # Another value stays another one.
    assert known.spelled({"person": "Alan", "detail": "Year"}) == {
        "person": "Alan", "detail": "year",
    }  # fmt: skip


def test_a_plan_ends_where_a_step_gives_nothing() -> None:
    [lost] = run(Plan(steps=[step("birth", ["year"], person="Eve"), ADD]))
    assert (lost.value, "KeyError" in lost.result) == (None, True)
    [lost] = run(Plan(steps=[step("birth", ["day"], person="Ada"), ADD]))
    assert lost.value is None
    _, refused = run(Plan(steps=[step("birth", ["name"], person="Ada"), ADD]))
    assert "schema refuses" in refused.result


RECORD = '{"name": "Ada", "born": {"year": 1815, "month": 12}, "note": "Born in 1815 in London"}'
NAMED = ChainHop(1, "birth", "1815")
PLACED = ChainHop(1, "birth", "1815", Reading(Match.VALUE, ("born", "year")))
WITHIN = ChainHop(1, "birth", "1815", Reading(Match.WORDS, ("note",), (8, 12)))
VALUES: dict[str, tuple[str, list[str | int] | None, list[ChainHop], JSON]] = {
    "at its path": (RECORD, ["born", "month"], [PLACED], 12),
    "by the chain's reading, where it is left open": (RECORD, None, [PLACED], 1815),
    "by the answer, where no reading is known": (RECORD, None, [NAMED], 1815),
    "an object is no value": (RECORD, [], [PLACED], 1815),
    "nothing tells": (RECORD, None, [], None),
    "the only scalar": ('{"year": 1815}', None, [], 1815),
    "no such key": (RECORD, ["year"], [PLACED], None),
    "within a text": (RECORD, ["note"], [WITHIN], "1815"),
    "within a text, left open": (RECORD, None, [WITHIN], "1815"),
    "a text that says it of another hop is itself": (
        RECORD, ["note"], [PLACED], "Born in 1815 in London",
    ),
    "an error": ('{"error": "no such person"}', None, [NAMED], None),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_the_value_of_a_result(name: str) -> None:
    text, path, hops, value = VALUES[name]
    assert value_of(Returned(text), path, hops) == value


def test_a_sibling_reads_where_the_chain_reads() -> None:
    sibling = Sibling({"Ada": "Alan"}, ("1912", "1948"))
    other = CHAIN.of(sibling)
    assert (other.answer, [hop.answer for hop in other.hops]) == ("1948", ["1912", "1948"])
    assert sibling.swapped({"of": ["ADA", "Bob"], "n": 3}) == {"of": ["Alan", "Bob"], "n": 3}
    assert Sibling({"3": "4"}, ("x",)).swapped({"n": 3, "text": "3", "on": True}) == {
        "n": 4, "text": "4", "on": True,
    }  # fmt: skip


# -- votes -----------------------------------------------------------------------------------------

DIFFERENT = step("birth", ["year"], person="Alan")
PLANS: dict[str, tuple[Plan, Vote]] = {
    "through every hop": (ADA, Vote.AGREES),
    "another answer": (Plan(steps=[DIFFERENT, ADD]), Vote.DIFFERS),
    "an error": (Plan(steps=[step("birth", ["year"], person="Eve"), ADD]), Vote.BREAKS),
    "past a hop": (Plan(steps=[step("add", [], first=1815, second=36)]), Vote.ELSEWHERE),
    "a doubt": (Plan(ambiguous="1815 or 1816"), Vote.DOUBTS),
}


@pytest.mark.parametrize("name", PLANS)
def test_the_vote_of_a_plan(name: str) -> None:
    plan, wanted = PLANS[name]
    runs = () if plan.doubt else run(plan)
    vote, words = vote_of(plan, runs, CHAIN)
    assert vote is wanted
    assert bool(words) is (wanted is not Vote.AGREES)
    if wanted is Vote.ELSEWHERE:
        assert hops_met(runs, CHAIN) == (2,)


def test_luck_dies_with_the_sibling() -> None:
    other = CHAIN.of(Sibling({"Ada": "Alan"}, ("1912", "1948")))
    swapped = Plan(steps=[DIFFERENT, ADD])
    assert sibling_vote(swapped, run(swapped, other), other)[0] is Vote.AGREES
    assert sibling_vote(ADA, run(ADA, other), other)[0] is Vote.LUCK


def test_a_hop_that_takes_an_answer_is_called_with_a_step_s_value() -> None:
    hops = (CHAIN.hops[0], replace(CHAIN.hops[1], takes=frozenset({"first"})))
    fed = Chain("1851", hops)
    copied = Plan(steps=[BIRTH, step("add", [], first=1815, second=36)])
    assert unfed(run(ADA), fed) == ""
    assert "hop 2 (add)" in unfed(run(copied), fed)
    assert unfed(run(copied), CHAIN) == ""


AGREE, DIFFER, BREAK = Vote.AGREES, Vote.DIFFERS, Vote.BREAKS
DECISIONS: list[tuple[list[Vote], int, ReadStatus]] = [
    ([], 3, ReadStatus.UNREAD),
    ([AGREE, AGREE], 3, ReadStatus.UNREAD),
    ([AGREE] * 3, 3, ReadStatus.READ),
    ([AGREE, BREAK, AGREE], 3, ReadStatus.READ),
    ([AGREE, DIFFER, AGREE], 3, ReadStatus.DISPUTED),
    ([AGREE, BREAK, Vote.DOUBTS], 3, ReadStatus.DISPUTED),
    ([AGREE, Vote.LUCK, Vote.LUCK], 3, ReadStatus.DISPUTED),
    ([AGREE], 1, ReadStatus.READ),
    ([BREAK], 1, ReadStatus.DISPUTED),
    ([AGREE, BREAK], 2, ReadStatus.READ),
]


@pytest.mark.parametrize(("votes", "k", "status"), DECISIONS)
def test_what_readers_decide(votes: list[Vote], k: int, status: ReadStatus) -> None:
    assert decide([Ballot("m", number, vote) for number, vote in enumerate(votes)], k) is status


def test_more_ballots_than_votes_are_refused() -> None:
    with pytest.raises(ValueError, match="1 ballots of 0"):
        decide([Ballot("m", 1, AGREE)], 0)


# -- the file and the claims -----------------------------------------------------------------------


def reading(**more: Any) -> ItemReading:
    ballots = (Ballot("m", 1, AGREE, "", (1, 2)), Ballot("m", 2, BREAK, "step 2", (1,)))
    fields = {"item": "a", "digest": "d", "certificate": "c", "readers": {"models": ["m"]}}
    return ItemReading(
        **{**fields, "status": ReadStatus.READ, "ballots": ballots, "has_sibling": True, **more}
    )


def test_readings_are_kept_and_the_last_counts(tmp_path: Path) -> None:
    path = tmp_path / "c.readings.jsonl"
    with Readings.writing(path) as readings:
        readings.add(reading(status=ReadStatus.DISPUTED))
        readings.add(reading())
        readings.add_reply("k", {"text": "it is \ud800"})
        with pytest.raises(ReadingsError, match="being written"):
            Readings.writing(path)
    path.write_bytes(path.read_bytes() + b'{"kind": "read')
    again = Readings(path)
    assert again.by_item == {"a": reading()}
    assert list(again.replies) == ["k"]
    with Readings.writing(path) as readings:
        readings.add(reading(item="b"))
    assert list(Readings(path).by_item) == ["a", "b"]
    assert [reading().share(hop) for hop in (1, 2, 3)] == [1.0, 0.5, 0.0]


def test_a_reading_is_of_one_item_and_one_certificate() -> None:
    assert reading().stale("d", "c") == ""
    assert "item has changed" in reading().stale("e", "c")
    assert "certificate has changed" in reading().stale("d", "e")
    assert "version 0" in reading(version=0).stale("d", "c")


def test_claims_by_name() -> None:
    assert [claim_named(text) for text in ("read", "True", "false", "Executed")] == [
        Claim.READ, Claim.DETERMINED, None, Claim.EXECUTED,
    ]  # fmt: skip
    with pytest.raises(ValueError, match="executed, determined, read"):
        claim_named("sure")


def test_a_selection_says_how_it_differs() -> None:
    item = small_item()
    short = replace(item, id="short", question="Which year?", hops=item.hops[:1])
    assert selection([], [item]) == "0 of 1 items"
    words = len(item.question.split())
    assert selection([short], [short, item]) == (
        f"1 of 2 items: hops 1.0 (all 2.0), words of the question 2.0 (all {words / 2 + 1:.1f})"
    )
