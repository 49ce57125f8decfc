"""Intentional exceptions in a tool's source, and the keys it knows.

The source is only read; nothing is run.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolhop_sandbox.outcome import Raised
from toolhop_tools.pairing import parse_source

_ENDS = frozenset({"SystemExit", "KeyboardInterrupt", "GeneratorExit"})
"""Exceptions that end the process and are therefore not messages to a model."""
_BUILT_IN = {
    name: value.__name__  # IOError is an alias of OSError
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
}
_BY_NUMBER = {
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, OSError)
}
"""Subclasses that `OSError(2, ...)` may turn into."""
_NOT_DERIVED = "must derive from BaseException"
"""Part of Python's message about raising a text or None."""
_LOOKED_UP: Mapping[type[ast.AST], frozenset[str]] = {
    ast.Name: frozenset({"NameError", "UnboundLocalError"}),
    ast.Attribute: frozenset({"AttributeError"}),
    ast.Subscript: frozenset({"KeyError", "IndexError"}),
    ast.Call: frozenset({"TypeError"}),
}
"""Errors that evaluating the expression of a `raise` can cause, by kind of node."""


@dataclass(frozen=True, slots=True)
class RaiseSite:
    """A statement that raises intentionally."""

    first: int
    """First and last line of the statement, from 1."""
    last: int
    error: str | None
    """Name of the exception's type; None if the source does not show it."""
    faults: frozenset[str] = frozenset()
    """If the type is not known: errors raised here by a missing type or wrong arguments."""

    def made(self, raised: Raised) -> bool:
        """Whether this statement raised an exception, with a message that a model can read."""
        return (
            raised.line is not None
            and raised.message != ""
            and raised.error not in _ENDS
            and self.first <= raised.line <= self.last
            and self._names(raised)
        )

    def _names(self, raised: Raised) -> bool:
        """Whether the exception has the type that the statement names."""
        if self.error is None:
            return raised.error not in self.faults and _NOT_DERIVED not in raised.message
        is_by_number = self.error == "OSError" and raised.error in _BY_NUMBER
        return is_by_number or raised.error == self.error


def raise_sites(source: str) -> Sequence[RaiseSite]:
    """Return the statements of a source that raise intentionally.

    These are `raise` with an exception, and `assert` with a message, but not the re-raising of a
    caught exception. A source that does not parse has none.
    """
    tree = parse_source(source)
    return () if tree is None else tuple(_sites(tree))


def _sites(tree: ast.Module) -> Iterator[RaiseSite]:
    parts = list(ast.walk(tree))
    handlers = [one for one in parts if isinstance(one, ast.ExceptHandler)]
    again = {part for one in handlers for part in ast.walk(one) if _raises_again(part, one.name)}
    types = _BUILT_IN | {one.name: one.name for one in parts if isinstance(one, ast.ClassDef)}
    for part in parts:
        match part:
            case ast.Raise(exc=ast.expr() as raised) if part not in again:
                made = list(_choices(raised))
            case ast.Assert(msg=ast.expr()):
                made = [ast.Name("AssertionError")]
            case _:
                continue
        for one in made:
            error = types.get(_name(one.func if isinstance(one, ast.Call) else one) or "")
            faults = (_LOOKED_UP.get(type(inner), frozenset()) for inner in ast.walk(one))
            yield RaiseSite(
                part.lineno, part.end_lineno or part.lineno, error, frozenset().union(*faults)
            )


def _raises_again(part: ast.AST, caught: str | None) -> bool:
    """Whether a statement in a handler re-raises the exception that the handler caught."""
    match part:
        case ast.Raise(exc=ast.Name(id=name)):
            return name == caught
        case _:
            return False


def _choices(raised: ast.expr) -> Iterator[ast.expr]:
    if isinstance(raised, ast.IfExp):
        yield from _choices(raised.body)
        yield from _choices(raised.orelse)
    else:
        yield raised


def _name(node: ast.expr) -> str | None:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return None


def known_keys(source: str) -> frozenset[str]:
    """Return case-folded texts in tables or equality comparisons, of two or more characters.

    Arguments of calls do not count: an example call in a source does not show a known key.
    """
    tree = parse_source(source)
    found: set[str] = set()
    for part in ast.walk(tree) if tree is not None else ():
        match part:
            case ast.Dict(keys=keys, values=values):
                among: Sequence[ast.AST | None] = (*keys, *values)
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
                among = parts
            case ast.Compare(left=left, ops=ops, comparators=others):
                # A text after `in` is an alphabet or is searched, so it is not a key.
                equal = all(isinstance(one, ast.Eq | ast.NotEq) for one in ops)
                among = (left, *others) if equal else ()
            case ast.MatchValue(value=value):
                among = (value,)
            case _:
                continue
        found |= {
            one.value.casefold()
            for one in among
            if isinstance(one, ast.Constant) and isinstance(one.value, str) and len(one.value) > 1
        }
    return frozenset(found)
