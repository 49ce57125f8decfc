"""Scores over proven items, and answers read where a certificate says they stand."""

from __future__ import annotations

from dataclasses import replace

from tests.agents.items import small_item
from tests.env.made import called, finished
from toolhop_agents.runs.certified import marked
from toolhop_agents.scripted.plan import final_answer
from toolhop_agents.table import answer_table
from toolhop_env.attempt import Attempt, attempt_of
from toolhop_env.score import Errored, Score
from toolhop_env.summary import summarize
from toolhop_tools.model import GoldCall, Item
from toolhop_tools.reading import Match, Reading


def verdicts() -> list[Attempt]:
    right = attempt_of(finished(called("born", 1815), called("minus", "36")))
    assert isinstance(right.verdict, Score)
    wrong = replace(
        right,
        verdict=replace(
            right.verdict,
            values={**right.verdict.values, "strict": (0.0, 1.0), "official": (1.0, 1.0)},
        ),
    )
    errored = replace(right, verdict=Errored("lost"))
    names = ("a", "b", "c", "d")
    return [
        replace(one, item=n) for n, one in zip(names, (right, wrong, right, errored), strict=True)
    ]


def items(*known: object) -> list[Item]:
    extras = [{} if one is None else {"certificate": str(one)} for one in known]
    names = ("a", "b", "c", "d")
    pairs = zip(names, extras, strict=True)
    return [replace(small_item(name), extra=extra) for name, extra in pairs]


def test_scores_over_all_items_and_over_proven_ones() -> None:
    known = items("proven", "proven", "defective", "proven")
    [one] = summarize(marked(verdicts(), known))
    assert one.proven == 2
    whole, strict, official = (
        one.figures["strict"],
        one.figures_proven["strict"],
        one.figures_proven["official"],
    )
    assert whole is not None
    assert strict is not None
    assert official is not None
    assert (whole.count, strict.count) == (3, 2)
    assert (strict.value, official.value) == (0.5, 1.0)
    assert answer_table(one.benchmark, [one]).row_count == 4


def test_without_certificates_nothing_is_told() -> None:
    [one] = summarize(marked(verdicts(), items(None, None, None, None)))
    assert (one.proven, one.figures_proven["strict"]) == (None, None)
    assert answer_table(one.benchmark, [one]).row_count == 2


def test_none_proven_is_told_and_has_no_score() -> None:
    [one] = summarize(marked(verdicts(), items("unproven", "unproven", "defective", None)))
    assert (one.proven, one.figures_proven["strict"]) == (0, None)
    assert answer_table(one.benchmark, [one]).row_count == 4


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
