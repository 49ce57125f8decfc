"""NesTools played by calls: what a tool that is only described returns, and what a run has right.

A result is made up: one value of the right type for each response, by the tool's id and the
arguments. The same call always gives the same, and calls that mean the same (another case of a
text, 2 and 2.0) too. So placeholders become values that a later call needs, and a call is right
where its arguments equal the gold's, with the gold's own references resolved in the same way. It
shows chaining over turns, and nothing of real tools.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from toolhop_env.benchmarks.nestools.counts import (
    Count,
    Counts,
    Matching,
    NestedCall,
    dependencies,
    match,
    nested,
    nothing,
)
from toolhop_env.benchmarks.nestools.values import Predicted, same_value
from toolhop_env.trace import Trace
from toolhop_env.verdicts import Call
from toolhop_sandbox.outcome import JSON, Outcome, Returned
from toolhop_tools.model import Tool, canonical

Types = Mapping[str, str]
"""Type by response name, as the data has it."""


def types_of(tool: Tool) -> dict[str, JSON]:
    """The types of a tool's responses."""
    given = tool.facts.get("responses")
    responses = given if isinstance(given, dict) else {}
    return {
        name: str(one.get("type", "str")) if isinstance(one, dict) else "str"
        for name, one in responses.items()
    }


def result(number: JSON, types: Types, arguments: Mapping[str, JSON]) -> dict[str, JSON]:
    """What a call of the tool with the id `number` gives, by response name."""
    return {
        name: _value(name, kind, canonical([number, _even(dict(arguments)), name]))
        for name, kind in types.items()
    }


def _even(value: JSON) -> JSON:
    """The same for values that mean the same."""
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
    """Answers calls of described tools by `result`."""

    async def respond(self, tool: Tool, arguments: Mapping[str, JSON]) -> Outcome:
        """See `toolhop_env.responders.Responder.respond`."""
        types = {name: str(kind) for name, kind in types_of(tool).items()}
        return Returned(json.dumps(result(tool.facts.get("id"), types, arguments)))


def resolved(gold: Sequence[NestedCall], types: Mapping[str, Types]) -> list[dict[str, JSON]]:
    """The gold calls' arguments, their references replaced by what the calls before give.

    Args:
        gold: the calls in order.
        types: of the responses, by the tool's id as text.
    """
    known = _known(gold, types)
    return [
        {name: _filled(value, known) for name, value in call.parameters.items()} for call in gold
    ]


def _known(gold: Sequence[NestedCall], types: Mapping[str, Types]) -> dict[str, JSON]:
    """What the gold calls give, by placeholder."""
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
    """The calls that ran, in order. One that does not fit its schema did not run."""
    return [one.verdict for one in trace.calls if isinstance(one.verdict, Call)]


def counts(gold: Sequence[NestedCall], types: Mapping[str, Types], trace: Trace) -> Counts:
    """The strict counts of a run by calls: arguments against the gold's resolved ones.

    A parameter counts as a reference that was given where it is right as one, or where it has a
    value that an earlier call returned; a truth value tells nothing of where it came from.
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
        return float(_same(_filled(value, known), given))

    match(found, matching, lambda one, call: one.name == call["api_name"], right)
    places = matching.matched
    both = [(places[a], places[b]) for a, b in edges if a in places and b in places]
    found.order = Count(sum(a < b for a, b in both), len(both), len(edges))
    found.nested.predicted = len(_references(matching, known, trace))
    return found


def _same(wanted: JSON, given: object) -> bool:
    if isinstance(wanted, list) and isinstance(given, list):
        return len(wanted) == len(given) and all(map(_same, wanted, given))
    if isinstance(wanted, dict) and isinstance(given, dict):
        return wanted.keys() == given.keys() and all(_same(wanted[k], given[k]) for k in wanted)
    return same_value(wanted, given)


def _references(
    matching: Matching, resolving: Mapping[str, JSON], trace: Trace
) -> set[tuple[int, str]]:
    """Place and parameter of each value that refers to a result."""
    hits = {
        (place, name)
        for number, place in matching.matched.items()
        for name, value in matching.gold[number].parameters.items()
        if nested(value) and _same(_filled(value, resolving), _given(matching, place).get(name))
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
