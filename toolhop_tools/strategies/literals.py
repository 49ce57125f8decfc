"""Values that a tool's code expects: literals it compares with, and its example calls.

Random text never reaches code behind ``if kind == "leap"``, but the literal always does. The source
is only read; nothing is run.
"""

from __future__ import annotations

import ast
import contextlib
import datetime as dt
import json
import re
from collections.abc import Iterable, Iterator, Mapping

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON
from toolhop_tools.declared import declared
from toolhop_tools.examples import example_calls
from toolhop_tools.pairing import parse_source, top_functions

MOST_VALUES = 60
"""Maximum number of values for one parameter, or for any place; the first found are used."""
LONGEST_CHARS = 300
"""Length above which a text is considered prose rather than a value, in characters."""
LONGEST_ANYWHERE_CHARS = 60
"""Limit for texts that belong to no parameter; lower, since most of those are messages."""
MOST_NAMES = 400
"""Maximum number of assignments that are traced back to parameters."""

_TEXT_TESTS = frozenset(
    {"startswith", "endswith", "find", "index", "count", "split", "replace", "strip", "partition"}
)
_KEYED = frozenset({"get", "pop", "setdefault"})
_ANY = ""
_DIRECTIVE = re.compile(r"%d.*%Y|%Y.*%d", re.DOTALL)
"""A `strptime` format with a day and a year."""
_DAYS = (dt.datetime(2000, 2, 29), dt.datetime(1999, 12, 31, 23, 59), dt.datetime(1970, 1, 1))


def favoured(program: Program, parameters: Mapping[str, JSON]) -> dict[str, list[JSON]]:
    """Return values worth trying for each parameter, and under ``""`` those for any place.

    Values of example calls come first. A literal belongs to a parameter if the code compares it
    with the parameter, a part of it or a name derived from it. Other literals, such as keys of a
    table or texts in a list of rows, are for any place. The result is empty if the source does not
    parse.

    Args:
        program: the tool's code.
        parameters: schema of the arguments, for their names.
    """
    found = _Found()
    for call in example_calls(program):
        for name, value in call.items():
            found.note([name], value)
    tree = parse_source(program.source)
    if tree is not None:
        names = set(declared(parameters))
        function = top_functions(tree).get(program.function)
        if function is not None:
            arguments = function.args
            every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
            names |= {argument.arg for argument in every}
        for node in [*([function] if function else []), tree]:
            _read(node, _origins(node, names), found)
    return found.values()


class _Found:
    """A collector of distinct values for each parameter, in order of discovery."""

    def __init__(self) -> None:
        self._by_name: dict[str, dict[str, JSON]] = {}

    def note(self, names: Iterable[str], value: JSON) -> None:
        """Add a value for the given parameters, or for any place if there are none."""
        try:
            key = json.dumps(value, sort_keys=True, allow_nan=False)
            json.dumps(value, ensure_ascii=False).encode()
        except (ValueError, TypeError, RecursionError):
            return
        for name in list(names) or [_ANY]:
            self._by_name.setdefault(name, {}).setdefault(key, value)

    def values(self) -> dict[str, list[JSON]]:
        """Return the values; those of a parameter are not repeated under any place."""
        known = {key for name, values in self._by_name.items() if name != _ANY for key in values}
        kept: dict[str, list[JSON]] = {}
        for name, values in self._by_name.items():
            own = [value for key, value in values.items() if name != _ANY or key not in known]
            if own:
                kept[name] = own[:MOST_VALUES]
        return kept


def _origins(node: ast.AST, names: set[str]) -> dict[str, set[str]]:
    """Map each name in the code to the parameters that its value may come from."""
    found = {name: {name} for name in names}
    for count, part in enumerate(_assigned(node)):
        if count >= MOST_NAMES:
            break
        target, value = part
        sources = _sources(value, found)
        for inner in ast.walk(target):
            if isinstance(inner, ast.Name) and sources:
                found[inner.id] = found.get(inner.id, set()) | sources
    return found


def _assigned(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    for part in ast.walk(node):
        match part:
            case ast.Assign(targets=targets, value=value):
                yield from ((target, value) for target in targets)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                yield target, value
            case ast.NamedExpr(target=target, value=value):
                yield target, value
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                yield target, value
            case _:
                pass


def _sources(node: ast.AST, origins: Mapping[str, set[str]]) -> set[str]:
    """Return the parameters that an expression uses, by name or as in ``params["year"]``."""
    found: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            found |= origins.get(part.id, set())
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            found |= {part.value} & origins.get(part.value, set())
    return found


def _read(node: ast.AST, origins: Mapping[str, set[str]], found: _Found) -> None:
    for part in ast.walk(node):
        match part:
            case ast.Compare(left=left, comparators=others):
                _noted(ast.List([left, *others]), _sources(part, origins), found)
            case ast.Match(subject=subject, cases=cases):
                for case in cases:
                    _noted(case.pattern, _sources(subject, origins), found)
            case ast.Constant(value=str() as text) if _DIRECTIVE.search(text):
                _dated(text, found)
            case ast.Call(func=ast.Attribute(value=value, attr=method), args=[first, *_]):
                if method in _TEXT_TESTS:
                    _noted(first, _sources(value, origins), found)
                elif method in _KEYED:
                    _looked_up(value, first, origins, found)
            case ast.Subscript(value=value, slice=index):
                _looked_up(value, index, origins, found)
            case ast.Dict() | ast.List() | ast.Set() | ast.Tuple():
                _displayed(part, found)


def _dated(form: str, found: _Found) -> None:
    """Add dates in the format that the code uses, which random text never matches."""
    for day in _DAYS:
        with contextlib.suppress(ValueError):
            found.note((), day.strftime(form))


def _displayed(node: ast.AST, found: _Found) -> None:
    """Add the values of tables and rows, for any place."""
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.Constant | ast.UnaryOp | ast.Tuple):
            _noted(part, set(), found)


def _looked_up(
    table: ast.expr, key: ast.expr, origins: Mapping[str, set[str]], found: _Found
) -> None:
    """Add keys of lookups such as ``{"a": 1}[kind]`` and ``{"a": 1}.get(kind)``, for `kind`.

    A literal key of any other lookup is added for any place.
    """
    sources = _sources(key, origins)
    if sources and isinstance(table, ast.Dict):
        _noted(table, sources, found)
    elif isinstance(key, ast.Constant):
        _noted(key, set(), found)


def _noted(node: ast.AST, sources: set[str], found: _Found) -> None:
    """Add the literals in a node: a value itself, or the elements of a display."""
    match node:
        case ast.Constant(value=value) | ast.MatchSingleton(value=value):
            if isinstance(value, str | bool | int | float | None) and not _prose(value, sources):
                found.note(sources, value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            found.note(sources, -value)
        case ast.Dict(keys=keys):
            for key in filter(None, keys):
                _noted(key, sources, found)
        case ast.List() | ast.Tuple() | ast.Set() | ast.MatchOr() | ast.MatchSequence():
            for part in ast.iter_child_nodes(node):
                _noted(part, sources, found)
        case ast.MatchValue(value=inner):
            _noted(inner, sources, found)


def _prose(value: object, sources: set[str]) -> bool:
    """Whether a value is a message of the tool rather than a value it knows."""
    longest = LONGEST_CHARS if sources else LONGEST_ANYWHERE_CHARS
    return isinstance(value, str) and len(value) > longest
