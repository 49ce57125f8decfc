"""Search for the gold answer in a result. Pure.

A result is judged on its typed leaves. The gold must equal a leaf (numbers by value, dates in any
notation, letters with or without accents), be a list with the same elements, or occur in a text as
whole words. The official rule, containment anywhere, is reported separately.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number, plain_text, same_answer
from toolhop_tools.dates import notation, whole_date
from toolhop_tools.failures import tells_of_error
from toolhop_tools.reading import AS_PYTHON, Match, Path, Reading, leaf_text
from toolhop_tools.words import as_text, bare, number_of, runs, scalars, words

MOST_LEAVES = 2000
"""Maximum number of leaves of a result that are considered."""
LONGEST_CHARS = 20_000
"""Maximum length of a text searched for the gold, in characters."""


def judge(gold: str, value: JSON, arguments: JSON) -> Reading | None:
    """Return where a result contains the gold, or None.

    A sentence that contains the gold counts only for what the arguments did not already say: a tool
    that repeats its input has answered nothing.
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
    """Return where texts contain the gold, in another spelling or as a part of them."""
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
    return None


def _unaccented(text: str) -> str:
    return bare(plain_text(text[:LONGEST_CHARS]))


def _list(gold: str, value: JSON) -> Path | None:
    """Return the path to a list with the gold's elements."""
    wanted = literal(gold)
    if not isinstance(wanted, list):
        return None
    for path, part in _lists(value):
        if len(part) == len(wanted) and all(map(_same, wanted, part)):
            return path
    return None


def _list_notation(gold: str) -> str:
    """Return the notation of the gold's list: Python if it differs from JSON."""
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
    """Return the list or object that a text denotes in JSON or Python, or None."""
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
    """Return where a text contains the gold as whole words, outside of repeated arguments.

    A number must be the only one in the text that is not in the arguments; a single letter must be
    quoted.
    """
    if len(text) > LONGEST_CHARS or len(plain_text(text)) <= len(plain_text(gold)):
        return None
    wanted = words(gold)
    if number_of(gold) is not None:
        known = {plain_number(word) for one in given for word in words(one)}
        own = [found for found in _NUMBERS.finditer(text) if plain_number(found[0]) not in known]
        is_only = len({plain_number(found[0]) for found in own}) == 1
        return own[0].span() if is_only and same_answer(gold, own[0][0]) else None
    if not wanted or any(wanted == words(one) for one in given):
        return None
    for one in sorted(given, key=len, reverse=True):
        if runs(wanted, words(one)):
            text = re.sub(_whole(one), lambda found: " " * len(found[0]), text, flags=re.IGNORECASE)
    is_letter = len(plain_text(gold)) == 1
    pattern = rf"(?<=['\"]){re.escape(gold)}(?=['\"])" if is_letter else _whole(gold)
    found = re.search(pattern, text, re.IGNORECASE)
    return found.span() if found else None


_NUMBERS = re.compile(r"(?<![\w.,+-])[-+]?\d[\d,]*(?:\.\d+)?(?![\w]|[.,]\d)")


def _whole(text: str) -> str:
    """Return a pattern for a text as whole words, which may include hyphens and apostrophes."""
    parts = [re.escape(part) for part in text.split()]
    return r"(?<![\w])(?<!\w['’-])" + r"\s+".join(parts) + r"(?!\w|-\w|['’](?!s\b)\w)"


def official_holds(gold: str, json_text: str) -> bool:
    """Apply ToolHop's rule for tool messages: the gold without trailing ``.0`` is contained."""
    text = json_text.rstrip(".0").replace(",", "").lower()
    return gold.rstrip(".0").lower() in text
