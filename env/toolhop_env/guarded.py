"""Wraps a benchmark so that its faults are reported as its own.

Its functions may be third-party code, and a trace may be forged. Exceptions and unusable return
values become a `BenchmarkFault` that names the benchmark.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import ParamSpec, TypeVar

from toolhop_env.benchmark import Benchmark, Milestone
from toolhop_env.chain import Chain
from toolhop_env.measures import Measure
from toolhop_env.questions import (
    Answers,
    LlmQuestion,
    Question,
    SimilaritiesQuestion,
    SimilarityQuestion,
)
from toolhop_env.score import Parts, Values
from toolhop_env.trace import Trace
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import Item

P = ParamSpec("P")
T = TypeVar("T")
QUESTIONS = (LlmQuestion, SimilarityQuestion, SimilaritiesQuestion)


class BenchmarkFault(Exception):
    """A benchmark's own code raised or returned something invalid; the message has a fix."""


def guarded(benchmark: Benchmark) -> Benchmark:
    """Wrap a benchmark so that its functions raise `BenchmarkFault` and nothing else."""
    name, shown, conditions = benchmark.name, benchmark.presentation, benchmark.conditions
    gold = _reporting(name, "gold", benchmark.gold)
    chain = _reporting(name, "chain", benchmark.chain)
    score = _reporting(name, "score", benchmark.score)
    questions = _reporting(name, "questions", benchmark.judging.questions)
    follow_ups = _reporting(name, "follow_ups", benchmark.judging.follow_ups)
    milestones = _reporting(name, "milestones", shown.milestones)

    def checked_gold(item: Item) -> JSON:
        found = gold(item)
        try:
            json.dumps(found)
        except (TypeError, ValueError, RecursionError) as error:
            raise fault(name, f"gold gave no JSON for {item.id}: {error}") from error
        return found

    def checked_score(trace: Trace, answers: Answers) -> Values:
        return _checked_values(benchmark, trace.started.episode, score(trace, answers))

    def checked_questions(trace: Trace) -> Sequence[Question]:
        return _checked_questions(name, questions(trace))

    def checked_chain(trace: Trace, answers: Answers) -> Chain | None:
        found = chain(trace, answers)
        if found is None or isinstance(found, Chain):
            return found
        raise fault(name, f"chain gave {found!r:.100}; expected a Chain or None")

    facets = _reporting(name, "facets", benchmark.grouping.facets)

    def checked_facets(gold: JSON) -> Mapping[str, str]:
        found = facets(gold)
        texts = [*found.keys(), *found.values()] if isinstance(found, Mapping) else [None]
        if not all(isinstance(one, str) for one in texts):
            raise fault(name, f"facets gave {found!r:.100}; expected a mapping of text to text")
        return found

    def checked_follow_ups(trace: Trace, answers: Answers) -> Sequence[Question]:
        return _checked_questions(name, follow_ups(trace, answers))

    def checked_milestones(trace: Trace) -> Sequence[Milestone]:
        found = milestones(trace)
        return _all(name, "milestones", found, (Milestone,))

    return replace(
        benchmark,
        measures=tuple(_guarded_measure(name, one) for one in benchmark.measures),
        gold=checked_gold,
        score=checked_score,
        chain=checked_chain,
        presentation=replace(
            shown,
            milestones=checked_milestones,
            expected=_text(name, "expected", shown.expected),
            given=_text(name, "given", shown.given, optional=True),
            explain_gap=_text(name, "explain_gap", shown.explain_gap, optional=True),
        ),
        judging=replace(
            benchmark.judging, questions=checked_questions, follow_ups=checked_follow_ups
        ),
        grouping=replace(benchmark.grouping, facets=checked_facets),
        conditions=replace(
            conditions,
            official=tuple(
                replace(one, of=_text(name, f"condition {one.name}", one.of, optional=True))
                for one in conditions.official
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


def _reporting(name: str, part: str, function: Callable[P, T]) -> Callable[P, T]:
    """Wrap a function so that any exception is reported as the benchmark's fault."""

    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            where = "".join(f" on {one.started.episode}" for one in args if isinstance(one, Trace))
            raise fault(name, f"{part} raised {type(error).__name__}{where}: {error}") from error

    return call


def _text(
    name: str, part: str, function: Callable[P, T], *, optional: bool = False
) -> Callable[P, T]:
    reporting = _reporting(name, part, function)

    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        found = reporting(*args, **kwargs)
        if isinstance(found, str) or (optional and found is None):
            return found
        allowed = "text or None" if optional else "text"
        raise fault(name, f"{part} gave {found!r:.100}; expected {allowed}")

    return call


def _guarded_measure(name: str, measure: Measure) -> Measure:
    if measure.parts is None:
        return measure
    return replace(measure, parts=_reporting(name, f"measure {measure.name}", measure.parts))


def _checked_values(benchmark: Benchmark, episode: str, found: object) -> Values:
    """Check that each value can be used in figures.

    Raises:
        BenchmarkFault: a measure is missing, or its value is not a fraction of two numbers.
    """
    if not isinstance(found, Mapping):
        raise fault(benchmark.name, f"score gave {found!r:.100} on {episode}; expected a mapping")
    values: dict[str, Parts | None] = {}
    for name, parts in found.items():
        binary = any(one.binary for one in benchmark.measures if one.name == name)
        if parts is not None and not _fraction(parts, binary=binary):
            allowed = "(0 or 1, 1)" if binary else "two finite numbers, the second not below 0,"
            what = f"score gave {parts!r:.100} for {name!r} on {episode}"
            raise fault(benchmark.name, f"{what}; expected {allowed} or None")
        values[name] = None if parts is None else (float(parts[0]), float(parts[1]))
    for measure in benchmark.measures:
        if measure.parts is None and not measure.mean_of and measure.name not in values:
            what = f"score gave nothing for {measure.name!r} on {episode}"
            raise fault(benchmark.name, f"{what}; expected two numbers, or None for no figure")
    return values


def _fraction(parts: object, *, binary: bool) -> bool:
    if not isinstance(parts, tuple | list) or len(parts) != 2:
        return False
    if not all(isinstance(one, int | float) and math.isfinite(one) for one in parts):
        return False
    above, below = parts
    return below >= 0 and (not binary or (above in (0, 1) and below in (0, 1)))


def _checked_questions(name: str, found: Sequence[Question]) -> Sequence[Question]:
    questions: Sequence[Question] = _all(name, "questions", found, QUESTIONS)
    ids = [one.id for one in questions]
    if len(set(ids)) != len(ids):
        raise fault(name, f"questions gave one id twice ({', '.join(ids)}); each has its own")
    return questions


def _all(name: str, part: str, found: Sequence[T], kinds: tuple[type, ...]) -> Sequence[T]:
    """Check that a sequence has only items of these kinds, and return it."""
    if isinstance(found, Sequence) and all(isinstance(one, kinds) for one in found):
        return found
    expected = " or ".join(kind.__name__ for kind in kinds)
    raise fault(name, f"{part} gave {found!r:.100}; expected a sequence of {expected}")
