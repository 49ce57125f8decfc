"""Check of one property of one tool in given sandboxes, and the description of a check."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from toolhop_sandbox.base import Limits
from toolhop_sandbox.choose import Kind
from toolhop_tools.properties import by_schema, results, valid_input
from toolhop_tools.properties.case import Case
from toolhop_tools.properties.model import (
    PROPERTIES,
    CounterExample,
    Fails,
    NotApplicable,
    PropertyVerdict,
    Rejection,
    Subject,
)
from toolhop_tools.properties.store import Store, Stored
from toolhop_tools.strategies.errors import SchemaFault

CHECKS: Mapping[str, Callable[[Case], PropertyVerdict]] = {
    "loads": results.loads,
    "valid-input": valid_input.valid_input,
    "json-result": results.json_result,
    "same-result": results.same_result,
    "bad-input": by_schema.bad_input,
    "arguments-kept": results.arguments_kept,
    "independent": results.independent,
    "gold-call": by_schema.gold_call,
    "signature": by_schema.signature,
    "policy": results.policy,
    "examples": by_schema.examples,
}
WITHOUT_CALLS = ("loads", "signature", "policy")
"""Properties that can be judged even if the tool cannot be called."""
EXAMPLES = 50


@dataclass(frozen=True, slots=True)
class CheckJob:
    """Settings of a check, passed to the process of each lane when it starts."""

    rejections: Callable[[], Rejection]
    """Function that makes the simulator's refusal, called once in each lane; importable by name."""
    limits: Limits
    kind: Kind = "auto"
    """Kind of the sandbox."""
    properties: tuple[str, ...] = tuple(PROPERTIES)
    """Properties that may be requested."""
    count: int = EXAMPLES
    seed: int = 0
    formats: bool = False
    """Whether a text that violates its parameter's `format` is invalid input."""
    store: Store | None = None
    """Store that the lane, not its process, reads and writes."""


@dataclass(frozen=True, slots=True)
class CheckTask:
    """A property of a tool that is to be judged."""

    serial: int
    """Number shared by the tasks of one tool, which reuse its examples and runs."""
    subject: Subject
    property: str
    before: tuple[Stored, ...] = ()
    """Counter-examples that are called first."""


def check(case: Case, property_: str) -> PropertyVerdict:
    """Return the verdict on one property of one tool.

    Raises:
        SandboxError: the sandbox is at fault.
    """
    if property_ not in WITHOUT_CALLS and case.base_fault is not None:
        return NotApplicable("the tool does not load")
    try:
        return CHECKS[property_](case)
    except SchemaFault as fault:
        found = CounterExample(property_, "no examples can be made", str(fault))
        return Fails(0, (found,))
