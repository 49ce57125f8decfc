"""NesTools: reading an answer, and comparing its values with the gold by two scorers.

The official scorer follows the released evaluation code (hhan1018/NesTools, evaluation/utils.py),
which compares texts by ROUGE-L of the package rouge 1.0.1. The paper does not describe this.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Sequence
from datetime import datetime

from toolhop_tools.answers import same_answer
from toolhop_tools.dates import whole_date

Predicted = dict[str, object]
"""A call as the agent wrote it; values may be any Python literal."""

FIELDS = ("api_name", "api_id", "parameters")


def literal(text: str) -> object:
    """Parse the text from the first ``[`` to the last ``]`` as a Python literal, else as JSON.

    Raises:
        ValueError: it is neither.
    """
    first, last = text.find("["), text.rfind("]")
    within = text[first : last + 1] if 0 <= first < last else ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about unknown escapes
            return ast.literal_eval(within)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        try:
            return json.loads(within)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error


def calls_in(text: str | None) -> list[Predicted] | None:
    """Return the calls of an answer; None if any part of it has an invalid format."""
    try:
        found = literal(text or "")
    except ValueError:
        return None
    if not isinstance(found, list):
        return None
    for call in found:
        if not isinstance(call, dict) or not all(name in call for name in FIELDS):
            return None
        if not isinstance(call["parameters"], dict):
            return None
    return found


def soft_score(gold: object, given: object) -> float:
    """Return the official credit for a value, 0 to 1: 1 if equal, else by shared words.

    Texts that differ only in case score 0.999999995, an artefact of the formula.

    Raises:
        ValueError: a text has no words; the official code gives such a value 0.
    """
    if gold == given:
        return 1.0
    if isinstance(gold, str) and isinstance(given, str):
        dates = iso_date(given).lower(), iso_date(gold).lower()
        return max(rouge_l(given.lower(), gold.lower()), rouge_l(*dates))
    if isinstance(gold, list) and isinstance(given, list):
        if len(gold) != len(given):
            return 0.0
        return sum(map(soft_score, gold, given)) / len(gold)
    if isinstance(gold, dict) and isinstance(given, dict):
        if len(gold) != len(given):
            return 0.0
        pairs = zip(gold, given, strict=True)
        alike = [(one, other) for one, other in pairs if _key(one) == _key(other)]
        return sum(soft_score(gold[one], given[other]) for one, other in alike) / len(gold)
    return 0.0


def _key(name: object) -> str:
    return str(name).lower().replace("_", "").replace(" ", "")


def credit(gold: object, given: object) -> float:
    """Return `soft_score`, or 0 if it raises."""
    try:
        return soft_score(gold, given)
    except (ValueError, RecursionError):
        return 0.0


def rouge_l(given: str, gold: str) -> float:
    """Return ROUGE-L's F over sentences that end with a full stop, counting each word once.

    Raises:
        ValueError: a text has no sentence.
    """
    ours, theirs = _sentences(given), _sentences(gold)
    if not ours or not theirs:
        raise ValueError("a text without words cannot be compared")
    common = {word for one in theirs for other in ours for word in _common(one, other)}
    precision = len(common) / len({word for one in ours for word in one})
    recall = len(common) / len({word for one in theirs for word in one})
    return 2.0 * ((precision * recall) / (precision + recall + 1e-8))


def _sentences(text: str) -> list[list[str]]:
    # In the package a blank sentence is one empty word.
    return [" ".join(part.split()).split(" ") for part in text.split(".") if part]


def _common(gold: Sequence[str], given: Sequence[str]) -> list[str]:
    """Return a longest common subsequence, with ties broken as in the package."""
    lengths = [[0] * (len(given) + 1) for _ in range(len(gold) + 1)]
    for row, one in enumerate(gold, 1):
        for column, other in enumerate(given, 1):
            left, above = lengths[row][column - 1], lengths[row - 1][column]
            same = one == other
            lengths[row][column] = lengths[row - 1][column - 1] + 1 if same else max(left, above)
    found, row, column = [], len(gold), len(given)
    while row and column:
        if gold[row - 1] == given[column - 1]:
            row, column = row - 1, column - 1
            found.append(gold[row])
        elif lengths[row - 1][column] > lengths[row][column - 1]:
            row -= 1
        else:
            column -= 1
    return found


_DATE = re.compile(r"([A-Za-z]+ )(\d{1,2})(st|nd|rd|th)?(, \d{4})")
_SUFFIXES = {
    "st": {1, 21, 31},
    "nd": {2, 22},
    "rd": {3, 23},
    "th": {*range(4, 21), *range(24, 31)},
}


def iso_date(text: str) -> str:
    """Convert ``May 12th, 2022`` to ``2022-05-12``; return any other text unchanged."""
    found = _DATE.fullmatch(text)
    if found is None or (found[3] and int(found[2]) not in _SUFFIXES[found[3]]):
        return text
    try:
        date = datetime.strptime(found[1] + found[2] + found[4], "%B %d, %Y")
    except ValueError:
        return text
    return date.strftime("%Y-%m-%d")


def same_value(gold: object, given: object) -> bool:
    """Compare strictly: numbers by value, texts ignoring case and outer blanks, dates as dates.

    Lists are compared item by item, objects key by key. A boolean never equals a number, nor a
    number a text.
    """
    if isinstance(gold, str) and isinstance(given, str):
        date = whole_date(gold)
        return same_answer(gold, given) or (date is not None and date == whole_date(given))
    if isinstance(gold, list) and isinstance(given, list):
        return len(gold) == len(given) and all(map(same_value, gold, given))
    if isinstance(gold, dict) and isinstance(given, dict):
        return gold.keys() == given.keys() and all(same_value(gold[k], given[k]) for k in gold)
    return isinstance(gold, bool) == isinstance(given, bool) and gold == given
