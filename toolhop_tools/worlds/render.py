"""Render the Python source of a tool: its table, and one function that reads it."""

from __future__ import annotations

from collections.abc import Iterator

from toolhop_tools.worlds.domain import COMPARED, Kind, difference
from toolhop_tools.worlds.knobs import Style
from toolhop_tools.worlds.made import LEAST_KEYS, Column, MadeTool, Role, Shape
from toolhop_tools.worlds.surface import quoted
from toolhop_tools.worlds.units import UNITS
from toolhop_tools.worlds.world import CODE, NAME

LISTED = 20
"""Rows per page of a listing if the knob does not set them."""


def render(tool: MadeTool) -> str:
    """Return a tool's source."""
    lines = [*_tables(tool), "", "", *_function(tool)]
    return "\n".join(lines) + "\n"


def _function(tool: MadeTool) -> Iterator[str]:
    yield f"def {tool.name}({', '.join(_signature(tool))}):"
    yield f'    """{tool.description.partition(". ")[0].rstrip(".")}."""'
    body = {
        Shape.RECORD: _record,
        Shape.IDENTIFY: _identify,
        Shape.MATCH: _match,
        Shape.FIND: _find,
        Shape.TOTAL: _total,
        Shape.COMPARE: _pair,
        Shape.GAP: _pair,
        Shape.CONVERT: _convert,
        Shape.DAYS: _days,
        Shape.SHIFT: _shift,
        Shape.INITIALS: _initials,
        Shape.DIGITS: _digits,
        Shape.LIST: _list,
    }[tool.shape]
    yield from (f"    {line}" if line else "" for line in body(tool))
    if any(param.condition for param in tool.params):
        yield from ["", "", *_HOLDS]


def _signature(tool: MadeTool) -> Iterator[str]:
    """Yield the parameters, those with a default last, as in the schema."""
    yield from tool.required
    for name, schema in tool.properties.items():
        if name not in tool.required:
            default = schema.get("default") if isinstance(schema, dict) else None
            yield f"{name}={quoted(default) if isinstance(default, str) else repr(default)}"


# -- tables ------------------------------------------------------------------------------------


def _tables(tool: MadeTool) -> Iterator[str]:
    if tool.shape is Shape.CONVERT:
        yield from ["from fractions import Fraction", "", "UNITS = {"]
        for name in (param.of for param in tool.params if param.role is Role.UNIT):
            unit = UNITS[name]
            yield f"    {quoted(name)}: ({quoted(unit.measures)}, {quoted(str(unit.size))}),"
        yield "}"
        return
    if tool.shape is Shape.SHIFT:
        yield "from datetime import date, timedelta"
    if tool.shape is Shape.DAYS or (tool.shape is Shape.GAP and "date" in tool.types.values()):
        yield "from datetime import date"
    if not tool.type:
        return
    if tool.shape is Shape.GAP:
        yield ""
    columns = tool.columns
    yield f"FIELDS = ({', '.join(quoted(column.name) for column in columns)},)"
    yield "ROWS = ["
    for name in tool.world.tables[tool.type]:
        yield f"    {tuple(cell(tool, column, name) for column in columns)!r},"
    yield "]"
    if tool.shape in {Shape.MATCH, Shape.FIND, Shape.TOTAL}:
        yield f"{_table(tool)} = [dict(zip(FIELDS, row)) for row in ROWS]"
    elif tool.shape is not Shape.LIST:
        row = "row" if tool.shape is Shape.IDENTIFY else "dict(zip(FIELDS, row))"
        by = 1 if tool.shape is Shape.IDENTIFY else 0
        yield f"{_table(tool)} = {{row[{by}]: {row} for row in ROWS}}"


def _table(tool: MadeTool) -> str:
    return tool.surface.argument(tool.world.domain.types[tool.type].plural).upper()


def cell(tool: MadeTool, column: Column, name: str) -> object:
    """Return an entity's value in a column of a tool's table; linked entities are given by key."""
    world = tool.world
    if column.of == NAME:
        return name
    kind, _, relation = column.of.rpartition(".")
    if kind:
        return [_key(tool, kind, end) for end in world.sources(kind, relation, name)]
    value = world.tables[tool.type][name][column.of]
    link = world.domain.types[tool.type].relations.get(column.of)
    if link and isinstance(value, tuple):
        return [_key(tool, link.to, end) for end in value]
    return _key(tool, link.to, str(value)) if link else value


