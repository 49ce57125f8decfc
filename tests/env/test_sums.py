"""Figures of attempts that are taken in one by one, and not kept."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.env.test_summary import one
from toolhop_env.attempt import Attempt, counting, counting_streamed
from toolhop_env.benchmarks import named
from toolhop_env.estimates import figures
from toolhop_env.measures import CONDUCT
from toolhop_env.score import Errored
from toolhop_env.statistics.passing import KINDS, over_items
from toolhop_env.summary import summarize, summarize_run
from toolhop_env.sums import exact
from toolhop_env.verdicts import ErrorCode

CODES = (ErrorCode.WRONG_TYPE, ErrorCode.TIMED_OUT)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32)))
def test_a_few_numbers_have_the_sum_of_many(values: list[float]) -> None:
    assert math.fsum(exact(values)) == math.fsum(values)
    assert len(exact(values)) <= 1 + len(values)
    assert exact([*exact(values), *exact([1e-30, *values])]) == exact([*values, 1e-30, *values])


def attempts(draw: random.Random, count: int) -> list[Attempt]:
    """Of a few items, each many times: far more than are held."""
    found = []
    for number in range(count):
        item, errors = str(draw.randrange(4)), draw.choices(CODES, k=draw.randrange(3))
        changes = {
            "strict": draw.random() < 0.6,
            "epoch": number + 1,
            "wall_s": draw.random() * 10 ** draw.randrange(-9, 9),
            "cost_usd": draw.random() / 3,
            "errors": {code: errors.count(code) for code in dict.fromkeys(errors)},
            "calls": len(errors) + 1,
            "file": f"{number:04}.jsonl",
            "episode": str(number),
        }
        made = one(item, **changes)
        found.append(made if draw.random() < 0.95 else replace(made, verdict=Errored("no reply")))
    return found


def test_figures_are_those_of_all_scores_at_once_and_in_any_order() -> None:
    draw = random.Random(7)
    made = attempts(draw, 300)
    (found,) = summarize(made)
    scored = [attempt for attempt in made if attempt.score]
    measures = (*named("toolhop").measures, *CONDUCT)
    scores = [(attempt.cluster, attempt.score) for attempt in scored if attempt.score]
    assert found.figures == figures(measures, scores), "to the last bit"
    assert found.spent.cost_usd == math.fsum(score.conduct.cost_usd or 0 for _, score in scores)
    assert (found.episodes, found.errored) == (300, 300 - len(scored))
    by_item = [[s.values["strict"] for i, s in scores if i == item] for item in "0123"]
    tries = [(len(of_one), sum(bool(one and one[0]) for one in of_one)) for of_one in by_item]
    for kind, estimate in KINDS.items():
        assert [*found.passes["strict"][kind]] == [
            over_items(tries, rate.k, estimate) for rate in found.passes["strict"][kind]
        ]
    for code, count in found.errors.items():
        assert count == sum(score.conduct.errors.get(code, 0) for _, score in scores)
    whole = summarize_run(made)
    draw.shuffle(made)
    again = summarize_run(made)
    assert again == whole
    assert [*again[0].errors] == [*whole[0].errors], "those first that are first in the run"


def test_no_more_is_kept_for_more_epochs() -> None:
    from toolhop_env.sums import HELD, sums_of

    (few,), (many,) = (sums_of(one("i", epoch=n) for n in range(count)) for count in (40, 4_000))
    for measure in (*named("toolhop").measures, *CONDUCT):
        above, below = many.parts(measure)
        assert len(above) + len(below) <= len([*few.parts(measure)]) * (HELD + 2)


def test_one_attempt_an_episode_counts_in_whatever_order_they_are_read() -> None:
    draw = random.Random(3)
    made: list[Attempt] = []
    for episode in range(200):
        for attempt in range(1, draw.choice((2, 2, 3, 4))):
            name = f"{episode}_a{attempt}"
            made.append(
                one(str(episode % 3), epoch=1 + episode // 3 * 700, attempt=attempt,
                    file=f"{name}.jsonl", episode=name)
            )  # fmt: skip
            if draw.random() < 0.5:
                made[-1] = replace(made[-1], verdict=Errored("no reply"))
    draw.shuffle(made)
    found = {attempt.episode for attempt in counting_streamed(lambda: made)}
    assert found == {attempt.episode for attempt in counting(made)}
    assert len(found) == 200


def test_an_attempt_that_ends_between_two_readings_is_not_counted_beside_another() -> None:
    first = one("i", file="a.jsonl", episode="a")
    readings: Iterator[list[Attempt]] = iter(
        [[first], [first, replace(first, episode="b", file="b.jsonl")]]
    )
    assert [found.episode for found in counting_streamed(lambda: next(readings))] == ["a"]
