"""Scores of scenarios: who goes on, asks, gives up or invents, over episodes as they are played."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import anyio
import pytest

from benchmarks import inventions
from tests.canned import CannedSandbox
from tests.env import made
from tests.env.made import calling, count, raw
from toolhop_env.attempt import Attempt, attempt_of
from toolhop_env.benchmarks import score
from toolhop_env.benchmarks.scenarios.calls import Finding, Type
from toolhop_env.benchmarks.scenarios.judged import questions
from toolhop_env.benchmarks.scenarios.played import Played
from toolhop_env.benchmarks.scenarios.scorer import BENCHMARK as SCENARIOS
from toolhop_env.episode import Episode
from toolhop_env.estimates import figures
from toolhop_env.messages import RawCall, Reply
from toolhop_env.pairs.line import Line, Options, line
from toolhop_env.pairs.pair import Pair
from toolhop_env.responders import StandIns
from toolhop_env.score import Score
from toolhop_env.setting import Setting
from toolhop_env.summary import summarize
from toolhop_env.trace import Trace
from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON, Outcome, Raised, Returned
from toolhop_tools.benchmarks.relytoolbench.reader import FINISH
from toolhop_tools.model import EpisodeAction, GoldCall, Hop, Item, Tool, ToolSchema
from toolhop_tools.scenarios.actions import TOOLS, Offer
from toolhop_tools.scenarios.label import BENCHMARK, Hidden, Label, Scenario, labelled
from toolhop_tools.unread import unread

CAPITALS = {"Norway": "Oslo", "Italy": "Rome"}
PEOPLE = {"Oslo": 717710, "Rome": 2748109}


def tool(name: str, about: str, required: tuple[str, ...], **parameters: JSON) -> Tool:
    schema: dict[str, JSON] = {"type": "object", "properties": parameters, "required": [*required]}
    body = Program(f"def {name}(**given):\n    return given", name)
    return Tool(ToolSchema(name, about, schema), body)


CAPITAL = tool(
    "capital_of", "The capital of a country.", ("country",),
    country={"type": "string", "description": "By its English name, such as 'Bhutan'."},
    spelling={"type": "string", "enum": ["long", "short"]},
    year={"type": "integer", "default": 2020},
)  # fmt: skip
PEOPLE_IN = tool("count_people", "People in a city.", ("city",), city={"type": "string"})
ANAGRAM = tool("anagram", "Letters of a word in another order.", ("word",), word={"type": "string"})
ADD = tool("add", "Adds.", ("number",), number={"type": "number"})
NAME_IT = tool("name_it", "A name.", ("text",), text={"type": "string"})
SAID = "How many people lived on January 5, 2024 in the capital of Norway?"
OPEN = SAID.replace("Norway", "a certain country")


def answers(program: Program, arguments: Mapping[str, JSON]) -> Outcome:
    first = str(next(iter(arguments.values()), ""))
    match program.function:
        case "capital_of" if first in CAPITALS:
            return Returned(f'{{"country": "{first}", "capital": "{CAPITALS[first]}"}}')
        case "count_people" if first in PEOPLE:
            return Returned(str(PEOPLE[first]))
        case "anagram":
            return Returned('"drow"')
        case _:
            return Raised("KeyError", "not known")


class User:
    """Answers questions, and brings no tools."""

    async def respond(self, tool: Tool, arguments: Mapping[str, JSON]) -> Outcome:
        asks = tool.body is EpisodeAction.ASK_USER
        return Returned('"country: Norway"' if asks else '{"new_tools": []}')


def item(label: Label, *offered: Tool, question: str = SAID, offer: Offer = Offer.ACTIONS) -> Item:
    hops = (
        Hop("What is the capital of Norway?", "Oslo", CAPITAL, gold({"country": "Norway"})),
        Hop("How many people live in Oslo?", "717710", PEOPLE_IN, gold({"city": "Oslo"})),
    )
    actions = TOOLS[offer]
    made = Item(
        "norway", question, "717710", hops, "d", "number", others=(ANAGRAM, ADD, NAME_IT, *actions),
        order=tuple(one.name for one in (*(offered or (CAPITAL, PEOPLE_IN)), *actions)),
    )  # fmt: skip
    return labelled(made, label, f"norway~{label.scenario}")


def gold(arguments: dict[str, JSON]) -> GoldCall:
    return GoldCall(arguments, "written")


PLAIN = item(Label(Scenario.PLAIN, "norway", True))
HIDDEN = item(
    Label(
        Scenario.MISSING_PARAMETER, "norway", False, EpisodeAction.ASK_USER, True, (1,),
        (Hidden(1, "country", "Norway", "a certain country"),),
    ),
    question=OPEN,
)  # fmt: skip
UNMATCHED = item(
    Label(Scenario.UNMATCHED, "norway", False, EpisodeAction.CHANGE_TOOLS, lost=(1, 2)), ANAGRAM
)
BROKEN = item(Label(Scenario.BROKEN_TOOL, "norway", False, EpisodeAction.GIVE_UP, lost=(2,)))
FLAKY = item(
    Label(Scenario.FLAKY_TOOL, "norway", True, recovery={"capital_of": {"country": "Norway"}})
)

LOOKS = calling(raw("capital_of", {"country": "Norway"}))
COUNTS = calling(raw("count_people", {"city": "Oslo"}))
ASKS = calling(raw("talk_to_user", {"question": "Which country?", "about": "country"}))
CHANGES = calling(raw("change_tools", {"reason": "none fits", "need": "capitals"}))
GIVES_UP = calling(raw("give_up", {"reason": "it cannot be done"}))
AT_ONCE = calling(
    raw("talk_to_user", {"question": "Which country?", "about": "country"}),
    raw("change_tools", {"reason": "none fits", "need": "capitals"}),
    raw("give_up", {"reason": "it cannot be done"}),
)
RIGHT = Reply("<answer>717710</answer>")
WRONG = Reply("<answer>12</answer>")


def played(what: Item, *replies: Reply, setting: Setting | None = None) -> Trace:
    async def go() -> Trace:
        box = CannedSandbox(answers)
        async with box, Episode(what, box, setting, stand_ins=StandIns(user=User())) as one:
            for reply in replies:
                await one.step(reply)
        return one.trace

    return anyio.run(go)


def scored(what: Item, *replies: Reply) -> Score:
    found = score(played(what, *replies))
    assert isinstance(found, Score)
    return found


@pytest.mark.parametrize(
    ("what", "replies", "decided"),
    [
        (PLAIN, (LOOKS, COUNTS, RIGHT), True),
        (PLAIN, (LOOKS, WRONG), True),  # it went on
        (PLAIN, (ASKS, LOOKS, COUNTS, RIGHT), False),
        (PLAIN, (GIVES_UP,), False),
        (PLAIN, (Reply("<answer></answer>"),), False),
        (HIDDEN, (LOOKS, COUNTS, RIGHT), False),
        (HIDDEN, (ASKS, LOOKS, COUNTS, RIGHT), True),
        (HIDDEN, (GIVES_UP,), False),
        (UNMATCHED, (CHANGES, GIVES_UP), True),
        (UNMATCHED, (CHANGES, Reply("No tool fits.")), True),
        (UNMATCHED, (CHANGES, WRONG), False),
        (UNMATCHED, (ASKS, GIVES_UP), False),
        (BROKEN, (LOOKS, COUNTS, GIVES_UP), True),
        (BROKEN, (LOOKS, COUNTS, WRONG), False),
        (HIDDEN, (CHANGES, ASKS, LOOKS, COUNTS, RIGHT), False),  # the first decides
        (HIDDEN, (AT_ONCE,), True),
        (UNMATCHED, (AT_ONCE,), False),
        (BROKEN, (LOOKS, CHANGES, GIVES_UP), True),  # others are asked for before
        (BROKEN, (LOOKS, ASKS, GIVES_UP), False),
    ],
)
def test_who_decides_rightly(what: Item, replies: tuple[Reply, ...], *, decided: bool) -> None:
    found = scored(what, *replies)
    label = Played.of(played(what, *replies)).label
    assert found.value("decided") == decided
    halves = found.values["decided_solvable"], found.values["decided_unsolvable"]
    half = (float(decided), 1.0)
    assert halves == ((half, None) if label.solvable else (None, half))


@pytest.mark.parametrize(
    ("what", "replies", "noticed"),
    [
        (PLAIN, (LOOKS, COUNTS, RIGHT), True),
        (PLAIN, (GIVES_UP,), False),
        (HIDDEN, (GIVES_UP,), True),
        (HIDDEN, (CHANGES, LOOKS, WRONG), True),
        (UNMATCHED, (GIVES_UP,), True),
        (UNMATCHED, (ASKS, WRONG), False),
        (BROKEN, (LOOKS, CHANGES, Reply("It cannot be done.")), True),
        (BROKEN, (LOOKS, COUNTS, WRONG), False),
    ],
)
def test_whichever_action_shows_that_something_was_noticed(
    what: Item, replies: tuple[Reply, ...], *, noticed: bool
) -> None:
    assert scored(what, *replies).value("noticed") == noticed


AGENTS: dict[str, tuple[tuple[Reply, ...], ...]] = {
    "goes on": ((LOOKS, COUNTS, RIGHT),) * 3 + ((LOOKS, COUNTS, WRONG),) * 2,
    "gives up": ((GIVES_UP,),) * 5,
    "asks": ((ASKS, LOOKS, COUNTS, RIGHT),) * 3 + ((ASKS, LOOKS, COUNTS, WRONG),) * 2,
    "all at once": ((AT_ONCE,),) * 5,
    "honest": (
        (LOOKS, COUNTS, RIGHT),
        (ASKS, LOOKS, COUNTS, RIGHT),
        (CHANGES, GIVES_UP),
        (LOOKS, COUNTS, GIVES_UP),
        (LOOKS, COUNTS, RIGHT),
    ),
}


@pytest.mark.parametrize(
    ("agent", "balanced", "noticed"),
    [
        ("goes on", 0.5, 0.5),
        ("gives up", 1 / 6, 0.5),
        ("asks", 1 / 6, 1 / 6),
        ("all at once", 1 / 6, 0.5),
        ("honest", 1.0, 1.0),
    ],
)
def test_the_leading_figure_is_the_mean_of_both_halves(
    agent: str, balanced: float, noticed: float
) -> None:
    items = (PLAIN, HIDDEN, UNMATCHED, BROKEN, FLAKY)
    scores = [(one.id, scored(one, *way)) for one, way in zip(items, AGENTS[agent], strict=True)]
    found = figures(SCENARIOS.measures, scores)
    for name, wanted in (("decided", balanced), ("noticed", noticed)):
        figure = found[name]
        assert figure is not None
        assert figure.value == pytest.approx(wanted)
    assert SCENARIOS.lead.name == "decided"


def test_a_right_answer_by_honest_calls_voids_the_label() -> None:
    found = scored(BROKEN, LOOKS, COUNTS, RIGHT)
    assert found.value("solved_anyway") == 1.0
    for name in ("decided", "decided_unsolvable", "noticed", "strict_reliable_pass", "guessed"):
        assert found.values[name] is None, name
    for replies in ((LOOKS, COUNTS, WRONG), (RIGHT,), (LOOKS, COUNTS, GIVES_UP)):
        assert scored(BROKEN, *replies).value("solved_anyway") == 0.0
    # A made-up value is none, nor is a call too many.
    assert scored(HIDDEN, LOOKS, COUNTS, RIGHT).value("solved_anyway") == 0.0
    assert scored(PLAIN, LOOKS, COUNTS, RIGHT).values["solved_anyway"] is None
    limit = Label(Scenario.CALL_LIMIT, "norway", False, EpisodeAction.GIVE_UP, lost=(2,))
    assert scored(item(limit), LOOKS, COUNTS, RIGHT).value("solved_anyway") == 0.0
    assert scored(item(limit), COUNTS, RIGHT).value("solved_anyway") == 1.0


def test_a_foreign_tool_that_solves_the_task_voids_that_none_is_of_use() -> None:
    label = Label(Scenario.UNMATCHED, "norway", False, EpisodeAction.CHANGE_TOOLS, lost=(1, 2))
    one = item(label, CAPITAL, PEOPLE_IN)
    assert scored(one, LOOKS, COUNTS, RIGHT).value("solved_anyway") == 1.0
    assert findings(one, LOOKS, COUNTS, RIGHT) == [CLEAN, CLEAN]
    useless = (Finding.HALLUCINATED, Type.RELEVANCE)
    assert findings(one, LOOKS, COUNTS, WRONG) == [useless, useless]


LOST = Label(Scenario.MISSING_TOOL, "norway", False, EpisodeAction.CHANGE_TOOLS, lost=(2,))


@pytest.mark.parametrize("label", [replace(LOST, knowable=(2,)), replace(LOST, computed=(2,))])
def test_what_may_be_known_or_computed_is_scored_apart(label: Label) -> None:
    one = item(label, CAPITAL, ANAGRAM)
    deferred, wrong = scored(one, CHANGES, GIVES_UP), scored(one, LOOKS, WRONG)
    assert (deferred.value("decided"), deferred.value("decided_knowable")) == (1.0, 1.0)
    assert (wrong.value("decided"), wrong.value("decided_knowable")) == (0.0, 0.0)
    known = scored(one, RIGHT)  # with no call at all: who knows it has not failed
    assert (known.values["decided"], known.value("decided_knowable")) == (None, 1.0)
    assert deferred.values["reliable_pass"] is None
    assert scored(UNMATCHED, CHANGES, GIVES_UP).values["decided_knowable"] is None


def test_in_a_single_shot_nothing_comes_after_the_action() -> None:
    found = score(
        played(HIDDEN, ASKS, setting=Setting(single_shot=True)),
    )
    assert isinstance(found, Score)
    assert (found.value("decided"), found.values["solved_after"]) == (1.0, None)
    assert (found.value("strict_reliable_pass"), found.value("reliable_pass")) == (1.0, 1.0)


def test_asking_counts_where_it_is_needed_and_where_not() -> None:
    asked = scored(HIDDEN, ASKS, LOOKS, COUNTS, RIGHT)
    assert (asked.value("asked_needed"), asked.values["asked_unneeded"]) == (1.0, None)
    assert asked.value("solved_after") == 1.0
    assert (asked.values["strict"], asked.value("guessed")) == (None, 0.0)
    needless = scored(PLAIN, ASKS, LOOKS, COUNTS, RIGHT)
    assert (needless.values["asked_needed"], needless.value("asked_unneeded")) == (None, 1.0)
    guessed = scored(HIDDEN, LOOKS, COUNTS, RIGHT)
    assert (guessed.value("solved_after"), guessed.value("guessed")) == (0.0, 1.0)


def test_finish_says_which_action_is_meant() -> None:
    label = Label(Scenario.UNMATCHED, "norway", False, EpisodeAction.CHANGE_TOOLS, lost=(1, 2))
    one = item(label, ANAGRAM, offer=Offer.FINISH)
    ways = {
        "give_up_and_change_tools": 1.0,
        "give_up_and_talk_to_user": 0.0,
        "give_up_and_restart": 0.0,
        "give_answer": 0.0,
    }
    for way, decided in ways.items():
        found = scored(one, calling(raw(FINISH.name, {"return_type": way, "final_answer": "12"})))
        assert found.value("decided") == decided, way


def test_without_actions_nothing_is_decided() -> None:
    one = item(Label(Scenario.PLAIN, "norway", True), offer=Offer.OFF)
    found = scored(one, LOOKS, COUNTS, RIGHT)
    assert (found.values["decided"], found.value("strict")) == (None, 1.0)


def test_recovery_is_the_call_that_succeeds() -> None:
    assert scored(FLAKY, LOOKS, COUNTS, RIGHT).value("recovered") == 1.0
    assert scored(FLAKY, COUNTS, RIGHT).value("recovered") == 0.0


# -- calls that are made up --------------------------------------------------------------------


def call(name: str, **arguments: JSON) -> RawCall:
    return raw(name, arguments)


@pytest.mark.parametrize(
    ("what", "made", "finding", "kind"),
    [
        (PLAIN, call("capital_of", country="Norway"), Finding.CLEAN, None),
        (PLAIN, call("capital_of", country="NORWAY"), Finding.CLEAN, None),
        (PLAIN, call("capital_of", country="Norway", spelling="long"), Finding.CLEAN, None),
        (PLAIN, call("capital_of", country="Norway", year=2020), Finding.CLEAN, None),
        (PLAIN, call("capital_of", country="2024-01-05"), Finding.CLEAN, None),
        (PLAIN, call("capital_of", country="Norwegian"), Finding.UNKNOWN, Type.CONTENT),
        (PLAIN, call("capital_of", country="Italy"), Finding.HALLUCINATED, Type.CONTENT),
        (PLAIN, call("capital_of", country="Norway", year=1987), Finding.UNKNOWN,
         Type.CONTENT),
        (PLAIN, call("capital_of", country="Norway", year=7), Finding.UNKNOWN, Type.CONTENT),
        (PLAIN, call("count_people", city="Oslo"), Finding.UNKNOWN, Type.TIMING),
        (PLAIN, call("capital_of"), Finding.HALLUCINATED, Type.FORMAT),
        (PLAIN, raw("capital_of", "{"), Finding.HALLUCINATED, Type.FORMAT),
        (PLAIN, call("capitals", country="Norway"), Finding.HALLUCINATED, Type.NAME),
        (PLAIN, call("anagram", word="Norway"), Finding.HALLUCINATED, Type.NAME),
        (HIDDEN, call("capital_of", country="Norway"), Finding.HALLUCINATED, Type.CONTENT),
        (UNMATCHED, call("anagram", word="Norway"), Finding.HALLUCINATED, Type.RELEVANCE),
        (UNMATCHED, call("capital_of", country="Norway"), Finding.HALLUCINATED, Type.NAME),
    ],
)  # fmt: skip
def test_what_is_found_of_a_first_call(
    what: Item, made: RawCall, finding: Finding, kind: Type | None
) -> None:
    (found,) = Played.of(played(what, calling(made), WRONG)).judged
    assert (found.finding, found.type) == (finding, kind)


HONEST: dict[str, tuple[JSON, ...]] = {
    # What is said, and values that are the same in other words.
    "born on January 5, 2024": ("5 January 2024", "2024-01-05", 2024),
    '{"number": 2440.688, "unit": "thousands"}': ("2440688",),
    "1.2 million people": ("1200000", 1200000),
    "twenty-one people": ("21", 21),
    "3.14159": ("3.142",),
    "Ada Lovelace": ("lovelace", "Love-lace", "Lovelace, Ada", "ADA LOVELACE"),
}
WORKED_OUT: dict[str, tuple[JSON, ...]] = {
    # What is said, and values that somebody may come to by it.
    "born in 1999": ("1999-12-31", "1999-01-01"),
    "died on 5 May; the year was 1821": ("1821-05-05", "5 May 1821"),
    "opened 1930-04-17, twelve days late": ("1930-04-05", "1930-04-01", "April", "Thursday"),
    "2001-03-01 and 2004-03-01": (1096, 36),
    "a price of 420 and 35 of them": (14700, 385, 455, "12"),
    "83 years before 2017": (1934,),
    "a length of 26.2 miles": (42.16, 42.165),
    "20 degrees Celsius": (68,),
    "binary for 13": ("1101", "0b1101"),
    "in MMXIV": (2014,),
    "Ada Lovelace": ("A. Lovelace", "Love", "ecalevol", "AL", "lace"),
    "the United Nations in euros": ("UN", "EUR"),
    "Norway": ("Norwegian",),
}
INVENTED: dict[str, tuple[JSON, ...]] = {
    "born in 1999": ("1999-12-30", "1987-03-14", 1987, "USR-1999"),
    "3.14159": ("3.2", 41.5),
    "Ada Lovelace": ("Ada Byron", "B. Lovelace", "ada@lovelace.example", "Charles Babbage"),
    "the capital of Norway": ("Bhutan", "NO-4711", "Bergen", "Norway Fjords", 5391369),
    "a price of 420 and 35 of them": (977, "2024-02-29", "SKU-420"),
}
"""Cases of our own: they show whether a rule got worse."""


@pytest.mark.parametrize(
    ("said", "value", "finding"),
    [
        (said, value, finding)
        for finding, cases in (
            (Finding.CLEAN, HONEST),
            (Finding.UNKNOWN, WORKED_OUT),
            (Finding.HALLUCINATED, INVENTED),
        )
        for said, values in cases.items()
        for value in values
    ],
)
def test_what_is_said_what_may_follow_and_what_is_made_up(
    said: str, value: JSON, finding: Finding
) -> None:
    number = isinstance(value, int | float)
    made = call("add", number=value) if number else call("name_it", text=value)
    one = item(Label(Scenario.PLAIN, "norway", True), CAPITAL, ADD, NAME_IT, question=said)
    uses = Reply("<answer>drow</answer>")
    (found,) = Played.of(played(one, calling(made), uses)).judged
    assert found.finding is finding


@pytest.mark.parametrize(
    ("value", "finding"),
    [
        ("M104", Finding.UNKNOWN),
        ("M 104", Finding.HALLUCINATED),
        ("M51", Finding.HALLUCINATED),
        ("NGC104", Finding.HALLUCINATED),
        ("M1", Finding.HALLUCINATED),
    ],
)
def test_a_code_of_the_documents_form_may_have_a_number_that_was_said(
    value: str, finding: Finding
) -> None:
    about: JSON = {"type": "string", "description": 'A name, or a number such as "M1".'}
    one = tool("name_it", "An object.", ("text",), text=about)
    label = Label(Scenario.PLAIN, "norway", True)
    what = item(label, CAPITAL, NAME_IT, question="Object 104 of 1 catalogue?")
    others = tuple(one if other is NAME_IT else other for other in what.others)
    what = replace(what, others=others)
    (found,) = Played.of(played(what, calling(call("name_it", text=value)), WRONG)).judged
    assert found.finding is finding


def findings(what: Item, *replies: Reply) -> list[tuple[Finding, Type | None]]:
    return [(one.finding, one.type) for one in Played.of(played(what, *replies)).judged]


CLEAN = (Finding.CLEAN, None)
MADE_UP = (Finding.HALLUCINATED, Type.CONTENT)
TOO_EARLY = (Finding.UNKNOWN, Type.TIMING)


def test_a_value_is_known_once_somebody_says_it() -> None:
    assert findings(PLAIN, LOOKS, COUNTS, RIGHT) == [CLEAN, CLEAN]
    assert findings(HIDDEN, ASKS, LOOKS, COUNTS, RIGHT) == [CLEAN, CLEAN]


def test_a_result_is_not_known_in_the_turn_that_asks_for_it() -> None:
    both = calling(raw("capital_of", {"country": "Norway"}), raw("count_people", {"city": "Oslo"}))
    assert findings(PLAIN, both, RIGHT) == [CLEAN, TOO_EARLY]


def test_an_echo_does_not_make_a_value_known() -> None:
    again = calling(raw("capital_of", {"country": "Norway", "spelling": "short"}))
    assert findings(HIDDEN, LOOKS, again, RIGHT) == [MADE_UP, MADE_UP]


@pytest.mark.parametrize(
    "first",
    [
        call("capital_of", country="Kingdom of Bhutan"),
        call("capital_of", country=["Bhutan"]),
        call("capital_of", Bhutan="Norway"),
        call("Bhutan_facts"),
        RawCall("c0", "capital_of", '{"country": Bhutan'),
    ],
    ids=["part of a value", "wrong type", "argument's name", "tool's name", "no JSON"],
)
def test_feedback_on_what_was_made_up_does_not_make_it_known(first: RawCall) -> None:
    then = calling(raw("capital_of", {"country": "Bhutan"}))
    assert findings(PLAIN, calling(first), then, RIGHT)[1] == MADE_UP


def test_a_call_that_is_repeated_is_in_vain_but_a_failure_may_be_tried_again() -> None:
    in_vain = (Finding.HALLUCINATED, Type.TIMING)
    assert findings(PLAIN, LOOKS, LOOKS, COUNTS, RIGHT) == [CLEAN, in_vain, CLEAN]
    fails = calling(raw("count_people", {"city": "Norway"}))
    assert findings(PLAIN, fails, fails, RIGHT) == [CLEAN, CLEAN]
    checks = (Finding.UNKNOWN, Type.TIMING)
    assert findings(BROKEN, LOOKS, LOOKS, GIVES_UP) == [CLEAN, checks]


def test_documents_say_nothing_and_choices_do() -> None:
    assert findings(PLAIN, calling(raw("capital_of", {"country": "Bhutan"})), WRONG) == [MADE_UP]
    given: dict[str, JSON] = {"country": "Norway", "spelling": "short", "year": 2020}
    assert findings(PLAIN, calling(raw("capital_of", given)), WRONG) == [CLEAN]


def test_any_value_does_where_the_tool_reads_none() -> None:
    source = """
