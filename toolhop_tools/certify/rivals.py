"""Rivals of a call: equally plausible calls, each one step from it. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from toolhop_sandbox.outcome import JSON
from toolhop_tools.certify.candidates import Task
from toolhop_tools.certify.readable import Asked, Ground, ground, says, takes_both_signs
from toolhop_tools.certify.standing import Arguments, holds, is_touched, wanted
from toolhop_tools.english import is_mark, marks_named
from toolhop_tools.leaves import Leaf, with_value
from toolhop_tools.words import as_number, as_text, bare, name_words

MOST_RIVALS = 56
"""Maximum number of rivals of a call."""


def rivals(task: Task, arguments: Arguments) -> list[dict[str, JSON]]:
    """Return equally plausible valid calls, each one step from the given call."""
    return task.others(arguments, _steps(task, arguments), MOST_RIVALS)


def _steps(task: Task, arguments: Arguments) -> Iterator[dict[str, JSON]]:
    own = task.leaves(arguments)
    yield from _orders(task, arguments, own)
    yield from _additions(task, arguments, own)
    for leaf in own:
        for value in _other_values(task, own, leaf):
            yield with_value(arguments, leaf.path, value)
    for name in arguments:
        if name not in task.required:
            yield {other: value for other, value in arguments.items() if other != name}


def _orders(task: Task, arguments: Arguments, own: Sequence[Leaf]) -> Iterator[dict[str, JSON]]:
    """Yield calls with a list in another order, or two similar parameters exchanged."""
    for name, value in arguments.items():
        if isinstance(value, list) and len(value) > 1:
            yield {**arguments, name: value[::-1]}
            if len(value) > 2:
                yield {**arguments, name: [value[1], value[0], *value[2:]]}
                yield {**arguments, name: [*value[1:], value[0]]}
    for name, value in arguments.items():
        if isinstance(value, dict) and "properties" not in task.schema_of(name):
            for one, two in itertools.combinations(value, 2):
                yield {**arguments, name: {**value, one: value[two], two: value[one]}}
    top = [leaf for leaf in own if len(leaf.path) == 1]
    for first, second in itertools.combinations(top, 2):
        numbers = all(is_number(leaf.value) for leaf in (first, second))
        alike = numbers or (isinstance(first.value, str) and isinstance(second.value, str))
        if alike and first.choices == second.choices:
            yield {**arguments, first.name: second.value, second.name: first.value}


def is_number(value: JSON) -> bool:
    """Whether a value is a number and not a boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _additions(task: Task, arguments: Arguments, own: Sequence[Leaf]) -> Iterator[dict[str, JSON]]:
    """Yield calls with an added parameter for something in the sub-question that the call lacks."""
    left_out = [name for name in wanted(task) if not holds(own, name)]
    # "First" also occurs in "first name", and is the default of most tools.
    ordinals = [text for text in task.asked.mentions.ordinals if text != "1"]
    in_words = [text for text in ordinals if not holds(own, text)]
    for name in task.properties:
        schema = task.schema_of(name)
        listed = task.schema_of(name, 0).get("enum")
        if isinstance(listed, list):
            named = [choice for choice in listed if says(task.asked.text, as_text(choice))]
            if named and arguments.get(name) != named:
                yield {**arguments, name: named}
                yield from ({**arguments, name: [choice]} for choice in named)
        choices = schema.get("enum")
        if name in arguments:
            continue
        if isinstance(choices, list):
            yield from ({**arguments, name: choice} for choice in _touched(task, name, choices))
        elif schema.get("type") == "boolean":
            yield from ({**arguments, name: value} for value in _touched(task, name, (True, False)))
        else:
            marks = marks_named(task.asked.text) if is_mark(schema.get("default")) else []
            for text in (*left_out, *in_words, *marks):
                yield from ({**arguments, name: value} for value in _as_type(schema, text))


def _touched(task: Task, name: str, values: Sequence[JSON]) -> list[JSON]:
    """Return the values of an option that the sub-question mentions."""
    made = [(value, task.leaves({name: value})) for value in values]
    return [value for value, own in made if is_touched(task, own[0])][:3]


def _as_type(schema: Mapping[str, JSON], text: str) -> Iterator[JSON]:
    kinds, number = schema.get("type"), as_number(text)
    several = kinds if isinstance(kinds, list) else [kinds]
    if number is not None and {"integer", "number"} & set(several):
        yield number
    elif "string" in several:
        yield text
    elif "array" in several:
        yield [text]


def _other_values(task: Task, own: Sequence[Leaf], leaf: Leaf) -> Iterator[JSON]:
    """Yield replacements for a leaf: other choices, or what the question states verbatim."""
    others = [other.value for other in own if other is not leaf]
    if leaf.choices:
        listed = leaf.choices[:12]
        yield from (value for value in listed if value != leaf.value and value not in others)
    elif isinstance(leaf.value, bool):
        # A boolean without a schema is part of a record, such as a row of a list.
        yield from [not leaf.value] if leaf.schema else []
    elif isinstance(leaf.value, str):
        yield from _other_texts(task.asked, leaf.value, others)
    elif isinstance(leaf.value, int | float):
        if takes_both_signs(leaf) or leaf.value < 0:
            yield -leaf.value
        if ground(task.asked, leaf) > Ground.SAID and leaf.value != leaf.schema.get("default"):
            for text in (*wanted(task), *task.asked.mentions.ordinals):
                if not holds(own, text):
                    yield from _as_type(leaf.schema, text)


def _other_texts(asked: Asked, value: str, others: Sequence[JSON]) -> Iterator[str]:
    """Yield other spellings of an answer, and other names in the question."""
    for hop, answer in asked.mentions.answers:
        spellings = (answer, asked.returned.get(hop, answer))
        if bare(value) in map(bare, spellings):
            yield from (text for text in spellings if text != value)
    taken = {name_words(as_text(other)) for other in others}
    cased = str.lower if value.islower() else str.upper if value.isupper() else str
    for name in asked.named:
        if name_words(name) not in taken:
            yield from (text for text in {name: 0, cased(name): 0} if text != value)
