"""A document's promises held against calls. Pure: what is called is said, and what came is judged.

Each rule yields calls by `Asked`; `toolhop_tools.construct.verify` makes them in one go.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.claims import (
    Instance,
    choice_forms,
    counted,
    exact_case,
    forgiven,
    instances,
    listed,
    notes_of,
    properties_of,
    quoted_names,
    result_forms,
    several,
)
from toolhop_tools.construct.limits import limits
from toolhop_tools.construct.promises import offered, recased
from toolhop_tools.construct.text import says
from toolhop_tools.construct.trials import Call, Results, Trial, allowed, failed, leaves
from toolhop_tools.construct.worked import worked_examples
from toolhop_tools.declared import required
from toolhop_tools.model import ToolSchema
from toolhop_tools.words import as_text, number_of, parts_of

FEW = 4
"""Calls of the facts that a promise is tried on."""


def said_of_records(
    schema: ToolSchema, records: Sequence[Mapping[str, JSON]], keys: Sequence[str], seen: Results
) -> Iterator[str]:
    """What a document says of its table, and the table and results do not have."""
    known = [as_text(value) for one in records for value in one.values()]
    known += [leaf for one in seen for leaf in leaves(one)]
    for name in quoted_names(schema):
        if not any(says(one, name) for one in known):
            yield (
                f"The document names {name!r}, which is no key, no value and no choice: name what "
                "is there."
            )
    yield from counted(schema, keys, len(records))


def trials(
    schema: ToolSchema,
    plain: Sequence[Call],
    shown: Callable[[Call], str],
    *,
    computes: bool = False,
) -> Iterator[Trial]:
    """What to try of a tool.

    Args:
        schema: the tool's document.
        plain: calls that table or pairs have.
        shown: a call in words.
        computes: whether `plain` are examples of what is taken, and no table all of it.
    """
    yield from _cases(schema, plain, shown)
    yield from _forgiveness(schema, plain, shown)
    yield from _several(schema, plain, shown)
    yield from _offers(schema, plain)
    yield from _instances(schema, plain)
    yield from _forms(schema, plain, shown)
    yield from _units(schema, plain)
    yield from worked_examples(schema)
    yield from limits(schema, plain, shown, computes=computes)


def _alike(call: Call, other: Call, promise: str, shown: Callable[[Call], str]) -> Trial:
    def wrong(results: Results) -> str:
        first, second = (json.dumps(one, ensure_ascii=False) for one in results)
        if first.casefold() == second.casefold() or failed(results[0]):
            return ""
        return (
            f"{promise}; {shown(call)} gives {first[:300]}, {shown(other)} gives {second[:300]}: "
            "let the tool do it, or leave the promise out."
        )

    return Trial([call, other], wrong)


def _cases(
    schema: ToolSchema, plain: Sequence[Call], shown: Callable[[Call], str]
) -> Iterator[Trial]:
    for call in plain:
        for other in recased(schema, call):
            yield _alike(call, other, "Case is said not to count", shown)
    for name in exact_case(schema):
        for call in plain[:FEW]:
            value = call.get(name)
            if not isinstance(value, str) or value.swapcase() == value:
                continue
            other = {**call, name: value.swapcase()}

            def wrong(results: Results, other: Call = other) -> str:
                same = not failed(results[0]) and results[0] == results[1]
                return f"Case is said to count, and {shown(other)} gives the same." if same else ""

            yield Trial([call, other], wrong)


def _forgiveness(
    schema: ToolSchema, plain: Sequence[Call], shown: Callable[[Call], str]
) -> Iterator[Trial]:
    own = properties_of(schema)
    for sentence, name, variants in forgiven(schema):
        for call in plain[:FEW]:
            for key, value in call.items():
                if (name and key != name) or not isinstance(value, str) or listed(own.get(key, {})):
                    continue
                if own.get(key, {}).get("format") or not any(map(str.isalpha, value)):
                    continue
                for one in variants(value):
                    if one != value and allowed(schema, other := {**call, key: one}):
                        yield _alike(call, other, f"The document says {sentence!r}", shown)


def _several(
    schema: ToolSchema, plain: Sequence[Call], shown: Callable[[Call], str]
) -> Iterator[Trial]:
    for sentence, name, sign in several(schema):
        given = [call for call in plain if isinstance(call.get(name), str)]
        if len(given) < 2 or any(sign.strip() in as_text(call[name]) for call in given):
            continue
        call = {**given[0], name: f"{given[0][name]}{sign}{given[1][name]}"}
        if not allowed(schema, call):
            continue

        def wrong(results: Results, call: Call = call, sentence: str = sentence) -> str:
            text = json.dumps(results[2], ensure_ascii=False)
            if not failed(results[2]) and all(
                any(says(text, leaf) for leaf in leaves(one)) for one in results[:2]
            ):
                return ""
            return (
                f"The document says {sentence!r}; {shown(call)} gives {text[:300]}: let the "
                "tool do it, or leave the promise out."
            )

        yield Trial([given[0], given[1], call], wrong)


def _offers(schema: ToolSchema, plain: Sequence[Call]) -> Iterator[Trial]:
    for name, one in offered(schema):
        calls = [{**call, name: one} for call in plain]

        def wrong(results: Results, name: str = name, one: JSON = one) -> str:
            if not all(map(failed, results)):
                return ""
            return (
                f"The document offers {name}={one!r}, and every call with it fails: offer what "
                "works."
            )

        yield Trial(calls, wrong)


def _instances(schema: ToolSchema, plain: Sequence[Call]) -> Iterator[Trial]:
    own = properties_of(schema)
    needed = [name for name in required(schema.parameters) if not listed(own.get(name, {}))]
    for one in instances(schema):
        named = [name for name, part in own.items() if one.given in map(as_text, listed(part))]
        if one.given in own or named:
            continue
        number = number_of(one.given)
        calls: list[Call] = []
        for call in plain[:FEW]:
            for name in needed:
                kind = own.get(name, {}).get("type")
                value: JSON = one.given
                if kind in {"integer", "number"} and number is not None:
                    value = int(number) if number == int(number) else float(number)
                made = {**call, **one.options, name: value}
                if allowed(schema, made):
                    calls.append(made)

        def wrong(results: Results, one: Instance = one) -> str:
            given, result = one.given, one.result
            came = [leaf for each in results if not failed(each) for leaf in leaves(each)]
            if len(given) == 1 and not any(number_of(leaf) is not None for leaf in came):
                return ""
            if any(says(leaf, result) for leaf in came):
                return ""
            return (
                f"The document says that {given!r} gives {result!r}, and no call does: give an "
                "example that is so, or none."
            )

        if calls and (len(one.given) > 1 or len(needed) == 1):
            yield Trial(calls, wrong)


def _forms(
    schema: ToolSchema, plain: Sequence[Call], shown: Callable[[Call], str]
) -> Iterator[Trial]:
    for said, is_so in result_forms(schema):
        yield _of_form([*plain], said, is_so, shown)
    options = {name: listed(one) for name, one in properties_of(schema).items() if listed(one)}
    for name, choice, said, is_so in choice_forms(schema):
        calls = [{**call, name: choice} for call in plain]
        calls += [
            {**plain[0], other: value, name: choice}
            for other, values in options.items() if other != name for value in values
        ]  # fmt: skip
        yield _of_form(calls, said, is_so, shown)


def _of_form(
    calls: Sequence[Call], said: str, is_so: Callable[[str], bool], shown: Callable[[Call], str]
) -> Trial:
    def wrong(results: Results) -> str:
        for call, result in zip(calls, results, strict=True):
            found = [one for one in leaves(result) if one]
            if not failed(result) and found and not any(map(is_so, found)):
                text = json.dumps(result, ensure_ascii=False)[:300]
                return f"The document says {said!r} of results, and {shown(call)} gives {text}."
        return ""

    return Trial(calls, wrong, of_code=True)


_UNITS = (
    {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800},
    {"month": 1, "year": 12, "decade": 120, "century": 1200, "centurie": 1200},
    {"millimetre": 1, "centimetre": 10, "metre": 1000, "kilometre": 1_000_000, "mm": 1, "cm": 10},
    {"inch": 1, "inche": 1, "foot": 12, "feet": 12, "yard": 36, "mile": 63_360},
    {"gram": 1, "kilogram": 1000, "tonne": 1_000_000},
)
"""Units of one kind, each by how many of the smallest it is."""


def _units(schema: ToolSchema, plain: Sequence[Call]) -> Iterator[Trial]:
    """A choice of unit: what is given, or what comes, is so many times as much."""
    own = properties_of(schema)
    for name, part in own.items():
        if not {"unit", "units"} & {*parts_of(name), *parts_of(notes_of(part).lower())}:
            continue
        for sizes in _UNITS:
            known = [(sizes[key], one) for one in listed(part)
                     if (key := as_text(one).lower().removesuffix("s")) in sizes]  # fmt: skip
            for (small, low), (large, high) in pairwise(sorted(known, key=_size)):
                if large % small == 0 and large > small:
                    yield from _times(schema, plain, name, low, high, large // small)


def _size(one: tuple[int, JSON]) -> int:
    return one[0]


def _times(
    schema: ToolSchema, plain: Sequence[Call], name: str, low: JSON, high: JSON, times: int
) -> Iterator[Trial]:
    own = properties_of(schema)
    numbers = [key for key, one in own.items() if one.get("type") in {"integer", "number"}
               and "enum" not in one and any(key in call for call in plain)]  # fmt: skip
    given: list[tuple[str, Call, Call]] = []
    for key in numbers:
        for call in plain:
            value = call.get(key)
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            more = {**call, name: low, key: value * times}
            if allowed(schema, more):
                given.append((key, {**call, name: high}, more))
    came: list[tuple[Call, Call]] = [({**call, name: high}, {**call, name: low}) for call in plain]
    calls = [one for _, *both in given for one in both] + [one for both in came for one in both]

    def wrong(results: Results) -> str:
        pairs = [(results[at], results[at + 1]) for at in range(0, len(results), 2)]
        held = [(one[0], both) for one, both in zip(given, pairs, strict=False)
                if not any(map(failed, both))]  # fmt: skip
        ways = {key: [both for name, both in held if name == key] for key in numbers}
        if any(way and all(one == other for one, other in way) for way in ways.values()):
            return ""
        results_too = [both for both in pairs[len(given) :] if not any(map(failed, both))]
        figures = [[number_of(as_text(one)) if isinstance(one, int | float | str) else None
                    for one in both] for both in results_too]  # fmt: skip
        if (
            not figures
            or not any(ways.values())
            or all(
                large is not None and small is not None and abs(large * times - small) <= times
                for large, small in figures
            )
        ):
            return ""
        return (
            f"{name}={as_text(high)!r} is {times} times {as_text(low)!r}, and no call bears it "
            "out: neither what is given nor what comes is as much."
        )

    if calls:
        yield Trial(calls, wrong, of_code=True)
