"""Whether a result is the gold answer, and where in the result it stands. Pure.

A result is judged on its typed leaves: the gold is a leaf (numbers by value, dates in any
notation, letters with or without their accents), a list whose elements are the gold's, or stands
in a text as whole words. The official rule, containment anywhere, is told beside it.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence

from sandbox.outcome import JSON
from toolhop_tools.answers import plain_number, plain_text, same_answer
from toolhop_tools.certify.words import as_text, bare, runs, scalars, words
from toolhop_tools.dates import notation, whole_date
from toolhop_tools.failures import tells_of_error
from toolhop_tools.reading import AS_PYTHON, Match, Path, Reading, leaf_text

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
        if not isinstance(leaf, dict | list) and same_answer(gold, leaf_text(leaf)):
            return Reading(Match.VALUE, path)
    if (path_of_list := _list(gold, value)) is not None:
        return Reading(Match.ELEMENTS, path_of_list, notation=_list_notation(gold))
    texts = [(path, leaf) for path, leaf in leaves if isinstance(leaf, str)]
    if (day := whole_date(gold)) is not None:
        for path, leaf in texts:
            if whole_date(leaf) == day:
                return Reading(Match.DATE, path, notation=notation(gold))
    for path, leaf in texts:
        if _unaccented(leaf) == _unaccented(gold):
            return Reading(Match.ACCENTS, path)
    given = [as_text(scalar) for _, scalar in scalars(arguments)]
    for path, leaf in texts:
        if (span := said(gold, leaf, given)) is not None:
            return Reading(Match.WORDS, path, span)
    return None


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
    scalar = not isinstance(one, list | dict) and not isinstance(other, list | dict)
    if not scalar:
        return one == other
    if isinstance(one, bool) is not isinstance(other, bool):
        return False
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

    A number must be the only one in the text that the arguments do not hold; a single letter must
    be quoted or end the text; anything else must not stand in the arguments.
    """
    if len(text) > LONGEST_CHARS or len(plain_text(text)) <= len(plain_text(gold)):
        return None
    if plain_number(plain_text(gold)) is not None:
        return _number_said(gold, text, given)
    wanted = words(gold)
    if not wanted or any(runs(wanted, words(one)) for one in given):
        return None
    found = re.search(_pattern(gold), text, re.IGNORECASE)
    if found is None:
        return None
    if len(plain_text(gold)) == 1 and not _set_apart(text, found):
        return None
    return found.span()


def _pattern(gold: str) -> str:
    parts = [re.escape(part) for part in gold.split()]
    return r"(?<!\w)" + r"\s+".join(parts) + r"(?!\w)"


def _set_apart(text: str, found: re.Match[str]) -> bool:
    before, after = text[: found.start()][-1:], text[found.end() :].strip()
    return (before in {"'", '"', "`", "“", "‘"} and after[:1] in set("'\"`”’")) or after in {
        "",
        ".",
    }


_NUMBERS = re.compile(r"(?<![\w.,-])[-+]?\d[\d,]*(?:\.\d+)?(?![\w]|[.,]\d)")


def _number_said(gold: str, text: str, given: Sequence[str]) -> tuple[int, int] | None:
    known = {plain_number(word) for one in given for word in words(one)}
    own = [
        found
        for found in _NUMBERS.finditer(text)
        if plain_number(found.group().lstrip("+")) not in known
    ]
    values = {plain_number(found.group()) for found in own}
    if len(values) == 1 and same_answer(gold, own[0].group()):
        return own[0].span()
    return None


def official_holds(gold: str, json_text: str) -> bool:
    """ToolHop's rule for a tool message: the gold without trailing ``.0`` letters is contained."""
    text = json_text.rstrip(".0").replace(",", "").lower()
    return gold.rstrip(".0").lower() in text
