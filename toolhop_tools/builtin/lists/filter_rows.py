"""Rows of a table that meet a condition."""

import operator
from collections.abc import Callable

COMPARE: dict[object, Callable[[float, float], bool]] = {
    "less": operator.lt,
    "at most": operator.le,
    "more": operator.gt,
    "at least": operator.ge,
}


def filter_rows(
    rows: list[dict[str, object]], condition: dict[str, str | float | bool]
) -> list[dict[str, object]] | dict[str, str]:
    """Return the rows whose field stands in the wanted relation to a value, in their order.

    Rows without the field never match. Text is compared for equality without regard to case.
    """
    field, relation, value = str(condition["field"]), condition["relation"], condition["value"]
    if relation in COMPARE and number_of(value) is None:
        return {"error": f"condition: the relation {relation!r} needs a number, not {value!r}"}
    if not any(field in row for row in rows):
        return {"error": f"condition: no row has a field {field!r}; use a field of the rows"}
    return [row for row in rows if field in row and matches(row[field], relation, value)]


def matches(found: object, relation: object, value: object) -> bool:
    """Whether a field's value stands in the relation to the wanted one."""
    if relation in COMPARE:
        left, right = number_of(found), number_of(value)
        return left is not None and right is not None and COMPARE[relation](left, right)
    return same(found, value) == (relation == "equal")


def number_of(value: object) -> float | None:
    """The number that a JSON value is; true and false are none."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def same(found: object, value: object) -> bool:
    """Equality of JSON values: 1 is not true, and case does not count."""
    if isinstance(found, str) and isinstance(value, str):
        return found.strip().casefold() == value.strip().casefold()
    return isinstance(found, bool) == isinstance(value, bool) and found == value
