"""Extraction of the answers in a result, without knowledge of the gold. Pure.

A result has one answer if it has a single value, or a single value under the field asked for. If
several values remain it has several answers, and proves none of them.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number, plain_text, same_answer
from toolhop_tools.certify.judging import judge, literal
from toolhop_tools.certify.mentions import mentions
from toolhop_tools.certify.readable import says
from toolhop_tools.dates import dates_in, whole_date
from toolhop_tools.failures import tells_of_error
from toolhop_tools.reading import Match, Path, Reading, leaf_text
from toolhop_tools.words import (
    as_text,
    bare,
    name_words,
    number_of,
    parts_of,
    runs,
    scalars,
    words,
)

LONGEST_DATE = 40
LONGEST_CHARS = 4000
"""Maximum length of a text that is split into labelled lines, in characters."""
MOST_VALUES = 400
"""Maximum number of values of a result that are considered."""


class Kind(StrEnum):
    """The type of an answer."""

    NUMBER = "number"
    DATE = "date"
    LETTER = "letter"
    TEXT = "text"

    @classmethod
    def of(cls, answer: str) -> Kind:
        """Return the type of an answer."""
        if number_of(answer) is not None:
            return cls.NUMBER
        if whole_date(answer) is not None:
            return cls.DATE
        return cls.LETTER if len(plain_text(answer)) <= 2 else cls.TEXT


@dataclass(frozen=True, slots=True)
class Answer:
    """A possible answer in a result."""

    path: Path
    text: str
    """Text of the answer; a list as JSON."""
    span: tuple[int, int] | None = None
    """Start and end of the answer in a longer text; None if it is a whole value."""
    label: str = ""
    """Label of the answer in a text, as in ``Publisher: Methuen``."""

    def same(self, other: Answer) -> bool:
        """Whether two answers are equal, in whatever notation."""
        own, its = _opened(self.text), _opened(other.text)
        day = whole_date(own)
        if day is not None and day == whole_date(its):
            return True
        return same_answer(own, its) or bare(plain_text(own)) == bare(plain_text(its))


def _opened(text: str) -> str:
    """Return the only element of a one-element list; any other text is unchanged."""
    held = literal(text)
    alone = isinstance(held, list) and len(held) == 1 and not isinstance(held[0], list | dict)
    return leaf_text(held[0]) if isinstance(held, list) and alone else text


NOTHING = re.compile(
    r"\b(?:not? (?:\w+ ){0,4}(?:found|available|known|exist|recogni[sz]ed|supported|match|data)"
    r"|unknown|unavailable|n/?a|none|null|nothing|invalid|unsupported|undefined|empty"
    r"|un(?:able|identified|specified)|can(?:not|'t)|does(?: not|n't)|is not|no \w+"
    r"|insufficient|missing|please|must|required?)\b",
    re.IGNORECASE,
)
"""Phrases with which tools report that nothing was found."""
MOST_WORDS = 20
"""Maximum number of words of a field's name that are counted."""
_RESULT = frozenset({"result", "answer", "value", "output"})
"""Field names that tools use for their main result."""


def values(value: JSON, arguments: Mapping[str, JSON]) -> list[Answer]:
    """Return all possible answers of a result: scalars, and lists of scalars as a whole.

    Errors and reports that nothing was found have no answers. Values that repeat an argument count
    only if there are no others.
    """
    # Minus one means that a text was not found; among numbers it is a number.
    texts = [leaf for _, leaf in scalars(dict(arguments)) if isinstance(leaf, str)]
    if tells_of_error(value) or (value == -1 and texts):
        return []
    parts = [(path, part) for path, part in _wholes(value) if not _is_echo(path, part, arguments)]
    if not all(isinstance(part, bool) for _, part in parts):
        parts = [(path, part) for path, part in parts if not isinstance(part, bool)]
    given = {bare(as_text(leaf)) for _, leaf in scalars(dict(arguments))}
    every = [(answer, _reports(part)) for path, part in parts for answer in _parts(path, part)]
    own = [(answer, reports) for answer, reports in every if bare(answer.text) not in given]
    return [answer for answer, reports in own or every if reports]


def _is_echo(path: Path, part: JSON, arguments: Mapping[str, JSON]) -> bool:
    """Whether a field repeats an argument under the argument's own name."""
    name = next((step for step in reversed(path) if isinstance(step, str)), "")
    return name in arguments and arguments[name] == part


def answers(
    value: JSON, arguments: Mapping[str, JSON], asked: str, tool: str
) -> tuple[Answer, ...]:
    """Return the answers of a result, as far as its form shows: one, several, or none.

    Args:
        value: the result.
        arguments: arguments of the call.
        asked: the sub-question.
        tool: the tool's name.
    """
    asked_words = {*words(asked)}

    def rank(answer: Answer) -> int:
        fields = [step for step in (*answer.path, answer.label) if isinstance(step, str) and step]
        if not fields:
            return 0
        if says(asked, fields[-1]):
            return MOST_WORDS + 3
        # Prefer the field with most words in the sub-question, ignoring units and the like.
        own = {word for word in parts_of(fields[-1]) if len(word) > 2 and not word.isdigit()}
        if verbatim := len(own & asked_words):
            return min(verbatim, MOST_WORDS) + 2
        return 2 if says(tool, fields[-1]) else int(fields[-1].casefold() in _RESULT)

    every = values(value, arguments)
    best = max(map(rank, every), default=0)
    found: list[Answer] = []
    for answer in every:
        if rank(answer) == best:
            answer = _within(answer, arguments, asked)
            if not any(answer.same(other) for other in found):
                found.append(answer)
    return tuple(found)


