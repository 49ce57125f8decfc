"""NesTools: the correct parts of an answer, counted against the gold calls by two scorers.

The official scorer reproduces the released code (evaluation/eval.py, with the option
eval_para_error), known bugs included: it does not compare the names of tools and responses, it
checks the order of neighbours only, and a value can earn partial credit. The strict scorer compares
names too, gives no partial credit, and checks the order that the data flow needs.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from toolhop_env.benchmarks.nestools.values import Predicted, credit, same_value
from toolhop_sandbox.outcome import JSON

MARK = "API_call"
"""Text that every placeholder of a response contains."""
UNKNOWN = "UNK"
"""Value of a required parameter on which the task is silent."""
ERRORS = (
    *("nest_error_omission", "nest_error_unfind", "nest_error_wrong_place"),
    *("nest_error_hallucination", "para_error_type", "para_error_extraction"),
    *("para_error_omission", "para_error_redundancy", "para_error_transformation"),
)
"""The official error counters; the released option prints them as sums (paper section 5.5)."""

TOOL_ERRORS = {
    "selection": "Another tool on offer stands where a gold call is missing, by gold call.",
    "omission": "A gold call is missing, and no other stands for it, by gold call.",
    "redundancy": "A call of a tool on offer that replaces no gold call, by call.",
    "hallucination": "A call of a tool that is not on offer, by call.",
    "format": "The answer cannot be read as a list of calls.",
}
"""The five categories of tool errors (paper section 5.5.1, which gives no counts)."""


class OfficialRaises(Exception):
    """The official code raises an exception on this answer; the message says which."""


@dataclass(frozen=True, slots=True)
class NestedCall:
    """A gold call."""

    name: str
    id: int
    parameters: dict[str, JSON]
    responses: dict[str, str]
    """Placeholders by response name, in the order of the tool's schema."""


@dataclass(slots=True)
class Count:
    """Counts of correct, predicted and gold parts."""

    correct: float = 0.0
    predicted: int = 0
    gold: int = 0

    @property
    def whole(self) -> bool:
        """Whether every part is correct, with none missing and none extra."""
        return self.correct == self.predicted == self.gold


@dataclass(slots=True)
class Counts:
    """All counts of one answer by one scorer."""

    selection: Count
    order: Count
    param: Count
    nested: Count

    @property
    def tree(self) -> bool:
        """Whether the whole answer is right."""
        return all(one.whole for one in (self.selection, self.order, self.param, self.nested))


@dataclass
class Matching:
    """The matching of predicted calls to gold calls, built up call by call."""

    gold: Sequence[NestedCall]
    predicted: Sequence[Predicted]
    matched: dict[int, int] = field(default_factory=dict)
    """Index of the predicted call by the index of its gold call."""

    def producer(self, placeholder: object) -> tuple[int, str, int] | None:
        """Return the gold call that produces a placeholder, and the response's name and index."""
        for call, one in enumerate(self.gold):
            for place, (name, text) in enumerate(one.responses.items()):
                if text == placeholder:
                    return call, name, place
        return None


Value: TypeAlias = Callable[[Matching, int, JSON, object], float]
"""Returns the credit for a gold value, given the index of the predicted call and its value."""


def nested(value: object) -> bool:
    """Whether a value refers to a response."""
    return MARK in _text(value)


def _text(value: object) -> str:
    """Return the value as Python text; empty if its numbers are too long or its lists too deep."""
    try:
        return str(value)
    except (ValueError, RecursionError):
        return ""


def nothing(gold: Sequence[NestedCall], order: int) -> Counts:
    """Return the counts of an unreadable answer; `order` is the expected number of pairs."""
    values = [value for call in gold for value in call.parameters.values()]
    return Counts(
        Count(gold=len(gold)),
        Count(gold=order),
        Count(gold=len(values)),
        Count(gold=sum(map(nested, values))),
    )


