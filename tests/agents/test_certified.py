"""Scores over proven items, and answers read where a certificate says they stand."""

from __future__ import annotations

from dataclasses import replace

from agents.players.plan import final_answer
from agents.runs.certified import marked
from agents.table import toolhop_table
from env.score import Score, Void
from env.summary import Judged, judge, summarize
from tests.agents.items import small_item
from tests.env.made import called, finished
from toolhop_tools.model import GoldCall, Item
from toolhop_tools.reading import Match, Reading


def verdicts() -> list[Judged]:
    right = judge(finished(called("born", 1815), called("minus", "36")))
    assert isinstance(right.verdict, Score)
    wrong = replace(right, verdict=replace(right.verdict, strict=False, official=True))
    void = replace(right, verdict=Void("lost"))
    names = ("a", "b", "c", "d")
    return [replace(one, item=n) for n, one in zip(names, (right, wrong, right, void), strict=True)]


def items(*known: object) -> list[Item]:
    extras = [{} if one is None else {"certificate": str(one)} for one in known]
    names = ("a", "b", "c", "d")
    pairs = zip(names, extras, strict=True)
    return [replace(small_item(name), extra=extra) for name, extra in pairs]


def test_scores_over_all_items_and_over_proven_ones() -> None:
    known = items("proven", "proven", "defective", "proven")
    [one] = summarize(marked(verdicts(), known))
    assert one.proven == 2
    assert one.strict is not None
    assert one.strict_proven is not None
    assert one.official_proven is not None
    assert (one.strict.count, one.strict_proven.count) == (3, 2)
    assert (one.strict_proven.value, one.official_proven.value) == (0.5, 1.0)
    assert toolhop_table([one]).row_count == 4


def test_without_certificates_nothing_is_told() -> None:
    [one] = summarize(marked(verdicts(), items(None, None, None, None)))
    assert (one.proven, one.strict_proven) == (None, None)
    assert toolhop_table([one]).row_count == 2


def test_none_proven_is_told_and_has_no_score() -> None:
    [one] = summarize(marked(verdicts(), items("unproven", "unproven", "defective", None)))
    assert (one.proven, one.strict_proven) == (0, None)
    assert toolhop_table([one]).row_count == 4


def answered(feedback: str, reading: Reading | None) -> str:
    item = small_item()
    gold = GoldCall({"base": 4}, "example", reading)
    hops = (*item.hops[:-1], replace(item.hops[-1], gold=gold))
    return final_answer(replace(item, hops=hops), [feedback])


def test_the_answer_is_read_from_the_result() -> None:
    assert answered('{"a": [7, 8]}', Reading(Match.VALUE, ("a", 1))) == "8"
    assert answered('"It is 17."', Reading(Match.WORDS, (), (6, 8))) == "17"
    # A result of another form: as without a certificate.
    assert answered('{"b": 16}', Reading(Match.VALUE, ("a", 1))) == "16"
    assert answered('{"b": 3}', None) == "3"
