"""NesTools: what an answer has right, counted against the gold calls by two scorers.

Official reproduces the released code (evaluation/eval.py, option eval_para_error included), known
bugs included: names of tools and of responses are not compared, order is that of neighbours,
values earn a part of a point. Strict compares names too, takes a value for right or wrong, and
asks for the order that the data flow needs.
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
"""What every placeholder of a response holds."""
UNKNOWN = "UNK"
"""What a required parameter is given that the task says nothing of."""
ERRORS = (
    *("nest_error_omission", "nest_error_unfind", "nest_error_wrong_place"),
    *("nest_error_hallucination", "para_error_type", "para_error_extraction"),
    *("para_error_omission", "para_error_redundancy", "para_error_transformation"),
)
"""The official error counters; their option prints them as sums (paper section 5.5)."""

TOOL_ERRORS = {
    "selection": "Another tool on offer stands where a gold call is missing, by gold call.",
    "omission": "A gold call is missing, and no other stands for it, by gold call.",
    "redundancy": "A call of a tool on offer that replaces no gold call, by call.",
    "hallucination": "A call of a tool that is not on offer, by call.",
    "format": "The answer cannot be read as a list of calls.",
}
"""The five categories of tool errors (paper, section 5.5.1, which gives no counts)."""


class OfficialRaises(Exception):
    """The official code ends with an exception at this answer; says which."""


@dataclass(frozen=True, slots=True)
class NestedCall:
    """A gold call."""

    name: str
    id: int
    parameters: dict[str, JSON]
    responses: dict[str, str]
    """Placeholder by response name, in the order of the tool's schema."""


@dataclass(slots=True)
class Count:
    """What was found of what was given and what was wanted."""

    correct: float = 0.0
    predicted: int = 0
    gold: int = 0

    @property
    def whole(self) -> bool:
        """Whether all is right, and nothing is too much."""
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
    """Which predicted call stands for which gold call, as the answer is gone through."""

    gold: Sequence[NestedCall]
    predicted: Sequence[Predicted]
    matched: dict[int, int] = field(default_factory=dict)
    """Place of the predicted call by the place of its gold call."""

    def producer(self, placeholder: object) -> tuple[int, str, int] | None:
        """Of a gold placeholder: the call it comes from, and its response's name and place."""
        for call, one in enumerate(self.gold):
            for place, (name, text) in enumerate(one.responses.items()):
                if text == placeholder:
                    return call, name, place
        return None


Value: TypeAlias = Callable[[Matching, int, JSON, object], float]
"""The credit for a gold value, given the place of the predicted call and its value."""


def nested(value: object) -> bool:
    """Whether a value refers to a response."""
    return MARK in _text(value)


def _text(value: object) -> str:
    """Python's text of a value; empty for a number too long, or lists too deep, to be written."""
    try:
        return str(value)
    except (ValueError, RecursionError):
        return ""


def nothing(gold: Sequence[NestedCall], order: int) -> Counts:
    """The counts of an answer that cannot be read; `order` is how many ordered pairs are wanted."""
    values = [value for call in gold for value in call.parameters.values()]
    return Counts(
        Count(gold=len(gold)),
        Count(gold=order),
        Count(gold=len(values)),
        Count(gold=sum(map(nested, values))),
    )


def official(gold: Sequence[NestedCall], predicted: Sequence[Predicted] | None) -> Counts:
    """The counts of the official code; `predicted` is None where the format is invalid.

    Raises:
        OfficialRaises: the code stops at this answer.
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
    """The placeholders that a call names, as the official code takes them."""
    found = call.get("responses")
    values = found.values() if isinstance(found, dict) else ()
    return [value if isinstance(value, str) else -1 for value in values]


def strict(gold: Sequence[NestedCall], predicted: Sequence[Predicted] | None) -> Counts:
    """The counts of the strict scorer; `order` is of pairs of calls that depend on each other.

    A pair counts as given where both its calls were made, and as right where the one that the
    other depends on comes first.
    """
    matching = Matching(gold, predicted or ())
    edges = dependencies(gold)
    counts = nothing(gold, len(edges))
    match(counts, matching, _same_call, _exact)
    places = matching.matched
    both = [(places[a], places[b]) for a, b in edges if a in places and b in places]
    counts.order.predicted, counts.order.correct = len(both), sum(a < b for a, b in both)
    return counts


def dependencies(gold: Sequence[NestedCall]) -> set[tuple[int, int]]:
    """Pairs of gold calls of which the second has a response of the first as a value."""
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
    """1 or 0. Within lists and objects a reference counts as one too."""
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
    """Whether a text names the response of an earlier call: by its name, or in a list its place."""
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
    """Give each predicted call the open gold call that it fits best, and count what it has right.

    A call that fits none is counted as predicted, with its parameters.
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
    """An answer's parts in `TOOL_ERRORS`, of calls matched strictly; no call is in two of them.

    Args:
        gold: the gold calls.
        predicted: the answer's calls; None where it cannot be read: then that is the one error.
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
    """The official error counters, over the calls that were matched officially.

    The counters of values go over references too: an answer that is right and numbers its
    placeholders otherwise has "transformation" errors there.
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
