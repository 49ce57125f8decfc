"""What the values of a table's columns have to be by themselves. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from toolhop_sandbox.outcome import JSON
from toolhop_tools.dates import whole_date
from toolhop_tools.words import as_text, number_of, parts_of

Record: TypeAlias = Mapping[str, str | int | float | bool]


def implausible(records: Sequence[Record]) -> Iterator[str]:
    """A value that is none of what its field's name says."""
    for field in {name: None for record in records for name in record}:
        last = parts_of(field)[-1:]
        for record in records if last and last[0] in _PLAIN else ():
            if field in record and not _PLAIN[last[0]](as_text(record[field])):
                yield f"The field {field} has {record[field]!r}, which is no {last[0]}."
                break


def _year(text: str) -> bool:
    number = number_of(text)
    return number is None or (number == int(number) and -LAST_YEAR < number < LAST_YEAR)


def _count(text: str) -> bool:
    number = number_of(text)
    return number is not None and number == int(number) and number >= 0


def _date(text: str) -> bool:
    return _DAY.match(text) is None or whole_date(text) is not None


_DAY = re.compile(r"\d{1,4}[-/.]\d\d?[-/.]\d{1,4}\Z")
LAST_YEAR = 3000
_PLAIN: Mapping[str, Callable[[str], bool]] = {"year": _year, "count": _count, "date": _date}
"""By the last word of a field's name: whether a value can be one."""


def mixed(records: Sequence[Record]) -> Iterator[str]:
    """A column with values of two forms: numbers and texts, dates written in two ways."""
    for field in {name: None for record in records for name in record}:
        values = [record[field] for record in records if field in record]
        seen = {_form(one): one for one in values}
        if len(seen) > 1 and (len({type(one) for one in values}) > 1 or "0-0-0" in seen):
            shown = ", ".join(repr(one) for one in [*seen.values()][:2])
            yield f"The field {field} has values of two forms, {shown}: write all in one."


def _form(value: JSON) -> str:
    """What a value is, and how its digits are grouped; other texts are one form."""
    if isinstance(value, bool | int | float):
        return "switch" if isinstance(value, bool) else "number"
    plain = re.sub(r"\d+", "0", as_text(value))
    return plain if whole_date(as_text(value)) else "text"