def _key(tool: MadeTool, kind: str, name: str) -> str:
    return str(tool.world.tables[kind][name][CODE]) if kind in tool.surface.keyed else name


# -- bodies ------------------------------------------------------------------------------------


def _gives(tool: MadeTool, **cells: str) -> str:
    """Return the statement that yields a one-row result, given the names of its cells."""
    return tool.surface.gives(tool.surface.cells(**cells))


def _refused(tool: MadeTool, test: str, message: str) -> Iterator[str]:
    """Yield lines that reject the arguments if a test holds."""
    yield f"if {test}:"
    yield "    " + tool.surface.refusal("BAD_ARGUMENT", message)


def _known(tool: MadeTool, argument: str, form: str) -> Iterator[str]:
    """Yield lines for a key that is not in the table."""
    yield f"if {argument} not in {_table(tool)}:"
    if tool.surface.style is Style.TABLES and tool.shape in {Shape.RECORD, Shape.IDENTIFY}:
        yield '    return {"columns": list(FIELDS), "rows": []}'
        return
    hint = f"{form}s are matched exactly, capitals and spaces included"
    noun = tool.world.domain.types[tool.type].noun
    message = f"{argument}: no {noun} has the {form} {{{argument}!r}}"
    yield "    " + tool.surface.refusal("NOT_FOUND", message, hint)


def _record(tool: MadeTool) -> Iterator[str]:
    surface, key = tool.surface, tool.required[0]
    row = f"{_table(tool)}[{key}]"
    yield from _known(tool, key, surface.form(tool.type))
    if surface.style is Style.TABLES:
        yield f'return {{"columns": list(FIELDS), "rows": [list({row}.values())]}}'
    else:
        yield surface.gives(row + "[field]" * (surface.style is Style.VALUES))


def _identify(tool: MadeTool) -> Iterator[str]:
    other, key = tool.required[0], tool.columns[0].name
    yield from _known(tool, other, other)
    yield _gives(tool, **{key: f"{_table(tool)}[{other}][0]", other: other})


def _filters(tool: MadeTool) -> Iterator[str]:
    """Yield lines that put the matching rows into `found`."""
    links = [param for param in tool.params if param.role is Role.LINK]
    names = {column.of: column for column in tool.columns}
    yield f"found = {_table(tool)}"
    if links[0].condition:
        yield f"linked = {tuple(names[param.of].name for param in links)!r}"
        yield 'links = [test["column"] for test in where if test["operator"] in ("=", "contains")]'
        yield from _refused(
            tool,
            "not set(links) & set(linked)",
            "where: one condition has to name one of {', '.join(linked)} with = or contains",
        )
        yield "for test in where:"
        yield '    found = [row for row in found if holds(row[test["column"]], test)]'
        return
    optional = [param.argument for param in links if param.argument not in tool.required]
    if tool.shape is Shape.MATCH:
        keys = ", ".join(tool.properties)
        few = f"sum(key is not None for key in ({keys})) < {LEAST_KEYS}"
        yield from _refused(tool, few, f"give at least two of {keys}")
    elif len(optional) == len(links):
        yield from _refused(tool, _none_of(optional), f"give at least one of {', '.join(optional)}")
    for param in links:
        name = quoted(names[param.of].name)
        test = f"row[{name}] == {param.argument}"
        if names[param.of].many:
            test = f"{param.argument} in row[{name}]"
        kept = f"found = [row for row in found if {test}]"
        yield from [kept] if param.argument in tool.required else _given(param.argument, kept)
    if "filter_by" in tool.properties:
        yield from _generic(tool)
        return
    signs = {Role.ABOVE: ">", Role.BELOW: "<", Role.IS: "=="}
    for param in tool.params:
        if param.role in signs:
            test = f'row["{names[param.of].name}"] {signs[param.role]} {param.argument}'
            yield from _given(param.argument, f"found = [row for row in found if {test}]")


def _none_of(arguments: list[str]) -> str:
    return " and ".join(f"{argument} is None" for argument in arguments)


