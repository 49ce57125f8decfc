"""Arrays and objects whose parts are strategies of their own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from hypothesis import strategies as st

from toolhop_tools.strategies import patterns
from toolhop_tools.strategies.document import Schema, identity
from toolhop_tools.strategies.errors import UnsatisfiableSchema, UnsupportedSchema
from toolhop_tools.strategies.flat import Flat
from toolhop_tools.strategies.merge import both, governing, item, matches
from toolhop_tools.strategies.scalars import whole_range
from toolhop_tools.strategies.spot import Maker, Spot

Strategy = st.SearchStrategy[Any]

SCALARS: Schema = {"type": ["null", "boolean", "integer", "number", "string"]}
"""What stands for anything inside of anything, so that it ends."""
MOST_ITEMS = 10_000
"""Elements of an array, or names of an object, that a schema may ask for."""
_USUAL_MORE = 6
_REPEAT_FROM = 40
_NAMES = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=8)


def arrays(maker: Maker, flat: Flat, spot: Spot) -> Strategy:
    """Lists.

    Raises:
        UnsatisfiableSchema: no length can be filled.
        UnsupportedSchema: too many elements are asked for.
    """
    rules = flat.rules
    low, high = int(rules.get("minItems", 0)), rules.get("maxItems")
    prefix: list[Strategy] = []
    rest: Strategy | None = None
    reason = ""
    try:
        for index in range(len(rules.get("prefixItems", ()))):
            below = spot.below("prefixItems", index, flat.budget)
            prefix.append(maker.make([item(rules, index)], below))
        rest = _items(maker, flat, spot)
    except UnsatisfiableSchema as fault:
        reason = fault.reason
    most = None if high is None else int(high)
    if rest is None:
        most = len(prefix) if most is None else min(most, len(prefix))
    elif rules.get("uniqueItems") and (size := _size(maker, rules, flat)) is not None:
        most = min(len(prefix) + size, most if most is not None else len(prefix) + size)
    if most is not None and low > most:
        why = f" ({reason})" if reason else ""
        reason = f"a list of {low} or more elements has no more than {most} that fit{why}"
        raise UnsatisfiableSchema(spot.place, reason)
    if low > MOST_ITEMS:
        raise UnsupportedSchema(spot.place, "minItems", f"at most {MOST_ITEMS} are made")
    unique = bool(rules.get("uniqueItems"))
    if "contains" in rules:
        return _containing(maker, flat, spot, prefix, rest, (low, most))
    return _lists(maker, prefix, rest, (low, most), unique)


def _items(maker: Maker, flat: Flat, spot: Spot) -> Strategy:
    schema = flat.rules.get("items", True)
    if any(isinstance(c, Mapping) and "unevaluatedItems" in c for c in flat.checks):
        schema = flat.rules.get("items", False)
    schema = SCALARS if schema is True else schema
    return maker.make([schema], spot.below("items", "", flat.budget))


def _lists(
    maker: Maker,
    prefix: Sequence[Strategy],
    rest: Strategy | None,
    size: tuple[int, int | None],
    unique: bool,
) -> Strategy:
    low, most = size
    if not prefix and rest is not None:
        return _free(rest, low, most, unique)
    shorter = range(low, min(len(prefix), len(prefix) if most is None else most) + 1)
    parts: list[Strategy] = [st.tuples(*prefix[:n]).map(list) for n in shorter]
    if rest is not None and (most is None or most > len(prefix)):
        left = max(0, low - len(prefix)), None if most is None else most - len(prefix)
        tail = _free(rest, *left, unique)
        whole = st.tuples(st.tuples(*prefix), tail).map(lambda two: [*two[0], *two[1]])
        parts.append(whole)
    if unique:
        maker.uncertain = True
        return st.one_of(parts).filter(all_differ)
    return st.one_of(parts)


def _free(rest: Strategy, low: int, most: int | None, unique: bool) -> Strategy:
    usual = low + _USUAL_MORE
    size = usual if most is None else min(most, usual)
    if unique:
        return st.lists(rest, min_size=low, max_size=size, unique_by=identity)
    if low <= _REPEAT_FROM:
        return st.lists(rest, min_size=low, max_size=size)
    few = st.lists(rest, min_size=1, max_size=5)
    return st.builds(
        lambda part, n: list(itertools.islice(itertools.cycle(part), n)),
        few,
        st.integers(low, size),
    )


def _containing(
    maker: Maker,
    flat: Flat,
    spot: Spot,
    prefix: Sequence[Strategy],
    rest: Strategy | None,
    size: tuple[int, int | None],
) -> Strategy:
    """Lists with elements that fit `contains`; the number is left to the validator."""
    rules, (low, most) = flat.rules, size
    wanted, limit = int(rules.get("minContains", 1)), rules.get("maxContains")
    unique = bool(rules.get("uniqueItems"))
    if wanted > MOST_ITEMS:
        raise UnsupportedSchema(spot.place, "minContains", f"at most {MOST_ITEMS} are made")
    if (most is not None and wanted > most) or (limit is not None and wanted > limit):
        reason = f"`contains` is to fit {wanted} elements, and fewer are allowed"
        raise UnsatisfiableSchema(spot.place, reason)
    maker.uncertain = True
    plain = _lists(maker, prefix, rest, size, unique)
    parts: list[Strategy] = []
    if wanted and rest is not None and (most is None or most - len(prefix) >= wanted):
        element = both(rules.get("items", True), rules["contains"])
        try:
            inner = maker.make([element], spot.below("contains", "", flat.budget))
        except UnsatisfiableSchema:
            if not prefix:
                raise
        else:
            left = max(0, low - wanted), None if most is None else most - wanted
            meant = _free(inner, wanted, None if limit is None else int(limit), unique)
            others = _lists(maker, prefix, rest, left, unique)
            pairs = st.tuples(others, meant).map(lambda two: [*two[0], *two[1]])
            if most is not None:
                pairs = pairs.filter(lambda made: len(made) <= most)
            parts.append(pairs)
    parts.append(plain)
    return st.one_of(parts).filter(maker.fits({"type": "array", **flat.rules}))


def _size(maker: Maker, rules: Mapping[str, Any], flat: Flat) -> int | None:
    """How many different elements there can be beyond the prefix, where that is easy to say."""
    schema = rules.get("items", True)
    if schema is True:
        return None
    inner = maker.flat([schema], maker.root)
    if "enum" in inner.rules:
        fits = maker.fits(inner.whole)
        return len({identity(value) for value in inner.rules["enum"] if fits(value)})
    if inner.types <= {"null", "boolean"}:
        return ("null" in inner.types) + 2 * ("boolean" in inner.types)
    if inner.types == {"integer"} and "multipleOf" not in inner.rules:
        first, last = whole_range(inner.rules)
        return None if first is None or last is None else max(0, last - first + 1)
    return None


def all_differ(values: Sequence[Any]) -> bool:
    """What `uniqueItems` asks for."""
    return len({identity(value) for value in values}) == len(values)


def objects(maker: Maker, flat: Flat, spot: Spot) -> Strategy:
    """Objects.

    Raises:
        UnsatisfiableSchema: a required property cannot be, or their number.
    """
    rules = flat.rules
    required = list(rules.get("required", ()))
    low, high = int(rules.get("minProperties", 0)), rules.get("maxProperties")
    most = None if high is None else int(high)
    if most is not None and max(len(required), low) > most:
        reason = f"{max(len(required), low)} properties are required, and {most} allowed"
        raise UnsatisfiableSchema(spot.place, reason)
    parts = _properties(maker, flat, spot, required)
    if low > MOST_ITEMS:
        raise UnsupportedSchema(spot.place, "minProperties", f"at most {MOST_ITEMS} are made")
    optional = [name for name in parts if name not in required]
    promoted = optional[: max(0, low - len(required))]
    lacking = max(0, low - len(required) - len(promoted))
    room = _USUAL_MORE if most is None else most - len(required) - len(promoted)
    more = _extras(maker, flat, spot, (lacking, max(lacking, min(room, 3))))
    if more is None and lacking:
        reason = f"{low} properties are required, and only {len(parts)} can be"
        raise UnsatisfiableSchema(spot.place, reason)
    found = _joined(parts, [*required, *promoted], more, most)
    if promoted and more is None:
        found |= _joined(parts, required, None, most).filter(lambda made: len(made) >= low)
    joint = _favouring(maker, flat, spot, parts) if not spot.levels else None
    return found if joint is None else found | _joined(joint, [*required, *promoted], more, most)


def _properties(
    maker: Maker, flat: Flat, spot: Spot, required: Sequence[str]
) -> dict[str, Strategy]:
    parts: dict[str, Strategy] = {}
    named = maker.fits(flat.rules.get("propertyNames", True))
    for name in dict.fromkeys([*flat.rules.get("properties", ()), *required]):
        try:
            if not named(name):
                _forbid(spot, name)
            below = spot.below("properties", name, flat.budget)
            parts[name] = maker.make(governing(flat.rules, name), below)
        except UnsatisfiableSchema as fault:
            if name in required:
                reason = f"the required property {name!r} cannot be: {fault.reason}"
                raise UnsatisfiableSchema(fault.place, reason) from None
    return parts


def _forbid(spot: Spot, name: str) -> NoReturn:
    place = (*spot.place, "properties", name)
    raise UnsatisfiableSchema(place, "its name breaks `propertyNames`")


def _favouring(
    maker: Maker, flat: Flat, spot: Spot, parts: Mapping[str, Strategy]
) -> dict[str, Strategy] | None:
    """The same parts with favoured values alone where there are any: those that go together."""
    found: dict[str, Strategy] = {}
    for name, part in parts.items():
        below = spot.below("properties", name, flat.budget)
        inner = maker.flat(governing(flat.rules, name), below)
        hints = maker.hints(inner, below)
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
        kept = [name for name in made if name in fixed]
        kept += [name for name in made if name not in fixed][: most - len(kept)]
        return {name: made[name] for name in kept}

    return found.map(trimmed)


def _extras(maker: Maker, flat: Flat, spot: Spot, size: tuple[int, int]) -> Strategy | None:
    """Properties that are not named; None where there can or need not be any."""
    rules, (low, most) = flat.rules, size
    others = rules.get("additionalProperties", True)
    by_pattern = rules.get("patternProperties", {})
    unevaluated = any(isinstance(c, Mapping) and "unevaluatedProperties" in c for c in flat.checks)
    free = not rules.get("properties") and spot.levels > 0
    wanted = low or by_pattern or free or "additionalProperties" in rules
    if not wanted or most < 1 or (unevaluated and not low):
        return None
    choices: list[tuple[Strategy, Strategy]] = []
    for pattern, schema in by_pattern.items():
        _add(maker, flat, spot, choices, (_matching(pattern, spot), schema, ()))
    _add(maker, flat, spot, choices, (_words(maker), others, by_pattern))
    if not choices:
        return None
    pairs = st.one_of([st.tuples(names, values) for names, values in choices])
    made = st.lists(pairs, min_size=low, max_size=most, unique_by=lambda pair: pair[0])
    return made.map(dict)


def _add(
    maker: Maker,
    flat: Flat,
    spot: Spot,
    choices: list[tuple[Strategy, Strategy]],
    offer: tuple[Callable[[], Strategy], Schema, Sequence[str] | Mapping[str, Any]],
) -> None:
    names, schema, not_matching = offer
    try:
        schema = SCALARS if schema is True else schema
        values = maker.make([schema], spot.below("additionalProperties", "", flat.budget))
        rule = flat.rules.get("propertyNames", True)
        if rule is True or not_matching == ():
            found, fits = names(), maker.fits(rule)
        else:
            below = spot.below("propertyNames", "", flat.budget)
            found, fits = maker.make([{"type": "string"}, rule], below), maker.fits(True)
    except UnsatisfiableSchema:
        return
    if flat.rules.get("propertyNames", True) is not True or not_matching:
        maker.uncertain = True
    known = frozenset(flat.rules.get("properties", ())) | frozenset(flat.rules.get("required", ()))

    def usable(name: str) -> bool:
        return name not in known and fits(name) and not any(matches(p, name) for p in not_matching)

    choices.append((found.filter(usable), values))


def _matching(pattern: str, spot: Spot) -> Callable[[], Strategy]:
    def names() -> Strategy:
        found = patterns.matching(pattern, 0, None, spot.place)
        return found.filter(lambda name: matches(pattern, name))

    return names


def _words(maker: Maker) -> Callable[[], Strategy]:
    words = maker.words()
    return lambda: _NAMES | st.sampled_from(words) if words else _NAMES
