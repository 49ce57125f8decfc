"""Worked examples and limits in a document's prose, run as calls."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date as day
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.limits import limits
from toolhop_tools.construct.trials import FAILED, Call, Trial
from toolhop_tools.construct.verify import called
from toolhop_tools.construct.worked import worked_examples
from toolhop_tools.model import ToolSchema

NUMBER = {"type": "integer", "description": "The number."}
WORD = {"type": "string", "description": "The text."}
SINGLE = {"type": "boolean", "description": "Until one digit is left.", "default": False}
LETTERS = {"type": "string", "enum": ["upper", "lower"], "default": "upper", "description": "Case."}


def document(name: str, about: str, options: dict[str, Any], /, **needed: Any) -> ToolSchema:  # noqa: ANN401 -- schemas of parameters
    parameters: dict[str, Any] = {"properties": {**needed, **options}, "required": [*needed]}
    return ToolSchema(name, about, parameters)


def digits(number: int, single: bool = False) -> JSON:
    total = sum(map(int, str(abs(number))))
    return digits(total, single=True) if single and total > 9 else total


def in_base(number: int, base: int, letters: str = "upper") -> JSON:
    if not 2 <= base <= 16:
        return FAILED
    rest, text = abs(number), ""
    while rest:
        rest, digit = divmod(rest, base)
        text = "0123456789ABCDEF"[digit] + text
    return text if letters == "upper" else text.lower()


def places(text: str) -> JSON:
    return sum(ord(one) - 96 for one in text.lower() if "a" <= one <= "z")


def shifted(date: str, amount: int, unit: str = "days") -> JSON:
    days = amount * (7 if unit == "weeks" else 1)
    return (day.fromisoformat(date) + timedelta(days=days)).isoformat()


def port_code(port: str) -> JSON:
    return {"Velm": "ve-2", "Kess": "ke-3"}.get(port, FAILED)


def sum_of(text: str) -> tuple[ToolSchema, Callable[..., JSON]]:
    return document("sum_digits", f"Adds digits. {text}", {"single": SINGLE}, number=NUMBER), digits


def base_of(text: str) -> tuple[ToolSchema, Callable[..., JSON]]:
    own = document("write", f"Writes. {text}", {"letters": LETTERS}, number=NUMBER, base=NUMBER)
    return own, in_base


def places_of(text: str) -> tuple[ToolSchema, Callable[..., JSON]]:
    return document("places", f"Adds the places. {text}", {}, text=WORD), places


def shift_of(text: str) -> tuple[ToolSchema, Callable[..., JSON]]:
    unit = {"type": "string", "enum": ["days", "weeks"], "default": "days", "description": "Unit."}
    own = document("shift", f"Shifts. {text}", {"unit": unit}, date=WORD, amount=NUMBER)
    return own, shifted


def port_of(text: str) -> tuple[ToolSchema, Callable[..., JSON]]:
    return document("find_code", f"Looks up a code. {text}", {}, port=WORD), port_code


Made = Callable[[str], tuple[ToolSchema, Callable[..., JSON]]]


def against(found: list[Trial], tool: Callable[..., JSON]) -> list[str]:
    return [said for one in found if (said := one.wrong([tool(**call) for call in one.calls]))]


@pytest.mark.parametrize(
    ("of", "right", "wrong"),
    [
        (sum_of, "For example, 2750 gives 14.", "For example, 2750 gives 15."),
        (sum_of, "2,750 gives 14.", "2,750 gives 15."),
        (sum_of, "Adds up (e.g. 2750 -> 14).", "Adds up (e.g. 2750 -> 15)."),
        (sum_of, "For instance, f(2750) = 14.", "For instance, f(2750) = 15."),
        (sum_of, "So sum_digits(number=2750) is 14.", "So sum_digits(number=2750) is 15."),
        (sum_of, "For example, 10 gives 1 and 20 gives 2.", "For example, 10 gives 1 and 20 is 3."),
        (sum_of, "For example, 2750 with single gives 5.", "For example, 2750 gives 5."),
        (base_of, "For example, 100 in base 7 is written 202.", "So 100 in base 7 is written 204."),
        (base_of, "For example, 7 is 111 in base 2.", "For example, 7 is 110 in base 2."),
        (base_of, "So 255 in base 16 is 'ff' in lower letters.", "So 255 in base 16 is 'fe'."),
        (places_of, "For example, Velmora gives 86.", "For example, Velmora gives 91."),
        (places_of, "A sum, such as 6 for abc.", "A sum, such as 12 for abc."),
        (shift_of, "30 days after 2021-02-14 it is 2021-03-16.",
         "30 days after 2021-02-14 it is 2021-03-15."),
        (shift_of, "For example, 2 weeks before 2021-02-15 it is 2021-02-01.",
         "For example, 2 weeks before 2021-02-15 it is 2021-02-02."),
        (port_of, "For example, Velm gives ve-2.", "For example, Velm gives ve-3."),
        (port_of, "A short code, such as ke-3 for Kess.", "A short code, such as ke-3 for Velm."),
    ],
)  # fmt: skip
def test_an_example_in_prose_has_to_be_so(of: Made, right: str, wrong: str) -> None:
    own, tool = of(right)
    assert against([*worked_examples(own)], tool) == []
    own, tool = of(wrong)
    assert len(against([*worked_examples(own)], tool)) == 1


@pytest.mark.parametrize(
    ("of", "text"),
    [
        (sum_of, "Numbers below 10 give 0."),
        (sum_of, "For example, numbers of 3 digits give at most 27."),
        (sum_of, "For example, 2750 gives about 20."),
        (sum_of, "Search returns 10 records."),
        (sum_of, "1 is 7 of something."),
        (sum_of, "For example, 12:30 gives 750."),
        (port_of, "For example, Port Orun gives 14."),
        (shift_of, "1 week is 7 days."),
        (base_of, "Base 2 gives 10 signs."),
        (base_of, "For example, 255 gives 11 where the base is left open."),
        (shift_of, "For example, 2021-02-15 gives 2021-02-01."),
        (places_of, "Some texts, such as 3 for vowels."),
        (port_of, "For example, the name of a port gives its code."),
        (port_of, "The result is a code, such as 2 for closed."),
        (port_of, "Velm is a port and Kess is in Orun."),
    ],
)
def test_an_example_that_cannot_be_told_says_nothing(of: Made, text: str) -> None:
    own, tool = of(text)
    assert against([*worked_examples(own)], tool) == []


def strict(low: int, high: int) -> Callable[..., JSON]:
    return lambda number, **_: digits(number) if low <= number <= high else FAILED


def short(most: int) -> Callable[..., JSON]:
    return lambda text: places(text) if len(text) <= most else FAILED


def late(year: int) -> Callable[..., JSON]:
    return lambda date, amount: shifted(date, amount) if int(date[:4]) >= year else FAILED


@pytest.mark.parametrize(
    ("of", "call", "text", "tool", "found"),
    [
        (sum_of, {"number": 7}, "Only numbers from 1 to 99 are taken.", strict(1, 99), 0),
        (sum_of, {"number": 7}, "Only numbers from 1 to 99 are taken.", digits, 2),
        (sum_of, {"number": 7}, "Numbers from 1 to 99; others are refused.", strict(1, 50), 1),
        (sum_of, {"number": 7}, "Numbers above 99 give an error.", strict(1, 99), 0),
        (sum_of, {"number": 7}, "Numbers above 99 give an error.", strict(1, 999), 1),
        (sum_of, {"number": 7}, "Numbers from 1 to 99 are common.", digits, 0),
        (sum_of, {"number": 7}, "Only names from 1 to 80 letters are taken.", digits, 0),
        (places_of, {"text": "Velm"}, "An error lists at most 20 signs of a text.", places, 0),
        (shift_of, {"date": "2020-01-01", "amount": 2}, "Only years from 1 to 9 are taken.",
         shifted, 0),
        (sum_of, {"number": 7}, "Only 1 to 9; others are clamped.", digits, 0),
        (sum_of, {"number": 7}, "Only numbers from 1 to 9 are taken; others are cut.", digits, 0),
        (sum_of, {"number": 7}, "With single only numbers from 1 to 9 are taken.", digits, 0),
        (base_of, {"number": 7, "base": 2}, "Only values from 1 to 9 are taken.", in_base, 0),
        (base_of, {"number": 7, "base": 2}, "Only numbers from 1 to 9 are taken.", in_base, 2),
        (places_of, {"text": "Velm"}, "Texts of more than 20 signs are refused.", short(20), 0),
        (places_of, {"text": "Velm"}, "Texts of more than 20 signs are refused.", short(30), 1),
        (places_of, {"text": "Velm"}, "Only texts of at most 20 signs are accepted.", places, 1),
        (places_of, {"text": "Velm"}, "Texts of up to 20 letters are usual.", places, 0),
        (shift_of, {"date": "2020-01-01", "amount": 2},
         "Only dates from the year 1000 on are taken; earlier ones are refused.", late(1000), 0),
        (shift_of, {"date": "2020-01-01", "amount": 2},
         "Only dates from the year 1000 on are taken; earlier ones are refused.", shifted, 1),
        (shift_of, {"date": "2020-01-01", "amount": 2},
         "Dates before 1800 are refused.", late(1700), 1),
    ],
)  # fmt: skip
def test_a_limit_in_prose_is_kept(
    of: Made, call: Call, text: str, tool: Callable[..., JSON], found: int
) -> None:
    own, _ = of(text)
    told = limits(own, [call], partial(called, own.name), computes=True)
    assert len(against([*told], tool)) == found
