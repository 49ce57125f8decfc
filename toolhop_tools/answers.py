"""Compare answers under the strict rule, and find an answer in a result. No side effects.

Unlike ToolHop's official rule (`toolhop_env.benchmarks`), texts must be equal and numbers are
compared by value.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

from toolhop_sandbox.outcome import JSON


def same_answer(gold: str, given: str) -> bool:
    """Whether two answers are the same under the strict rule."""
    wanted = plain_text(gold)
    return _same(wanted, plain_number(wanted), given)


def _same(wanted: str, number: Decimal | None, given: str) -> bool:
    """As `same_answer`, with the gold's plain text and number already computed."""
    found = plain_text(given)
    other = plain_number(found)
    if number is not None and other is not None:
        return number == other
    return wanted == found and bool(found)


_QUOTES = "\"'`“”‘’«»"


def plain_text(text: str) -> str:
    """Normalize an answer for comparison: NFC, case folded, without surrounding punctuation."""
    # Compose again: folding decomposes some letters.
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    text = " ".join(text.split())
    bare = text.strip(_QUOTES + " ").removesuffix(".").strip(_QUOTES + " ")
    # An answer may consist of only a quote or a dot.
    return bare or text


_NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?")


def plain_number(text: str) -> Decimal | None:
    """Return the value of a plain number, thousands commas allowed; None for other text."""
    if len(text) > 4000 or not _NUMBER.fullmatch(text) or not text.isascii():
        return None
    try:
        return Decimal(text.replace(",", ""))
    except InvalidOperation:
        return None


def holds(value: JSON, answer: str) -> bool:
    """Whether a result equals `answer`, or contains it as a leaf (by value)."""
    wanted = _as_json(answer)
    if isinstance(wanted, list | dict) and value == wanted:
        return True
    plain = plain_text(answer)
    number, arrays = plain_number(plain), plain.startswith("[")
    return any(_same(plain, number, leaf) for leaf in leaves(value, arrays=arrays))


def _as_json(text: str) -> JSON:
    try:
        value: JSON = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def leaves(value: JSON, *, arrays: bool = True) -> Iterator[str]:
    """Yield the scalars and arrays in a value as text; numbers have no exponent.

    Without `arrays`, the time is linear in the size of the value; with them, the text of every
    array is built too.
    """
    # Not recursive: a result may be nested almost to the interpreter's limit.
    left = [value]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            left.extend(reversed(part.values()))
        elif isinstance(part, list):
            left.extend(reversed(part))
            if arrays:
                yield json.dumps(part, ensure_ascii=False)
        elif isinstance(part, float):
            yield format(Decimal(repr(part)), "f")
        else:
            yield part if isinstance(part, str) else json.dumps(part)
