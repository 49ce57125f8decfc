"""The calls that can be read as well as another: its rivals, each one step from it. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from toolhop_sandbox.outcome import JSON
from toolhop_tools.certify.candidates import Task
from toolhop_tools.certify.literals import is_mark, marks_named
from toolhop_tools.certify.pools import rows_said
from toolhop_tools.certify.readable import Asked, Ground, backwards, ground, said, spelled_in
from toolhop_tools.certify.support import (
    Arguments,
    holds,
    is_number,
    spoken_of,
    support,
    switch,
    touched,
    wanted,
)
from toolhop_tools.leaves import Leaf, with_value
from toolhop_tools.words import as_number, as_text, bare, name_words

MOST_RIVALS = 56
"""Calls that a hit is compared with."""
MOST_STEPS = 4
"""Steps from an example to the call that says what is asked and nothing else."""


def rivals(task: Task, arguments: Arguments) -> list[dict[str, JSON]]:
    """Calls that can be read as well, each one step from a call, which the simulator accepts."""
    return task.others(arguments, _steps(task, arguments), MOST_RIVALS)


def _steps(task: Task, arguments: Arguments) -> Iterator[dict[str, JSON]]:
    own = task.leaves(arguments)
    yield from _orders(task, arguments, own)
    yield from _fewer(task, arguments)
    yield from _whole_rows(task, arguments)
    yield from _conditions(task, arguments, own)
    for leaf in own:
        for value in _other_values(task, own, leaf):
            yield with_value(arguments, leaf.path, value)


def _fewer(task: Task, arguments: Arguments) -> Iterator[dict[str, JSON]]:
    """Without each optional argument, without all of them, and with one in another's place."""
    free = [name for name in arguments if name not in task.required]
    for out in ([free] if len(free) > 1 else []) + [[name] for name in free]:
        yield {name: value for name, value in arguments.items() if name not in out}
    for name, other in itertools.product(free, task.properties):
        schema = task.schema_of(name)
        alike = schema.get("type") == task.schema_of(other).get("type") and "enum" not in schema
        scalar = isinstance(arguments[name], str) or is_number(arguments[name])
        if alike and scalar and other not in arguments:
            yield {other if one == name else one: value for one, value in arguments.items()}


def _orders(task: Task, arguments: Arguments, own: Sequence[Leaf]) -> Iterator[dict[str, JSON]]:
    for name, value in arguments.items():
        if isinstance(value, list) and len(value) > 1:
            yield {**arguments, name: value[::-1]}
            if len(value) > 2:
                yield {**arguments, name: [value[1], value[0], *value[2:]]}
                yield {**arguments, name: [*value[1:], value[0]]}
    top = [leaf for leaf in own if len(leaf.path) == 1]
    for one, other in itertools.combinations(top, 2):
        numbers = all(is_number(leaf.value) for leaf in (one, other))
        alike = numbers or (isinstance(one.value, str) and isinstance(other.value, str))
        if alike and one.choices == other.choices:
            yield {**arguments, one.name: other.value, other.name: one.value}


def _whole_rows(task: Task, arguments: Arguments) -> Iterator[dict[str, JSON]]:
    """With all that is named in a row, where a list has a part of it."""
    for name, value in arguments.items():
        if not isinstance(value, list):
            continue
        has = {as_text(one) for one in value if not isinstance(one, dict | list)}
        for row in rows_said(task.asked):
            if has < set(row):
                made = [next(_as_type(task.schema_of(name, 0), one), None) for one in row]
                yield {**arguments, name: made}


def _conditions(task: Task, arguments: Arguments, own: Sequence[Leaf]) -> Iterator[dict[str, JSON]]:
    """With what the sub-question says and the call leaves out, where a parameter takes it."""
    left_out = [name for name in wanted(task) if not holds(own, name)]
    # "First" is in "first name" as well, and what most tools take by default.
    in_words = [one for one in task.asked.mentions.ordinals if one != "1" and not holds(own, one)]
    for name in task.properties:
        schema = task.schema_of(name)
        listed = task.schema_of(name, 0).get("enum")
        if isinstance(listed, list):
            named = [one for one in listed if said(as_text(one), task.asked) == 1]
            if named and arguments.get(name) != named:
                yield {**arguments, name: named}
                yield from ({**arguments, name: [one]} for one in named)
        choices = schema.get("enum")
        if name in arguments:
            continue
        if isinstance(choices, list):
            named = [one for one in choices if spoken_of(task, as_text(one))]
            yield from ({**arguments, name: one} for one in named[:3])
        elif schema.get("type") == "boolean" and touched(task, name):
            setting = switch(task, name)
            yield from ({**arguments, name: one} for one in (True, False) if setting in {one, None})
        else:
            marks = marks_named(task.asked.text) if is_mark(schema.get("default")) else []
            for text in (*left_out, *in_words, *marks):
                yield from ({**arguments, name: value} for value in _as_type(schema, text))


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
    """What could stand in a leaf's place: other choices, or what the question says verbatim."""
    others = [other.value for other in own if other is not leaf]
    if leaf.choices:
        yield from (one for one in leaf.choices[:12] if one != leaf.value and one not in others)
    elif isinstance(leaf.value, bool):
        # One that no schema describes is part of a record, as of a list's row.
        yield from [not leaf.value] if leaf.schema else []
    elif isinstance(leaf.value, str):
        yield from _other_texts(task.asked, leaf.value, others)
    elif isinstance(leaf.value, int | float):
        if backwards(task.asked, leaf) or leaf.value < 0:
            yield -leaf.value
        if ground(task.asked, leaf) > Ground.SAID and leaf.value != leaf.schema.get("default"):
            for text in (*wanted(task), *task.asked.mentions.ordinals):
                if not holds(own, text):
                    yield from _as_type(leaf.schema, text)


def _other_texts(asked: Asked, value: str, others: Sequence[JSON]) -> Iterator[str]:
    """An answer as its tool spelled it or as the data does, and what else the question names."""
    for hop, answer in asked.mentions.answers:
        pair = (answer, asked.returned.get(hop, answer), spelled_in(asked.text, answer))
        if bare(value) in map(bare, pair):
            yield from (one for one in pair if one != value)
    taken = {name_words(as_text(other)) for other in others}
    cased = str.lower if value.islower() else str.upper if value.isupper() else str
    for name in asked.named:
        if name_words(name) not in taken:
            yield from (one for one in {name: 0, cased(name): 0} if one != value)


def nearest(task: Task, arguments: dict[str, JSON]) -> dict[str, JSON]:
    """The call that is reached step by step, each one nearer to what is asked."""
    for _ in range(MOST_STEPS):
        mine = support(task, arguments)
        nearer = (one for one in rivals(task, arguments) if support(task, one).outweighs(mine))
        arguments, before = next(nearer, arguments), arguments
        if arguments == before:
            break
    return arguments
