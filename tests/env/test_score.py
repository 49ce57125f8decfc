"""A trace's verdict: how it was conducted, and ToolHop's values."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest

from tests.env.games import ITEM
from tests.env.made import called, finished, raw, started
from toolhop_env.benchmarks import score
from toolhop_env.benchmarks.toolhop.scorer import BENCHMARK as TOOLHOP
from toolhop_env.benchmarks.toolhop.scorer import Gold, chain_of, hops
from toolhop_env.measures import CONDUCT
from toolhop_env.messages import Reply, Usage
from toolhop_env.score import Errored, Score, holds_answer
from toolhop_env.trace import Called, Ended, Ending, Replied, Trace
from toolhop_env.verdicts import ErrorCode, Problem, Rejected, Repair
from toolhop_sandbox.outcome import JSON, Raised, Returned
from toolhop_tools.answers import holds, leaves
from toolhop_tools.model import GoldCall
from toolhop_tools.reading import Match, Reading


def scored(trace: Trace) -> Score:
    verdict = score(trace)
    assert isinstance(verdict, Score)
    return verdict


def credit(score: Score) -> tuple[bool, bool, bool]:
    """Official, strict, and whether the last tool result holds the gold."""
    official, strict, last = (
        TOOLHOP.measure(name).holds(score) for name in ("official", "strict", "in_last_feedback")
    )
    return official, strict, last


def reached(trace: Trace) -> list[bool]:
    return [hop.reached for hop in hops(trace)]


def rejected(tool: str, code: ErrorCode, *, repaired: bool = False) -> Called:
    repair = Repair(tool, {}, ("code_fence",)) if repaired else None
    return called(tool, rejected=Rejected((Problem(code, "", "", ""),), repair))


def test_a_solved_episode() -> None:
    result = scored(finished(called("born", 1815), called("minus", "36")))
    assert credit(result) == (True, True, True)
    assert (result.values["hops_solved"], result.values["chain"]) == ((2, 2), (2, 2))
    of = result.conduct
    assert (of.turns, of.calls, of.errors, of.failed_calls) == (2, 2, {}, 0)
    assert (of.ending, of.wall_s, of.tool_s) == (Ending.ANSWERED, 1.5, 0.5)


def test_credit_for_a_tool_message_is_told_apart() -> None:
    result = scored(finished(called("minus", {"age": 36}), text="<answer>7</answer>"))
    assert credit(result) == (True, False, True)


def test_the_last_feedback_is_the_last() -> None:
    result = scored(finished(called("minus", 36), called("born", 1815)))
    assert credit(result)[2] is False


def test_a_gold_inside_of_a_number_is_not_in_the_feedback() -> None:
    result = scored(finished(called("minus", 1365), text="?"))
    assert credit(result) == (True, False, False)


@pytest.mark.parametrize(
    ("solved", "chain"),
    [
        ((), 0),
        (("a",), 1),
        (("b",), 0),
        (("a", "c"), 1),
        (("b", "a"), 2),
        (("c", "b", "a"), 3),
    ],
)
def test_the_chain_ends_at_its_first_gap(solved: tuple[str, ...], chain: int) -> None:
    answers = {"a": 1, "b": 2, "c": 3}
    golds = [(tool, str(answer)) for tool, answer in answers.items()]
    trace = finished(*(called(tool, answers[tool]) for tool in solved), hops=golds)
    result = scored(trace)
    assert result.values["hops_solved"] == (len(solved), 3)
    assert result.values["chain"] == (chain, 3)


def test_a_hop_is_solved_by_its_own_tool_without_error() -> None:
    assert reached(finished(called("minus", 1815))) == [False, False]
    failed = called("born", 1815, error=ErrorCode.RETURNED_ERROR)
    assert reached(finished(failed)) == [False, False]
    assert reached(finished(called("born", 1), called("born", {"year": "1815"}))) == [True, False]


def test_hops_that_share_a_tool_need_an_answer_each() -> None:
    golds = [("ask", "1"), ("ask", "2")]
    assert reached(finished(called("ask", 2), hops=golds)) == [False, True]
    assert reached(finished(called("ask", [1, 2]), hops=golds)) == [True, True]


SAYS = "The mother of Ada is Anna Byron."


@pytest.mark.parametrize(
    ("answer", "place", "result", "solved"),
    [
        ("Anna Byron", Reading(Match.WORDS, (), (21, 31)), SAYS, True),
        ("Anna Byron", Reading(Match.WORDS, ("says",), (21, 31)), {"says": SAYS}, True),
        ("Anna Byron", Reading(Match.WORDS, ("says",), (21, 31)), {"other": SAYS}, False),
        (
            "Anna Byron",
            Reading(Match.WORDS, (), (21, 31)),
            "The mother of Ada is Jane Byron.",
            False,
        ),
        ("Anna Byron", None, SAYS, False),
        ("Zoé", Reading(Match.ACCENTS, ("name",)), {"name": "Zoe"}, True),
        ("Zoé", Reading(Match.ACCENTS, ("name",)), {"name": "Zora"}, False),
        ("1815-12-10", Reading(Match.DATE, (), notation="%Y-%m-%d"), "December 10, 1815", True),
        ("['a', 'b']", Reading(Match.ELEMENTS, (0,), notation="python"), [["a", "b"]], True),
    ],
)
def test_a_hop_whose_answer_stands_where_the_certificate_has_it(
    answer: str, place: Reading | None, result: JSON, *, solved: bool
) -> None:
    first, second, *_ = ITEM.hops
    proven = (
        replace(first, answer=answer, gold=GoldCall({}, "search", place) if place else None),
        replace(second, answer="36", gold=GoldCall({}, "search", Reading(Match.VALUE))),
    )
    gold = json.loads(json.dumps(chain_of(replace(ITEM, hops=proven))))
    calls = called(first.tool.name, result), called(second.tool.name, 36)
    values = scored(finished(*calls, gold=gold)).values
    assert values["hops_solved"] == (1, 2)
    assert values["hops_solved_at_place"] == (1 + solved, 2)
    assert values["chain_at_place"] == (2 * solved, 2)


def test_without_a_certificate_no_hop_has_a_place() -> None:
    values = scored(finished(called("born", 1815), called("minus", 36))).values
    assert (values["hops_solved_at_place"], values["chain_at_place"]) == (None, None)
    assert values["hops_solved"] == (2, 2)


def test_a_gold_of_another_form_is_refused() -> None:
    assert Gold.of({"answer": "1", "hops": []}) == Gold("1", (), (), ())
    others: list[JSON] = [None, "36", {"answer": 36, "hops": []}, {"answer": "36"}]
    for gold in others:
        with pytest.raises(ValueError, match="an answer and a list of hops"):
            Gold.of(gold)


def test_errors_are_counted_by_code_and_once_a_call() -> None:
    two = Rejected(tuple(Problem(code, "", "", "") for code in list(ErrorCode)[3:5]))
    result = scored(
        finished(
            rejected("born", ErrorCode.NOT_JSON, repaired=True),
            rejected("born", ErrorCode.NOT_JSON),
            called("born", rejected=two),
            called("born", outcome=Raised("E", ""), error=ErrorCode.RAISED),
            called("born", 1815),
        )
    ).conduct
    assert result.errors == {
        ErrorCode.NOT_JSON: 2,
        ErrorCode.MISSING_ARGUMENT: 1,
        ErrorCode.RAISED: 1,
    }
    assert (result.failed_calls, result.calls, result.repairable) == (4, 5, 1)


def test_a_failed_call_that_is_made_again_and_fails_again_is_counted() -> None:
    def failed(tool: str, text: str) -> Called:
        one = called(tool, outcome=Raised("E", ""), error=ErrorCode.RAISED)
        return replace(one, raw=raw(tool, text))

    conduct = scored(
        finished(
            failed("born", '{"a": 1, "b": [2]}'),
            failed("born", '{"b": [2.0], "a": 1}'),  # the same, in JSON
            failed("born", '{"a": true, "b": [2]}'),
            failed("minus", '{"a": 1, "b": [2]}'),
            failed("born", "{a"),
            failed("born", "{a"),
            failed("born", "{b"),
            failed("born", "[" * 100_000),
            called("born", 1815),
            called("born", 1815),  # made again, and not failed
        )
    )
    by_name = {one.name: one.of(conduct) for one in CONDUCT}
    assert by_name["repeated_failures"] == (2, 1)
    assert by_name["repeated_failure"] == (2, 10)
    assert by_name["failed_calls"] == (8, 1)


def priced(*costs: float | None) -> Trace:
    replies = [
        Replied(n, Reply(usage=Usage(10, 3, cost), retries=1)) for n, cost in enumerate(costs, 1)
    ]
    return Trace((started(), *replies, Ended(Ending.ANSWERED, 1.0)))


def test_a_price_that_is_not_known_is_not_guessed() -> None:
    assert scored(priced(0.5, 0.25)).conduct.cost_usd == 0.75
    assert scored(priced(0.5, None)).conduct.cost_usd is None
    assert scored(priced()).conduct.cost_usd == 0
    result = scored(priced(0.5, None)).conduct
    assert (result.input_tokens, result.output_tokens, result.retries) == (20, 6, 2)


def test_errored_and_cut_off_episodes_have_no_score() -> None:
    whole = finished()
    assert score(Trace(whole.events[:-1])) == Errored("the episode was cut off before its end")
    errored = Trace((*whole.events[:-1], Ended(Ending.ERRORED, 1.0, "no engine")))
    assert score(errored) == Errored("no engine")


@pytest.mark.parametrize(
    "ending", [e for e in Ending if e not in {Ending.ERRORED, Ending.ANSWERED}]
)
def test_running_out_is_scored_as_wrong(ending: Ending) -> None:
    call = called("minus", 36)
    events = (started(), Replied(1, Reply(calls=(call.raw,))), call, Ended(ending, 1.0))
    result = scored(Trace(events))
    assert result.conduct.ending is ending
    assert credit(result) == (False, False, True)
    assert TOOLHOP.measure("official_unset").holds(result)


def test_scoring_again_gives_the_same() -> None:
    trace = finished(called("born", 1815), text="36")
    assert score(trace) == score(trace)


HOLDS: dict[str, tuple[JSON, str, bool]] = {
    "text": ("Ada", "ada", True),
    "number": (36, "36", True),
    "float": (36.0, "36", True),
    "large float": (1e22, "10000000000000000000000", True),
    "small float": (1e-7, "0.0000001", True),
    "leaf": ({"a": [{"b": "36"}]}, "36", True),
    "part of a number": (136, "36", False),
    "part of a text": ("Ada Byron", "Ada", False),
    "truth": (True, "True", True),
    "list": ([1, 2], "[1, 2]", True),
    "list, spaced otherwise": ([1, 2], "[1,2]", True),
    "inner list": ({"a": [1, 2]}, "[1, 2]", True),
    "object": ({"a": 1}, '{"a":1}', True),
    "key": ({"36": 1}, "36", False),
    "nothing": (None, "36", False),
}


@pytest.mark.parametrize(("value", "answer", "held"), HOLDS.values(), ids=HOLDS)
def test_holds_answer(value: JSON, answer: str, held: bool) -> None:
    assert holds_answer(called("f", value), answer) is held


def test_a_call_that_failed_holds_nothing() -> None:
    assert not holds_answer(called("f", outcome=Raised("E", "36")), "36")
    failed = called("f", {"error": "no", "value": 36}, error=ErrorCode.RETURNED_ERROR)
    assert not holds_answer(failed, "36")
    assert not holds_answer(rejected("f", ErrorCode.NOT_JSON), "36")


def test_nesting_is_no_obstacle() -> None:
    for depth in (900, 100_000):
        call = replace(called("f"), outcome=Returned("[" * depth + "36" + "]" * depth))
        assert holds_answer(call, "36") in {True, False}


def test_leaves_come_in_order() -> None:
    value: JSON = {"a": [1, "x"], "b": {"c": None, "d": 2.5}}
    assert list(leaves(value)) == [json.dumps([1, "x"]), "1", "x", "null", "2.5"]


def test_deep_nesting_makes_the_search_for_an_answer_no_slower() -> None:
    """A tool may return 900 arrays within each other: the inner ones are not written out each."""
    flat = [7] * 20_000
    deep: JSON = list(flat)
    for _ in range(900):
        deep = [deep]

    def seconds(value: JSON) -> float:
        began = time.process_time()
        assert not holds(value, "36")
        return time.process_time() - began

    assert min(seconds(deep) for _ in range(3)) < 10 * min(seconds(list(flat)) for _ in range(3))


def test_an_array_is_found_within_a_result_where_the_gold_is_one() -> None:
    assert holds({"a": [[1, 2], [3]]}, "[1, 2]")
    assert not holds({"a": [[1, 2], [3]]}, "[2, 1]")
