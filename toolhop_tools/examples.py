"""Find example calls in a tool's source: at module level, in comments, in docstrings.

ToolHop ships no gold calls, but most of its sources end with a call of the function on the values
of its own question. The source is parsed and never run.
"""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import TypeAlias

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON
from toolhop_tools.pairing import NO_LITERAL, literal_value, parse_source

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
LONGEST_CHARS = 4000
"""Length of a call in prose, in characters, beyond which its closing parenthesis is not sought."""
MOST_CALLS = 200
"""Maximum number of calls examined in one comment or docstring."""


@lru_cache(maxsize=64)
def example_calls(program: Program) -> tuple[dict[str, JSON], ...]:
    """Return the distinct arguments of the example calls in a program's source, in order.

    Calls at module level come first, then those in comments and docstrings. Positional arguments
    are mapped to the function's parameter names. Calls with arguments that are not literals, or not
    JSON, are left out; a source that does not parse has no examples.
    """
    tree = parse_source(program.source)
    function = _function(tree, program.function) if tree else None
    if tree is None or function is None:
        return ()
    found: dict[str, dict[str, JSON]] = {}
    known = _constants(tree)
    for call in _calls(tree, function, program):
        arguments = _bound(call, function, known)
        if arguments is not None:
            found.setdefault(json.dumps(arguments, sort_keys=True), arguments)
    return tuple(found.values())


def _function(tree: ast.Module, name: str) -> Function | None:
    for node in tree.body:
        if isinstance(node, Function) and node.name == name:
            return node
    return None


def _calls(tree: ast.Module, function: Function, program: Program) -> Iterator[ast.Call]:
    """Yield calls of `function` outside any definition, in the source and its prose."""
    for statement in tree.body:
        if not isinstance(statement, Function | ast.ClassDef):
            yield from _calls_in(statement, function.name)
    for text in _prose(tree, program.source):
        for piece in _call_texts(text, function.name):
            parsed = parse_source(piece)
            if parsed is not None:
                yield from _calls_in(parsed, function.name)


def _calls_in(node: ast.AST, name: str) -> Iterator[ast.Call]:
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == name:
            yield part


def _prose(tree: ast.Module, source: str) -> Iterator[str]:
    """Yield comment blocks and docstrings."""
    block: list[str] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                block.append(token.string.lstrip("#"))
            elif block and token.type not in {tokenize.NL, tokenize.NEWLINE}:
                yield "\n".join(block)
                block = []
    except (tokenize.TokenError, SyntaxError):
        pass
    yield "\n".join(block)
    for node in ast.walk(tree):
        if isinstance(node, Function | ast.Module):
            yield ast.get_docstring(node) or ""


_DOCTEST_LINE = re.compile(r"^\s*\.\.\. ?", re.MULTILINE)
"""Continuation line of a doctest example."""


def _call_texts(text: str, name: str) -> Iterator[str]:
    """Yield every `name(...)` in prose, up to its closing parenthesis."""
    text = _DOCTEST_LINE.sub("", text)
    for found in islice(re.finditer(rf"\b{re.escape(name)}\s*\(", text), MOST_CALLS):
        depth, quote, escaped = 0, "", False
        for position in range(found.end() - 1, min(len(text), found.end() + LONGEST_CHARS)):
            letter = text[position]
            if quote:
                quote = "" if letter == quote and not escaped else quote
                escaped = letter == "\\" and not escaped
            elif letter in "'\"":
                quote = letter
            elif letter in "([{":
                depth += 1
            elif letter in ")]}":
                depth -= 1
                if depth == 0:
                    yield text[found.start() : position + 1]
                    break


def _constants(tree: ast.Module) -> dict[str, JSON]:
    """Literal values assigned to names at module level."""
    found: dict[str, JSON] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            try:
                value = _value(node.value, found)
            except NO_LITERAL:
                continue
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name) and value is not None:
                    found[target.id] = value
    return found


def _bound(call: ast.Call, function: Function, known: Mapping[str, JSON]) -> dict[str, JSON] | None:
    """Return the call's arguments by parameter name; None if they are not literals."""
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    if len(call.args) > len(names):
        return None
    pairs = [*zip(names, call.args, strict=False)]
    pairs += [(keyword.arg or "**", keyword.value) for keyword in call.keywords]
    arguments: dict[str, JSON] = {}
    for name, node in pairs:
        try:
            value = _value(node, known)
        except NO_LITERAL:
            return None
        if name != "**":
            arguments[name] = value
        elif isinstance(value, dict):
            arguments.update(value)
        else:
            return None
    return arguments


def _value(node: ast.expr, known: Mapping[str, JSON]) -> JSON:
    """Return a literal as JSON, resolving names of constants. Raises `NO_LITERAL`."""
    return (
        known[node.id] if isinstance(node, ast.Name) and node.id in known else literal_value(node)
    )
