"""How each style of tools chooses names, rejects arguments and wraps results."""

from __future__ import annotations

import json
import keyword
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolhop_sandbox.outcome import JSON
from toolhop_tools.reading import Path
from toolhop_tools.worlds.domain import Attribute, Domain, Kind, difference
from toolhop_tools.worlds.knobs import Style
from toolhop_tools.worlds.made import Column, MadeTool, Shape, Typed
from toolhop_tools.worlds.units import UNITS
from toolhop_tools.worlds.world import CODE, NAME

MOST_NAME_CHARS = 64
"""Maximum length of a tool's name in OpenAI's API."""
_WORDS = """
above below code columns conditions equal_to field field_b filter_by first first_date found
from_unit limit name order order_by page row second second_date size sort_by statistic to_unit total
value values where which
"""
_RESERVED = frozenset(_WORDS.split())
"""Names of arguments and variables in sources that no field may have."""
_PATTERNS = """
record: get_{type} | fetch_{type}_record | {type}_info | {type}_service_get | read_{type}
identify: get_{type}_{to} | resolve_{type}_{to} | {type}_{to} | {type}_service_resolve_{to}
  | lookup_{type}_{to}
match: get_{type}_by_keys | match_{type} | {type}_with | {type}_service_get_by_keys
  | lookup_{type}
find: find_{plural} | search_{plural} | {plural}_by_{link} | {type}_service_find_by_{link}
  | query_{plural}
total: summarize_{plural} | aggregate_{plural} | {plural}_statistic | {type}_service_aggregate
  | aggregate_{plural}
compare: compare_{plural} | compare_two_{plural} | which_{type} | {type}_service_compare
  | rank_{plural}
gap: get_{type}_difference | difference_between_{plural} | {type}_gap | {type}_service_difference
  | subtract_{plural}
convert: convert_units | convert_measure | in_unit | unit_service_convert | convert_column_unit
days: count_days | days_between_dates | days_from_to | calendar_service_days | date_difference
shift: add_days | date_after_days | day_after | calendar_service_add_days | shift_date
initials: get_initials | initials_of_name | initials | text_service_initials | name_initials
digits: get_code_number | number_in_code | code_number | text_service_code_number | code_digits
list: list_{plural} | browse_{plural} | all_{plural} | {type}_service_list | scan_{plural}
"""
"""Patterns of function names by shape: two for records, then one each for values, service,
tables."""
_NAMES: Mapping[str, list[str]] = {
    shape: names.split(" | ")
    for shape, names in (
        line.split(": ") for line in _PATTERNS.replace("\n  ", " ").strip().splitlines()
    )
}
_COLUMNS = {Style.RECORDS: (0, 1), Style.VALUES: (2,), Style.SERVICE: (3,), Style.TABLES: (4,)}


@dataclass(frozen=True, slots=True)
class Register:
    """Which of several registers of one world a tool reads."""

    word: str = ""
    """Word that marks the register in tool names; empty for none."""
    about: str = ""
    """Sentence in the documentation of its tools."""


REGISTERS = (
    (
        Register("", "It reads the register as it stands today."),
        Register(
            "archived",
            "It reads the register as it stood ten years ago; the entries have changed since.",
        ),
    ),
    (
        Register("current", "It reads the register as it stands today."),
        Register("", "It reads the first edition of the register, which is no longer valid."),
    ),
    (
        Register("", "It reads the official register."),
        Register("draft", "It reads a draft of a future register, whose entries are proposals."),
    ),
    (
        Register("registry", "It reads the official register."),
        Register(
            "survey",
            "It reads a private survey, which differs from the official register and has no "
            "authority.",
        ),
    ),
)
"""The register that questions ask for, and that of its twins. No rule by names alone
distinguishes them: either may have a word in its names, or both."""


def slug(text: str) -> str:
    """Turn a noun into a part of a name: ``home harbour`` becomes ``home_harbour``."""
    letters = "".join(letter if letter.isalnum() else " " for letter in text.lower())
    return "_".join(letters.split())


def camel(text: str) -> str:
    """Turn a noun into camel case: ``home harbour`` becomes ``homeHarbour``."""
    head, *tail = slug(text).split("_")
    return head + "".join(word.capitalize() for word in tail)


