"""The computing tools of the scripted constructor: contracts, pairs, and second implementations."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from studies.constructor.atlas import digit_sum, in_base, letter_places, shifted

Arguments: TypeAlias = dict[str, Any]
Pair: TypeAlias = tuple[Arguments, Any]
PAIRS = 10
"""Pairs that are drawn, beside those at the edges."""


def _contract(result_form: Arguments, *examples: Pair, forgives: list[str]) -> Arguments:
    rows = [{"arguments": arguments, "result": result} for arguments, result in examples]
    return {"result_form": result_form, "forgives": forgives, "units": {}, "limits": [],
            "errors": {}, "covers": None, "examples": rows}  # fmt: skip


CONTRACTS: Mapping[str, Arguments] = {
    "sum_digits": _contract(
        {"type": "integer"},
        ({"number": 0}, 0), ({"number": -400_917}, 21), ({"number": 760_059}, 27),
        ({"number": 760_059, "until_single": True}, 9), forgives=[],
    ),
    "write_in_base": _contract(
        {"type": "string"},
        ({"number": 255, "base": 16}, "FF"), ({"number": -5, "base": 2}, "-101"),
        ({"number": 0, "base": 3}, "0"),
        ({"number": 255, "base": 16, "uppercase": False}, "ff"), forgives=[],
    ),
    "total_letter_places": _contract(
        {"type": "integer"},
        ({"text": "Zoé"}, 41), ({"text": "b2 C-1"}, 5), ({"text": "17"}, 0),
        ({"text": "Ab", "reverse": True}, 51), forgives=["case"],
    ),
    "shift_date": _contract(
        {"type": "string"},
        ({"date": "2023-12-31", "amount": 1}, "2024-01-01"),
        ({"date": "2024-03-01", "amount": -1}, "2024-02-29"),
        ({"date": "2024-01-31", "amount": 1, "unit": "months"}, "2024-02-29"),
        ({"date": "2024-02-29", "amount": -1, "unit": "years"}, "2023-02-28"), forgives=[],
    ),
}  # fmt: skip
"""What each refined tool promises; examples without options hold of the first document too."""

SECONDS: Mapping[str, str] = {
    "sum_digits": """def sum_digits(number, until_single=False):
    rest = abs(int(number))
    if until_single:
        return 1 + (rest - 1) % 9 if rest else 0
    total = 0
    while rest:
        rest, digit = divmod(rest, 10)
        total += digit
    return total
