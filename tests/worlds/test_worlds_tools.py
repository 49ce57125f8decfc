"""Made tools, shape by shape: what they return, refuse and say of themselves."""

from __future__ import annotations

import inspect
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from functools import cache
from itertools import count
from typing import NamedTuple

import pytest
from jsonschema_rs import Draft202012Validator

from toolhop_sandbox.outcome import JSON
from toolhop_tools.worlds.domain import Kind, domains
from toolhop_tools.worlds.expression import (
    Condition,
    Gap,
    Link,
    Named,
    Pick,
    Undefined,
    chosen,
    evaluate,
)
from toolhop_tools.worlds.expression import Test as Compared  # pytest collects names in Test*
from toolhop_tools.worlds.knobs import Knobs, Near, Style
from toolhop_tools.worlds.made import MadeTool, Param, Role, Shape, Toolbox
from toolhop_tools.worlds.plan import at
from toolhop_tools.worlds.tools import toolbox
from toolhop_tools.worlds.units import converted
from toolhop_tools.worlds.world import CODE, NAME, make

PAGE = 3
SEEDS = range(2)
CALLS = 6
"""Drawn for each tool."""
TESTS = {Role.ABOVE: Compared.ABOVE, Role.BELOW: Compared.BELOW, Role.IS: Compared.IS}
EVERY = pytest.mark.parametrize("style", Style)


@cache
def box_of(domain: str, style: Style, seed: int, page: int = PAGE) -> Toolbox:
    world = make(domains()[domain], f"{seed}/names", f"{seed}/values")
    near = Near.TWINS if seed else Near.WORLD
    knobs = Knobs(listing=True, page=page, codes=seed == 1, near=near)
    return toolbox(world, style, knobs, f"{seed}")


def tools_of(style: Style, *shapes: Shape, page: int = PAGE) -> Iterator[MadeTool]:
    for domain in ("shipping", "film"):
        for seed in SEEDS:
            tools = box_of(domain, style, seed, page).all.values()
            yield from (tool for tool in tools if tool.shape in shapes)


def key_of(tool: MadeTool, kind: str, name: str) -> str:
    """An entity as the tool refers to it."""
    row = tool.world.tables[kind][name]
    return str(row[CODE]) if kind in tool.surface.keyed else name


def refused(tool: MadeTool, arguments: dict[str, JSON]) -> bool:
    """Whether a call is refused in the way that the style declares."""
    try:
        result = tool.call(arguments)
    except (LookupError, ValueError):
        return not tool.surface.service
    if not (tool.surface.service and isinstance(result, dict) and not result["ok"]):
        return False
    error = result["error"]
    assert isinstance(error, dict)
    assert error["code"] in {"NOT_FOUND", "BAD_ARGUMENT"}
    assert error["message"]
    return True


def answer(tool: MadeTool, arguments: dict[str, JSON], read: str = "") -> JSON:
    return at(tool.call(arguments), tool.reads[read])


# -- lists ----------------------------------------------------------------------------------


def listing(tool: MadeTool, result: JSON) -> tuple[list[list[JSON]], JSON]:
    """Rows of a list, and the number of all matches where it is told."""
    if tool.surface.service:
        result = at(result, ("data",))
    if isinstance(result, list):
        return [row if isinstance(row, list) else [row] for row in result], None
    assert isinstance(result, dict)
    if "rows" in result:
        rows = result["rows"]
        assert isinstance(rows, list)
        return [list(row) for row in rows if isinstance(row, list)], result["row_count"]
    rows = result[tool.surface.rows_name(tool.type)]
    assert isinstance(rows, list)
    return [list(row.values()) for row in rows if isinstance(row, dict)], result["total"]


def paged(tool: MadeTool, arguments: dict[str, JSON]) -> tuple[list[list[JSON]], JSON]:
    """All pages, one after the other, and the number of all matches."""
    pages: list[list[JSON]] = []
    for page in count(1):
        rows, total = listing(tool, tool.call({**arguments, "page": page}))
        assert len(rows) <= PAGE
        if not rows:
            beyond, still = listing(tool, tool.call({**arguments, "page": page + 7}))
            assert (beyond, still) == ([], total)
            return pages, total
        assert len(pages) % PAGE == 0
        pages += rows
    raise AssertionError


