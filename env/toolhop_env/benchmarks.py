"""The benchmarks by name, and the verdict on a trace by its own benchmark.

A package of one's own adds a benchmark by an entry point of the group ``toolhop.benchmarks``
whose object is a `Benchmark`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from toolhop_env.benchmark import Benchmark
from toolhop_env.guarded import guarded
from toolhop_env.questions import NO_ANSWERS, Answers
from toolhop_env.score import Errored, Score, Verdict, conduct
from toolhop_env.scorers.nestools import NESTOOLS
from toolhop_env.scorers.relytoolbench import RELYTOOLBENCH
from toolhop_env.scorers.scenarios import SCENARIOS
from toolhop_env.scorers.toolbehonest import TOOLBEHONEST
from toolhop_env.scorers.toolhop import TOOLHOP
from toolhop_env.trace import Ending, Trace
from toolhop_tools.packages import added, loaded

GROUP = "toolhop.benchmarks"
BUILT_IN: Mapping[str, Benchmark] = {
    one.name: one for one in (TOOLHOP, NESTOOLS, TOOLBEHONEST, RELYTOOLBENCH, SCENARIOS)
}


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
    return guarded(BUILT_IN[name] if name in BUILT_IN else from_package(name))


def from_package(name: str) -> Benchmark:
    """The benchmark that an installed package adds, as the package has it.

    Raises:
        UnknownBenchmark: there is none.
        BadPackage: its entry point cannot be used.
    """
    found = added(GROUP)
    if name not in found:
        known = ", ".join(sorted({*BUILT_IN, *found}))
        raise UnknownBenchmark(
            f"there is no benchmark {name!r} here; there are {known}. Install the package that "
            f"has it: it names its Benchmark under the entry points of {GROUP}"
        )
    benchmark = loaded(found[name], Benchmark)
    if benchmark.name != name:
        raise UnknownBenchmark(
            f"the entry point {name!r} of {GROUP} gives the benchmark {benchmark.name!r}; their "
            "names must be the same"
        )
    return benchmark


def names() -> list[str]:
    """All names, ours first."""
    return [*BUILT_IN, *sorted(added(GROUP).keys() - BUILT_IN.keys())]


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
