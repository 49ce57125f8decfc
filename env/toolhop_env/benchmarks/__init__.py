"""The benchmarks by name, a folder each, and the verdict on a trace by its own benchmark.

A package of one's own adds a benchmark by an entry point of the group ``toolhop.benchmarks``
whose object is a `Benchmark`.
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
    """No benchmark has this name here, or its package cannot be used; says which there are."""


@cache
def named(name: str) -> Benchmark:
    """The benchmark of a name: one of ours, or one that an installed package adds.

    Its functions raise `BenchmarkFault` where they break: on a bug of its package, or on a trace
    that nobody played.

    Raises:
        UnknownBenchmark: there is none.
        BadPackage: its entry point cannot be used.
    """
    return guarded(registered(name))


def registered(name: str) -> Benchmark:
    """The benchmark of a name, as its package has it.

    Raises:
        UnknownBenchmark: there is none.
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
    """All names, ours first."""
    return BENCHMARKS.names()


def score(trace: Trace, answers: Answers = NO_ANSWERS) -> Verdict:
    """The verdict on an episode: errored if it never ended, or ended so.

    Args:
        trace: the whole trace.
        answers: what a judge said of the benchmark's questions, by their ids.

    Raises:
        UnknownBenchmark: the trace's benchmark is not installed here.
        BenchmarkFault: its scorer broke, or gave what no figure can be made of.
    """
    ended = trace.ended
    if ended is None:
        return Errored("the episode was cut off before its end")
    if ended.ending is Ending.ERRORED:
        return Errored(ended.reason)
    values = named(trace.started.benchmark).score(trace, answers)
    return Score(conduct(trace, ended), dict(values))