@dataclass(frozen=True)
class Surface:
    """A style, with the choices drawn within it."""

    style: Style
    domain: Domain
    keyed: frozenset[str]
    """Types to which tools refer by code; others are referred to by name."""
    variant: int = 0
    """Selects among function names; any number."""
    register: Register = Register()
    """Register that the tools read, if there are several."""
    page: int = 0
    """Rows per page of results; 0 for no paging."""

    # -- names ------------------------------------------------------------------------------

    def function(self, shape: Shape, kind: str = "", **parts: str) -> str:
        """Return a tool's name."""
        columns, word = _COLUMNS[self.style], self.register.word if kind else ""
        before, after = (f"{word} ", "") if self.variant // 2 % 2 else ("", f"_{word}")
        if kind:
            nouns = {"type": kind, "plural": self.domain.types[kind].plural}
            parts |= {part: slug((before if word else "") + noun) for part, noun in nouns.items()}
        name = _NAMES[shape][columns[self.variant % len(columns)]].format(**parts)
        name += after if word else ""
        name = camel(name) if self.style is Style.SERVICE else name
        return name[:MOST_NAME_CHARS]

    def argument(self, text: str) -> str:
        """Return a parameter's name."""
        return camel(text) if self.style is Style.SERVICE else slug(text)

    def form(self, kind: str) -> str:
        """Return the field by which tools identify entities of the type: the code or the name."""
        return CODE if kind in self.keyed else NAME

    def shown(self, kind: str) -> list[str]:
        """Return the fields that identify an entity in a result with no other fields."""
        return [CODE, NAME] if kind in self.keyed else [NAME]

    def key_type(self, kind: str) -> str:
        """Return the type of the key's values."""
        return f"{kind} code" if kind in self.keyed else kind

    # -- columns ----------------------------------------------------------------------------

    def keys(self, kind: str) -> list[Column]:
        """Return the columns that identify an entity, the tools' key first."""
        of = self.domain.types[kind]
        name, code = Column(NAME, NAME, kind, "name"), Column(CODE, CODE, f"{kind} code", "code")
        if not of.code:
            return [name]
        return [code, name] if kind in self.keyed else [name, code]

    def attributes(self, kind: str, *kinds: Kind) -> list[Column]:
        """Return the columns of a type's attributes, of these kinds or all."""
        return [
            Column(name, self._attribute(kind, name, of), of.type, of.noun)
            for name, of in self.domain.types[kind].attributes.items()
            if not kinds or of.kind in kinds
        ]

    def _attribute(self, kind: str, name: str, of: Attribute) -> str:
        symbol = UNITS[of.unit].symbol if of.unit in UNITS else self.domain.units.get(of.unit, "")
        match self.style:
            case Style.RECORDS:
                return self._free(kind, f"{of.noun} {symbol}")
            case Style.VALUES:
                return self._free(kind, name)
            case Style.SERVICE:
                return self._free(kind, f"{of.noun} {of.unit}")
            case Style.TABLES:
                dated = {Kind.YEAR: "year", Kind.DATE: "date"}.get(of.kind, "")
                return self._free(kind, f"{name} {symbol or dated}")

    def _free(self, kind: str, text: str) -> str:
        name = self.argument(text)
        taken = keyword.iskeyword(name) or name in _RESERVED
        return self.argument(f"{kind} {text}") if taken else name

    def relations(self, kind: str) -> list[Column]:
        """Return the columns of a type's own relations."""
        return [
            Column(
                name,
                self._free(kind, name if self.style in {Style.VALUES, Style.TABLES} else link.noun),
                self.key_type(link.to),
                link.noun,
                link.many,
            )
            for name, link in self.domain.types[kind].relations.items()
        ]

    def links(self, kind: str) -> list[tuple[Column, str]]:
        """Return the columns of all links by which entities are found, with the linked type."""
        own = [
            (column, self.domain.relation(kind, column.of).to) for column in self.relations(kind)
        ]
        backward = [
            (
                Column(
                    f"{of}.{name}",
                    self.argument(f"{link.noun} of {of}"),
                    self.key_type(of),
                    link.noun,
                    many=True,
                ),
                of,
            )
            for of, name, link in self.domain.links
            if link.many and link.to == kind
        ]
        return own + backward

    # -- source -----------------------------------------------------------------------------

    def refusal(self, code: str, message: str, hint: str = "") -> str:
        """Return the statement by which a tool rejects a call.

        Args:
            code: ``NOT_FOUND`` or ``BAD_ARGUMENT``.
            message: content of an f-string.
            hint: what to do, in the same form.
        """
        if self.service:
            inner = f'{{"code": "{code}", "message": f"{message}"}}'
            return f'return {{"ok": False, "error": {inner}}}'
        told = f"{message}; {hint}" if hint and self.style is not Style.VALUES else message
        return f'raise {"LookupError" if code == "NOT_FOUND" else "ValueError"}(f"{told}")'

    def gives(self, data: str) -> str:
        """Return the statement by which a tool returns an expression."""
        return f'return {{"ok": True, "data": {data}}}' if self.service else f"return {data}"

    @property
    def service(self) -> bool:
        """Whether results are wrapped and errors are returned."""
        return self.style is Style.SERVICE

    def cells(self, **values: str) -> str:
        """Return the expression for a result of one row, by cell name, the main cell first."""
        match self.style:
            case Style.VALUES:
                return next(iter(values.values()))
            case Style.TABLES:
                columns, row = _bracketed(map(quoted, values)), _bracketed(values.values())
                return f'{{"columns": {columns}, "rows": [{row}]}}'
            case _:
                return "{" + ", ".join(f'"{name}": {value}' for name, value in values.items()) + "}"

    def cell_path(self, name: str, names: Sequence[str]) -> Path:
        """Return the path to a cell in a result of `cells`."""
        match self.style:
            case Style.VALUES:
                return ()
            case Style.TABLES:
                return ("rows", 0, names.index(name))
            case Style.SERVICE:
                return ("data", name)
            case Style.RECORDS:
                return (name,)

    @property
    def order(self) -> Order:
        """How results are sorted."""
        return _ORDERS[self.style]

    def rows_name(self, kind: str) -> str:
        """Return the key of the list of entities in a result that is an object."""
        return "items" if self.service else slug(self.domain.types[kind].plural)

    # -- results ----------------------------------------------------------------------------

    def typed(self, tool: MadeTool, result: JSON, arguments: Mapping[str, JSON]) -> list[Typed]:
        """Return the leaves of a result."""
        data: Any = result
        if self.service:
            if not data["ok"]:
                return []
            data = data["data"]
        if tool.shape in {Shape.FIND, Shape.LIST}:
            return list(self._listed(tool, data, arguments))
        cells = [(str(arguments.get("field", "")), data)]  # of Style.VALUES
        if self.style is Style.TABLES:
            row = data["rows"][0] if data["rows"] else []
            cells = [*zip(data["columns"], row, strict=False)]
        elif self.style is not Style.VALUES:
            cells = [*data.items()]
        if tool.shape in {Shape.RECORD, Shape.IDENTIFY, Shape.MATCH}:
            return [
                Typed(tool.types[name or tool.columns[0].name], part, picked=len(parts) > 1)
                for name, value in cells
                for parts in [value if isinstance(value, list) else [value]]
                for part in parts
            ]
        _, value = cells[0]
        return [] if value is None else [Typed(self._main(tool, arguments), value, picked=False)]

    def _main(self, tool: MadeTool, arguments: Mapping[str, JSON]) -> str:
        """Return the type of the single value that a tool returns."""
        match tool.shape:
            case Shape.COMPARE:
                return self.key_type(tool.type)
            case Shape.CONVERT:
                return f"number {arguments[self.argument('to_unit')]}"
            case Shape.DAYS:
                return "number days"
            case Shape.SHIFT:
                return str(Kind.DATE)
            case Shape.INITIALS | Shape.DIGITS:
                return str(tool.shape)
            case Shape.TOTAL if "field" not in arguments or arguments["statistic"] == "count":
                return str(Kind.NUMBER)
            case _:
                return difference(tool.types[str(arguments["field"])])

    def _listed(self, tool: MadeTool, data: Any, arguments: Mapping[str, JSON]) -> Iterator[Typed]:  # noqa: ANN401 -- JSON
        """Yield a list's leaves. The first row of a sorted list is not picked unless it ties."""
        by = arguments.get(self.order.by)
        types = tool.types
        key = tool.columns[0].name
        total: int | None = None
        rows: Sequence[Sequence[tuple[str, JSON]]]
        match self.style:
            case Style.VALUES:
                rows = [
                    [(key, row)] if by is None else [(key, row[0]), (str(by), row[1])]
                    for row in data
                ]
            case Style.TABLES:
                rows = [[*zip(data["columns"], row, strict=True)] for row in data["rows"]]
                total = data["row_count"]
            case _:
                rows = [[*row.items()] for row in data[self.rows_name(tool.type)]]
                total = data["total"]
        several = (total or len(rows)) > 1
        first = by is not None and arguments.get("page", 1) == 1
        first = first and (len(rows) < 2 or rows[0][-1] != rows[1][-1])
        for at, row in enumerate(rows):
            for name, value in row:
                yield Typed(types[name], value, picked=several and not (first and at == 0))
        if total is not None:
            yield Typed(str(Kind.NUMBER), total, picked=False)


@dataclass(frozen=True, slots=True)
class Order:
    """Arguments by which a style's tools sort."""

    by: str
    """Argument for the field."""
    way: str
    """Argument for the direction."""
    ways: tuple[JSON, JSON]
    """Values for ascending and descending; the first is the default."""

    @property
    def reverse(self) -> str:
        """Expression that is true if the greatest comes first."""
        return self.way if isinstance(self.ways[1], bool) else f'{self.way} == "{self.ways[1]}"'


_ORDERS = {
    Style.RECORDS: Order("sort_by", "order", ("ascending", "descending")),
    Style.VALUES: Order("sort_by", "largest_first", (False, True)),
    Style.SERVICE: Order("sortBy", "sortOrder", ("ASC", "DESC")),
    Style.TABLES: Order("order_by", "descending", (False, True)),
}


def quoted(text: str) -> str:
    """Return the text as a literal in double quotes."""
    return json.dumps(text, ensure_ascii=False)


def _bracketed(texts: Iterable[str]) -> str:
    return f"[{', '.join(texts)}]"
