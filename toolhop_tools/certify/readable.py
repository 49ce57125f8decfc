"""What somebody can read who has the question, the sub-question, schemas and the answers so far.

`ground` says where a value of a call can be had, `said` how far the sub-question says a choice.
Changes that are allowed: case, accents, plural, date and number notation, a unit, a part of a name,
the sign of a number. Nothing here knows where a call came from. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import IntEnum
from functools import lru_cache

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number
from toolhop_tools.certify.alike import EMPTY, stem, word_match
from toolhop_tools.certify.judging import literal
from toolhop_tools.certify.literals import MARKS, counts_from_zero, marks_named, notations_named
from toolhop_tools.certify.mentions import COUNTS, ORDINALS, Mentions, listed
from toolhop_tools.dates import NOTATIONS, dates_in, in_notation, whole_date
from toolhop_tools.leaves import Leaf
from toolhop_tools.words import as_text, bare, name_words, parts_of, runs, scalars, words


@dataclass(frozen=True, slots=True)
class Asked:
    """A hop's question as somebody meets it who follows the chain."""

    gold: str
    mentions: Mentions
    """Of the sub-question."""
    earlier: tuple[str, ...]
    """Answers of the hops before it."""
    item_question: str = ""
    returned: Mapping[int, str] = field(default_factory=dict)
    """By earlier hop (from 0): its answer as its tool spelled it, where that differs."""

    @property
    def text(self) -> str:
        """The sub-question."""
        return self.mentions.text

    @property
    def named(self) -> tuple[str, ...]:
        """What the sub-question names, each thing once: answers, names, quoted texts."""
        found = self.mentions
        pieces = [piece for name in found.names for piece in listed(name)]
        values = [literal(answer) or answer for _, answer in found.answers]
        answers = [as_text(leaf) for value in values for _, leaf in scalars(value)]
        every = [*answers, *found.quoted, *(one for one in pieces if one.strip("[](){}"))]
        longest = [one for one in every if not any(_part(one, other) for other in every)]
        return tuple({name_words(one): one for one in longest[::-1] if words(one)}.values())

    @property
    def positions(self) -> frozenset[int]:
        """The places that the sub-question counts to: 3 for *third*."""
        return frozenset(int(ORDINALS[one]) for one in words(self.text) if one in ORDINALS)


def _part(name: str, whole: str) -> bool:
    one, other = name_words(name), words(whole)
    return len(other) > len(words(name)) and bool(runs(one, other))


class Ground(IntEnum):
    """Where a value can be had, the nearest first."""

    SAID = 0
    """The sub-question says it."""
    SCHEMA = 1
    """The schema offers it: a choice, a default, a description."""
    CHANGED = 2
    """A part of what the sub-question says, or the same in other capitals or with another sign."""
    ELSEWHERE = 3
    """The item's question or an answer that the sub-question does not name has it."""
    NOWHERE = 4


def ground(asked: Asked, leaf: Leaf) -> Ground:
    """Where the value of a leaf can be had."""
    value = leaf.value
    if value in leaf.choices or value == leaf.schema.get("default") or leaf.is_option:
        return Ground.SCHEMA
    if isinstance(value, str):
        return _ground_of_text(asked, leaf, value)
    number = plain_number(as_text(value)) or Decimal(str(value))
    if counts_from_zero(leaf.about) and asked.positions:
        return Ground.SAID if number + 1 in asked.positions else Ground.NOWHERE
    if abs(number) in _numbers(asked.text) or str(abs(number)) in asked.mentions.numbers:
        below = backwards(asked, leaf) or _MINUS.search(asked.text) is not None
        return Ground.SAID if (number < 0) == below else Ground.CHANGED
    if abs(number) in map(plain_number, words(leaf.about)):
        return Ground.SCHEMA
    near = any(abs(number) in _numbers(text) for text in _elsewhere(asked))
    return Ground.ELSEWHERE if near else Ground.NOWHERE


