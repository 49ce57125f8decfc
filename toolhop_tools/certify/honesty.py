"""Whether a call is an answer to what was asked, or merely gets there. Pure.

Two tests. *Leaked*: an argument is the gold or a trivial rewriting of it, and the question did not
supply it. *Asked*: what the question names is in the arguments, and where the schema offers a word
of the question as a choice, no other choice is taken.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number, plain_text, same_answer
from toolhop_tools.certify.mentions import Mentions, listed
from toolhop_tools.certify.words import (
    as_text,
    bare,
    name_words,
    runs,
    same_number,
    scalars,
    words,
)
from toolhop_tools.dates import whole_date


@dataclass(frozen=True, slots=True)
class Asked:
    """A hop's question as the search sees it."""

    gold: str
    mentions: Mentions
    earlier: tuple[str, ...]
    """Answers of the hops before it."""
    item_question: str = ""
    item_names: tuple[str, ...] = ()
    """Names of the item's question that the sub-question leaves out."""
    returned: Mapping[int, str] = field(default_factory=dict)
    """By earlier hop (from 0): its answer as its tool spelled it, where that differs."""


def leaked(asked: Asked, arguments: Mapping[str, JSON]) -> str:
    """The argument that gives the answer away, as a path; empty where none does.

    Texts and numbers are looked at, no truth values. Allowed are what the sub-question has: an
    earlier answer, a name, a number or other words (no part of a name: that would be the answer to
    "what is the first name"), and one of a list's elements where what is asked is a choice
    among them.
    """
    for path, value in scalars(dict(arguments)):
        if isinstance(value, bool) or value is None:
            continue
        text = as_text(value)
        if _gives(asked.gold, text) and not _supplied(asked, text):
            holder = arguments[str(path[0])]
            if not (len(path) > 1 and isinstance(holder, list) and _choice(asked, holder)):
                return ".".join(map(str, path))
    for name, value in arguments.items():
        if isinstance(value, list) and len(value) > 1 and _spells(asked, value):
            return name
    return ""


def _gives(gold: str, text: str) -> bool:
    if same_answer(gold, text):
        return True
    if plain_number(plain_text(gold)) is not None:
        return False
    if (day := whole_date(gold)) is not None and whole_date(text) == day:
        return True
    letters, given = _letters(gold), _letters(text)
    if letters and given in {letters, letters[::-1]} and len(letters) > 1:
        return True
    return len(letters) > 2 and bool(runs(name_words(gold), words(text)))


def _letters(text: str) -> str:
    return "".join(letter for letter in bare(text) if letter.isalnum())


def _supplied(asked: Asked, text: str) -> bool:
    found = asked.mentions
    answers = [answer for _, answer in found.answers]
    if any(same_answer(answer, text) for answer in answers):
        return True
    if any(same_number(number, text) for number in (*found.numbers, *words(found.text))):
        return True
    if text.strip() and (day := whole_date(text)) is not None:
        return day.isoformat() in found.dates
    single = [name for name in found.names if len(listed(name)) == 1]
    whole = [name for name in found.names if not within(name, (*single, *answers))]
    if any(name_words(text) == name_words(name) for name in (*whole, *found.quoted)):
        return True
    left = words(found.text)
    for name in sorted((*found.names, *answers), key=len)[::-1]:
        left = _without(name_words(name), left)
    return bool(runs(words(text), left))


def within(name: str, names: Sequence[str]) -> bool:
    """Whether a name is a part of a longer one."""
    part = name_words(name)
    return any(len(words(one)) > len(words(name)) and runs(part, words(one)) for one in names)


def _without(part: Sequence[str], whole: Sequence[str]) -> tuple[str, ...]:
    """`whole` with each place of `part` closed, so that no run goes across it."""
    left = list(whole)
    for at in reversed(runs(part, whole)):
        left[at : at + len(part)] = [""]
    return tuple(left)


def _choice(asked: Asked, elements: Sequence[JSON]) -> bool:
    """Whether a list holds several things to choose from, all of them given to the hop."""
    if len(elements) < 2:
        return False
    given = [words(text) for text in (asked.mentions.text, asked.item_question, *asked.earlier)]
    texts = [as_text(one) for _, one in scalars(list(elements)) if not isinstance(one, bool)]
    return all(any(runs(words(text), one) for one in given) for text in texts if words(text))


def _spells(asked: Asked, parts: Sequence[JSON]) -> bool:
    """Whether the parts of a list, put together, are the gold, without being supplied."""
    texts = [as_text(part) for part in parts if isinstance(part, str | int)]
    joined = same_answer(asked.gold, "".join(texts)) or same_answer(asked.gold, " ".join(texts))
    return joined and not all(_supplied(asked, text) for text in texts)