def _given(argument: str, line: str) -> Iterator[str]:
    yield f"if {argument} is not None:"
    yield f"    {line}"


def _generic(tool: MadeTool) -> Iterator[str]:
    """Yield conditions for the arguments `filter_by`, `above`, `below` and `equal_to`."""
    surface, signs = tool.surface, {"above": ">", "below": "<", "equal_to": "=="}
    bounds = [name for name in signs if name in tool.properties]
    lacking = f"filter_by is None and not ({_none_of(bounds)})"
    yield from _refused(tool, lacking, f"filter_by is needed with {' or '.join(bounds)}")
    dates = tuple(column.name for column in surface.attributes(tool.type, Kind.DATE))
    numbers = surface.attributes(tool.type, Kind.NUMBER, Kind.YEAR)
    yield 'for name, bound in (("above", above), ("below", below)):'
    yield (
        f"    fields = {dates!r} if isinstance(bound, str) else "
        f"{tuple(column.name for column in numbers)!r}"
    )
    wrong = "bound is not None and filter_by not in fields"
    message = "{name}: {filter_by} cannot be compared with {bound!r}"
    yield from (f"    {line}" for line in _refused(tool, wrong, message))
    for name in bounds:
        kept = f"found = [row for row in found if row[filter_by] {signs[name]} {name}]"
        yield from _given(name, kept)


_HOLDS = """\
def holds(cell, test):
    \"\"\"Whether a cell meets a condition.\"\"\"
    operator, value = test["operator"], test["value"]
    if operator == "contains":
        return isinstance(cell, list) and value in cell
    if operator == "=":
        return cell == value
    if isinstance(cell, list) or isinstance(cell, str) != isinstance(value, str):
        raise ValueError(f"where: {test['column']} cannot be compared with {value!r}")
    return cell > value if operator == ">" else cell < value""".splitlines()


def _match(tool: MadeTool) -> Iterator[str]:
    names, of = list(tool.reads), tool.world.domain.types[tool.type]
    yield from _filters(tool)
    yield "if len(found) != 1:"
    if tool.surface.style is Style.TABLES:
        yield f'    return {{"columns": {names!r}, "rows": []}}'
    else:
        hint = f"give keys that exactly one {of.noun} has"
        message = f"{{len(found)}} {of.plural} fit"
        yield "    " + tool.surface.refusal("NOT_FOUND", message, hint)
    yield _gives(tool, **{name: f'found[0]["{name}"]' for name in names})


def _find(tool: MadeTool) -> Iterator[str]:
    order = tool.surface.order
    yield from _filters(tool)
    kept = f"found = sorted(found, key=lambda row: row[{order.by}], reverse={order.reverse})"
    yield from _given(order.by, kept)
    yield from _rows(tool, order.by)


def _list(tool: MadeTool) -> Iterator[str]:
    yield "found = [dict(zip(FIELDS, row)) for row in ROWS]"
    yield from _rows(tool, "")


def _rows(tool: MadeTool, by: str) -> Iterator[str]:
    """Yield lines that return `found` or a page of it, as keys with the field sorted by."""
    if tool.surface.style is not Style.VALUES:
        yield "total = len(found)"
    if tool.param(Role.PAGE):
        size = tool.surface.page or LISTED
        yield f"found = found[(int(page) - 1) * {size} : int(page) * {size}]"
    elif "limit" in tool.properties:
        yield "found = found[: int(limit)]"
    surface = tool.surface
    keys = surface.shown(tool.type)
    if surface.style is Style.VALUES:
        key = quoted(keys[0])
        if by:
            yield from _given(by, f"return [[row[{key}], row[{by}]] for row in found]")
        yield f"return [row[{key}] for row in found]"
        return
    yield f"columns = [{', '.join(map(quoted, keys))}]"
    if by:
        yield f"if {by} is not None:"
        yield f"    columns.append({by})"
    if surface.style is Style.TABLES:
        rows = "[[row[column] for column in columns] for row in found]"
        yield f'return {{"columns": columns, "rows": {rows}, "row_count": total}}'
        return
    rows = "[{column: row[column] for column in columns} for row in found]"
    yield surface.gives(f'{{"total": total, {quoted(surface.rows_name(tool.type))}: {rows}}}')