def _ground_of_text(asked: Asked, leaf: Leaf, text: str) -> Ground:
    if text in MARKS and text in marks_named(asked.text):
        return Ground.SAID
    spelled = [asked.returned[hop] for hop, _ in asked.mentions.answers if hop in asked.returned]
    exact = [*asked.named, *asked.mentions.names, *asked.mentions.quoted, *spelled]
    if text in exact and not any(_part(text, name) for name in asked.named):
        return Ground.SAID
    found = _stems(name_words(text.replace("_", " ")))
    if _says(asked.text, leaf.about, text):
        quoted = plain_number(text) is not None or not runs(found, _stems(words(asked.text)))
        return Ground.SAID if quoted or _whole(asked, text, found) else Ground.CHANGED
    if found and len(text) > 1 and runs(found, _stems(words(leaf.about))):
        return Ground.SCHEMA
    apart = {*found} - {"of", "the"} <= {*_stems(words(asked.text))}
    if any(bare(text) == bare(one) for one in exact) or (len(found) > 1 and apart):
        return Ground.CHANGED
    near = any(_says(other, leaf.about, text) for other in _elsewhere(asked))
    return Ground.ELSEWHERE if near else Ground.NOWHERE


def _says(where: str, about: str, text: str) -> bool:
    """Whether a text stands somewhere: as a number, as a date, as words."""
    number, found = plain_number(text), _stems(name_words(text.replace("_", " ")))
    if number is not None:
        return abs(number) in _numbers(where)
    return _is_date(where, about, text) or bool(runs(found, _stems(words(where))))


def _whole(asked: Asked, text: str, found: Sequence[str]) -> bool:
    """Whether the sub-question says a text in these capitals, and not as part of a name."""
    if len(text) == 1 and text.isalpha():
        return text in asked.mentions.quoted
    left = list(_stems(words(asked.text)))
    for name in asked.named:
        whole = _stems(name_words(name))
        if len(whole) > len(found) and runs(found, whole):
            for at in reversed(runs(whole, left)):
                left[at : at + len(whole)] = [""]
    cased = text.replace("_", " ") in asked.text or text.islower()
    return bool(runs(found, left)) and cased


def crowded(asked: Asked, own: Sequence[Leaf]) -> list[Leaf]:
    """Values that have no place of their own in the sub-question, as others take theirs.

    Each thing that it says is for one argument: "the concatenation of a and b" is not a first part.
    """
    left = list(_stems(words(asked.text)))
    found = []
    # A field that another argument has is named as often as it is asked for.
    fields = {step for leaf in own for step in leaf.path[1:] if isinstance(step, str)}
    parts = {part for _, day in dates_in(asked.text) for part in (day.year, day.month, day.day)}
    content = [leaf for leaf in own if not leaf.is_option and leaf.value not in fields | parts]
    texts = [leaf for leaf in content if isinstance(leaf.value, str)]
    numbers = [
        leaf for leaf in content if leaf not in texts and ground(asked, leaf) is not Ground.SCHEMA
    ]
    for leaf in (*sorted(texts, key=lambda one: len(words(as_text(one.value)))), *numbers):
        wanted = _stems(name_words(as_text(leaf.value)))
        if not wanted or not runs(wanted, _stems(words(asked.text))):
            continue
        if at := runs(wanted, left):
            left[at[0] : at[0] + len(wanted)] = [""] * len(wanted)
        else:
            found.append(leaf)
    return found


def _is_date(where: str, about: str, text: str) -> bool:
    """Whether a text is one of the dates there, in a notation that is plain or that is named."""
    known = [date for _, date in dates_in(where)]
    if (day := whole_date(text)) is not None:
        return day in known
    forms = (*NOTATIONS, *notations_named(about))
    return any(in_notation(date, form) == text for date in known for form in forms)


def _elsewhere(asked: Asked) -> tuple[str, ...]:
    return (asked.item_question, *asked.earlier, *asked.returned.values())


_IN_WORDS = {**COUNTS, **ORDINALS, "once": "1", "twice": "2"}
_IN_WORDS |= {"one": "1", "ones": "1", "zero": "0", "zeros": "0"}