def filtered(tool: MadeTool, drawn: random.Random) -> tuple[dict[str, JSON], list[str]]:
    """Arguments that find entities, and the names of those that they mean."""
    world, arguments = tool.world, dict[str, JSON]()
    links, conditions = [], []
    own = [param for param in tool.params if param.role is Role.LINK]
    needed = [param for param in own if param.required and not param.condition]
    linked = needed or drawn.sample(own, min(len(own), drawn.choice([1, 1, 2])))
    for param in linked:
        end_type, _, relation = param.of.rpartition(".")
        backward = bool(end_type)
        end_type = end_type or world.domain.relation(tool.type, param.of).to
        end = drawn.choice(list(world.tables[end_type]))
        links.append(Link(relation, Named(end_type, end), end_type, backward))
        param.put(arguments, key_of(tool, end_type, end))
    bounds = [param for param in tool.params if param.role in TESTS]
    if bounds and drawn.random() < 0.6:
        param = drawn.choice(bounds)
        name = drawn.choice(list(world.tables[tool.type]))
        value = world.value(tool.type, param.of, name)
        conditions.append(Condition(param.of, TESTS[param.role], value))
        param.put(arguments, value)
    pick = Pick(tool.type, tuple(links), tuple(conditions))
    return arguments, chosen(pick, world)


@EVERY
def test_what_is_found_is_what_the_world_has_sorted_and_paged(style: Style) -> None:
    ties = several = 0
    for tool in tools_of(style, Shape.FIND):
        drawn = random.Random(tool.name)
        for _ in range(CALLS):
            arguments, names = filtered(tool, drawn)
            sorts = [param for param in tool.params if param.role is Role.SORT]
            sort = drawn.choice([None, *sorts])
            if sort:
                descending = drawn.random() < 0.5
                sort.put(arguments, sort.choices[descending])
                values = [tool.world.value(tool.type, sort.of, name) for name in names]
                ties += len(set(values)) < len(values)
                names = [
                    name
                    for _, name in sorted(
                        zip(values, names, strict=True),
                        key=lambda pair: pair[0],
                        reverse=descending,
                    )
                ]
            rows, total = paged(tool, arguments)
            assert [row[0] for row in rows] == [key_of(tool, tool.type, name) for name in names]
            assert total in {None, len(names)}
            if sort:
                shown = [tool.world.value(tool.type, sort.of, name) for name in names]
                assert [row[-1] for row in rows] == shown
            several += len(rows) > PAGE
    assert ties
    assert several


@EVERY
def test_a_limit_cuts_the_rows_and_not_their_number(style: Style) -> None:
    limited = 0
    for tool in tools_of(style, Shape.FIND, page=0):
        arguments, names = filtered(tool, random.Random(tool.name))
        if "limit" in tool.properties:
            rows, total = listing(tool, tool.call({**arguments, "limit": 2}))
            assert (len(rows), total) == (min(2, len(names)), len(names))
            limited += len(names) > 2
        else:
            assert len(listing(tool, tool.call(arguments))[0]) == len(names)
    assert limited or style in {Style.VALUES, Style.SERVICE}


@EVERY
def test_pages_of_a_listing_partition_the_whole_table(style: Style) -> None:
    for tool in tools_of(style, Shape.LIST):
        rows, total = paged(tool, {})
        assert tool.call({}) == tool.call({"page": 1})
        names = list(tool.world.tables[tool.type])
        assert [row[0] for row in rows] == [key_of(tool, tool.type, name) for name in names]
        assert total in {None, len(names)}


@EVERY
def test_totals_are_those_of_what_is_found(style: Style) -> None:
    empty = 0
    for tool in tools_of(style, Shape.TOTAL):
        drawn = random.Random(tool.name)
        for _ in range(CALLS):
            arguments, names = filtered(tool, drawn)
            assert answer(tool, {**arguments, "statistic": "count"}) == len(names)
            for param in (param for param in tool.params if param.of and param.role is Role.FIELD):
                values = [tool.world.value(tool.type, param.of, name) for name in names]
                numbers = [value for value in values if isinstance(value, int)]
                assert len(numbers) == len(values)
                asked = {**arguments, **dict(param.along)}
                assert answer(tool, {**asked, "statistic": "total"}) == sum(numbers)
                mean = round(sum(numbers) / len(numbers), 1) if numbers else None
                assert answer(tool, {**asked, "statistic": "mean"}) == mean
                assert refused(tool, {**arguments, "statistic": "mean"})
                empty += not numbers
    assert empty