def _total(tool: MadeTool) -> Iterator[str]:
    surface = tool.surface
    yield from _filters(tool)
    if "field" not in tool.properties:
        yield _gives(tool, value="len(found)")
        return
    yield 'if statistic == "count":'
    yield "    " + _gives(tool, value="len(found)", unit=quoted(""))
    yield from _refused(tool, "field is None", "field is needed for a {statistic}")
    units = {c.name: c.type.partition(" ")[2] for c in surface.attributes(tool.type, Kind.NUMBER)}
    if surface.style is not Style.VALUES:
        yield f"unit = {units!r}[field]"
    yield "total = sum(row[field] for row in found)"
    yield 'if statistic == "total":'
    yield "    " + _gives(tool, value="total", unit="unit")
    yield "mean = round(total / len(found), 1) if found else None"
    yield _gives(tool, value="mean", unit="unit")


def _pair(tool: MadeTool) -> Iterator[str]:
    surface, table = tool.surface, _table(tool)
    form = surface.form(tool.type)
    for argument in ("first", "second"):
        yield from _known(tool, argument, form)
    yield f"values = [{table}[first][field], {table}[second][field]]"
    if tool.shape is Shape.COMPARE:
        message = "first and second have the same {field}"
        yield from _refused(tool, "values[0] == values[1]", message)
        yield 'is_first = values[0] > values[1] if which == "greater" else values[0] < values[1]'
        yield _gives(tool, **{form: "first if is_first else second"})
        return
    columns = surface.attributes(tool.type, *COMPARED)
    dates = tuple(column.name for column in columns if column.type == Kind.DATE)
    if dates:
        yield f"if field in {dates!r}:"
        yield "    values = [date.fromisoformat(value).toordinal() for value in values]"
    if surface.style is not Style.VALUES:
        units = {column.name: difference(column.type).partition(" ")[2] for column in columns}
        yield f"unit = {units!r}[field]"
    yield _gives(tool, difference="abs(values[0] - values[1])", unit="unit")


def _convert(tool: MadeTool) -> Iterator[str]:
    start, into = tool.surface.argument("from_unit"), tool.surface.argument("to_unit")
    message = f"{into}: {{{start}}} cannot be converted to {{{into}}}"
    yield from _refused(tool, f"UNITS[{start}][0] != UNITS[{into}][0]", message)
    yield f"exact = Fraction(value) * Fraction(UNITS[{start}][1]) / Fraction(UNITS[{into}][1])"
    yield _gives(tool, value="float(round(exact, 1))", unit=into)


def _days(tool: MadeTool) -> Iterator[str]:
    first, second = tool.required
    for argument in (first, second):
        yield from _existing(tool, argument, f"date.fromisoformat({argument})")
    days = f"abs((date.fromisoformat({first}) - date.fromisoformat({second})).days)"
    yield _gives(tool, days=days)


def _shift(tool: MadeTool) -> Iterator[str]:
    start, days = tool.required
    later = f"later = date.fromisoformat({start}) + timedelta(days={days})"
    yield from _existing(tool, start, later)
    yield _gives(tool, date="later.isoformat()")


def _initials(tool: MadeTool) -> Iterator[str]:
    yield "words = name.split()"
    yield from _refused(tool, "not words", "name: {name!r} has no words")
    yield _gives(tool, initials='"".join(word[0] for word in words).upper()')


def _digits(tool: MadeTool) -> Iterator[str]:
    yield 'digits = "".join(letter for letter in code if letter in "0123456789")'
    yield from _refused(tool, "not digits", "code: {code!r} has no digits")
    yield _gives(tool, number="int(digits)")


def _existing(tool: MadeTool, argument: str, line: str) -> Iterator[str]:
    """Yield a line that parses a date, and lines that reject it if there is no such date."""
    message = f"{argument}: {{{argument}!r}} is not a date that exists"
    refusal = tool.surface.refusal("BAD_ARGUMENT", message)
    yield "try:"
    yield f"    {line}"
    yield "except (ValueError, OverflowError):"
    yield "    " + (refusal if tool.surface.service else f"{refusal} from None")