@lru_cache(maxsize=4096)
def _numbers(text: str) -> frozenset[Decimal]:
    """The numbers of a text, in digits or in words, signs aside."""
    found = {plain_number(_IN_WORDS.get(word, word)) for word in words(text)}
    found |= {Decimal(part) for _, day in dates_in(text) for part in (day.year, day.month, day.day)}
    return frozenset(abs(one) for one in found if one is not None)


def _stems(found: Sequence[str]) -> tuple[str, ...]:
    return tuple(stem(word) for word in found)


_MINUS = re.compile(r"\b(?:minus|negative) \w+|(?<!\w)-\d")
_BACK = frozenset(words("before ago earlier prior back preceding less minus"))
_MOVES = frozenset(words("add offset shift delta change amount increment step"))


def backwards(asked: Asked, leaf: Leaf) -> bool:
    """Whether a number is to be given with a minus: ``years_to_add`` for "6 years before"."""
    back = not _BACK.isdisjoint(words(asked.text))
    moves = not _MOVES.isdisjoint(parts_of(leaf.name))
    return back and (moves or "negative" in words(leaf.about))


def said(choice: str, asked: Asked) -> float:
    """How far the sub-question says a choice, or the name of a switch: 0 to 1.

    The share of its words that the sub-question has; a word that merely stands for one of them
    counts a little less.
    """
    spaced = choice.replace("_", " ").replace("-", " ")
    parts = [word for word in words(spaced) if word not in EMPTY]
    found = words(asked.text.replace("-", " "))
    return sum(word_match(part, found) for part in parts) / len(parts) if parts else 0.0


def speaks_of(document: str, text: str) -> bool:
    """Whether a document has each word of a text, or one that stands for it."""
    return all(word_match(word, words(document)) for word in name_words(text))


def places(asked: Asked, values: Sequence[JSON], *, anywhere: bool = False) -> list[int]:
    """Where the sub-question says values, each after the one before it where that can be.

    In words from its start; none where it does not say one of them. An earlier answer that its
    tool spelled otherwise stands where the sub-question names it. `anywhere` looks in the earlier
    answers and the item's question as well.
    """
    texts = (asked.text, *(asked.earlier[::-1] if anywhere else ()), asked.item_question)
    for text in texts[: None if anywhere else 1]:
        found, whole = [-1], _stems(words(text))
        for value in values:
            at = runs(_stems(name_words(_written(text, _as_answered(asked, value)))), whole)
            if not at:
                break
            found.append(next((one for one in at if one > found[-1]), at[0]))
        else:
            return found[1:]
    return []


def _written(text: str, value: str) -> str:
    """How a text writes a date; any other value as it is."""
    day = whole_date(value)
    return next((one for one, known in dates_in(text) if day is not None and known == day), value)


def spelled_in(text: str, name: str) -> str:
    """A name in the spelling that a text has it in; itself where the text has none."""
    parts = r"\W+".join(map(re.escape, re.findall(r"\w+", name)))
    found = re.search(rf"(?<!\w){parts}(?!\w)", text, re.IGNORECASE) if parts else None
    return found.group() if found else name


def _as_answered(asked: Asked, value: JSON) -> str:
    text = as_text(abs(value) if isinstance(value, int | float) else value)
    for hop, answer in asked.mentions.answers:
        if bare(asked.returned.get(hop, answer)) == bare(text):
            return answer
    return text


_LEADS = frozenset(words("to in into from on at by"))


def beside(asked: Asked, leaf: Leaf) -> Sequence[str]:
    """The words next to where the sub-question says a leaf: ``6 years`` for ``years_to_add``."""
    at, found, text = places(asked, [leaf.value]), words(asked.text), as_text(leaf.value)
    size = max(1, len(name_words(text)))
    if not at and leaf.choices:
        at, size = [n for n, word in enumerate(found) if word_match(bare(text), [word])], 1
    if not at:
        return ()
    before = " ".join(found[max(0, at[0] - 2) : at[0]]).rpartition("and")[2].split()
    after = found[at[0] + size : at[0] + size + 1]
    # "Celsius in Fahrenheit": such a word is for what follows it.
    return (*before, *(word for word in after if word not in _LEADS))
