"""Whether a call that was made up says what the question says, and nothing else. Pure.

A name is rarely hit by chance; a small number or a letter often is, as every option of a tool that
counts gives another one. So for an answer that can be guessed no option is taken that the question
does not ask for, nothing is said twice, and the result has to single the answer out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number, plain_text, same_answer
from toolhop_tools.certify.candidates import Candidate, Task
from toolhop_tools.certify.honesty import choice_named, covered, is_form
from toolhop_tools.certify.mentions import bases
from toolhop_tools.certify.pools import is_way, resolved, shares_word
from toolhop_tools.certify.words import as_text, name_words, runs, scalars, words
from toolhop_tools.reading import Path, Reading

_COUNTED = frozenset({"letters", "words", "numbers", "digits", "characters", "names", "vowels"})
"""What is counted, with an option or without."""
GUESSED_BELOW = 1000
"""Numbers below it can be guessed; a year, say, is hit by chance as rarely as a name is."""
_TOLD = frozenset({"answer", "question", "date", "enum", "default"})


def guessable(gold: str) -> bool:
    """Whether an answer is one of few: a small number, or at most two letters."""
    text = plain_text(gold)
    number = plain_number(text)
    return len(text) <= 2 if number is None else abs(number) < GUESSED_BELOW


def unasked(task: Task, candidate: Candidate, example: Mapping[str, JSON] | None = None) -> str:
    """A parameter with a value that the question does not ask for; empty where there is none.

    Args:
        task: the hop.
        candidate: a call that was made up.
        example: the example that it varies; what it leaves as it is was the author's choice.
    """
    strict = guessable(task.asked.gold)
    for name, value in candidate.arguments.items():
        own = example is not None and name in example and example[name] == value
        if own or (example is not None and name not in candidate.sources):
            continue
        if not _asked_for(task, candidate, name, value, strict=strict, varied=example is not None):
            return name
    return _said_twice(task, candidate.arguments) if strict else ""


def unsaid(task: Task, arguments: Mapping[str, JSON]) -> str:
    """An option that the question speaks of and a call leaves out or takes otherwise; else empty.

    Such a call is not the right one: "how many different letters" is not answered by how many.
    """
    asked = words(task.asked.mentions.text)
    subject = {word for name in task.required for word in words(name.replace("_", " "))}
    subject |= _COUNTED
    for name, schema in task.properties.items():
        if name in task.required or is_form(name) or name in arguments:
            continue
        known = resolved(schema, task.schema) if isinstance(schema, dict) else {}
        if known.get("type") == "boolean":
            own = {*words(name.replace("_", " "))} - subject
            if any(len(word) > 4 and word in asked for word in own):
                return name
        choices = _choices(known)
        told = [one for one in choices or () if isinstance(one, str) and choice_named(one, asked)]
        default = known.get("default", task.source.defaults.get(name))
        if told and default not in (*told, told):
            return name
    return ""


def left_out(task: Task, candidate: Candidate) -> Iterator[dict[str, JSON]]:
    """A call with a number or a choice of the question that it leaves out, in an option for it.

    A number also instead of one that nothing in the question says.

    "Its population in 2001" is not what a tool says that is asked without a year.
    """
    found, asked = task.asked.mentions, words(task.asked.mentions.text)
    arguments = candidate.arguments
    numbers = [one for one in found.numbers if one not in found.ordinals] + bases(found.text)
    numbers = [one for one in numbers if not covered(one, arguments)]
    for name, schema in task.properties.items():
        known = resolved(schema, task.schema) if isinstance(schema, dict) else {}
        choices = known.get("enum")
        told = name in arguments and candidate.sources.get(name, "answer") in _TOLD
        if told or is_form(name):
            continue
        if isinstance(choices, list):
            said = [one for one in choices if isinstance(one, str) and choice_named(one, asked)]
            default = known.get("default", task.source.defaults.get(name))
            yield from ({**arguments, name: one} for one in said if one != default)
        elif known.get("type") in ("integer", "number"):
            for choice in task.pool(name):
                text = as_text(choice.value)
                if any(same_answer(text, number) for number in numbers):
                    yield {**arguments, name: choice.value}


def options_unasked(task: Task, candidate: Candidate) -> Iterator[dict[str, JSON]]:
    """A call without each option that the question does not speak of."""
    asked = words(task.asked.mentions.text)
    arguments = candidate.arguments
    for name, value in arguments.items():
        if name in task.required or is_form(name) or is_way(name) or isinstance(value, dict):
            continue
        parts = value if isinstance(value, list) else [value]
        if isinstance(value, bool):
            told = shares_word(name, asked)
        else:
            source = candidate.sources.get(name, "filler")
            told = source in _TOLD - {"enum"} or all(
                isinstance(one, str) and (choice_named(one, asked) or shares_word(one, asked))
                for one in parts
            )
            others = [other for key, other in arguments.items() if key != name]
            told = told and not any(_same_text(value, other) for other in others)
        if not told:
            yield {key: one for key, one in arguments.items() if key != name}


def _same_text(one: JSON, other: JSON) -> bool:
    texts = isinstance(one, str) and isinstance(other, str)
    return texts and name_words(str(one)) == name_words(str(other))


def new_numbers(value: JSON, arguments: Mapping[str, JSON]) -> set[Decimal]:
    """The numbers in a result that the arguments do not hold."""
    return _numbers(value) - _numbers(dict(arguments))


def _numbers(value: JSON) -> set[Decimal]:
    leaves = [as_text(leaf) for _, leaf in scalars(value) if not isinstance(leaf, bool)]
    found = {plain_number(word) for text in leaves for word in words(text)}
    return {number for number in found if number is not None}


def another_choice(task: Task, arguments: Mapping[str, JSON]) -> bool:
    """Whether a call makes another choice than the ones that the question has a word of."""
    asked = words(task.asked.mentions.text)
    for name, value in arguments.items():
        schema = task.properties.get(name)
        choices = _choices(resolved(schema, task.schema)) if isinstance(schema, dict) else None
        near = [one for one in choices or () if isinstance(one, str) and shares_word(one, asked)]
        if near and isinstance(value, str) and value not in near and not is_form(name):
            return True
    return False


def choices_unsaid(task: Task, arguments: Mapping[str, JSON]) -> bool:
    """Whether a call makes a choice that neither the question nor a default speaks for."""
    asked = words(task.asked.mentions.text)
    for name, value in arguments.items():
        schema = task.properties.get(name)
        known = resolved(schema, task.schema) if isinstance(schema, dict) else {}
        choice = "enum" in known and isinstance(value, str) and not is_form(name)
        if choice and value != known.get("default") and not shares_word(str(value), asked):
            return True
    return False


def is_option(task: Task, name: str, value: JSON) -> bool:
    """Whether a parameter may be left out or offers choices: it says how to ask, not about what."""
    schema = task.properties.get(name)
    known = resolved(schema, task.schema) if isinstance(schema, dict) else {}
    return name not in task.required or isinstance(value, bool) or _choices(known) is not None


def _asked_for(
    task: Task, candidate: Candidate, name: str, value: JSON, *, strict: bool, varied: bool
) -> bool:
    schema = task.properties.get(name)
    known = resolved(schema, task.schema) if isinstance(schema, dict) else {}
    if is_form(name) or is_way(name) or ("default" in known and known["default"] == value):
        return True
    if isinstance(value, dict) and _other_switch(known, value, words(task.asked.mentions.text)):
        return False
    asked = words(task.asked.mentions.text)
    if (choices := _choices(known)) is not None:
        chosen = value if isinstance(value, list) else [value]
        if all(isinstance(one, str) and choice_named(one, asked) for one in chosen):
            return True
        elsewhere = [other for key, other in candidate.arguments.items() if key != name]
        near = [one for one in choices if isinstance(one, str) and shares_word(one, asked)]
        near = [one for one in near if one not in elsewhere]
        if not strict:
            # Two that are asked for may be a third: "invented and promoted" is `both`.
            return (not varied and len(near) != 1) or all(one in near for one in chosen)
        told = name in task.required and len(chosen) == 1 and not varied
        return told and (not near or chosen[0] in near)
    if not strict:
        foreign = varied and candidate.sources.get(name) in {"literal", "description"}
        said = isinstance(value, str) and (choice_named(value, asked) or shares_word(value, asked))
        return said or not foreign
    if isinstance(value, bool):
        return name in task.required or shares_word(name, asked)
    return candidate.sources.get(name, "filler") in _TOLD


def _other_switch(
    schema: Mapping[str, JSON], value: Mapping[str, JSON], asked: Sequence[str]
) -> bool:
    """Whether an object turns on others of its switches than those the question has a word of."""
    properties = schema.get("properties")
    names = [*properties] if isinstance(properties, dict) else []
    near = [name for name in names if shares_word(name, asked)]
    on = [name for name, part in value.items() if part is True]
    return bool(on and near) and not any(name in near for name in on)


def _choices(schema: Mapping[str, JSON]) -> list[JSON] | None:
    """The values that a parameter, or each of its elements, may have; None where they are free."""
    items = schema.get("items")
    for one in (schema, items if isinstance(items, dict) else {}):
        choices = one.get("enum")
        if isinstance(choices, list):
            return choices
    return None


def _said_twice(task: Task, arguments: Mapping[str, JSON]) -> str:
    """A parameter with what another one has already, though the question says it once."""
    asked = words(task.asked.mentions.text)
    seen: Counter[tuple[str, ...]] = Counter()
    for name, value in arguments.items():
        schema = task.properties.get(name)
        if isinstance(schema, dict) and _choices(resolved(schema, task.schema)) is not None:
            continue
        for _, leaf in scalars(value):
            part = words(as_text(leaf)) if not isinstance(leaf, bool) and leaf is not None else ()
            if not part:
                continue
            seen[part] += 1
            if seen[part] > max(1, len(runs(part, asked))):
                return name
    return ""


def singled_out(task: Task, value: JSON, reading: Reading, arguments: Mapping[str, JSON]) -> bool:
    """Whether a result gives an answer that can be guessed as its answer, and not among others.

    A number, however great, stands in no list with others. One that can be guessed stands no
    deeper than any other number (or letter) of the result, and beside others only under a key that
    the question names.
    """
    numeric = plain_number(plain_text(task.asked.gold)) is not None
    if _listed(value, reading.path):
        return not (numeric or guessable(task.asked.gold))
    if not guessable(task.asked.gold):
        return True
    others = [path for path in _alike(task.asked.gold, value, arguments) if path != reading.path]
    if any(len(path) < len(reading.path) for path in others):
        return False
    beside = [path for path in others if len(path) == len(reading.path) and not _in_list(path)]
    return not beside or _keyed(reading.path, beside, words(task.asked.mentions.text))


def _alike(gold: str, value: JSON, arguments: Mapping[str, JSON]) -> Iterator[Path]:
    """Where answers of the gold's kind stand that the arguments do not hold."""
    numeric = plain_number(plain_text(gold)) is not None
    given = {name_words(as_text(leaf)) for _, leaf in scalars(dict(arguments))}
    for path, leaf in scalars(value):
        if isinstance(leaf, bool) or leaf is None:
            continue
        text = as_text(leaf)
        alike = (plain_number(plain_text(text)) is not None) if numeric else len(text.strip()) <= 2
        if alike and (same_answer(gold, text) or name_words(text) not in given):
            yield path


