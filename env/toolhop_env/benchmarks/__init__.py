"""The benchmarks by name, one folder each, and the scoring of a trace by its own benchmark.

A third-party package adds a benchmark through an entry point of the group ``toolhop.benchmarks``
that refers to a `Benchmark`.
"""

from __future__ import annotations

from functools import cache

from toolhop_env.benchmark import Benchmark
from toolhop_env.guarded import guarded
from toolhop_env.questions import NO_ANSWERS, Answers
from toolhop_env.score import Errored, Score, Verdict, conduct
from toolhop_env.trace import Ending, Trace
from toolhop_tools.benchmarks import OWN
from toolhop_tools.packages import Registry

BENCHMARKS = Registry(
    "toolhop.benchmarks",
    Benchmark,
    {name: f"toolhop_env.benchmarks.{name}.scorer:BENCHMARK" for name in OWN},
)


class UnknownBenchmark(Exception):
    """No usable benchmark has this name; the message lists those that exist."""


@cache
def named(name: str) -> Benchmark:
    """Return the benchmark of this name, built in or from an installed package.

    Its functions raise `BenchmarkFault` if they fail, whether because of a bug in the package or
    because no episode produced the trace.

    Raises:
        UnknownBenchmark: no benchmark has this name.
        BadPackage: its entry point cannot be used.
    """
    return guarded(registered(name))


def registered(name: str) -> Benchmark:
    """Return the benchmark of this name as its package defines it, without guards.

    Raises:
        UnknownBenchmark: no benchmark has this name.
        BadPackage: its entry point cannot be used.
    """
    benchmark = BENCHMARKS.get(name)
    if benchmark is None:
        known = ", ".join(sorted(names()))
        raise UnknownBenchmark(
            f"there is no benchmark {name!r} here; there are {known}. Install the package that "
            f"has it: it names its Benchmark under the entry points of {BENCHMARKS.group}"
        )
    if benchmark.name != name:
        raise UnknownBenchmark(
            f"the entry point {name!r} of {BENCHMARKS.group} gives the benchmark "
            f"{benchmark.name!r}; their names must be the same"
        )
    return benchmark


def names() -> list[str]:
    """Return the names of all benchmarks, built-in ones first."""
    return BENCHMARKS.names()


def score(trace: Trace, answers: Answers = NO_ANSWERS) -> Verdict:
    """Score an episode; it is errored if it never ended or ended with an error.

    Args:
        trace: the whole trace.
        answers: the judge's answers to the benchmark's questions, by id.

    Raises:
        UnknownBenchmark: the trace's benchmark is not installed here.
        BenchmarkFault: its scorer failed, or returned values that cannot be used.
    """
    ended = trace.ended
    if ended is None:
        return Errored("the episode was cut off before its end")
    if ended.ending is Ending.ERRORED:
        return Errored(ended.reason)
    values = named(trace.started.benchmark).score(trace, answers)
    return Score(conduct(trace, ended), dict(values))
