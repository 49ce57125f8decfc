"""NesTools with real calls: made-up results for tools that are only described, and the scoring.

Each response gets a made-up value of the right type, derived from the tool's id and the arguments.
Equal calls return equal results, and so do calls that mean the same (letter case, 2 and 2.0).
Placeholders thus become values that a later call needs, and a call is correct if its arguments
equal the gold's, whose references are resolved in the same way. This tests chaining across turns,
not the use of real tools.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from toolhop_env.benchmarks.nestools.counts import (
    Counts,
    Matching,
    NestedCall,
    dependencies,
    match,
    nested,
    nothing,
    order_of,
)
from toolhop_env.benchmarks.nestools.values import Predicted, same_value
from toolhop_env.trace import Trace
from toolhop_env.verdicts import Call
from toolhop_sandbox.outcome import JSON, Outcome, Returned
from toolhop_tools.model import Tool, canonical

Types = Mapping[str, str]
"""Types by response name, as in the data."""


def types_of(tool: Tool) -> dict[str, JSON]:
    """Return the types of a tool's responses."""
    given = tool.facts.get("responses")
    responses = given if isinstance(given, dict) else {}
    return {
        name: str(one.get("type", "str")) if isinstance(one, dict) else "str"
        for name, one in responses.items()
    }


def result(number: JSON, types: Types, arguments: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return the result of calling the tool with the id `number`, by response name."""
    return {
        name: _value(name, kind, canonical([number, _even(dict(arguments)), name]))
        for name, kind in types.items()
    }


def _even(value: JSON) -> JSON:
    """Normalise a value: values that mean the same become equal."""
    if isinstance(value, str):
        return " ".join(value.casefold().split())
    if isinstance(value, list):
        return [_even(one) for one in value]
    return {name: _even(one) for name, one in value.items()} if isinstance(value, dict) else value


def _value(name: str, kind: str, seed: str) -> JSON:
    digest = hashlib.sha256(seed.encode()).hexdigest()
    text, number = f"{name}-{digest[:8]}", int(digest[:12], 16)
    values: Mapping[str, Callable[[], JSON]] = {
        "int": lambda: 100_000 + number % 900_000,
        "float": lambda: 1_000 + number % 9_000_000 / 100,
        "bool": lambda: number % 2 == 0,
        "list": lambda: [f"{text}-1", f"{text}-2"],
        "dict": lambda: {"id": text},
    }
    return values[kind]() if kind in values else text


class Stub:
    """A responder that answers calls of described tools with `result`."""

    async def respond(self, tool: Tool, arguments: Mapping[str, JSON]) -> Outcome:
        """See `toolhop_env.responders.Responder.respond`."""
        types = {name: str(kind) for name, kind in types_of(tool).items()}
        return Returned(json.dumps(result(tool.facts.get("id"), types, arguments)))


def resolved(gold: Sequence[NestedCall], types: Mapping[str, Types]) -> list[dict[str, JSON]]:
    """Return the gold calls' arguments, with references replaced by the results of earlier calls.

    Args:
        gold: the calls, in order.
        types: response types, by the tool's id as text.
    """
    known = _known(gold, types)
    return [
        {name: _filled(value, known) for name, value in call.parameters.items()} for call in gold
    ]


def _known(gold: Sequence[NestedCall], types: Mapping[str, Types]) -> dict[str, JSON]:
    """Return the results of the gold calls, by placeholder."""
    known: dict[str, JSON] = {}
    for call in gold:
        arguments = {name: _filled(value, known) for name, value in call.parameters.items()}
        values = result(call.id, types.get(str(call.id), {}), arguments)
        known |= {text: values[name] for name, text in call.responses.items() if name in values}
    return known


def _filled(value: JSON, known: Mapping[str, JSON]) -> JSON:
    if isinstance(value, list):
        return [_filled(one, known) for one in value]
    if isinstance(value, dict):
        return {name: _filled(one, known) for name, one in value.items()}
    return known.get(value, value) if isinstance(value, str) else value


def made_calls(trace: Trace) -> list[Call]:
    """Return the calls that ran, in order; a call that does not fit its schema did not run."""
    return [one.verdict for one in trace.calls if isinstance(one.verdict, Call)]


def counts(gold: Sequence[NestedCall], types: Mapping[str, Types], trace: Trace) -> Counts:
    """Return the strict counts in the mode `CALLS`, comparing arguments with the resolved gold.

    A parameter counts as a predicted reference if it correctly resolves one, or if its value was
    returned by an earlier call; truth values are ignored, as they do not show their origin.
    """
    ids = {call.name: call.id for call in gold}
    calls = made_calls(trace)
    predicted: list[Predicted] = [
        {"api_name": one.tool, "api_id": ids.get(one.tool, -1), "parameters": dict(one.arguments)}
        for one in calls
    ]
    known = _known(gold, types)
    matching = Matching(gold, predicted)
    edges = dependencies(gold)
    found = nothing(gold, len(edges))

    def right(_: Matching, __: int, value: JSON, given: object) -> float:
        return float(same_value(_filled(value, known), given))

    match(found, matching, lambda one, call: one.name == call["api_name"], right)
    found.order = order_of(matching, edges)
    found.nested.predicted = len(_references(matching, known, trace))
    return found


def _references(
    matching: Matching, resolving: Mapping[str, JSON], trace: Trace
) -> set[tuple[int, str]]:
    """Return the call index and parameter of each value that refers to a result."""
    hits = {
        (place, name)
        for number, place in matching.matched.items()
        for name, value in matching.gold[number].parameters.items()
        if nested(value)
        and same_value(_filled(value, resolving), _given(matching, place).get(name))
    }
    known: set[str] = set()
    outcomes = [one.outcome for one in trace.calls if isinstance(one.verdict, Call)]
    for place, outcome in enumerate(outcomes):
        for name, value in _given(matching, place).items():
            parts = value if isinstance(value, list) else [value]
            if any(canonical(one) in known for one in (value, *parts)):
                hits.add((place, name))
        text = outcome.json_text if isinstance(outcome, Returned) else "{}"
        returned: Any = json.loads(text)
        values = returned.values() if isinstance(returned, dict) else ()
        known |= {canonical(one) for one in values if not isinstance(one, bool)}
    return hits


def _given(matching: Matching, place: int) -> Mapping[str, object]:
    found = matching.predicted[place]["parameters"]
    return found if isinstance(found, dict) else {}
