"""A benchmark's totals under two conditions, and their differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toolhop_env.attempt import Attempt
from toolhop_env.benchmark import Benchmark
from toolhop_env.estimates import linear_total, standard_error
from toolhop_env.measures import Measure, Total
from toolhop_env.pairs.pair import Pair
from toolhop_env.statistics.tails import students_t


@dataclass(frozen=True, slots=True)
class TotalLine:
    """A total of one measure under both conditions. Shares are from 0 to 1."""

    total: Total
    measure: Measure
    before: float
    after: float
    difference: float
    """`after` - `before`."""
    low: float | None
    """Limits by Student's t on the first-order error, clustered by item; None for a single item
    or without spread."""
    high: float | None


def total_lines(
    benchmark: Benchmark, pairs: Sequence[Pair], *, confidence: float
) -> list[TotalLine]:
    """Compare the totals, each measure over the pairs in which both sides have a value."""
    found = []
    for total in benchmark.grouping.totals:
        for measure in (benchmark.measure(name) for name in total.measures):
            both = [one for one in pairs if one.parts(measure)]
            sides = [one.before for one in both], [one.after for one in both]
            line = _line(benchmark, total, measure, sides, confidence)
            found += [line] if line else []
    return found


def _line(
    benchmark: Benchmark,
    total: Total,
    measure: Measure,
    sides: tuple[Sequence[Attempt], Sequence[Attempt]],
    confidence: float,
) -> TotalLine | None:
    before, after = (dict(linear_total(benchmark, total, one))[measure.name] for one in sides)
    if before is None or after is None:
        return None
    items = {*before.shares, *after.shares}
    error = standard_error(after.shares.get(i, 0.0) - before.shares.get(i, 0.0) for i in items)
    difference, reach = after.value - before.value, None
    if error:
        reach = error * students_t(confidence, len(items) - 1)
    return TotalLine(
        total,
        measure,
        before.value,
        after.value,
        difference,
        None if reach is None else difference - reach,
        None if reach is None else difference + reach,
    )
