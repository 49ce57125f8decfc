"""The checker: one tool and one property at a time, over a sandbox that is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from toolhop_tools.properties import by_schema, results, valid_input
from toolhop_tools.properties.case import Case
from toolhop_tools.properties.model import (
    Caller,
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


def open_case(
    subject: Subject,
    call: Caller,
    reject: Rejection,
    *,
    count: int = EXAMPLES,
    seed: int = 0,
    formats: bool = False,
    store: Store | None = None,
    before: Sequence[Stored] = (),
) -> Case:
    """A tool ready to be checked.

    Args:
        subject: the tool.
        call: makes the calls.
        reject: the simulator's part.
        count: examples a property.
        seed: of what is drawn.
        formats: whether a text that is not of its parameter's `format` is bad input.
        store: counter-examples of earlier runs, which are called first.
        before: more of them.
    """
    stored = [*(store.kept(subject) if store else ()), *before]
    return Case(subject, call, reject, count=count, seed=seed, formats=formats, stored=stored)


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


def kept(case: Case, property_: str, store: Store | None) -> PropertyVerdict:
    """The verdict on one property, with its counter-examples stored.

    Raises:
        SandboxError: the sandbox is at fault.
        StoreFault: the store cannot be written.
    """
    verdict = check(case, property_)
    if store is not None and isinstance(verdict, Fails):
        for found in verdict.found:
            store.keep(case.subject, found)
    return verdict
