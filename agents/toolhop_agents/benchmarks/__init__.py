"""How each benchmark is asked, by the benchmark's name.

A package of one's own adds a binding by an entry point of the group ``toolhop.bindings`` whose
object is a `Binding`, under the name of its benchmark (`toolhop_env.benchmarks`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from toolhop_agents.benchmarks.binding import Binding
from toolhop_agents.benchmarks.nestools import NESTOOLS
from toolhop_agents.benchmarks.relytoolbench import RELYTOOLBENCH
from toolhop_agents.benchmarks.scenarios import SCENARIOS
from toolhop_agents.benchmarks.toolbehonest import TOOLBEHONEST
from toolhop_agents.benchmarks.toolhop import TOOLHOP
from toolhop_env.benchmarks import UnknownBenchmark, from_package
from toolhop_tools.packages import added, loaded

GROUP = "toolhop.bindings"
BUILT_IN: Mapping[str, Binding] = {
    one.benchmark.name: one for one in (TOOLHOP, NESTOOLS, TOOLBEHONEST, RELYTOOLBENCH, SCENARIOS)
}


@cache
def binding_of(name: str) -> Binding:
    """How the benchmark `name` is asked.

    Raises:
        UnknownBenchmark: no such benchmark is installed, or it can be scored only: no package
            says how it is asked, or it says so of another.
        BadPackage: the entry point cannot be used.
    """
    if name in BUILT_IN:
        return BUILT_IN[name]
    benchmark = from_package(name)
    found = added(GROUP)
    if name not in found:
        raise UnknownBenchmark(
            f"the benchmark {name!r} can be scored and not played: no installed package names a "
            f"Binding of it under the entry points of {GROUP}"
        )
    binding = loaded(found[name], Binding)
    if binding.benchmark != benchmark:
        raise UnknownBenchmark(
            f"the entry point {name!r} of {GROUP} gives a binding of another benchmark "
            f"({binding.benchmark.name!r}); it must be of the one under the same name"
        )
    return binding
