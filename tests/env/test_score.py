from __future__ import annotations

import json
from dataclasses import replace

import pytest

from env.messages import Reply, Usage
from env.score import Score, Void, holds_answer, score, solved_hops
from env.trace import Called, Ended, Ending, Hops, Replied, Trace
from env.verdicts import ErrorCode, Problem, Rejected, Repair
from sandbox.outcome import JSON, Raised, Returned
from tests.env.made import called, finished, started
from toolhop_tools.answers import leaves


def scored(trace: Trace) -> Score:
    verdict = score(trace)
    assert isinstance(verdict, Score)
    return verdict


def rejected(tool: str, code: ErrorCode, *, mended: bool = False) -> Called:
    repair = Repair(tool, {}, ("code_fence",)) if mended else None
    return called(tool, rejected=Rejected((Problem(code, "", "", ""),), repair))


def test_a_solved_episode() -> None:
    result = scored(finished(called("born", 1815), called("minus", "36")))
    assert (result.official, result.strict, result.in_last_feedback) == (True, True, True)
    assert (result.hops, result.hops_solved, result.chain) == (2, 2, 2)
    assert (result.turns, result.calls, result.errors, result.failed_calls) == (2, 2, {}, 0)
    assert (result.ending, result.wall_s, result.tool_s) == (Ending.ANSWERED, 1.5, 0.5)


def test_credit_for_a_tool_message_is_told_apart() -> None:
    result = scored(finished(called("minus", {"age": 36}), text="<answer>7</answer>"))
    assert (result.official, result.strict, result.in_last_feedback) == (True, False, True)


def test_the_last_feedback_is_the_last() -> None:
    result = scored(finished(called("minus", 36), called("born", 1815)))
    assert result.in_last_feedback is False


def test_a_gold_inside_of_a_number_is_not_in_the_feedback() -> None:
    result = scored(finished(called("minus", 1365), text="?"))
    assert (result.official, result.in_last_feedback) == (True, False)


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
    hops = Hops(("a", "b", "c"), ("1", "2", "3"))
    answers = dict(zip(hops.tools, (1, 2, 3), strict=True))
    trace = finished(*(called(tool, answers[tool]) for tool in solved), hops=hops)
    result = scored(trace)
    assert (result.hops, result.hops_solved, result.chain) == (3, len(solved), chain)


def test_a_hop_is_solved_by_its_own_tool_without_error() -> None:
    assert solved_hops(finished(called("minus", 1815))) == (False, False)
    assert solved_hops(finished(called("born", 1815, error=ErrorCode.RETURNED_ERROR))) == (
        *(False, False),
    )
    assert solved_hops(finished(called("born", 1), called("born", {"year": "1815"}))) == (
        *(True, False),
    )


def test_hops_that_share_a_tool_need_an_answer_each() -> None:
    hops = Hops(("ask", "ask"), ("1", "2"))
    assert solved_hops(finished(called("ask", 2), hops=hops)) == (False, True)
    assert solved_hops(finished(called("ask", [1, 2]), hops=hops)) == (True, True)


def test_errors_are_counted_by_code_and_once_a_call() -> None:
    two = Rejected(tuple(Problem(code, "", "", "") for code in list(ErrorCode)[3:5]))
    result = scored(
        finished(
            rejected("born", ErrorCode.NOT_JSON, mended=True),
            rejected("born", ErrorCode.NOT_JSON),
            called("born", rejected=two),
            called("born", outcome=Raised("E", ""), error=ErrorCode.RAISED),
            called("born", 1815),
        )
    )
    assert result.errors == {
        ErrorCode.NOT_JSON: 2,
        ErrorCode.MISSING_ARGUMENT: 1,
        ErrorCode.RAISED: 1,
    }
    assert (result.failed_calls, result.calls, result.repairable) == (4, 5, 1)


def priced(*costs: float | None) -> Trace:
    replies = [
        Replied(n, Reply(usage=Usage(10, 3, cost), retries=1)) for n, cost in enumerate(costs, 1)
    ]
    return Trace((started(), *replies, Ended(Ending.ANSWERED, 1.0)))


def test_a_price_that_is_not_known_is_not_guessed() -> None:
    assert scored(priced(0.5, 0.25)).cost_usd == 0.75
    assert scored(priced(0.5, None)).cost_usd is None
    assert scored(priced()).cost_usd == 0
    result = scored(priced(0.5, None))
    assert (result.input_tokens, result.output_tokens, result.retries) == (20, 6, 2)


def test_void_and_cut_off_episodes_have_no_score() -> None:
    whole = finished()
    assert score(Trace(whole.events[:-1])) == Void("the episode was cut off before its end")
    void = Trace((*whole.events[:-1], Ended(Ending.VOID, 1.0, "no engine")))
    assert score(void) == Void("no engine")


@pytest.mark.parametrize("ending", [e for e in Ending if e not in {Ending.VOID, Ending.ANSWERED}])
def test_running_out_is_scored_as_wrong(ending: Ending) -> None:
    call = called("minus", 36)
    events = (started(), Replied(1, Reply(calls=(call.raw,))), call, Ended(ending, 1.0))
    result = scored(Trace(events))
    assert (result.ending, result.official, result.strict) == (ending, None, False)
    assert result.in_last_feedback is True


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
