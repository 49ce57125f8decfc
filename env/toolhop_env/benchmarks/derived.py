"""Whether a value can be derived in one's head from what was said: by arithmetic, by converting
units, as part of a text, or as a date assembled from it.

That a value can be derived does not show that it was: such values are unknown, never clean.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from toolhop_env.benchmarks.known import plain_words
from toolhop_env.benchmarks.said_numbers import numbers
from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number
from toolhop_tools.dates import MONTHS, dates_in, whole_date
from toolhop_tools.words import as_text, scalars
from toolhop_tools.worlds.units import UNITS

COUNTED = 12
"""Whole numbers up to this one may result from counting something."""
MOST_NUMBERS = 60
"""Maximum count of numbers in a text or record that are combined in pairs."""
MOST_WORDS = 2000
LEAST_PART = 4
"""Minimum length of a part of a word, in letters; shorter parts occur in too many words."""
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
FACTORS = frozenset(
    {float(one.size / other.size) for one in UNITS.values() for other in UNITS.values()
     if one is not other and one.measures == other.measures}
    | {float(f) for n in (2, 7, 12, 24, 52, 60, 100, 365, 1000, 3600, 86400, 10**6, 2.54) for f in
       (n, 1 / n)}
)  # fmt: skip
"""Factors that convert units, double or halve."""
BASES = (2, 8, 16)
ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}


@dataclass(frozen=True)
class Told:
    """Facts from one source."""

    text: str
    value: JSON = None
    """The result as returned; None for a text."""

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The first `MOST_WORDS` words of the text."""
        return plain_words(self.text)[:MOST_WORDS]

    @cached_property
    def numbers(self) -> frozenset[float]:
        """All numbers of the text in any notation, without signs."""
        return frozenset(float(one) for one in numbers(self.text))

    @cached_property
    def records(self) -> list[list[float]]:
        """Numbers that belong together: those of each object, list, column, and of the text."""
        found = [*_records(self.value)]
        if len(self.numbers) <= MOST_NUMBERS:
            found.append([*self.numbers])
        return [one[:MOST_NUMBERS] for one in found if one]

    @cached_property
    def dates(self) -> frozenset[dt.date]:
        """The complete dates in the text."""
        return frozenset(date for _, date in dates_in(self.text))

    @cached_property
    def month_days(self) -> frozenset[tuple[int, int]]:
        """Pairs of month and day: from dates, from month names next to a number, and from
        records that have a number for each.
        """
        found = {(date.month, date.day) for date in self.dates}
        for before, word, after in zip(
            ("", *self.words), self.words, (*self.words[1:], ""), strict=False
        ):
            if month := _month(word):
                found |= {(month, int(n)) for n in (_figures(before), _figures(after)) if n}
        for record in self.records:
            days = [int(one) for one in record if one.is_integer() and 1 <= one <= 31]
            if len(record) <= 6:
                found |= {(a, b) for a, b in itertools.permutations(days, 2) if a <= 12}
        return frozenset(found)


def may_follow(text: str, told: Sequence[Told]) -> bool:
    """Whether a value, as text, can be derived from some of the sources."""
    day = whole_date(text)
    if day is not None:
        return _date_follows(day, told)
    number = plain_number(text)
    if number is not None:
        return _number_follows(number, told)
    return _text_follows(text, told)


# -- dates -------------------------------------------------------------------------------------


def _date_follows(day: dt.date, told: Sequence[Told]) -> bool:
    """Whether a date can be derived.

    It can if its year and its month and day are mentioned; if it is a mentioned span from a
    mentioned date; or if it is the first or last day of a mentioned year or month.
    """
    numbers = _all_numbers(told)
    dates = {date for one in told for date in one.dates}
    years = {*numbers, *(float(date.year) for date in dates)}
    if day.year in years:
        if any((day.month, day.day) in one.month_days for one in told):
            return True
        if (day.month, day.day) in ((1, 1), (12, 31)):
            return True
    bounds = day.day == 1 or (day + dt.timedelta(days=1)).day == 1
    if bounds and any((date.year, date.month) == (day.year, day.month) for date in dates):
        return True
    for date in dates:
        days, months = abs((day - date).days), _months(day) - _months(date)
        if days <= 1 or days in numbers or days / 7 in numbers:
            return True
        if day.day == date.day and (abs(months) in numbers or abs(months) / 12 in numbers):
            return True
    return False


def _months(day: dt.date) -> int:
    return day.year * 12 + day.month


# -- numbers -----------------------------------------------------------------------------------


def _number_follows(number: Decimal, told: Sequence[Told]) -> bool:
    value = abs(float(number))
    whole = value.is_integer()
    if whole and value <= COUNTED:
        return True
    exponent = number.as_tuple().exponent
    near = _Near(value, max(0, -exponent) if isinstance(exponent, int) else 0)
    if whole and any(len(word) == value or value in _in_bases(word) for word in _all_words(told)):
        return True
    if whole and _in_bases(f"{value:.0f}") & _all_numbers(told):
        return True
    pairs = (one for pool in _pools(told) for one in _combined(pool))
    return any(map(near, itertools.chain(_one_step(told), _of_dates(told), pairs)))


@dataclass(frozen=True, slots=True)
class _Near:
    """Tests whether a number equals a value up to rounding."""

    value: float
    places: int

    def __call__(self, other: float) -> bool:
        if not other or abs(other) > 1e15:
            return False
        same = abs(other - self.value) <= 1e-9 * max(1.0, self.value)
        # A number of fewer than three figures may be almost any number, rounded.
        rounds = self.value >= 100 or self.places > 0
        return same or (rounds and abs(round(other, self.places) - self.value) < 1e-9)


