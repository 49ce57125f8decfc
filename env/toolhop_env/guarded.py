"""Wraps a benchmark so that its faults are reported as its own.

Its functions may be third-party code, and a trace may be forged. Exceptions and unusable return
values become a `BenchmarkFault` that names the benchmark. `toolhop_agents.benchmarks` wraps the
benchmark's binding with the same functions.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from types import NoneType
from typing import Any, ParamSpec, TypeAlias, TypeVar

from toolhop_env.benchmark import Benchmark, Milestone
from toolhop_env.chain import Chain
from toolhop_env.questions import LlmQuestion, SimilaritiesQuestion, SimilarityQuestion
from toolhop_env.score import Parts, Values
from toolhop_env.trace import Trace
from toolhop_tools.model import Item

P = ParamSpec("P")
T = TypeVar("T")
Check: TypeAlias = Callable[[Any], str]
"""Returns what is expected in place of a value; empty if the value can be used."""


class BenchmarkFault(Exception):
    """A benchmark's own code raised or returned something invalid; the message has a fix."""


def guarded(benchmark: Benchmark) -> Benchmark:
    """Wrap a benchmark so that its functions raise `BenchmarkFault` and nothing else."""
    shown, judging, grouping = benchmark.presentation, benchmark.judging, benchmark.grouping
    part, text = partial(reporting, benchmark.name), one_of(str, NoneType)
    score = part("score", benchmark.score, partial(_values, benchmark))
    return replace(
        benchmark,
        measures=tuple(
            replace(one, parts=one.parts and part(f"measure {one.name}", one.parts))
            for one in benchmark.measures
        ),
        gold=part("gold", benchmark.gold, _json),
        chain=part("chain", benchmark.chain, one_of(Chain, NoneType)),
        score=lambda trace, answers: _numbers(score(trace, answers)),
        presentation=replace(
            shown,
            milestones=part("milestones", shown.milestones, all_of(Milestone)),
            expected=part("expected", shown.expected, one_of(str)),
            given=part("given", shown.given, text),
            explain_gap=part("explain_gap", shown.explain_gap, text),
        ),
        judging=replace(
            judging,
            questions=part("questions", judging.questions, _questions),
            follow_ups=part("follow_ups", judging.follow_ups, _questions),
        ),
        grouping=replace(grouping, facets=part("facets", grouping.facets, _facets)),
        conditions=replace(
            benchmark.conditions,
            official=tuple(
                replace(one, of=part(f"condition {one.name}", one.of, text))
                for one in benchmark.conditions.official
            ),
        ),
    )


def fault(name: str, what: str) -> BenchmarkFault:
    """Return the fault of a benchmark, with a remedy: played episodes are never lost."""
    return BenchmarkFault(
        f"the benchmark {name!r}: {what}\n  fix: repair its package, or put back the file that it "
        "read. The traces are kept: the run can be scored again (toolhop score) and resumed "
        "(toolhop run --resume)"
    )


@contextmanager
def reported(
    name: str, part: str, *given: object, passes: tuple[type[Exception], ...] = ()
) -> Iterator[Callable[[T, Check], T]]:
    """Report exceptions of a benchmark's part, and values that it may not give, as its fault.

    Args:
        name: name of the benchmark.
        part: name of the part.
        given: arguments of the part; the message names their episode or item.
        passes: exceptions that are not the part's fault.

    Yields a function that returns a value if the check accepts it.
    """

    def on() -> str:
        of = [getattr(one, "item", one) for one in given]
        ids = [one.id for one in of if isinstance(one, Item)]
        ids += [one.started.episode for one in of if isinstance(one, Trace)]
        return "".join(f" on {each}" for each in ids)

    def checked(found: T, check: Check) -> T:
        if expected := check(found):
            raise fault(name, f"{part} gave {found!r:.100}{on()}; expected {expected}")
        return found

    known: tuple[type[Exception], ...] = (BenchmarkFault, *passes)
    try:
        yield checked
    except known:
        raise
    except Exception as error:
        raise fault(name, f"{part} raised {type(error).__name__}{on()}: {error}") from error


def reporting(
    name: str,
    part: str,
    function: Callable[P, T],
    check: Check = lambda _: "",
    passes: tuple[type[Exception], ...] = (),
) -> Callable[P, T]:
    """Wrap a function so that its faults are `reported`."""

    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        with reported(name, part, *args, passes=passes) as checked:
            return checked(function(*args, **kwargs), check)

    return call


def one_of(*kinds: type) -> Check:
    """Check that a value is of one of these kinds."""
    return lambda found: "" if isinstance(found, kinds) else _listed(kinds)


def all_of(*kinds: type) -> Check:
    """Check that a value is a sequence of these kinds."""

    def check(found: object) -> str:
        fits = isinstance(found, Sequence) and all(isinstance(one, kinds) for one in found)
        return "" if fits else f"a sequence of {_listed(kinds)}"

    return check


def _listed(kinds: Sequence[type]) -> str:
    return " or ".join(kind.__name__.removesuffix("Type") for kind in kinds)


def _json(found: object) -> str:
    try:
        json.dumps(found)
    except (TypeError, ValueError, RecursionError) as error:
        return f"JSON ({error})"
    return ""


def _facets(found: object) -> str:
    texts = [*found.keys(), *found.values()] if isinstance(found, Mapping) else [None]
    return "" if all(isinstance(one, str) for one in texts) else "a mapping of text to text"


def _questions(found: Any) -> str:  # noqa: ANN401 -- a package's value, of any type
    if expected := all_of(LlmQuestion, SimilarityQuestion, SimilaritiesQuestion)(found):
        return expected
    ids = [one.id for one in found]
    return "" if len({*ids}) == len(ids) else f"an id for each, not one id twice ({', '.join(ids)})"


def _values(benchmark: Benchmark, found: object) -> str:
    """Check that each measure has a value that can be used in figures."""
    if not isinstance(found, Mapping):
        return "a mapping"
    for name, parts in found.items():
        binary = any(one.binary for one in benchmark.measures if one.name == name)
        if parts is not None and not _fraction(parts, binary=binary):
            allowed = "(0 or 1, 1)" if binary else "two finite numbers, the second not below 0,"
            return f"{allowed} or None for {name!r}, not {parts!r:.100}"
    for measure in benchmark.measures:
        if measure.parts is None and not measure.mean_of and measure.name not in found:
            return f"two numbers for {measure.name!r}, or None for no figure"
    return ""


def _numbers(values: Values) -> dict[str, Parts | None]:
    return {name: one and (float(one[0]), float(one[1])) for name, one in values.items()}


def _fraction(parts: object, *, binary: bool) -> bool:
    if not isinstance(parts, tuple | list) or len(parts) != 2:
        return False
    if not all(isinstance(one, int | float) and math.isfinite(one) for one in parts):
        return False
    above, below = parts
    return below >= 0 and (not binary or (above in (0, 1) and below in (0, 1)))
