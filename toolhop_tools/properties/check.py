"""The checker: how it is asked, and one tool and one property at a time, in a given sandbox."""

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
"""Properties that say something of a tool that cannot be called."""
EXAMPLES = 50


@dataclass(frozen=True, slots=True)
class CheckJob:
    """How to check: what each lane's process knows from its start."""

    rejections: Callable[[], Rejection]
    """Makes the simulator's part, one a lane; importable by its name."""
    limits: Limits
    kind: Kind = "auto"
    """Of the sandbox."""
    properties: tuple[str, ...] = tuple(PROPERTIES)
    """All that may be asked for."""
    count: int = EXAMPLES
    seed: int = 0
    formats: bool = False
    """Whether a text that is not of its parameter's `format` is bad input."""
    store: Store | None = None
    """Written and read by the lane, not by its process."""


@dataclass(frozen=True, slots=True)
class CheckTask:
    """A property of a tool to judge."""

    serial: int
    """The same for tasks with the same tool, whose examples and runs are then kept."""
    subject: Subject
    property: str
    before: tuple[Stored, ...] = ()
    """Counter-examples to call first."""


def check(case: Case, property_: str) -> PropertyVerdict:
    """The verdict on one property of one tool.

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