def _in_list(path: Path) -> bool:
    return bool(path) and isinstance(path[-1], int)


def _listed(value: JSON, path: Path) -> bool:
    """Whether a path goes through a list of several elements."""
    part = value
    for step in path:
        if isinstance(part, list):
            if len(part) > 1 or not isinstance(step, int):
                return True
            part = part[step]
        elif isinstance(part, dict):
            part = part[str(step)]
    return False


def _keyed(path: Path, beside: Sequence[Path], asked: Sequence[str]) -> bool:
    def named(one: Path) -> bool:
        return bool(one) and isinstance(one[-1], str) and _key_named(one[-1], asked)

    return named(path) and not any(map(named, beside))


def _key_named(key: str, asked: Sequence[str]) -> bool:
    """Whether the question says a key, be it in the plural."""
    return choice_named(key, asked) or choice_named(
        " ".join(_singular(word) for word in words(key.replace("_", " "))),
        [_singular(word) for word in asked],
    )


def _singular(word: str) -> str:
    return word.removesuffix("s") if len(word) > 3 else word


def other_field(task: Task, value: JSON, reading: Reading, arguments: Mapping[str, JSON]) -> str:
    """A field that the question names, where the answer stands in another field beside it."""
    asked = words(task.asked.mentions.text)
    steps = [step for step in reading.path if isinstance(step, str)]
    if any(_key_named(step, asked) or shares_word(step, asked) for step in steps):
        return ""
    given = {name_words(as_text(leaf)) for _, leaf in scalars(dict(arguments))}
    holder = value
    for step in reading.path:
        for key, field in holder.items() if isinstance(holder, dict) else ():
            if key == step or field is None or isinstance(field, list | dict):
                continue
            if _key_named(key, asked) and name_words(as_text(field)) not in given:
                return key
        holder = holder[step]  # type: ignore[index]
    return ""