@EVERY
def test_without_a_link_nothing_is_found(style: Style) -> None:
    for tool in tools_of(style, Shape.FIND, Shape.TOTAL):
        arguments: dict[str, JSON] = {"statistic": "count"} if tool.shape is Shape.TOTAL else {}
        links = [param for param in tool.params if param.role is Role.LINK]
        if links[0].condition:
            bounds = [param for param in tool.params if param.role in {Role.ABOVE, Role.BELOW}]
            if not bounds:
                continue
            name = next(iter(tool.world.tables[tool.type]))
            bounds[0].put(arguments, tool.world.value(tool.type, bounds[0].of, name))
        if links[0].condition or not any(param.required for param in links):
            assert refused(tool, arguments)
        else:
            assert {param.argument for param in links} & set(tool.required)


# -- single values --------------------------------------------------------------------------


@EVERY
def test_a_record_is_that_of_the_world(style: Style) -> None:
    for tool in tools_of(style, Shape.RECORD):
        key = tool.required[0]
        for name in list(tool.world.tables[tool.type])[:: 1 + 60 // CALLS]:
            row = {NAME: name, **tool.world.tables[tool.type][name]}
            for column, path in tool.reads.items():
                param = tool.param(Role.FIELD, column)
                if style is Style.VALUES and not param:
                    continue
                field: dict[str, JSON] = {param.argument: param.choices[0]} if param else {}
                given = at(tool.call({key: key_of(tool, tool.type, name), **field}), path)
                assert given == shown(tool, column, row[column])
        field = {"field": tool.columns[1].name} if style is Style.VALUES else {}
        if style is Style.TABLES:
            result = tool.call({key: "Nobody"})
            assert isinstance(result, dict)
            assert result["rows"] == []
        else:
            assert refused(tool, {key: "Nobody", **field})


def shown(tool: MadeTool, column: str, value: object) -> object:
    link = tool.world.domain.types[tool.type].relations.get(column)
    if link is None:
        return value
    ends = value if isinstance(value, tuple) else (value,)
    keys = [key_of(tool, link.to, str(end)) for end in ends]
    return keys if link.many else keys[0]


@EVERY
def test_codes_and_names_lead_to_each_other(style: Style) -> None:
    for tool in tools_of(style, Shape.IDENTIFY):
        key, other = (column.of for column in tool.columns)
        for name, row in list(tool.world.tables[tool.type].items())[::9]:
            both = {NAME: name, CODE: row[CODE]}
            assert answer(tool, {tool.required[0]: both[other]}, key) == both[key]  # type: ignore[dict-item]  # JSON of a tool that was just read


@EVERY
def test_several_keys_name_the_only_one_that_has_them(style: Style) -> None:
    """Or none, where none or several have them; and fewer than two keys are refused."""
    fits = Counter[bool]()
    for tool in tools_of(style, Shape.MATCH):
        drawn = random.Random(tool.name)
        for name in list(tool.world.tables[tool.type])[:: 1 + 60 // CALLS]:
            params = drawn.sample(tool.params, min(len(tool.params), drawn.choice([2, 3])))
            keys = {param: key for param in params if (key := key_to(tool, param, name, drawn))}
            if len(keys) < 2:
                continue
            arguments = {param.argument: key.argument for param, key in keys.items()}
            links = tuple(key.part for key in keys.values() if isinstance(key.part, Link))
            tests = tuple(key.part for key in keys.values() if isinstance(key.part, Condition))
            names = chosen(Pick(tool.type, links, tests), tool.world)
            assert name in names
            fits[len(names) == 1] += 1
            if len(names) == 1:
                form = tool.surface.form(tool.type)
                assert answer(tool, arguments, form) == key_of(tool, tool.type, name)
            else:
                assert none_fits(tool, arguments)
            first, *_ = arguments
            assert none_fits(tool, {**arguments, first: "Nobody"})
            assert refused(tool, {first: arguments[first]})
    assert min(fits[True], fits[False]) > CALLS


class Key(NamedTuple):
    argument: JSON
    part: Link | Condition


def key_to(tool: MadeTool, param: Param, name: str, drawn: random.Random) -> Key | None:
    """A key that an entity has; None where nothing is related to it so."""
    row, world = tool.world.tables[tool.type][name], tool.world
    if param.role is Role.IS:
        value = str(row[param.of])
        return Key(value, Condition(param.of, Compared.IS, value))
    end_type, _, relation = param.of.rpartition(".")
    backward = bool(end_type)
    end_type = end_type or world.domain.relation(tool.type, relation).to
    ends = (
        world.sources(end_type, relation, name)
        if backward
        else world.relateds(tool.type, relation, name)
    )
    if not ends:
        return None
    end = drawn.choice(ends)
    link = Link(relation, Named(end_type, end), end_type, backward)
    return Key(key_of(tool, end_type, end), link)


def none_fits(tool: MadeTool, arguments: dict[str, JSON]) -> bool:
    """Whether a lookup gives no entity, in the way of the style."""
    if tool.surface.style is not Style.TABLES:
        return refused(tool, arguments)
    result = tool.call(arguments)
    return isinstance(result, dict) and result["rows"] == []


@EVERY
def test_texts_are_taken_apart(style: Style) -> None:
    for tool in tools_of(style, Shape.INITIALS, Shape.DIGITS):
        (argument,) = tool.required
        if tool.shape is Shape.INITIALS:
            said = {"Asta Velmark": "AV", "The Road to  osk": "TRTO", "Émile-Jo x": "ÉX"}
            assert {name: answer(tool, {argument: name}) for name in said} == said
        else:
            said_numbers = {"SH-4821": 4821, "4A7B": 47, "X-0907": 907}
            assert {c: answer(tool, {argument: c}) for c in said_numbers} == said_numbers
        assert refused(tool, {argument: " "})


@EVERY
def test_two_are_compared_and_told_apart(style: Style) -> None:
    equal = 0
    for tool in tools_of(style, Shape.COMPARE, Shape.GAP):
        names, drawn = list(tool.world.tables[tool.type]), random.Random(tool.name)
        for param in [param for param in tool.params if param.role is Role.FIELD] * CALLS:
            field = dict(param.along) or {param.argument: param.choices[0]}
            attribute = param.of
            ends = [drawn.choice(names), drawn.choice(names)]
            first, second = (key_of(tool, tool.type, name) for name in ends)
            arguments: dict[str, JSON] = {"first": first, "second": second, **field}
            values = [tool.world.value(tool.type, attribute, name) for name in ends]
            assert refused(tool, {**arguments, "second": "Nobody"})
            if tool.shape is Shape.GAP:
                asked = Gap(tool.type, attribute, *(Named(tool.type, name) for name in ends))
                try:
                    expected = evaluate(asked, tool.world)
                except Undefined:
                    expected = 0
                assert answer(tool, arguments) == expected
            elif values[0] == values[1]:
                equal += 1
                assert refused(tool, arguments)
            else:
                greater = first if values[0] > values[1] else second  # type: ignore[operator]  # both are numbers, or both dates
                form = tool.surface.form(tool.type)
                assert answer(tool, arguments, form) == greater
                smaller = answer(tool, {**arguments, "which": "smaller"}, form)
                assert {greater, smaller} == {first, second}
    assert equal


@EVERY
def test_measures_and_dates_are_worked_out(style: Style) -> None:
    for tool in tools_of(style, Shape.CONVERT):
        value, start, into = tool.required
        same = other = 0
        for unit in tool.properties[start]["enum"]:  # type: ignore[index, call-overload, union-attr]  # its schema is JSON
            for wanted in tool.properties[into]["enum"]:  # type: ignore[index, call-overload, union-attr]  # its schema is JSON
                asked: dict[str, JSON] = {value: 1234, start: unit, into: wanted}
                if refused(tool, asked):
                    other += 1
                else:
                    same += 1
                    assert answer(tool, asked) == converted(1234, str(unit), str(wanted))
        assert same
        assert other
    drawn = random.Random(1)
    for tool in tools_of(style, Shape.DAYS, Shape.SHIFT):
        day, days = date(1880, 2, 28) + timedelta(drawn.randrange(9999)), drawn.randrange(999)
        later = (day + timedelta(days)).isoformat()
        first, second = tool.required
        if tool.shape is Shape.SHIFT:
            assert answer(tool, {first: day.isoformat(), second: days}) == later
        else:
            assert answer(tool, {first: day.isoformat(), second: later}) == days
            assert answer(tool, {first: later, second: day.isoformat()}) == days
        for wrong in ("1900-02-29", "1900-13-01", "1900-00-10"):
            assert refused(
                tool, {first: wrong, second: days if tool.shape is Shape.SHIFT else later}
            )


# -- what a tool says of itself -------------------------------------------------------------


@EVERY
def test_the_schema_has_the_parameters_of_the_source_and_their_defaults(style: Style) -> None:
    for tool in tools_of(style, *Shape):
        parameters = inspect.signature(tool._function).parameters
        assert set(parameters) == set(tool.properties)
        for name, parameter in parameters.items():
            schema = tool.properties[name]
            assert isinstance(schema, dict)
            assert schema["description"]
            empty = parameter.default is inspect.Parameter.empty
            assert empty == (name in tool.required)
            assert empty or parameter.default == schema.get("default")


@EVERY
def test_an_enum_takes_its_own_and_nothing_else(style: Style) -> None:
    enums = 0
    for tool in tools_of(style, *Shape):
        for name, schema in tool.properties.items():
            assert isinstance(schema, dict)
            if "enum" in schema:
                check = Draft202012Validator(schema)
                assert not check.is_valid("nothing of the kind")
                own = [v for p in tool.params for v in own_values(p, name)]
                assert own
                assert all(check.is_valid(value) for value in own)
                enums += 1
    assert enums


def own_values(param: Param, argument: str) -> Sequence[JSON]:
    if param.argument == argument and not param.condition:
        return param.choices
    return [value for name, value in param.along if name == argument]


@EVERY
def test_documents_name_what_is_there_and_nothing_else(style: Style) -> None:
    results = {"total", "items", "columns", "rows", "row_count", "ok", "data", "error", "code"}
    results |= {"message"}
    for tool in tools_of(style, *Shape):
        texts = [tool.description, *(str(of["description"]) for of in tool.properties.values())]  # type: ignore[index, call-overload]  # its schema is JSON
        named = set(re.findall(r"`([^`]*)`", " ".join(texts)))
        columns = {column.name for column in tool.columns}
        rows = {tool.surface.rows_name(tool.type)} if tool.type else set()
        assert named <= {*columns, *tool.properties, *results, *rows}, tool.name
        if tool.shape is Shape.RECORD:
            assert {column.name for column in tool.columns[1:]} <= named
        if tool.shape in {Shape.COMPARE, Shape.GAP}:
            assert {column.name for column in tool.columns[1:]} <= named
        links = [param for param in tool.params if param.role is Role.LINK]
        if links and not any(param.argument in tool.required for param in links):
            assert {param.argument for param in links} <= named
        assert "  " not in tool.description
        assert tool.description.endswith(".")


@EVERY
def test_no_two_tools_of_a_world_have_one_name(style: Style) -> None:
    for domain in domains():
        for seed in SEEDS:
            box = box_of(domain, style, seed)
            assert len(box.all) == len(box.tools) + len(box.twins)
            assert all(re.fullmatch(r"[A-Za-z_]\w{0,63}", name) for name in box.all)


def test_who_is_said_not_to_be_in_a_list_is_not() -> None:
    said = 0
    for tool in tools_of(Style.RECORDS, Shape.RECORD):
        said += "not among them" in tool.description
        for name in tool.world.tables[tool.type]:
            links = tool.world.domain.types[tool.type].relations.items()
            many = [
                set(tool.world.relateds(tool.type, of, name)) for of, link in links if link.many
            ]
            ones = {tool.world.related(tool.type, of, name) for of, link in links if not link.many}
            assert all(not ends & ones for ends in many)
    assert said


@EVERY
def test_a_date_is_asked_in_its_form(style: Style) -> None:
    for tool in tools_of(style, *Shape):
        for param in tool.params:
            schema = tool.properties[param.argument]
            assert isinstance(schema, dict)
            if param.takes == Kind.DATE and "pattern" in schema:
                check = Draft202012Validator(schema)
                assert check.is_valid("1900-01-31")
                assert not check.is_valid("31.01.1900")