def own_words(asked: Asked, arguments: Mapping[str, JSON]) -> bool:
    """Whether all texts and numbers of a call, one at least, are the question's own words."""
    known = set(words(asked.mentions.text))
    known |= {word.removesuffix("s") for word in known}
    found = [as_text(value) for _, value in scalars(dict(arguments)) if not isinstance(value, bool)]
    return bool(found) and all(known.issuperset(words(text)) for text in found)


def missing(asked: Asked, arguments: Mapping[str, JSON]) -> str:
    """What the question names and the arguments do not hold; empty where nothing is missing.

    Needed are: every earlier answer that is named; where none is, a name of the question (its own,
    else one that only the item's question has), or else a number in digits; every quoted letter;
    and beside an earlier answer that is a number every number in digits.
    """
    given = [as_text(value) for _, value in scalars(dict(arguments)) if value is not None]
    mentions = asked.mentions
    for _, answer in mentions.answers:
        if not covered(answer, arguments):
            return answer
    names = [name for name in mentions.names if not _is_label(name)]
    digits = [number for number in mentions.numbers if number not in mentions.ordinals]
    if not mentions.answers and names and not any(_named(name, given) for name in names):
        dated = any(covered(date, arguments) for date in mentions.dates)
        numbered = any(covered(number, arguments) for number in digits)
        if not (dated or numbered or any(_named(name, given) for name in asked.item_names)):
            return names[0]
    for text in mentions.quoted:
        if len(text) == 1 and not any(same_answer(text, one) for one in given):
            return text
    if any(plain_number(plain_text(answer)) is not None for _, answer in mentions.answers):
        for number in digits:
            if not covered(number, arguments):
                return number
    return ""


def _is_label(name: str) -> bool:
    """Abbreviations in capitals (``ASCII``) say how, not about whom."""
    return name.isupper() and len(name) > 1 and " " not in name


def covered(text: str, arguments: Mapping[str, JSON]) -> bool:
    """Whether an argument holds the text: as a text, as a number, as a list of its parts."""
    given = [as_text(value) for _, value in scalars(dict(arguments)) if value is not None]
    if any(same_answer(text, one) or same_number(text, one) for one in given):
        return True
    if plain_number(plain_text(text)) is not None:
        return any(words(text)[0] in words(one) for one in given if words(text))
    if (day := whole_date(text)) is not None:
        parts = {str(part) for part in (day.year, day.month, day.day)}
        if any(whole_date(one) == day for one in given) or parts <= set(given):
            return True
    if _named(text, given):
        return True
    whole = _letters(text)
    lists = [value for value in arguments.values() if isinstance(value, list)]
    return any(whole == _letters("".join(map(as_text, _flat(part)))) != "" for part in lists)


def _flat(value: JSON) -> Iterator[JSON]:
    for _, scalar in scalars(value):
        yield scalar


def _named(name: str, given: Sequence[str]) -> bool:
    """Whether an argument is the name, holds it, or is the greater part of it."""
    wanted = name_words(name)
    for one in given:
        found = name_words(one)
        if runs(wanted, found):
            return True
        if len(wanted) > 1 and len(found) * 2 >= len(wanted) and runs(found, wanted):
            return True
    return bool(_letters(name)) and any(_letters(name) == _letters(one) for one in given)


def other_choice(asked: Asked, schema: Mapping[str, JSON], arguments: Mapping[str, JSON]) -> str:
    """A parameter for which the question names a choice and the call makes another.

    Holds for the choices (`enum`) of scalar parameters that say what is asked for; how a result
    is to be written is left to the caller.
    """
    properties = schema.get("properties")
    asked_words = words(asked.mentions.text)
    for name, value in arguments.items():
        one = properties.get(name) if isinstance(properties, dict) else None
        choices = one.get("enum") if isinstance(one, dict) else None
        if not isinstance(choices, list) or not isinstance(value, str) or is_form(name):
            continue
        texts = [choice for choice in choices if isinstance(choice, str)]
        fitting = [choice for choice in texts if choice_named(choice, asked_words)]
        elsewhere = [other for key, other in arguments.items() if key != name]
        if fitting and value not in fitting and not _taken(fitting, elsewhere):
            return name
    return ""


def _taken(choices: Sequence[str], values: Collection[JSON]) -> bool:
    """Whether another parameter takes a choice: ``to`` is Celsius, so that ``from`` is not."""
    return any(value in choices for value in values if isinstance(value, str))


def choice_named(choice: str, asked_words: Sequence[str]) -> bool:
    """Whether the question says a choice, word by word (``birth_year`` is ``birth year``)."""
    return bool(runs(words(choice.replace("_", " ").replace("-", " ")), asked_words))


_FORMS = ("format", "output", "detail", "style", "mode", "level", "display", "sort", "language")


def is_form(name: str) -> bool:
    """Whether a parameter says how a result is to be written, and not what it is about."""
    return any(word in name.casefold() for word in _FORMS)
