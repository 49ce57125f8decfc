"""What somebody reads in a question: pairs, rows, places, units, marks, fields, limits."""

from __future__ import annotations

from typing import Any

import pytest

from tests.toolhop_tools.certifying import NUMBER, TEXT, made, proof
from toolhop_tools.certify.model import HopVerdict

REAL: dict[str, Any] = {"type": "number"}
REALS: dict[str, Any] = {"type": "array", "items": REAL}


def _choice(*values: str, default: str = "") -> dict[str, Any]:
    known: dict[str, Any] = {"type": "string", "enum": list(values)}
    return {**known, "default": default} if default else known


def _switch() -> dict[str, Any]:
    return {"type": "boolean", "default": False}


DAYS = """
import datetime
def f(start_date, end_date, include_end=False):
    read = datetime.date.fromisoformat
    return (read(end_date) - read(start_date)).days + include_end
"""
DAYS_OF = {"start_date": TEXT, "end_date": TEXT, "include_end": _switch()}
SHARE = "def f(old_price, new_price):\n    return (new_price - old_price) / old_price * 100\n"
SHARE_OF = {"old_price": REAL, "new_price": REAL}
POWER = "def f(base, exponent):\n    return base ** exponent\n"
LESS = "def f(minuend, subtrahend):\n    return minuend - subtrahend\n"
STATISTIC = """
import statistics
def f(values, stat='mean'):
    return getattr(statistics, stat)(values)
"""
STATISTIC_OF = {"values": REALS, "stat": _choice("mean", "median", default="mean")}
SUM = "def f(values):\n    return sum(values)\n"
ABOVE = "def f(numbers, least):\n    return sum(one > least for one in numbers)\n"
SORTED = "def f(numbers, reverse=False):\n    return sorted(numbers, reverse=reverse)\n"
SORTED_OF = {"numbers": REALS, "reverse": _switch()}
PLANET = "def f(index):\n    return ['Venus', 'Earth', 'Mars', 'Jupiter', 'Saturn'][index]\n"
PLANET_OF = {"index": {**NUMBER, "description": "Zero-based position."}}
ROAD = """
def f(town, unit='km'):
    km = {'Bergen': 305, 'Bodo': 810, 'Narvik': 1000}.get(town)
    return km and (km if unit == 'km' else round(km / 1.609, 1))
"""
ROAD_OF = {"town": TEXT, "unit": _choice("km", "mi", default="km")}
HEAT = """
def f(value, from_unit, to_unit):
    celsius = value if from_unit == 'C' else (value - 32) / 1.8
    return round(celsius if to_unit == 'C' else celsius * 1.8 + 32, 1)
"""
HEAT_OF = {"value": REAL, "from_unit": _choice("C", "F"), "to_unit": _choice("C", "F")}
JOIN = "def f(words, separator=' '):\n    return separator.join(words)\n"
JOIN_OF = {"words": {"type": "array", "items": TEXT}, "separator": {**TEXT, "default": " "}}
LIFE = """
LIVES = {'Amy Beach': (1867, 1944), 'Clara Wieck': (1819, 1896), 'Lili Boulanger': (1893, 1918)}
def f(name):
    born, died = LIVES[name]
    return {'born': born, 'died': died, 'age_at_death': died - born}
"""
FINAL = """
def f(year):
    first, second = {2006: ('Federer', 'Nadal'), 2008: ('Nadal', 'Federer')}[year]
    return {'champion_name': first, 'opponent_name': second}
"""
SHIFT = """
def f(text, shift):
    return ''.join(chr((ord(one) - 97 + shift) % 26 + 97) for one in text)
"""
SHIFT_OF = {"text": TEXT, "shift": NUMBER}
CUT = "def f(text, start, end):\n    return text[start:end]\n"
CUT_OF = {"text": TEXT, "start": {**NUMBER, "description": "First index."}, "end": NUMBER}
MOVED = """
import datetime
def f(date, days):
    return (datetime.date.fromisoformat(date) + datetime.timedelta(days)).isoformat()
"""
MOVED_OF = {"date": TEXT, "days": {**NUMBER, "description": "Negative for an earlier date."}}
BOOKS = """
YEARS = {'Scott': (1814, 1817, 1819), 'Austen': (1811, 1813), 'Burney': (1778, 1814)}
def f(author, published_after=0, published_before=9999):
    return sum(published_after < one < published_before for one in YEARS[author])
"""
BOOKS_OF = {"author": TEXT, "published_after": NUMBER, "published_before": NUMBER}
TALLER = """
METRES = {'K2': 8611, 'Everest': 8849, 'Lhotse': 8516}
def f(a, b):
    first, second = sorted((a, b), key=METRES.get, reverse=True)
    return {'taller': first, 'shorter': second}
"""
CELSIUS = "Convert 100 degrees Fahrenheit to Celsius."
ROWS = "How many of the numbers 4, 12, 19 and 7 are greater than 10?"
JOINED = "Join the words 'salt' and 'pepper' with a hyphen between them."
MARCH = "How many days passed from 3 March 2020 to 10 March 2020?"
INCLUDED = "How many days are there from 3 March 2020 to 10 March 2020, the end included?"
HOW_OLD = "How old was Clara Wieck when she died?"
TAKEN = "Which letters stand at index 2 up to index 5 of 'lantern'?"
MEDIAN = "What is the median of 3, 8, 20, 4 and 40?"

