"""Literals of a tool's source: what its code compares arguments with, and what its tables hold.

Read, never run. They are what a person who reads the tool would try.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON
from toolhop_tools.certify.words import runs, words
from toolhop_tools.pairing import parse_source, top_functions

MOST = 400
"""Texts of a source that are kept."""
LONGEST_CHARS = 80


@dataclass(frozen=True, slots=True)
class Source:
    """What reading a tool's source showed."""

    parses: bool
    defined: bool
    """Whether the named function stands at module level."""
    needed: tuple[str, ...]
    """Parameters of the function without a default."""
    texts: tuple[str, ...]
    """Short texts of the source but its docstrings, each once, in order."""
    compared: Mapping[str, tuple[JSON, ...]]
    """By parameter: the literals that it is compared with or looked up among."""


@lru_cache(maxsize=64)
def read_source(program: Program) -> Source:
    """Read a source. One that does not parse has nothing."""
    tree = parse_source(program.source)
    if tree is None:
        return Source(False, False, (), (), {})
    function = top_functions(tree).get(program.function)
    texts = tuple(_texts(tree))
    if function is None:
        return Source(True, False, (), texts, {})
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    needed = names[: len(names) - len(function.args.defaults)]
    for argument, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        names.append(argument.arg)
        if default is None:
            needed.append(argument.arg)
    return Source(True, True, tuple(needed), texts, _compared(tree, names))


def _texts(tree: ast.Module) -> Iterator[str]:
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    found: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
            short = text.strip() and len(text) <= LONGEST_CHARS and _is_text(text)
            if short and id(node) not in docstrings:
                found.setdefault(text)
                if len(found) == MOST:
                    break
    yield from found


def _is_text(text: str) -> bool:
    """Whether a call could carry it: half of a surrogate pair is no text."""
    return text.isprintable() or not any("\ud800" <= letter <= "\udfff" for letter in text)


def _compared(tree: ast.Module, names: list[str]) -> dict[str, tuple[JSON, ...]]:
    tables = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    found: dict[str, dict[str, JSON]] = {name: {} for name in names}
    for node in ast.walk(tree):
        for parameter, other in _meetings(node, names):
            holder = tables.get(other.id, other) if isinstance(other, ast.Name) else other
            for value in _values(holder):
                if len(found[parameter]) < 60:
                    found[parameter].setdefault(repr(value), value)
    return {name: tuple(values.values()) for name, values in found.items() if values}


def _meetings(node: ast.AST, names: list[str]) -> Iterator[tuple[str, ast.expr]]:
    """Where a parameter meets another expression: a comparison, a look-up."""
    match node:
        case ast.Compare(left=left, comparators=others):
            for one, other in ((left, others[0]), (others[0], left)):
                if (name := _parameter(one, names)) is not None:
                    yield name, other
        case ast.Subscript(value=table, slice=key):
            if (name := _parameter(key, names)) is not None:
                yield name, table
        case ast.Call(func=ast.Attribute(value=table, attr="get"), args=[key, *_]):
            if (name := _parameter(key, names)) is not None:
                yield name, table
        case _:
            return


def _parameter(node: ast.expr, names: list[str]) -> str | None:
    """The parameter that an expression is, or is made of by methods such as ``lower()``."""
    while isinstance(node, ast.Call | ast.Attribute | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) and node.id in names else None


def _values(node: ast.expr) -> Iterator[JSON]:
    match node:
        case ast.Constant(value=str() as text) if _is_text(text):
            yield text
        case ast.Constant(value=int() as number) if abs(number) < 10**15:
            yield number
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            for part in parts:
                yield from _values(part)
        case ast.Dict(keys=keys):
            for key in keys:
                if key is not None:
                    yield from _values(key)
        case _:
            return


def named_in(texts: tuple[str, ...], question: str) -> list[str]:
    """The texts that stand in the question as whole words, the longest first."""
    asked = words(question)
    found = [text for text in texts if len(text) > 2 and runs(words(text), asked)]
    return sorted(found, key=lambda text: -len(words(text)))


_EXAMPLE = re.compile(r"['\"‘“]([^'\"’”]{1,60})['\"’”]")
_SUCH_AS = re.compile(r"(?:e\.g\.,?|such as|for example,?|like|default(?:s to| is)?)\s+([^.;)]+)")


def described(description: str) -> list[str]:
    """Values that a parameter's description gives as examples."""
    found = _EXAMPLE.findall(description)
    for listing in _SUCH_AS.findall(description):
        found += [part.strip(" '\"") for part in re.split(r",| or | and ", listing)]
    return [text for text in dict.fromkeys(found) if 0 < len(text) <= 60][:8]


_UNIT = "YYYY|MMMM|MMM|MM|DD|Month|YY"
_FORM = re.compile(rf"\b(?:{_UNIT})(?:[-/., ]{{1,2}}(?:{_UNIT})){{2}}\b|\bYYYYMMDD\b|\bDDMMYYYY\b")
_CODE = re.compile(r"%[dmYbBy](?:[-/., ]{0,2}%[dmYbBy]){2}")
_CODES = {"YYYY": "%Y", "MMMM": "%B", "Month": "%B", "MMM": "%b", "MM": "%m", "DD": "%d"}


def notations_named(about: str) -> list[str]:
    """The date notations that a description names (``DD/MM/YYYY``), as `strftime` has them."""
    found = [re.sub(_UNIT, lambda one: _CODES.get(one[0], "%y"), f) for f in _FORM.findall(about)]
    return list(dict.fromkeys([*found, *_CODE.findall(about)]))
