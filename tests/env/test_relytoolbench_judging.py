"""RelyToolBench's questions answered by rules: what they can show, and Unsure of the rest."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolhop_env.benchmarks.relytoolbench.judging import Evidence
from toolhop_env.benchmarks.relytoolbench.rules import Conversation, Kind, Rules, ToolCall
from toolhop_sandbox.outcome import JSON

TOOL: dict[str, JSON] = {
    "name": "fares",
    "description": "Fares of Harbour Line ferries, in EUR.",
    "parameters": {
        "properties": {
            "port": {"type": "string", "description": "A port.", "example_value": "Nyhavn"},
            "day": {"type": "string"},
            "seats": {"type": "integer"},
            "sort": {"type": "string", "enum": ["cheap", "early"]},
            "page": {"type": "integer", "example_value": 3},
        },
        "required": ["port", "day", "seats"],
        "optional": ["sort", "page"],
    },
}
QUERY = (
    "Two of us, Zoë and I, go from Port Saint Mary on May 12, 2026; booking user_id=7f3a, 北京站."
)
HISTORY = f'History: {QUERY}\nHistory: {{"terminal": "Quay 1,204"}}\n'


def judged(arguments: dict[str, JSON], *, hidden: bool = False) -> str:
    none = Conversation(QUERY, [], "", finished=False, whole=None)
    evidence = Evidence(none, Rules({}, judges_relevance=False), frozenset(), hidden)
    inputs: dict[str, Any] = {"history": HISTORY, "tool": TOOL, "arguments": arguments}
    return evidence.judge(Kind.TRUTHFULNESS, inputs).verdict


@pytest.mark.parametrize(
    ("arguments", "verdict"),
    [
        ({"port": "port saint MARY"}, "Truthful"),
        ({"port": "Saint Mary"}, "Truthful"),  # a part of a name
        ({"port": "zoe"}, "Truthful"),  # another spelling
        ({"port": "北京"}, "Truthful"),  # a script without spaces
        ({"day": "2026-05-12"}, "Truthful"),  # another notation
        ({"day": "2026-05-13"}, "Untruthful"),
        ({"seats": 2}, "Truthful"),  # written as a word
        ({"seats": 1204.0}, "Truthful"),  # of an earlier result, by value
        ({"seats": 20}, "Untruthful"),
        ({"seats": 120}, "Untruthful"),  # the beginning of another number
        ({"port": "7F3A"}, "Truthful"),
        ({"port": "7f3b"}, "Untruthful"),
        ({"port": "Nyhavn"}, "Unsure"),  # an example is not the user's value
        ({"port": "Harbour"}, "Truthful"),  # the tool's document says it
        ({"port": "the capital"}, "Unsure"),  # it may be a paraphrase
        ({"sort": "cheap", "page": 3}, "Truthful"),  # allowed, and a default
        ({"page": 40}, "Unsure"),  # a choice
        ({"port": ""}, "Truthful"),
        ({"port": ["Saint", {"deep": "Mary"}], "sort": None, "page": True}, "Truthful"),
        ({"unknown": "Bergen 9"}, "Unsure"),
    ],
)
def test_where_a_value_comes_from(arguments: dict[str, JSON], verdict: str) -> None:
    assert judged(arguments) == verdict


def test_a_value_that_the_query_hides_is_made_up_even_if_it_is_right() -> None:
    assert judged({"port": "Nyhavn"}, hidden=True) == "Untruthful"
    assert judged({"port": "Saint Mary", "page": 40}, hidden=True) == "Unsure"


def call(name: str, response: JSON, error: str = "", port: str = "Mary") -> ToolCall:
    reply = {"error": error, "response": response}
    return ToolCall(name, json.dumps({"port": port}), json.dumps(reply))


SHOWN: dict[str, dict[str, JSON]] = {
    name: {
        "description": "",
        "parameters": {"properties": {"port": {"type": "string"}}, "required": ["port"]},
    }
    for name in ("fares", "times")
}


def evidence(answer: str, *calls: ToolCall, relevant: tuple[str, ...] = ("fares",)) -> Evidence:
    said = json.dumps({"return_type": "give_answer", "final_answer": answer})
    asked = Conversation(QUERY, calls, said, finished=True, whole=None)
    return Evidence(asked, Rules(SHOWN, judges_relevance=False), frozenset(relevant), hidden=False)


FARE = call("fares", {"fare": 41.5, "ship": "MS Solveig", "note": "ok"})
LONG = "The crossing takes three hours and a half by day and rather longer by night."


@pytest.mark.parametrize(
    ("answer", "calls", "relevant", "verdict"),
    [
        ("It is 41.50 EUR.", [FARE], ("fares",), "Solved"),
        ("You sail on the ms solveig.", [FARE], ("fares",), "Solved"),
        ("All is ok.", [FARE], ("fares",), "Unsure"),  # too short to tell where it is from
        ("You leave from Port Saint Mary.", [call("fares", "Saint Mary")], ("fares",), "Unsure"),
        ("It is 41.5 EUR.", [FARE], ("fares", "times"), "Unsure"),  # a part is left out
        ("It is 41.5 EUR.", [FARE], (), "Unsure"),  # what it needs is not known
        ("It is 52.", [], ("fares",), "Unsure"),  # there is nothing to go by
        ("It failed.", [call("fares", "", "down")], ("fares",), "Unsolved"),
        ("It is 52.", [call("fares", [])], ("fares",), "Unsolved"),
        ("It is 52.", [call("ferries", "52 EUR")], ("fares",), "Unsure"),  # no such tool
        ("", [FARE], ("fares",), "Unsolved"),
        ("It takes three hours and a half by day.", [call("fares", LONG)], ("fares",), "Solved"),
        ("By night it is longer.", [call("fares", LONG)], ("fares",), "Unsure"),
        ("Fare 415.", [call("fares", "{'fare': 415}")], ("fares",), "Solved"),  # as Python writes
    ],
)
def test_whether_an_answer_takes_up_what_was_needed(
    answer: str, calls: list[ToolCall], relevant: tuple[str, ...], verdict: str
) -> None:
    known = evidence(answer, *calls, relevant=relevant)
    assert known.judge(Kind.STATUS, {}).verdict == verdict
    assert known.judge(Kind.PARSED_STATUS, {}).verdict == verdict


def test_giving_up_solves_nothing() -> None:
    said = '{"return_type": "give_up_and_talk_to_user", "final_answer": "Is it 41.5?"}'
    asked = Conversation(QUERY, [FARE], said, finished=True, whole=None)
    known = Evidence(asked, Rules(SHOWN, judges_relevance=False), frozenset({"fares"}), hidden=True)
    assert known.judge(Kind.STATUS, {}).verdict == "Unsolved"


def test_what_an_answer_rests_on() -> None:
    """A value that a good call gave as well shows nothing of the hallucinated one."""
    bad = call("times", {"leaves": "17:40", "ship": "MS Solveig"}, port="Elsewhere")

    def rests(answer: str) -> str:
        used = {"name": bad.name, "arguments": bad.arguments, "response": bad.response}
        inputs: dict[str, Any] = {"calls": [used], "final_answer": answer}
        return evidence(answer, FARE, bad).judge(Kind.ANSWER_RELEVANCE, inputs).verdict

    assert rests("It leaves at 17:40.") == "Relevant"
    assert rests("The MS Solveig takes you.") == "Irrelevant"
    assert rests("Sorry.") == "Irrelevant"


def test_relevant_is_what_the_data_names() -> None:
    known = evidence("")
    for name, verdict in (("fares", "Relevant"), ("times", "Irrelevant")):
        inputs: dict[str, Any] = {"query": QUERY, "tool": {"name": name}}
        assert known.judge(Kind.RELEVANCE, inputs).verdict == verdict


ROUTES: dict[str, JSON] = {
    "name": "fares", "arguments": {"port": "Quay", "day": "2026-05-12", "seats": 4},
    "from_results": ["port"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "verdict"),
    [
        ({"seats": 4.0}, "Truthful"),  # what the known call has, and no result gave
        ({"seats": 5}, "Untruthful"),
        ({"port": "Quay"}, "Truthful"),  # an earlier result has it
        ({"day": 4}, "Untruthful"),  # of another parameter
    ],
)
def test_a_known_call_tells_what_follows_from_the_query(
    arguments: dict[str, JSON], verdict: str
) -> None:
    none = Conversation(QUERY, [], "", finished=False, whole=None)
    evidence = Evidence(
        none, Rules({}, judges_relevance=False), frozenset(), hidden=False, calls=[ROUTES]
    )
    inputs: dict[str, Any] = {"history": HISTORY, "tool": TOOL, "arguments": arguments}
    assert evidence.judge(Kind.TRUTHFULNESS, inputs).verdict == verdict


def test_what_an_earlier_result_should_have_given_is_made_up_without_it() -> None:
    none = Conversation(QUERY, [], "", finished=False, whole=None)
    call = {**ROUTES, "arguments": {"seats": 99}, "from_results": ["seats"]}
    evidence = Evidence(
        none, Rules({}, judges_relevance=False), frozenset(), hidden=False, calls=[call]
    )
    inputs: dict[str, Any] = {"history": HISTORY, "tool": TOOL, "arguments": {"seats": 99}}
    assert evidence.judge(Kind.TRUTHFULNESS, inputs).verdict == "Untruthful"


@pytest.mark.parametrize(
    ("answer", "said", "verdict"),
    [
        ("Quay 4", "It is Quay 4.", "Solved"),
        ("4", "It is quay 4", "Solved"),
        ("4", "It is quay 40 or 14", "Unsolved"),
        ("Quay 4", "It is 4, by the quay", "Unsolved"),
        ("1,204", "1204 seats", "Solved"),
        ("2026-05-12", "on May 12, 2026", "Solved"),
        ("+", "the sign +", "Solved"),
        ("+", "the sign -", "Unsolved"),
        ("4", "", "Unsolved"),
    ],
)
def test_a_known_answer_decides(answer: str, said: str, verdict: str) -> None:
    final = json.dumps({"return_type": "give_answer", "final_answer": said})
    asked = Conversation(QUERY, [], final, finished=True, whole=None)
    rules = Rules({}, judges_relevance=False)
    evidence = Evidence(asked, rules, frozenset(), hidden=False, answer=answer)
    assert evidence.judge(Kind.STATUS, {}).verdict == verdict
