"""Strategies for arrays and objects; the calling compiler makes their parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from toolhop_tools.model import canonical
from toolhop_tools.strategies.errors import UnsatisfiableSchema, UnsupportedSchema
from toolhop_tools.strategies.flat import Flat, Spot, governing, item
from toolhop_tools.strategies.scalars import whole_range
from toolhop_tools.strategies.schema import Schema

if TYPE_CHECKING:
    from toolhop_tools.strategies.compiler import Compiler

Strategy = st.SearchStrategy[Any]

SCALARS: Schema = {"type": ["null", "boolean", "integer", "number", "string"]}
"""Schema for nested values of any type, limited to scalars so that generation ends."""
MOST_ITEMS = 500
"""Maximum number of array elements, or object properties, that a schema may require."""
_USUAL_MORE = 6
_NAMES = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=8)


def arrays(maker: Compiler, flat: Flat, spot: Spot) -> Strategy:
    """Return a strategy for lists.

    Raises:
        UnsatisfiableSchema: no length can be filled.
        UnsupportedSchema: too many elements are required.
    """
    rules, unique = flat.rules, bool(flat.rules.get("uniqueItems"))
    low, most, reason = int(rules.get("minItems", 0)), rules.get("maxItems"), ""
    if low > MOST_ITEMS:
        raise UnsupportedSchema(spot.place, "minItems", f"at most {MOST_ITEMS} are made")
    prefix, rest = list[Strategy](), None
    try:
        for index in range(len(rules.get("prefixItems", ()))):
            below = spot.below("prefixItems", index, flat.budget)
            prefix.append(maker.make([item(rules, index)], below))
        items = rules.get("items", True)
        schema = SCALARS if items is True else items
        rest = maker.make([schema], spot.below("items", "", flat.budget))
    except UnsatisfiableSchema as fault:
        reason = f" ({fault.reason})"
    ends = [] if most is None else [int(most)]
    if rest is None:
        ends.append(len(prefix))
    elif unique and (size := _size(maker, rules.get("items", True))) is not None:
        ends.append(len(prefix) + size)
    high = min(ends, default=None)
    if high is not None and low > high:
        reason = f"a list of {low} or more elements has no more than {high} that fit{reason}"
        raise UnsatisfiableSchema(spot.place, reason)
    found = _lists(prefix, rest, low, high, unique)
    if not (unique and prefix):
        return found
    maker.uncertain = True
    return found.filter(maker.root.fits({"uniqueItems": True}))


def _lists(
    prefix: Sequence[Strategy], rest: Strategy | None, low: int, high: int | None, unique: bool
) -> Strategy:
    def tail(rest: Strategy, least: int) -> Strategy:
        room = least + _USUAL_MORE if high is None else min(high - len(prefix), least + _USUAL_MORE)
        by = canonical if unique else None
        return st.lists(rest, min_size=least, max_size=room, unique_by=by)

    if not prefix and rest is not None:
        return tail(rest, low)
    fewest, most = len(prefix), len(prefix) if high is None else min(len(prefix), high)
    parts: list[Strategy] = [st.tuples(*prefix[:n]).map(list) for n in range(low, most + 1)]
    if rest is not None and (high is None or high > fewest):
        whole = st.tuples(st.tuples(*prefix), tail(rest, max(0, low - fewest)))
        parts.append(whole.map(lambda two: [*two[0], *two[1]]))
    return st.one_of(parts)


def _size(maker: Compiler, schema: Schema) -> int | None:
    """Return the number of distinct elements, or None if it is not easy to determine."""
    inner = maker.flat([schema], maker.top)
    if "enum" in inner.rules:
        fits = maker.root.fits(inner.whole)
        return len({canonical(value) for value in inner.rules["enum"] if fits(value)})
    if inner.types <= {"null", "boolean"}:
        return ("null" in inner.types) + 2 * ("boolean" in inner.types)
    if inner.types == {"integer"} and "multipleOf" not in inner.rules:
        first, last = whole_range(inner.rules, Fraction(1))
        return None if first is None or last is None else max(0, last - first + 1)
    return None


def objects(maker: Compiler, flat: Flat, spot: Spot) -> Strategy:
    """Return a strategy for objects.

    Raises:
        UnsatisfiableSchema: a required property, or the required number of properties, is
            impossible.
        UnsupportedSchema: too many properties are required.
    """
    rules, required = flat.rules, list(flat.rules.get("required", ()))
    low, high = int(rules.get("minProperties", 0)), rules.get("maxProperties")
    most = None if high is None else int(high)
    if low > MOST_ITEMS:
        raise UnsupportedSchema(spot.place, "minProperties", f"at most {MOST_ITEMS} are made")
    if most is not None and max(len(required), low) > most:
        reason = f"{max(len(required), low)} properties are required, and {most} allowed"
        raise UnsatisfiableSchema(spot.place, reason)
    parts = _properties(maker, flat, spot, required)
    optional = [name for name in parts if name not in required]
    always = [*required, *optional[: max(0, low - len(required))]]
    lacking = max(0, low - len(always))
    room = 3 if most is None else min(3, most - len(always))
    more = _extras(maker, flat, spot, lacking, max(lacking, room))
    if more is None and lacking:
        reason = f"{low} properties are required, and only {len(parts)} can be"
        raise UnsatisfiableSchema(spot.place, reason)
    found = _joined(parts, always, more, most)
    if len(always) > len(required) and more is None:
        found |= _joined(parts, required, None, most).filter(lambda made: len(made) >= low)
    joint = _favouring(maker, flat, spot, parts) if not spot.levels else None
    return found if joint is None else found | _joined(joint, always, more, most)


def _properties(
    maker: Compiler, flat: Flat, spot: Spot, required: Sequence[str]
) -> dict[str, Strategy]:
    parts: dict[str, Strategy] = {}
    for name in dict.fromkeys([*flat.rules.get("properties", ()), *required]):
        try:
            below = spot.below("properties", name, flat.budget)
            parts[name] = maker.make([governing(flat.rules, name)], below)
        except UnsatisfiableSchema as fault:
            if name in required:
                reason = f"the required property {name!r} cannot be: {fault.reason}"
                raise UnsatisfiableSchema(fault.place, reason) from None
    return parts


def _favouring(
    maker: Compiler, flat: Flat, spot: Spot, parts: Mapping[str, Strategy]
) -> dict[str, Strategy] | None:
    """Return the parts with favoured values only, if any, so that these occur together."""
    found: dict[str, Strategy] = {}
    for name, part in parts.items():
        below = spot.below("properties", name, flat.budget)
        hints = maker.hints(maker.flat([governing(flat.rules, name)], below), below)
        found[name] = st.sampled_from(hints) if hints else part
    return found if any(found[name] is not parts[name] for name in parts) else None


def _joined(
    parts: Mapping[str, Strategy], always: Sequence[str], more: Strategy | None, most: int | None
) -> Strategy:
    fixed = {name: parts[name] for name in parts if name in always}
    optional = {name: part for name, part in parts.items() if name not in always}
    found: Strategy = st.fixed_dictionaries(fixed, optional=optional)
    if more is not None:
        found = st.tuples(found, more).map(lambda two: {**two[0], **two[1]})
    if most is None:
        return found

    def trimmed(made: dict[str, Any]) -> dict[str, Any]:
        names = sorted(made, key=lambda name: name not in fixed)[:most]
        return {name: made[name] for name in names}

    return found.map(trimmed)


def _extras(maker: Compiler, flat: Flat, spot: Spot, low: int, most: int) -> Strategy | None:
    """Return a strategy for undeclared properties; None if they are impossible or unnecessary."""
    rules = flat.rules
    free = not rules.get("properties") and spot.levels > 0
    if most < 1 or not (low or free or "additionalProperties" in rules):
        return None
    others = rules.get("additionalProperties", True)
    try:
        schema = SCALARS if others is True else others
        values = maker.make([schema], spot.below("additionalProperties", "", flat.budget))
    except UnsatisfiableSchema:
        return None
    known = frozenset(rules.get("properties", ())) | frozenset(rules.get("required", ()))
    words = [word for word in maker.words() if word not in known]
    names = (_NAMES | st.sampled_from(words) if words else _NAMES).filter(lambda n: n not in known)
    return st.dictionaries(names, values, min_size=low, max_size=most)
