"""The binding of each benchmark, by the benchmark's name.

A package adds a binding with an entry point in the group ``toolhop.bindings``, named after its
benchmark, whose object is a `Binding` (`toolhop_env.benchmarks`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import get_args

from toolhop_agents.benchmarks.binding import Binding
from toolhop_agents.prompts import TemplateError
from toolhop_env.benchmarks import UnknownBenchmark, named, registered
from toolhop_env.guarded import all_of, one_of, reported, reporting
from toolhop_env.messages import Reply, SystemMessage, UserMessage
from toolhop_env.responders import Responder
from toolhop_sandbox.errors import SandboxError
from toolhop_sandbox.outcome import JSON, Outcome
from toolhop_tools.benchmarks import OWN
from toolhop_tools.errors import ToolsError
from toolhop_tools.model import Tool
from toolhop_tools.packages import Registry

BINDINGS = Registry(
    "toolhop.bindings",
    Binding,
    {name: f"toolhop_agents.benchmarks.{name}.binding:BINDING" for name in OWN},
)


@cache
def binding_of(name: str) -> Binding:
    """Return the binding of the benchmark `name`; functions that fail raise `BenchmarkFault`.

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
    return _guarded(binding)


def _guarded(binding: Binding) -> Binding:
    """Wrap a binding so that its faults are reported as the benchmark's."""
    name, described = binding.benchmark.name, binding.described
    check, passes = all_of(SystemMessage, UserMessage), (TemplateError, ToolsError)
    prompt = reporting(name, "prompt", binding.prompt, check, passes)
    return replace(
        binding,
        benchmark=named(name),
        prompt=lambda ask: tuple(prompt(ask)),
        offers_tools=reporting(name, "offers_tools", binding.offers_tools, one_of(bool)),
        agents={
            agent: reporting(name, f"agent {agent}", play, one_of(Reply))
            for agent, play in binding.agents.items()
        },
        described=described and _Described(name, described),
    )


@dataclass(frozen=True, slots=True)
class _Described:
    """Answers calls of described tools, and reports faults as the benchmark's."""

    benchmark: str
    responder: Responder

    async def respond(self, tool: Tool, arguments: Mapping[str, JSON]) -> Outcome:
        part = f"described tool {tool.name}"
        with reported(self.benchmark, part, passes=(SandboxError,)) as checked:
            outcome = await self.responder.respond(tool, arguments)
            return checked(outcome, one_of(*get_args(Outcome)))
