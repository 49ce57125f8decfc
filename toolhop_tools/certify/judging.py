"""Whether a result is the gold answer, and where in the result it stands. Pure.

A result is judged on its typed leaves: the gold is a leaf (numbers by value, dates in any
notation, letters with or without their accents), a list whose elements are the gold's, or stands
in a text as whole words. The official rule, containment anywhere, is reported beside it.
"""

from __future__ import annotations

import ast
import datetime as dt
import json
import re
from collections.abc import Iterator, Sequence

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number, plain_text, same_answer
from toolhop_tools.dates import dates_in, notation, whole_date
from toolhop_tools.failures import tells_of_error
from toolhop_tools.reading import AS_PYTHON, Match, Path, Reading, leaf_text
from toolhop_tools.words import as_text, bare, number_of, runs, scalars, words

MOST_LEAVES = 2000
"""Leaves of a result that are looked at."""
LONGEST_CHARS = 20_000
"""Length of a text in which the gold is looked for."""


def judge(gold: str, value: JSON, arguments: JSON) -> Reading | None:
    """Where a result holds the gold; None where it does not.

    A text that says the gold as part of a sentence counts only for what the arguments did not
    say already: a tool that repeats its input has answered nothing.
    """
    if tells_of_error(value) or not gold.strip():
        return None
    leaves = scalars(value)[:MOST_LEAVES]
    for path, leaf in leaves:
        if same_answer(gold, leaf_text(leaf)):
            return Reading(Match.VALUE, path)
    if (path_of_list := _list(gold, value)) is not None:
        return Reading(Match.ELEMENTS, path_of_list, notation=_list_notation(gold))
    texts = [(path, leaf) for path, leaf in leaves if isinstance(leaf, str)]
    given = [as_text(scalar) for _, scalar in scalars(arguments)]
    return _in_texts(gold, texts, given)


def _in_texts(gold: str, texts: Sequence[tuple[Path, str]], given: Sequence[str]) -> Reading | None:
    """Where texts hold the gold in another spelling, or as a part of them."""
    day = whole_date(gold)
    for path, text in texts if day is not None else ():
        if whole_date(text) == day:
            return Reading(Match.DATE, path, notation=notation(gold))
    for path, text in texts:
        if _unaccented(text) == _unaccented(gold):
            return Reading(Match.ACCENTS, path)
    for path, text in texts:
        if (span := said(gold, text, given)) is not None:
            return Reading(Match.WORDS, path, span)
    for path, text in texts:
        if day is not None and (span := _date_said(day, text, given)) is not None:
            return Reading(Match.DATE, path, span, notation=notation(gold))
    return None


def _date_said(day: dt.date, text: str, given: Sequence[str]) -> tuple[int, int] | None:
    """Where a text's only date, in whatever notation, is the day; not one the arguments hold."""
    found = dict(dates_in(text[:LONGEST_CHARS]))
    known = {date for one in given for _, date in dates_in(one)}
    if len(found) != 1 or day not in found.values() or day in known:
        return None
    written = next(iter(found))
    start = text.index(written)
    return start, start + len(written)


def _unaccented(text: str) -> str:
    return bare(plain_text(text[:LONGEST_CHARS]))


def _list(gold: str, value: JSON) -> Path | None:
    """The path to a list with the gold's elements."""
    wanted = literal(gold)
    if not isinstance(wanted, list):
        return None
    for path, part in _lists(value):
        if len(part) == len(wanted) and all(map(_same, wanted, part)):
            return path
    return None


def _list_notation(gold: str) -> str:
    """How the gold writes its list: as Python does, where that is not how JSON does."""
    return "" if same_answer(gold, json.dumps(literal(gold), ensure_ascii=False)) else AS_PYTHON


def _same(one: JSON, other: JSON) -> bool:
    if isinstance(one, list | dict | bool) or isinstance(other, list | dict | bool):
        return one == other and type(one) is type(other)
    return same_answer(leaf_text(one), leaf_text(other))


def _lists(value: JSON) -> Iterator[tuple[Path, list[JSON]]]:
    left: list[tuple[Path, JSON]] = [((), value)]
    while left:
        path, part = left.pop(0)
        if isinstance(part, list):
            yield path, part
        inner = part.items() if isinstance(part, dict) else ()
        left.extend(((*path, key), one) for key, one in inner)


def literal(text: str) -> JSON:
    """The list or object that a text writes, as JSON or as Python; None for any other text."""
    text = text.strip()
    if text[:1] not in {"[", "{", "("} or len(text) > LONGEST_CHARS:
        return None
    for read in (json.loads, ast.literal_eval):
        try:
            value: JSON = json.loads(json.dumps(read(text)))
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            continue
        return value
    return None