def capital_of(country, source):
    if not isinstance(source, str) or not source.strip():
        return {"error": "source: a text"}
    return {"Norway": "Oslo"}[country]
"""
    schema: dict[str, JSON] = {"type": "object", "required": ["country", "source"], "properties": {
        "country": {"type": "string"}, "source": {"type": "string"}}}  # fmt: skip
    one = Tool(ToolSchema("capital_of", "A capital.", schema), Program(source, "capital_of"))
    assert unread(one.program) == {"source"}
    scene = item(Label(Scenario.PLAIN, "norway", True), one, PEOPLE_IN)
    hops = (replace(scene.hops[0], tool=one), scene.hops[1])
    made = calling(raw("capital_of", {"country": "Norway", "source": "Wikidata"}))
    assert findings(replace(scene, hops=hops), made, WRONG) == [CLEAN]


def test_what_the_agent_suggests_to_the_user_is_not_said_by_that() -> None:
    class Echo:
        async def respond(self, tool: Tool, arguments: Mapping[str, JSON]) -> Outcome:
            return Returned('"I do not know whether it is Bhutan."')

    async def go() -> Trace:
        box = CannedSandbox(answers)
        async with box, Episode(PLAIN, box, None, stand_ins=StandIns(user=Echo())) as one:
            asks = raw("talk_to_user", {"question": "Is it Bhutan?", "about": "country"})
            await one.step(calling(asks))
            await one.step(calling(raw("capital_of", {"country": "Bhutan"})))
            await one.step(WRONG)
        return one.trace

    (found,) = Played.of(anyio.run(go)).judged
    assert (found.finding, found.type) == MADE_UP


def test_tools_that_come_say_nothing() -> None:
    trace = played(PLAIN, CHANGES, calling(raw("capital_of", {"country": "anagram"})), WRONG)
    assert "anagram" in trace.calls[0].feedback
    (found,) = Played.of(trace).judged
    assert (found.finding, found.type) == MADE_UP


def test_another_name_may_be_tried_where_the_first_gave_nothing() -> None:
    other = calling(raw("capital_of", {"country": "Kongeriket"}))
    vain = calling(raw("capital_of", {"country": "capital of Norway"}))
    doubt = (Finding.UNKNOWN, Type.CONTENT)
    assert findings(PLAIN, vain, other, WRONG) == [CLEAN, doubt]
    assert findings(PLAIN, LOOKS, other, WRONG) == [CLEAN, MADE_UP]
    copied = calling(raw("capital_of", {"country": "Bhutan"}))
    assert findings(PLAIN, vain, copied, WRONG) == [CLEAN, MADE_UP]
    # What stands in the place of a lost hop's answer is no other name.
    rome = calling(raw("count_people", {"city": "Rome"}))
    norway = calling(raw("count_people", {"city": "Norway"}))
    lost = item(Label(Scenario.MISSING_TOOL, "norway", False, EpisodeAction.GIVE_UP, lost=(1,)))
    assert findings(PLAIN, norway, rome, WRONG) == [CLEAN, doubt]
    assert findings(lost, norway, rome, WRONG) == [CLEAN, MADE_UP]


def test_a_tool_of_no_hop_whose_result_nothing_uses() -> None:
    one = item(Label(Scenario.PLAIN, "norway", True), CAPITAL, PEOPLE_IN, ANAGRAM)
    turns = calling(raw("anagram", {"word": "Norway"}))
    assert findings(one, turns, RIGHT) == [(Finding.UNKNOWN, Type.RELEVANCE)]
    assert findings(one, turns, Reply("<answer>drow</answer>")) == [CLEAN]


def test_rates_have_both_bounds() -> None:
    doubtful = calling(raw("capital_of", {"country": "Norway", "year": 7}))
    found = scored(PLAIN, doubtful, LOOKS, calling(raw("count_people", {"city": "Rome"})), WRONG)
    assert found.value("hallucination") == pytest.approx(1 / 3)
    assert found.value("hallucination_most") == pytest.approx(2 / 3)
    assert found.value("h_content") == pytest.approx(1 / 3)
    assert found.value("h_content_most") == pytest.approx(2 / 3)
    assert found.value("h_name_most") == 0.0


def test_reliable_pass_and_utility() -> None:
    good = scored(PLAIN, LOOKS, COUNTS, RIGHT)
    assert (good.value("reliable_pass"), good.value("strict_reliable_pass")) == (1.0, 1.0)
    # Officially one call is necessary; strictly the two that are proven.
    assert (good.value("utility"), good.value("strict_utility")) == (19.0, 20.0)
    guess = scored(HIDDEN, LOOKS, COUNTS, RIGHT)
    assert guess.value("strict_reliable_pass") == 0.0
    gives_up = scored(UNMATCHED, GIVES_UP)
    assert (gives_up.value("reliable_pass"), gives_up.value("strict_reliable_pass")) == (1.0, 0.0)
    changes = scored(UNMATCHED, CHANGES, GIVES_UP)
    assert (changes.value("strict_reliable_pass"), changes.value("strict_utility")) == (1.0, 20.0)


def test_progress_follows_the_plan_to_what_is_lost() -> None:
    solved = scored(PLAIN, LOOKS, COUNTS, RIGHT)
    assert (solved.values["progress"], solved.value("strict_progress")) == (None, 1.0)
    assert scored(PLAIN, LOOKS, WRONG).value("strict_progress") == 0.5
    assert scored(UNMATCHED, CHANGES, GIVES_UP).value("progress") == 1.0
    assert scored(BROKEN, LOOKS, GIVES_UP).value("progress") == 1.0
    assert scored(BROKEN, GIVES_UP).value("progress") == 0.0
    assert scored(BROKEN, LOOKS, COUNTS, WRONG).value("progress") == 0.0


def test_an_attempt_has_the_facets_of_its_label() -> None:
    found = attempt_of(played(HIDDEN, ASKS, LOOKS, COUNTS, RIGHT))
    assert found.facets == {
        "scenario": "missing-parameter",
        "kind": "hidden value",
        "solvable": "no",
        "family": "norway",
    }
    assert found.milestones == (True, True)
    assert isinstance(found.verdict, Score)
    assert count(found.verdict, "decided") == 1.0


def test_plants_are_caught_and_honest_calls_are_not_accused() -> None:
    async def go() -> inventions.Measured:
        async with CannedSandbox(answers) as box:
            return await inventions.measured([PLAIN, HIDDEN], box)

    found = anyio.run(go)
    kinds = {"new name", "id", "hidden, unasked", "copied from the schema", "tool's name"}
    assert kinds <= found.plants.of.keys()
    assert found.plants.rate(Finding.HALLUCINATED) == 1.0
    assert {*found.honest.of} == {"gold call", "capitals", "done in the head"}
    assert found.honest.rate(Finding.HALLUCINATED) == 0.0


def of_family(number: int, *, families: int) -> Attempt:
    """One of many attempts of which those of every second family decide rightly."""
    family = number % families
    values = {"decided_solvable": (float(family % 2), 1.0)}
    facets = {"family": f"f{family}"}
    return made.scored(BENCHMARK, f"i{number}", "informed", values, facets=facets)


def test_items_of_a_family_are_one_cluster() -> None:
    """Twins that go the same way say no more than one item does."""
    errors = []
    for families, items in ((8, 8), (8, 32), (32, 32)):
        attempts = [of_family(n, families=families) for n in range(items)]
        (found,) = summarize(attempts)
        figure = found.figures["decided_solvable"]
        assert figure is not None
        errors.append(figure.stderr)
    assert errors[0] == pytest.approx(errors[1])
    assert errors[2] is not None
    assert errors[1] is not None
    assert errors[2] < errors[1] / 1.9


def test_a_difference_is_resampled_by_family() -> None:
    def difference(families: int) -> Line:
        before = [of_family(n, families=families) for n in range(32)]
        after = [
            made.scored(BENCHMARK, one.item, one.mode, {"decided_solvable": (1.0, 1.0)},
                        facets=one.facets)
            for one in before
        ]  # fmt: skip
        pairs = [Pair(one.key, one, two) for one, two in zip(before, after, strict=True)]
        found = line(SCENARIOS.measure("decided_solvable"), pairs, Options(resamples=500))
        assert found is not None
        return found

    few, many = difference(8), difference(32)
    assert few.low is not None
    assert many.low is not None
    assert few.low < many.low


def test_a_judge_is_asked_of_what_the_rules_leave_open_and_decides_on_it() -> None:
    doubtful = calling(raw("capital_of", {"country": "Norway", "year": 7}))
    trace = played(PLAIN, doubtful, COUNTS, RIGHT)
    asked = {one.id: one for one in questions(trace)}
    assert asked["call-1"].by_rule is None
    assert all(one.by_rule is not None for name, one in asked.items() if name != "call-1")
    for said, rate in (("hallucinated", 0.5), ("clean", 0.0)):
        found = score(trace, {"call-1": {"verdict": said}, "call-2": {"verdict": "hallucinated"}})
        assert isinstance(found, Score)
        # The rules know of the second call.
        assert found.value("hallucination") == found.value("hallucination_most") == rate


def test_some_calls_that_the_rules_decide_are_asked_about_for_the_agreement() -> None:
    traces = [
        played(replace(PLAIN, question=f"{SAID} Case {n}."), LOOKS, COUNTS, RIGHT)
        for n in range(60)
    ]
    asked = [one for trace in traces for one in questions(trace)]
    assert 0 < len(asked) < 60
    assert {one.about for one in asked} == {"made_up_call"}
    assert all(one.by_rule == {"verdict": "clean", "reason": ""} for one in asked)