def official(gold: Sequence[NestedCall], predicted: Sequence[Predicted] | None) -> Counts:
    """Return the counts of the official code; `predicted` is None if the format is invalid.

    Raises:
        OfficialRaises: the code raises on this answer.
    """
    counts = nothing(gold, len(gold) - 1)
    if predicted is None:
        return counts
    try:
        for call in predicted:
            str(call["parameters"])
    except (ValueError, RecursionError) as error:
        raise OfficialRaises(f"{type(error).__name__}: a value has no text: {error}") from error
    match(counts, Matching(gold, predicted), lambda one, call: one.id == call["api_id"], _soft)
    if len(predicted) > 1:
        ids = [call["api_id"] for call in predicted]
        try:
            pairs = Counter(itertools.pairwise(ids))
        except TypeError as error:
            raise OfficialRaises(f"TypeError: an api_id is no number or text: {error}") from error
        wanted: Counter[tuple[object, object]] = Counter(
            (a.id, b.id) for a, b in itertools.pairwise(gold)
        )
        counts.order.correct = (pairs & wanted).total()
        counts.order.predicted = len(ids) - 1
    return counts


def _soft(matching: Matching, place: int, value: JSON, given: object) -> float:
    if not nested(value):
        return credit(value, given)
    source = matching.producer(value)
    if source is None:
        return float(given == value)
    if not isinstance(given, str) or MARK not in given:
        return 0.0
    for earlier in range(place, -1, -1):
        names = _responses(matching.predicted[earlier])
        if given in names:
            hit = names.index(given) == source[2] and matching.matched.get(source[0]) == earlier
            return float(hit)
    return 0.0


def _responses(call: Predicted) -> list[object]:
    """Return the placeholders that a call names, as the official code reads them."""
    found = call.get("responses")
    values = found.values() if isinstance(found, dict) else ()
    return [value if isinstance(value, str) else -1 for value in values]


def strict(gold: Sequence[NestedCall], predicted: Sequence[Predicted] | None) -> Counts:
    """Return the strict counts; `order` counts the pairs of calls where one depends on the other.

    A pair counts as predicted if both its calls were made, and as correct if the producing call
    comes first.
    """
    matching = Matching(gold, predicted or ())
    edges = dependencies(gold)
    counts = nothing(gold, len(edges))
    match(counts, matching, _same_call, _exact)
    counts.order = order_of(matching, edges)
    return counts


def order_of(matching: Matching, edges: Collection[tuple[int, int]]) -> Count:
    """Count the dependent pairs of gold calls: those in order, those made, and all."""
    places = matching.matched
    both = [(places[a], places[b]) for a, b in edges if a in places and b in places]
    return Count(sum(a < b for a, b in both), len(both), len(edges))


def dependencies(gold: Sequence[NestedCall]) -> set[tuple[int, int]]:
    """Return the pairs of gold calls in which the second uses a response from the first."""
    return {
        (source, call)
        for source, one in enumerate(gold)
        for text in one.responses.values()
        for call, other in enumerate(gold)
        if any(text in _texts(value) for value in other.parameters.values())
    }


def _texts(value: JSON) -> list[JSON]:
    if isinstance(value, dict):
        return [text for part in value.values() for text in _texts(part)]
    return [text for part in value for text in _texts(part)] if isinstance(value, list) else [value]


def _same_call(one: NestedCall, call: Predicted) -> bool:
    number = call["api_id"]
    whole = isinstance(number, int) and not isinstance(number, bool)
    return whole and one.id == number and one.name == call["api_name"]


def _exact(matching: Matching, place: int, value: JSON, given: object) -> float:
    """Return 1 if a value is right, else 0; references inside lists and objects are followed."""
    source = matching.producer(value) if isinstance(value, str) else None
    if source is not None:
        return float(_refers(matching, place, source, given))
    again = partial(_exact, matching, place)
    if isinstance(value, list) and isinstance(given, list):
        return float(len(value) == len(given) and all(map(again, value, given)))
    if isinstance(value, dict) and isinstance(given, dict):
        same = value.keys() == given.keys()
        return float(same and all(again(value[name], given[name]) for name in value))
    return float(same_value(value, given))


def _refers(matching: Matching, place: int, source: tuple[int, str, int], given: object) -> bool:
    """Whether a text refers to the gold response: by name, or by index if responses are a list."""
    call, name, index = source
    for earlier in range(place - 1, -1, -1):
        found = matching.predicted[earlier].get("responses")
        keys = list(found.items()) if isinstance(found, dict) else []
        keys = list(enumerate(found)) if isinstance(found, list) else keys
        named = [key for key, text in keys if isinstance(given, str) and text == given]
        if named:
            wanted = index if isinstance(found, list) else name
            return matching.matched.get(call) == earlier and named[0] == wanted
    return False


