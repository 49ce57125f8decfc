"""Find parameters that a tool never reads, so that any value will do. No side effects."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from toolhop_sandbox.base import Program
from toolhop_tools.pairing import default_nodes, parse_source, top_functions


@lru_cache(maxsize=1024)
def unread(program: Program) -> frozenset[str]:
    """Return the parameters that the program's function never reads, except to reject a value
    for its type or for being empty.
    """
    tree = parse_source(program.source)
    own = top_functions(tree).get(program.function) if tree else None
    if own is None:
        return frozenset()
    taken = default_nodes(own.args).keys()
    whole = {"locals", "vars", "eval", "exec"}  # read variables without naming them
    used = {name for statement in own.body for name in _read(statement)}
    return frozenset() if used & whole else frozenset(taken - used)


def _read(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node reads."""
    if isinstance(node, ast.If) and all(map(_refuses, node.body)) and _of_form(node.test):
        for other in node.orelse:
            yield from _read(other)
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node.id
    for inner in ast.iter_child_nodes(node):
        yield from _read(inner)


def _refuses(statement: ast.stmt) -> bool:
    """Whether a statement raises, or returns a text or an object that says ``error``."""
    if isinstance(statement, ast.Return):
        texts = (one.value for one in ast.walk(statement) if isinstance(one, ast.Constant))
        return any(isinstance(text, str) and "error" in text.lower() for text in texts)
    return isinstance(statement, ast.Raise)


def _of_form(test: ast.expr) -> bool:
    """Whether a condition tests only the type or presence of a value."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _of_form(inner)
        case ast.BoolOp(values=parts):
            return all(map(_of_form, parts))
        case ast.Compare(left=left, comparators=[ast.Constant(value=(None | ""))]):
            return _names(left)
        case ast.Call(func=ast.Name(id="isinstance")):
            return True
        case _:
            return _names(test)


def _names(part: ast.expr) -> bool:
    """Whether the expression is a name, or a name with ``.strip()``."""
    match part:
        case ast.Call(func=ast.Attribute(attr="strip", value=text), args=[]):
            return _names(text)
    return isinstance(part, ast.Name)