def _one_step(told: Sequence[Told]) -> Iterator[float]:
    """Yield what can be derived from one number or record.

    From a number: its neighbours, square, root, and conversions to other units. From a record: its
    sum, mean and length.
    """
    for number in _all_numbers(told):
        yield from (number + 1, abs(number - 1), number**2 if number < 1e6 else 0, number**0.5)
        yield from (number * factor for factor in FACTORS)
        yield from (number * 9 / 5 + 32, (number - 32) * 5 / 9)
        digits = f"{number:.0f}"
        yield float(sum(map(int, digits)))
        yield float(digits[::-1])
    for record in (record for one in told for record in one.records):
        yield from (sum(record), sum(record) / len(record), float(len(record)))


def _of_dates(told: Sequence[Told]) -> Iterator[float]:
    dates = sorted({date for one in told for date in one.dates})
    for date in dates:
        yield from (date.year, date.month, date.day, date.timetuple().tm_yday, date.year // 10 * 10)
        yield from (float(date.year // 100 + n) for n in (0, 1))
    for before, after in itertools.combinations(dates[:MOST_NUMBERS], 2):
        days = (after - before).days
        early = (after.month, after.day) < (before.month, before.day)
        yield from (days, days + 1, days // 7, after.year - before.year - early)
        yield float(_months(after) - _months(before))


def _pools(told: Sequence[Told]) -> Iterator[list[float]]:
    """Yield groups of numbers to combine in pairs: each record plus the short sources.

    Numbers of a long table are not all combined, as any number may come from two of them.
    """
    short = [number for one in told for number in one.numbers if len(one.numbers) <= COUNTED]
    short = short[:MOST_NUMBERS]
    yield short
    for one in told:
        yield from ([*record, *short][:MOST_NUMBERS] for record in one.records)


def _combined(pool: Sequence[float]) -> Iterator[float]:
    for one, other in itertools.permutations(set(pool), 2):
        yield from (one + other, one - other, one * other)
        if other:
            yield from (one / other, one // other, one % other, 100 * one / other)


def _in_bases(word: str) -> set[float]:
    """Return the numbers that a word denotes in other bases or in Roman numerals."""
    found = set[float]()
    if word and set(word) <= ROMAN.keys():
        figures = [ROMAN[letter] for letter in word]
        pairs = itertools.zip_longest(figures, figures[1:], fillvalue=0)
        found.add(float(sum(-one if one < after else one for one, after in pairs)))
    for base in BASES:
        try:
            found.add(float(int(word, base)))
        except (ValueError, OverflowError):
            continue
    return found


# -- texts -------------------------------------------------------------------------------------


def _text_follows(text: str, told: Sequence[Told]) -> bool:
    own = plain_words(text)
    every = _all_words(told)
    if len(own) > 1 and all(word in every for word in own):
        return True  # put together from several places
    letters = "".join(own)
    if not letters:
        return False
    if len(letters) >= LEAST_PART and any(_made_of(letters, word) for word in every):
        return True
    if any(_initials(letters, one.words) for one in told):
        return True
    if any(_dated(letters, date) for one in told for date in one.dates):
        return True
    return bool((_in_bases(letters) - {0.0}) & _all_numbers(told))


def _made_of(letters: str, word: str) -> bool:
    """Whether letters are a part of a word, the word with letters omitted, or an anagram of it."""
    if letters in word or sorted(letters) == sorted(word):
        return True
    rest = iter(word)
    return len(letters) * 2 >= len(word) and all(letter in rest for letter in letters)


def _initials(letters: str, said: Sequence[str]) -> bool:
    size = len(letters)
    firsts = "".join(word[0] for word in said)
    return size > 1 and letters in firsts


def _dated(letters: str, date: dt.date) -> bool:
    month = MONTHS[date.month - 1]
    return letters in (month, month[:3], WEEKDAYS[date.weekday()], WEEKDAYS[date.weekday()][:3])


# -- what is said ------------------------------------------------------------------------------


def _all_numbers(told: Iterable[Told]) -> frozenset[float]:
    return frozenset(number for one in told for number in one.numbers)


def _all_words(told: Iterable[Told]) -> frozenset[str]:
    return frozenset(word for one in told for word in one.words)


def _records(value: JSON) -> Iterator[list[float]]:
    """Yield numbers that belong together: those of each object, list and column of rows."""
    if not isinstance(value, dict | list):
        return
    inner = list(value.values()) if isinstance(value, dict) else value
    plain = [one for one in inner if not isinstance(one, dict | list | bool) and one is not None]
    yield [float(number) for one in plain for number in numbers(as_text(one))]
    columns: dict[str, list[float]] = {}
    for part in inner:
        yield from _records(part)
        for path, leaf in scalars(part) if isinstance(part, dict | list) else ():
            if isinstance(leaf, int | float) and not isinstance(leaf, bool):
                columns.setdefault(str(path), []).append(float(leaf))
    yield from columns.values()


def _month(word: str) -> int:
    return next((n for n, name in enumerate(MONTHS, 1) if word in (name, name[:3])), 0)


def _figures(word: str) -> int:
    digits = word.rstrip("stndrh")
    return int(digits) if digits.isdigit() and 1 <= int(digits) <= 31 else 0
