"""How each benchmark is asked, by the benchmark's name.

A package of one's own adds a binding by an entry point of the group ``toolhop.bindings`` whose
object is a `Binding`, under the name of its benchmark (`toolhop_env.benchmarks`).
"""

from __future__ import annotations

from functools import cache

from toolhop_agents.benchmarks.binding import Binding
from toolhop_env.benchmarks import UnknownBenchmark, registered
from toolhop_tools.benchmarks import OWN
from toolhop_tools.packages import Registry

BINDINGS = Registry(
    "toolhop.bindings",
    Binding,
    {name: f"toolhop_agents.benchmarks.{name}.binding:BINDING" for name in OWN},
)


@cache
def binding_of(name: str) -> Binding:
    """How the benchmark `name` is asked.

    Raises:
        UnknownBenchmark: no such benchmark is installed, or it can be scored only: no package
            says how it is asked, or it says so of another.
        BadPackage: the entry point cannot be used.
    """
    benchmark, binding = registered(name), BINDINGS.get(name)
    if binding is None:
        raise UnknownBenchmark(
            f"the benchmark {name!r} can be scored and not played: no installed package names a "
            f"Binding of it under the entry points of {BINDINGS.group}"
        )
    if binding.benchmark != benchmark:
        raise UnknownBenchmark(
            f"the entry point {name!r} of {BINDINGS.group} gives a binding of another benchmark "
            f"({binding.benchmark.name!r}); it must be of the one under the same name"
        )
    return binding
