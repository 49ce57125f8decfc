"""The checker: one tool and one property at a time, over a sandbox that is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from toolhop_tools.properties import by_schema, results, valid_input
from toolhop_tools.properties.case import Case
from toolhop_tools.properties.model import CounterExample, Fails, NotApplicable, PropertyVerdict
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
