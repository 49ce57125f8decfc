"""Examples in a tool's description: calls with their results, and values of parameters."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON
from toolhop_tools.batch import Arguments
from toolhop_tools.declared import described
from toolhop_tools.examples import example_calls
from toolhop_tools.model import Tool
from toolhop_tools.pairing import parse_source, top_functions

_MARK = re.compile(r"\s*(->|=>|==|→|returns?\b:?|gives?\b:?|\n)\s*")
_ENDS = {
    "word": re.compile(r"[.,;)](?=\s|$)"),
    "line": re.compile(r"$"),
    "arrow": re.compile(r"[.,;)]?(?=\s|$)"),
}
"""Possible ends of a result. After a word such as "returns", punctuation can end it; below a
call it fills the line."""
LONGEST_CHARS = 4000


@dataclass(frozen=True, slots=True)
class Promise:
    """An example call in a description."""

    arguments: Arguments
    result: JSON = None
    stated: bool = False
    """Whether the description states the result."""


def promises(tool: Tool) -> tuple[Promise, ...]:
    """Return the example calls in the schema's description and in the function's docstring.

    The result of a call is the literal after an arrow, ``==`` or "returns" or, in a docstring, on
    the next line.
    """
    name = tool.program.function
    texts = [tool.schema.description]
    if tool.name != name:
        texts = [text.replace(f"{tool.name}(", f"{name}(") for text in texts]
    tree = parse_source(tool.program.source)
    function = top_functions(tree).get(name) if tree else None
    if function is None:
        return ()
    texts.append(ast.get_docstring(function) or "")
    found: dict[str, Promise] = {}
    for text in texts:
        for promise in _in_text(text, name, function):
            found.setdefault(json.dumps(promise.arguments, sort_keys=True), promise)
    return tuple(found.values())


def _in_text(
    text: str, name: str, function: ast.FunctionDef | ast.AsyncFunctionDef
) -> Iterator[Promise]:
    names = ", ".join(a.arg for a in (*function.args.posonlyargs, *function.args.args))
    head = f"def {name}({names}): pass\n"
    for call, after in _calls(text, name):
        bound = example_calls(Program(head + call, name))
        for arguments in bound[:1]:
            stated, result = _result(after)
            yield Promise(arguments, result, stated)


def _calls(text: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield each parsable call of the function in a text, with the text that follows it."""
    for found in re.finditer(rf"(?<![\w.]){re.escape(name)}\s*\(", text):
        for end in range(found.end(), min(len(text), found.end() + LONGEST_CHARS)):
            if text[end] == ")":
                piece = text[found.start() : end + 1]
                tree = parse_source(piece)
                if tree and len(tree.body) == 1 and _is_call(tree.body[0]):
                    yield piece, text[end + 1 :]
                    break


def _is_call(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)


def _result(after: str) -> tuple[bool, JSON]:
    """Return whether the text states a result, and the result."""
    mark = _MARK.match(after)
    if mark is None:
        return False, None
    sign = mark[1]
    ends = _ENDS["line" if sign == "\n" else "word" if sign[0].isalpha() else "arrow"]
    line = after[mark.end() :].partition("\n")[0].strip()
    for end in sorted({len(line), *(found.start() for found in ends.finditer(line))}, reverse=True):
        stated, value = _literal(line[:end].strip())
        if stated:
            return True, value
    return False, None


def _literal(text: str) -> tuple[bool, JSON]:
    for read in (json.loads, ast.literal_eval):
        try:
            value: JSON = json.loads(json.dumps(read(text), allow_nan=False))
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            continue
        return True, value
    return False, None


def sample_values(
    schema: Mapping[str, JSON], keys: Sequence[str] = ("examples", "example", "default")
) -> Iterator[tuple[str, dict[str, JSON], JSON]]:
    """Yield sample values in the schema: (parameter, its schema, value).

    A default of null is ignored: schemas made from signatures use it for a missing default.
    """
    for name, inner in described(schema).items():
        if not isinstance(inner, dict):
            continue
        for key in keys:
            given = inner.get(key)
            if given is None:
                continue
            for value in given if key == "examples" and isinstance(given, list) else [given]:
                yield name, inner, value
