"""What a tool says by itself: exceptions that it raises on purpose, and the keys that it knows.

Found by reading the source; nothing is run.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolhop_sandbox.outcome import Raised
from toolhop_sandbox.replies import TEXT_CHARS
from toolhop_tools.pairing import parse_source

_ENDS = frozenset({"SystemExit", "KeyboardInterrupt", "GeneratorExit"})
"""What ends a process is no message."""
_BUILT_IN = {
    name: value.__name__  # of IOError: OSError
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
}
_BY_NUMBER = {
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, OSError)
}
"""What `OSError(2, ...)` may be made of."""
_NOT_DERIVED = "must derive from BaseException"
"""What Python says of a `raise` of a text or None."""
_LOOKED_UP: Mapping[type[ast.AST], frozenset[str]] = {
    ast.Name: frozenset({"NameError", "UnboundLocalError"}),
    ast.Attribute: frozenset({"AttributeError"}),
    ast.Subscript: frozenset({"KeyError", "IndexError"}),
    ast.Call: frozenset({"TypeError"}),
}
"""By what stands in a `raise` how making its exception fails."""


@dataclass(frozen=True, slots=True)
class RaiseSite:
    """A statement that raises on purpose."""

    first: int
    """Its lines, from 1."""
    last: int
    error: str | None
    """Name of the exception's type; None where reading does not tell it."""
    faults: frozenset[str] = frozenset()
    """Where reading does not tell the type: those that a type that is not there, or takes other
    arguments, raises in this place."""

    texts: tuple[str | None, ...] = (None,)
    """Its message, with None for any text: what fails while the message is made has another."""

    def made(self, raised: Raised) -> bool:
        """Whether an exception came from here, with words that a model can read."""
        return (
            raised.line is not None
            and raised.message != ""
            and raised.error not in _ENDS
            and self.first <= raised.line <= self.last
            and self._fits(raised)
        )

    def _fits(self, raised: Raised) -> bool:
        if self.error is None:
            return raised.error not in self.faults and _NOT_DERIVED not in raised.message
        if self.error == "OSError" and raised.error in _BY_NUMBER:
            return True
        return self.error == raised.error and self._says(raised)

    def _says(self, raised: Raised) -> bool:
        if set(self.texts) == {None}:
            return raised.error not in self.faults
        text = raised.message
        if raised.error == "KeyError":  # whose text is its argument as Python writes it
            with contextlib.suppress(ValueError, SyntaxError):
                text = str(ast.literal_eval(text))
        return _has_parts(text, self.texts) or len(raised.message) >= TEXT_CHARS


def raise_sites(source: str) -> Sequence[RaiseSite]:
    """The statements of a source that raise on purpose.

    They are `raise` with an exception, and `assert` with a message. What was caught and is raised
    again is not the tool's own. A source that does not parse has none.
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
            name = _name(one.func if isinstance(one, ast.Call) else one) or ""
            error = types.get(name)
            texts: tuple[str | None, ...] = (None,)
            looked_up = ast.walk(one)
            if name in _BUILT_IN and isinstance(one, ast.Call) and error != "OSError":
                match one:
                    case ast.Call(args=[ast.expr() as said], keywords=[]):
                        texts = tuple(_texts(said))
                looked_up = (inner for inner in ast.walk(one) if _looks_up(inner))
            faults = (_LOOKED_UP.get(type(inner), frozenset()) for inner in looked_up)
            yield RaiseSite(
                part.lineno,
                part.end_lineno or part.lineno,
                error,
                frozenset().union(*faults),
                texts,
            )


def _texts(said: ast.expr) -> Iterator[str | None]:
    """The parts of a message: texts of the source, and None for what is put in."""
    match said:
        case ast.Constant(value=str() as text):
            yield text
        case ast.JoinedStr(values=parts):
            for part in parts:
                yield from _texts(part)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from (*_texts(left), *_texts(right))
        case ast.BinOp(left=ast.Constant(value=str() as text), op=ast.Mod()):
            yield from _between(_PERCENT, text)
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str() as text), attr="format")):
            yield from _between(_BRACES, text)
        case _:
            yield None


_PERCENT = re.compile(r"%(?:\(\w+\))?[-#0 +]*[\d*.]*[a-zA-Z%]")
_BRACES = re.compile(r"\{\{|\}\}|\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")


def _between(places: re.Pattern[str], text: str) -> Iterator[str | None]:
    for number, part in enumerate(places.split(text)):
        yield from (None, part) if number else (part,)


def _has_parts(text: str, parts: Sequence[str | None]) -> bool:
    """Whether `text` is these parts in order, with any text where one is None."""
    fixed = [""]
    for part in parts:
        if part is None:
            fixed.append("")
        else:
            fixed[-1] += part
    first, *middle = fixed
    if not middle:
        return text == first
    last, place = middle.pop(), len(first)
    for part in middle:
        place = text.find(part, place) + len(part)
        if place < len(part):
            return False
    return text.startswith(first) and text.endswith(last) and place + len(last) <= len(text)


def _looks_up(part: ast.AST) -> bool:
    """Whether this takes what may not be there: an element by what is not written out."""
    return isinstance(part, ast.Subscript) and not isinstance(part.slice, ast.Constant)


def _raises_again(part: ast.AST, caught: str | None) -> bool:
    """Whether this raises what its handler caught; outside of it the name is another's."""
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
    """Texts of two characters or more that the code has in its tables or compares with for
    equality, case-folded.

    Arguments of calls are none of them: an example call at the end of a source knows no record.
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
                # A text after `in` is an alphabet, or is looked through: no record.
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
