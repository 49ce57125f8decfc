"""The standing of a call: how well the question supports it, before its result is known.

Three things decide between calls: what the sub-question states verbatim, the order in which it does
so, and the defaults of the schema. Whatever these leave open stays open. Nothing here sees an
answer, so two answers to one question cannot both be favoured. Pure.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import same_answer
from toolhop_tools.certify.candidates import Task
from toolhop_tools.certify.readable import (
    Ground,
    beside,
    crowded,
    ground,
    places,
    says,
    touches,
    without_articles,
)
from toolhop_tools.dates import whole_date
from toolhop_tools.english import is_mark
from toolhop_tools.leaves import Leaf
from toolhop_tools.words import as_number, as_text, letters, name_words, parts_of, runs, words

Arguments = Mapping[str, JSON]


class Standing(NamedTuple):
    """Figures of how well the question supports a call; higher is better in each."""

    held: int
    """Number of mentions in the sub-question that the call contains."""
    chosen: int
    """Number of schema choices that the sub-question states verbatim."""
    default: int
    """Minus the number of options and optional values that depart from the default unasked."""
    verbatim: int
    """Minus the total distance of the values from the sub-question's own words."""
    roles: int
    """Number of values next to a word of their parameter's name in the sub-question."""
    order: int
    """Minus the number of lists, or groups of parameters, that are not in order of mention."""

    def outranks(self, other: Standing) -> bool:
        """Whether this call is better in some figure and worse in none."""
        return self != other and all(one >= two for one, two in zip(self, other, strict=True))


def standing(task: Task, arguments: Arguments) -> Standing:
    """Return the standing of a call."""
    own = task.leaves(arguments)
    content = [leaf for leaf in own if not leaf.is_option]
    loose = [leaf for leaf in content if leaf.path[0] not in task.required]
    loose = [leaf for leaf in loose if leaf.value != leaf.schema.get("default")]
    unsaid = {leaf.path[0] for leaf in loose if ground(task.asked, leaf) is not Ground.SAID}
    options = [leaf for leaf in own if leaf.is_option and leaf.value is not None]
    chosen = [leaf for leaf in options if is_chosen(task, leaf)]
    astray = [leaf for leaf in options if leaf not in chosen and not _is_open(task, leaf)]
    in_words = [leaf for leaf in loose if _is_in_words(task, leaf)]
    return Standing(
        held=sum(holds(own, name) for name in wanted(task)),
        chosen=len(chosen) + len({as_text(leaf.value) for leaf in in_words}),
        default=-len(astray) - len(unsaid),
        verbatim=-_changes(task, content),
        roles=sum(_role(task, leaf) for leaf in content),
        order=_order(task, content),
    )


def ungrounded(task: Task, arguments: Arguments) -> list[Leaf]:
    """Return the values of a call that a reader who does not see the source cannot know."""
    own = task.leaves(arguments)
    out = crowded(task.asked, own)
    return [leaf for leaf in own if leaf in out or ground(task.asked, leaf) is Ground.NOWHERE]


def wanted(task: Task) -> list[str]:
    """Return the mentions in the sub-question: names, quoted texts, numbers in digits, dates."""
    named = task.asked.mentions
    digits = [number for number in named.numbers if number not in named.ordinals]
    return list(dict.fromkeys([*task.asked.named, *digits, *named.dates]))


def holds(own: Sequence[Leaf], name: str) -> bool:
    """Whether a call contains something the sub-question mentions, in whatever notation."""
    given = [as_text(leaf.value) for leaf in own if leaf.value is not None]
    day, whole, number = whole_date(name), letters(name), as_number(name)
    alone = any(
        same_answer(name, text)
        or (number is not None and as_number(text) in (number, -number))
        or (day is not None and whole_date(text) == day)
        or runs(name_words(name), words(text))
        for text in given
    )
    parts = {str(part) for part in ((day.year, day.month, day.day) if day else ())}
    together = len(whole) > 2 and whole in letters("".join(given))
    return alone or together or bool(parts and parts <= set(given))


def left_out(task: Task, arguments: Arguments) -> list[str]:
    """Return numbers in the sub-question that neither the call nor the tool's document contains."""
    digits = [n for n in task.asked.mentions.numbers if n not in task.asked.mentions.ordinals]
    shown = task.hop.tool.schema
    document = words(
        f"{shown.name} {shown.description} {json.dumps(task.schema)}".replace("_", " ")
    )
    own = task.leaves(arguments)
    return [number for number in digits if number not in document and not holds(own, number)]