def said(gold: str, text: str, given: Sequence[str]) -> tuple[int, int] | None:
    """Where a text says the gold as whole words, if that is the text's own.

    A number must be the only one in the text that the arguments do not hold (or the year of the
    only date); a single letter must be quoted or end the text; anything else must stand outside of
    what repeats an argument, and be no mere part of a name.
    """
    if len(text) > LONGEST_CHARS or len(plain_text(text)) <= len(plain_text(gold)):
        return None
    if number_of(gold) is not None:
        return _number_said(gold, text, given)
    wanted = words(gold)
    if not wanted or any(wanted == words(one) for one in given):
        return None
    own = _without(given, wanted, text)
    for found in re.finditer(_pattern(gold), own, re.IGNORECASE):
        if len(plain_text(gold)) == 1 and not _set_apart(text, found):
            continue
        if not _part_of_name(text, found):
            return found.span()
    return None


def _pattern(text: str) -> str:
    parts = [re.escape(part) for part in text.split()]
    # A hyphen or an apostrophe makes one name of two: no part of it is said.
    return r"(?<![\w])(?<!\w['’-])" + r"\s+".join(parts) + r"(?!\w|-\w|['’](?!s\b)\w)"


def _without(given: Sequence[str], wanted: Sequence[str], text: str) -> str:
    """The text with blanks for each argument that it repeats and that holds what is wanted."""
    for one in sorted(given, key=len, reverse=True):
        if runs(wanted, words(one)):
            text = re.sub(
                _pattern(one), lambda found: " " * len(found[0]), text, flags=re.IGNORECASE
            )
    return text


_SMALL = r"(?:of|de|da|do|di|du|des|del|la|le|el|al|bin|ibn|von|van|der|den|the) "
_CAPITAL = r"(?:[a-z]{1,3}[-'’])?[^\W\d_a-z][\w.'’-]*"
_NAME_BEFORE = re.compile(rf"(?<![\w.'’-])(?:{_CAPITAL} (?:{_SMALL})*)+$")
_NAME_AFTER = re.compile(rf"(?: (?:{_SMALL})*{_CAPITAL})*(?: \d+(?=\W*$))?")
_SENTENCE = re.compile(r"(?:^|[.:;!?]\s+)$")


def _part_of_name(text: str, found: re.Match[str]) -> bool:
    """Whether the words are at most half of a name, as a given name is of a full one."""
    own = found[0].split()
    if not own[0][:1].isupper():
        return False
    before = _NAME_BEFORE.search(text[: found.start()])
    after = _NAME_AFTER.match(text[found.end() :])
    start = before.start() if before else found.start()
    end = found.end() + (after.end() if after else 0)
    parts = text[start : found.start()].split() + text[found.end() : end].split()
    more = sum(not part[0].islower() or "-" in part for part in parts)
    # A sentence's first word has a capital whatever it is.
    opens = start < found.start() and bool(_SENTENCE.search(text[:start]))
    is_sentence = text[end:].strip(" .") or text[:start].strip()
    return more - bool(opens and is_sentence) >= len(own)


def _set_apart(text: str, found: re.Match[str]) -> bool:
    """Whether marks stand around what was found, or the text ends with it."""
    before, after = text[: found.start()][-1:], text[found.end() :].strip()
    quoted = before in set("'\"`“‘") and after[:1] in set("'\"`”’")
    return quoted or after in {"", "."}


_NUMBERS = re.compile(r"(?<![\w.,+-])[-+]?\d[\d,]*(?:\.\d+)?(?![\w]|[.,]\d)")


def _number_said(gold: str, text: str, given: Sequence[str]) -> tuple[int, int] | None:
    known = {plain_number(word) for one in given for word in words(one)}
    every = _NUMBERS.finditer(text)
    own = [one for one in every if plain_number(one.group().lstrip("+")) not in known]
    values = {plain_number(found.group()) for found in own}
    if len(values) == 1 and same_answer(gold, own[0].group()):
        return own[0].span()
    return _year_said(gold, text, own)


def _year_said(gold: str, text: str, own: Sequence[re.Match[str]]) -> tuple[int, int] | None:
    """Where the year of a text's only date is the gold, and no number stands beside the date."""
    dates = list(dict(dates_in(text)).items())
    if len(dates) != 1 or gold.strip() != f"{dates[0][1].year:04}":
        return None
    written = dates[0][0]
    start = text.index(written)
    inside = range(start, start + len(written))
    if any(found.start() not in inside for found in own):
        return None
    year = start + written.index(gold.strip())
    return year, year + len(gold.strip())


def official_holds(gold: str, json_text: str) -> bool:
    """ToolHop's rule for a tool message: the gold without trailing ``.0`` letters is contained."""
    text = json_text.rstrip(".0").replace(",", "").lower()
    return gold.rstrip(".0").lower() in text