def match(
    counts: Counts,
    matching: Matching,
    same_call: Callable[[NestedCall, Predicted], bool],
    value: Value,
) -> None:
    """Match each predicted call to the best open gold call, and count its correct parts.

    A call that fits none counts as predicted, with its parameters.
    """
    counts.selection.predicted = len(matching.predicted)
    for place, call in enumerate(matching.predicted):
        given = _parameters(call)
        counts.param.predicted += len(given)
        counts.nested.predicted += sum(map(nested, given.values()))
        best: tuple[float, int, int] | None = None
        for number, one in enumerate(matching.gold):
            if number in matching.matched or not same_call(one, call):
                continue
            scores = [
                (value(matching, place, wanted, given[name]), nested(wanted))
                for name, wanted in one.parameters.items()
                if name in given
            ]
            total = sum(score for score, _ in scores)
            if best is None or total > best[0]:
                best = total, number, sum(int(score) for score, is_nested in scores if is_nested)
        if best is not None:
            counts.selection.correct += 1
            counts.param.correct += best[0]
            counts.nested.correct += best[2]
            matching.matched[best[1]] = place


def _parameters(call: Predicted) -> dict[str, object]:
    found = call["parameters"]
    return found if isinstance(found, dict) else {}


def tool_errors(
    gold: Sequence[NestedCall], predicted: Sequence[Predicted] | None, offered: Collection[str]
) -> dict[str, tuple[float, float] | None]:
    """Return the parts of `TOOL_ERRORS`, by strict matching; a call has at most one error.

    Args:
        gold: the gold calls.
        predicted: the answer's calls; None if it cannot be read, which is then the only error.
        offered: names of the tools on offer.
    """
    if predicted is None:
        return {**dict.fromkeys(TOOL_ERRORS), "format": (1.0, 1.0)}
    matching = Matching(gold, predicted)
    match(nothing(gold, 0), matching, _same_call, _exact)
    places = {*matching.matched.values()}
    names = [str(call["api_name"]) for n, call in enumerate(predicted) if n not in places]
    made_up = sum(name not in offered for name in names)
    missing, spare = len(gold) - len(places), len(names) - made_up
    swapped = min(missing, spare)
    wanted, given = float(len(gold)), float(len(predicted))
    return {
        "selection": (float(swapped), wanted),
        "omission": (float(missing - swapped), wanted),
        "redundancy": (float(spare - swapped), given),
        "hallucination": (float(made_up), given),
        "format": (0.0, 1.0),
    }


def errors(
    gold: Sequence[NestedCall], predicted: Sequence[Predicted] | None, task: str
) -> Counter[str]:
    """Return the official error counters, over the calls as the official scorer matches them.

    The counters of values include references: a correct answer that numbers its placeholders
    differently has "transformation" errors.
    """
    found: Counter[str] = Counter()
    matching = Matching(gold, predicted or ())
    match(nothing(gold, 0), matching, lambda one, call: one.id == call["api_id"], _soft)
    for number in sorted(matching.matched):
        place = matching.matched[number]
        given, wanted = _parameters(matching.predicted[place]), gold[number].parameters
        found["para_error_redundancy"] += len(given.keys() - wanted.keys())
        for name, value in wanted.items():
            one = given.get(name, UNKNOWN)
            if nested(value):
                found[_nest_error(matching, number, value, one)] += 1
            elif nested(one):
                found["nest_error_hallucination"] += 1
            found[_value_error(value, one, task)] += 1
    del found[""]
    return found


def _nest_error(matching: Matching, number: int, value: JSON, given: object) -> str:
    source = matching.producer(value)
    place = matching.matched[number]
    parent = matching.matched.get(source[0]) if source else None
    if source is None or parent is None or parent >= place or source[0] >= number:
        return ""
    if given == UNKNOWN:
        return "nest_error_omission"
    if not nested(given):
        return "nest_error_unfind"
    names = _responses(matching.predicted[parent])
    right = source[2] < len(names) and names[source[2]] == given
    return "" if right else "nest_error_wrong_place"


def _value_error(value: JSON, given: object, task: str) -> str:
    if given == UNKNOWN:
        return "para_error_omission"
    if credit(value, given) == 1:
        return ""
    if str(value) == _text(given):
        return "para_error_type"
    extracted = str(value).lower() in task.lower()
    return "para_error_extraction" if extracted else "para_error_transformation"