def is_named(task: Task, leaf: Leaf) -> bool:
    """Whether the sub-question mentions a value. If it mentions nothing, any non-option passes."""
    named = wanted(task)
    return any(holds([leaf], name) for name in named) or (not named and not leaf.is_option)


def is_chosen(task: Task, leaf: Leaf) -> bool:
    """Whether the sub-question states a choice verbatim, or the complete name of a switch.

    A switch with a one-word name is not chosen by that word: "without a fan" contains it too.
    """
    if isinstance(leaf.value, bool):
        name = without_articles(parts_of(leaf.name))
        return leaf.value and len(name) > 1 and says(task.asked.text, " ".join(name))
    if not isinstance(leaf.value, str) or not says(task.asked.text, leaf.value):
        return False
    others = [as_text(choice) for choice in leaf.choices if choice != leaf.value]
    # "Snub cube" contains cube but does not mean it.
    return not any(says(other, leaf.value) and says(task.asked.text, other) for other in others)


def _is_open(task: Task, leaf: Leaf) -> bool:
    """Whether an option is acceptable: it is the default, or the sub-question alludes to it.

    Any word in common counts as an allusion.
    """
    return leaf.value == leaf.schema.get("default") or is_touched(task, leaf)


def is_touched(task: Task, leaf: Leaf) -> bool:
    """Whether the sub-question has a word of a choice or switch that the tool's name lacks."""
    if isinstance(leaf.value, bool):
        return touches(task.asked.text, leaf.name, task.subject)
    return touches(task.asked.text, as_text(leaf.value), parts_of(task.hop.tool.name))


def _is_default(leaf: Leaf) -> bool:
    return "default" in leaf.schema and leaf.value == leaf.schema["default"]


def _is_in_words(task: Task, leaf: Leaf) -> bool:
    """Whether an optional number or mark only restates a word of the sub-question."""
    if is_mark(leaf.value):
        return ground(task.asked, leaf) is Ground.SAID
    is_number = isinstance(leaf.value, int | float)
    return is_number and as_text(leaf.value) in task.asked.mentions.ordinals


_COSTS = {
    Ground.SAID: 0,
    Ground.CHANGED: 1,
    Ground.SCHEMA: 2,
    Ground.ELSEWHERE: 3,
    Ground.NOWHERE: 4,
}


def _changes(task: Task, content: Sequence[Leaf]) -> int:
    """Return how far the values of each parameter are from the sub-question's words, in total."""
    most: dict[str | int, int] = {}
    for leaf in content:
        if not _is_default(leaf):
            cost = _COSTS[ground(task.asked, leaf)]
            most[leaf.path[0]] = max(cost, most.get(leaf.path[0], 0))
    return sum(most.values())


def _role(task: Task, leaf: Leaf) -> bool:
    """Whether a word of the parameter's name is next to the value: "a capacity of 20"."""
    near = beside(task.asked, leaf.value) if isinstance(leaf.value, str | int | float) else ()
    return not {*parts_of(leaf.name)}.isdisjoint(near)


def _order(task: Task, content: Sequence[Leaf]) -> int:
    """Return minus the number of lists or parameter groups that are not in order of mention."""
    lists = [list(group) for _, group in itertools.groupby(content, lambda leaf: leaf.path[0])]
    places_of = list(task.properties)
    top = [leaf for leaf in content if len(leaf.path) == 1 and leaf.path[0] in places_of]
    top.sort(key=lambda leaf: places_of.index(str(leaf.path[0])))
    texts = [leaf for leaf in top if isinstance(leaf.value, str)]
    numbers = [leaf for leaf in top if not isinstance(leaf.value, str)]
    return sum(_in_order(task, group) for group in (*lists, texts, numbers))


def _in_order(task: Task, group: Sequence[Leaf]) -> int:
    values = [leaf.value for leaf in group]
    found = places(task.asked, values, anywhere=True)
    rows = itertools.groupby(zip(group, found, strict=False), lambda pair: pair[0].path[:2])
    known = [min(at for _, at in row) for _, row in rows]
    if len(known) < 2 or known == known[::-1] or not _is_listed(task, values):
        return 0
    return 0 if known == sorted(known) else -1


def _is_listed(task: Task, values: Sequence[JSON]) -> bool:
    """Whether the values are separated only by *and*, since other words may reverse their order.

    Also true if the sub-question does not state them, as for a list in an earlier answer.
    """
    text = words(task.asked.text)
    sizes = [len(name_words(as_text(value))) for value in values]
    said_at = sorted(zip(places(task.asked, values), sizes, strict=False))
    pairs = itertools.pairwise(said_at)
    return all(
        {"and", "the"}.issuperset(text[at + size : after]) for (at, size), (after, _) in pairs
    )