def _wholes(value: JSON) -> list[tuple[Path, JSON]]:
    found: list[tuple[Path, JSON]] = []
    left: list[tuple[Path, JSON]] = [((), value)]
    while left and len(found) < MOST_VALUES:
        path, part = left.pop()
        if isinstance(part, dict):
            left.extend(((*path, key), inner) for key, inner in reversed(part.items()))
        elif isinstance(part, list) and len(part) == 1 and isinstance(part[0], dict | list):
            left.append(((*path, 0), part[0]))
        else:
            found.append((path, part))
    return found


_LABELLED = re.compile(r"\s*([A-Z][\w '-]{0,40}):[ \t]+(\S.*?)\s*")


def _parts(path: Path, part: JSON) -> list[Answer]:
    """Return a value as an answer; a text whose lines are all labelled has one per line."""
    if isinstance(part, str) and 0 < len(part) <= LONGEST_CHARS:
        lines = list(re.finditer(r"[^\n]*\S[^\n]*", part))
        found = [_LABELLED.fullmatch(line[0]) for line in lines]
        pairs = [(line.start(), one) for line, one in zip(lines, found, strict=True) if one]
        if pairs and len(pairs) == len(lines):
            return [
                Answer(path, one[2], (at + one.start(2), at + one.end(2)), one[1])
                for at, one in pairs
            ]
    return [Answer(path, _as_answer(part))]


def _as_answer(part: JSON) -> str:
    if isinstance(part, list) and len(part) == 1:
        return _as_answer(part[0])
    if isinstance(part, list):
        return json.dumps(part, ensure_ascii=False)
    return leaf_text(part)


def _reports(part: JSON) -> bool:
    """Whether a value is neither empty nor a report that nothing was found."""
    if isinstance(part, list) and len(part) == 1:
        return _reports(part[0])
    if part is None or part == "" or part == []:
        return False
    return not (isinstance(part, str) and number_of(part) is None and NOTHING.search(part))


def _within(answer: Answer, arguments: Mapping[str, JSON], asked: str) -> Answer:
    """Narrow an answer to the part of its text that answers, such as the year of a date."""
    text = answer.text
    if (day := whole_date(text)) is not None:
        year = f"{day.year:04}"
        of_year = "year" in words(asked) and {"date", "day", "month"}.isdisjoint(words(asked))
        return _part(answer, year, text) if of_year else answer
    if number_of(text) is not None or literal(text) is not None:
        return answer
    left = text
    for given in sorted((as_text(leaf) for _, leaf in scalars(dict(arguments))), key=len)[::-1]:
        whole = rf"(?<!\w){re.escape(given)}(?!\w)" if given.strip() else "$^"
        left = re.sub(whole, lambda found: "_" * len(found[0]), left, count=1, flags=re.IGNORECASE)
    if left == text and not text.rstrip().endswith("."):
        return answer
    known, named = mentions(asked), mentions(left)
    said = {name_words(name) for name in (*known.names, *known.numbers, *known.quoted)}
    dates = [written for written, _ in dates_in(left)]
    every = [*named.names, *named.quoted, *named.numbers, *dates]
    own = {name_words(name): name for name in every if name_words(name) not in said}
    whole_ones = [
        name
        for parts, name in own.items()
        if parts and not any(len(other) > len(parts) and runs(parts, other) for other in own)
    ]
    # "Ida Marsh in 1902" names two things.
    several = len(whole_ones) != 1 or (
        whole_date(whole_ones[0]) is None
        and len(name_words(whole_ones[0])) > 1
        and any(map(plain_number, words(whole_ones[0])))
    )
    return answer if several else _part(answer, whole_ones[0], left)


def _part(answer: Answer, part: str, text: str) -> Answer:
    found = re.search(rf"(?<!\w){re.escape(part)}(?!\w)", text)
    if found is None or found[0] == answer.text:
        return answer
    start = answer.span[0] if answer.span is not None else 0
    span = (start + found.start(), start + found.end())
    return Answer(answer.path, found[0], span, answer.label)


def reading(
    gold: str, answer: Answer, value: JSON, notations: Sequence[str] = ()
) -> Reading | None:
    """Return where this answer contains the gold, or None if it is a different answer.

    Args:
        gold: the gold.
        answer: one of the result's `answers`.
        value: the result.
        notations: date notations named by the tool's document.
    """
    if answer.span is not None:
        is_gold = Answer((), gold).same(answer)
        return Reading(Match.WORDS, answer.path, answer.span) if is_gold else None
    part = value
    for step in answer.path:
        part = part[step]  # type: ignore[index]
    if isinstance(part, str) and (days := _days(part, notations)) and whole_date(part) is None:
        is_gold = days == {whole_date(gold)} or plain_text(gold) == plain_text(part)
        return Reading(Match.DATE, answer.path) if is_gold else None
    path = answer.path
    while True:
        found = judge(gold, part, {})
        if found is not None and found.span is None and not found.path:
            return replace(found, path=path)
        # A list of one element counts as that element.
        if not isinstance(part, list) or len(part) != 1:
            return None
        path, part = (*path, 0), part[0]


def _days(text: str, notations: Sequence[str]) -> set[dt.date]:
    """Return the days that a text can denote in the document's date notations."""
    found = set()
    for form in notations if len(text) <= LONGEST_DATE else ():
        with suppress(ValueError):
            found.add(dt.datetime.strptime(text.strip(), form).date())
    return found