RIGHT_AND_WRONG: list[tuple[str, dict[str, Any], list[str], str, str, str]] = [
    (DAYS, DAYS_OF, ["start_date", "end_date"], MARCH, "7", "-7"),
    (DAYS, DAYS_OF, ["start_date", "end_date"], INCLUDED, "8", "7"),
    (SHARE, SHARE_OF, [*SHARE_OF], "How did the price change from 40 to 50?", "25", "-20"),
    (POWER, {"base": NUMBER, "exponent": NUMBER}, ["base", "exponent"],
     "What is 2 raised to the power of 10?", "1024", "100"),
    (LESS, {"minuend": NUMBER, "subtrahend": NUMBER}, ["minuend", "subtrahend"],
     "Subtract 17 from 50.", "33", "-33"),
    (STATISTIC, STATISTIC_OF, ["values"], MEDIAN, "8", "15"),
    (SUM, {"values": REALS}, ["values"], "What is the sum of 12, 30 and 8?", "50", "38"),
    (ABOVE, {"numbers": REALS, "least": REAL}, ["numbers", "least"], ROWS, "2", "1"),
    (SORTED, SORTED_OF, ["numbers"], "Sort 5, 2 and 9 in descending order.", "[9, 5, 2]",
     "[2, 5, 9]"),
    (PLANET, PLANET_OF, ["index"], "What is the third planet of the list?", "Mars", "Jupiter"),
    (ROAD, ROAD_OF, ["town"], "How many miles is it to Bergen?", "189.6", "305"),
    (HEAT, HEAT_OF, [*HEAT_OF], CELSIUS, "37.8", "212"),
    (JOIN, JOIN_OF, ["words"], JOINED, "salt-pepper", "salt pepper"),
    (LIFE, {"name": TEXT}, ["name"], HOW_OLD, "77", "1896"),
    (SHIFT, SHIFT_OF, [*SHIFT_OF], "Shift each letter of 'dolphin' back by 3 places.",
     "alimefk", "grosklq"),
    (CUT, CUT_OF, [*CUT_OF], TAKEN, "nte", "ante"),
    (MOVED, MOVED_OF, [*MOVED_OF], "What date is 45 days before 10 January 2021?", "2020-11-26",
     "2021-02-24"),
    (BOOKS, BOOKS_OF, ["author"], "How many books did Scott publish after 1815?", "2", "1"),
    (TALLER, {"a": TEXT, "b": TEXT}, ["a", "b"], "Which is taller, K2 or Lhotse?", "K2", "Lhotse"),
]  # fmt: skip


UNREAD = {CELSIUS, ROWS, HOW_OLD, MARCH, INCLUDED} | {
    "How did the price change from 40 to 50?",
    "What is 2 raised to the power of 10?",
    "Subtract 17 from 50.",
    "What date is 45 days before 10 January 2021?",
}
"""What only a reader tells: words that turn an order or a sign, or stand for a choice."""
TAKEN_BY_DEFAULT = {
    "Sort 5, 2 and 9 in descending order.",
    "How many miles is it to Bergen?",
    "Shift each letter of 'dolphin' back by 3 places.",
    HOW_OLD,
}
"""Known to be fixed wrongly: a word that nothing in the document has speaks against the default."""


@pytest.mark.parametrize(
    ("source", "schema", "required", "question", "right", "wrong"), RIGHT_AND_WRONG
)
def test_a_right_answer_alone_is_proven(
    source: str, schema: dict[str, Any], required: list[str], question: str, right: str, wrong: str
) -> None:
    def verdict(gold: str) -> HopVerdict:
        return proof(made(source, question, gold, schema, required=required)).verdict

    is_unread = question in UNREAD | TAKEN_BY_DEFAULT
    assert (verdict(right) is HopVerdict.PROVEN) == (not is_unread)
    assert (verdict(wrong) is HopVerdict.PROVEN) == (question in TAKEN_BY_DEFAULT)


def test_two_fields_that_the_question_does_not_tell_apart_are_ambiguous() -> None:
    hop = made(FINAL, "Who celebrated at Wimbledon in 2008?", "Nadal", {"year": NUMBER})
    found = proof(hop)
    assert found.verdict is HopVerdict.AMBIGUOUS
    assert "Federer" in found.why
