"""The binding of each benchmark, by the benchmark's name.

A package adds a binding with an entry point in the group ``toolhop.bindings``, named after its
benchmark, whose object is a `Binding` (`toolhop_env.benchmarks`).
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
    """Return the binding of the benchmark `name`.

    Raises:
        UnknownBenchmark: no such benchmark is installed, or it has no binding, and can only be
            scored.
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