""",
    "write_in_base": """SIGNS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def written(number, base):
    return (written(number // base, base) if number >= base else "") + SIGNS[number % base]


def write_in_base(number, base, uppercase=True):
    text = ("-" if number < 0 else "") + written(abs(int(number)), int(base))
    return text if uppercase else text.lower()
""",
    "total_letter_places": """ALPHABET = "abcdefghijklmnopqrstuvwxyz"


def total_letter_places(text, reverse=False):
    order = ALPHABET[::-1] if reverse else ALPHABET
    total = 0
    for place, letter in enumerate(order, 1):
        total += place * (text.count(letter) + text.count(letter.upper()))
    return total
""",
    "shift_date": """import calendar
import datetime


def shift_date(date, amount, unit="days"):
    try:
        start, amount = datetime.date.fromisoformat(date.strip()), int(amount)
        if unit in ("days", "weeks"):
            days = 7 * amount if unit == "weeks" else amount
            return (start + datetime.timedelta(days=days)).isoformat()
        years, month = divmod(start.month - 1 + (amount if unit == "months" else 12 * amount), 12)
        year = start.year + years
        last = calendar.monthrange(year, month + 1)[1]
        return datetime.date(year, month + 1, min(start.day, last)).isoformat()
    except (ValueError, OverflowError, IndexError) as error:
        return {"error": f"date or amount: {error}; allowed are the years 1 to 9999"}
""",
}
"""Functions by the documents, written without a look at the first ones."""


def pairs_of(tool: str, rng: random.Random) -> list[Arguments]:
    """Pairs of a tool, worked out without its code: near its limits, drawn, and at edges."""
    arguments, result = _WIDE[tool](rng)
    pairs: dict[str, Arguments] = {"": {"arguments": arguments, "result": result}}
    while len(pairs) < PAIRS:
        arguments, result = _DRAWN[tool](rng)
        pairs[repr(arguments)] = {"arguments": arguments, "result": result}
    for arguments, result in _EDGES[tool]:
        pairs[repr(arguments)] = {"arguments": dict(arguments), "result": result}
    return [*pairs.values()]


def _digits(rng: random.Random) -> Pair:
    number, again = rng.randint(100, 99_999), rng.random() < 0.3
    if again:
        return {"number": number, "until_single": True}, 1 + (number - 1) % 9
    return {"number": number}, digit_sum(number, 0)


def _base(rng: random.Random) -> Pair:
    number, base = rng.randint(10, 9_999), rng.randint(2, 9)
    return {"number": number, "base": base}, in_base(number, base)


def _places(rng: random.Random) -> Pair:
    text = "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(4, 9))).capitalize()
    total, reverse = letter_places(text, 0), rng.random() < 0.3
    if reverse:
        return {"text": text, "reverse": True}, 27 * len(text) - total
    return {"text": text}, total


def _shift(rng: random.Random) -> Pair:
    day = dt.date(rng.randint(1700, 2020), rng.randint(1, 12), rng.randint(1, 28)).isoformat()
    amount, weeks = rng.randint(2, 90), rng.random() < 0.3
    unit = {"unit": "weeks"} if weeks else {}
    return {"date": day, "amount": amount, **unit}, shifted(day, amount * (7 if weeks else 1))


def _wide_base(rng: random.Random) -> Pair:
    number, base = rng.randint(10**14, 10**15), rng.randint(2, 9)
    return {"number": number, "base": base}, in_base(number, base)


def _wide_digits(rng: random.Random) -> Pair:
    number = rng.randint(10**14, 10**15)
    return {"number": number}, digit_sum(number, 0)


def _wide_places(rng: random.Random) -> Pair:
    text = "".join(rng.choices("abcdefghijklmnopqrstuvwxyz ", k=30)).strip().rjust(25, "q")
    return {"text": text}, letter_places(text, 0)


def _wide_shift(rng: random.Random) -> Pair:
    day, amount = f"{rng.randint(1700, 2020)}-03-01", rng.randint(400_000, 900_000)
    return {"date": day, "amount": amount}, shifted(day, amount)


_EDGES: Mapping[str, list[Pair]] = {
    "sum_digits": [
        ({"number": 0}, 0), ({"number": -305}, 8), ({"number": 9875, "until_single": True}, 2),
    ],
    "write_in_base": [
        ({"number": 0, "base": 3}, "0"), ({"number": -5, "base": 2}, "-101"),
        ({"number": 1295, "base": 36}, "ZZ"),
        ({"number": 255, "base": 16, "uppercase": False}, "ff"),
    ],
    "total_letter_places": [
        ({"text": "É b"}, 2), ({"text": "Ab", "reverse": True}, 51), ({"text": "Zoé"}, 41),
        ({"text": "B2 c-1"}, 5),
    ],
    "shift_date": [
        ({"date": "2023-12-31", "amount": 0}, "2023-12-31"),
        ({"date": "2024-03-01", "amount": -1}, "2024-02-29"),
        ({"date": "1999-01-31", "amount": 2, "unit": "weeks"}, "1999-02-14"),
        ({"date": "1999-01-31", "amount": 1, "unit": "months"}, "1999-02-28"),
        ({"date": "2024-02-29", "amount": 1, "unit": "years"}, "2025-02-28"),
    ],
}  # fmt: skip
_WIDE: Mapping[str, Callable[[random.Random], Pair]] = {
    "sum_digits": _wide_digits,
    "write_in_base": _wide_base,
    "total_letter_places": _wide_places,
    "shift_date": _wide_shift,
}
_DRAWN: Mapping[str, Callable[[random.Random], Pair]] = {
    "sum_digits": _digits,
    "write_in_base": _base,
    "total_letter_places": _places,
    "shift_date": _shift,
}
