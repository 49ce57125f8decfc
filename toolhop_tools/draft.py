"""Draft a tool schema from source (signature, type hints and docstring) without running it."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from toolhop_sandbox.outcome import JSON
from toolhop_tools.errors import ToolsError

SCALARS = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
ALLOWED = (
    "str, int, float, bool, list, list[T], dict, dict[str, T], Literal[...], or one of them | None"
)
"""Type hints that can become a schema."""
LISTS = ("list", "List", "Sequence", "tuple")
OBJECTS = ("dict", "Dict", "Mapping")


DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)


class CannotDraft(ToolsError):
    """The source cannot become a schema; the message names the line and what to write instead."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A tool schema in ToolHop's form, and what its author still has to add."""

    schema: dict[str, JSON]
    """Object with `name`, `description` and `parameters` (a JSON Schema)."""
    missing: tuple[str, ...]
    """Missing parts in words, such as a parameter without a description."""


def draft(source: str, function: str | None = None, *, file_name: str = "") -> Draft:
    """Draft the schema of a function.

    The description is the docstring's first paragraph; parameters are described under ``Args:`` as
    ``name: text``. A parameter without a default is required; a default that is JSON is included.

    Args:
        source: source of the tool.
        function: name of the function; if None, the one named like the file, as in data sets, or
            the only public one.
        file_name: name of the source file without its suffix.

    Raises:
        CannotDraft: the source cannot be parsed, has no such function, or has a parameter whose
            type JSON Schema cannot express.
    """
    found = _function(source, function, file_name)
    text = inspect.cleandoc(ast.get_docstring(found) or "")
    described = _described(text)
    properties: dict[str, JSON] = {}
    required: list[JSON] = []
    missing = [] if text else ["the function has no docstring: it is the tool's description"]
    for parameter, default in _parameters(found):
        name = parameter.arg
        schema = _typed(parameter)
        if name in described:
            schema["description"] = described[name]
        else:
            missing.append(f"the parameter {name} has no line under Args: in the docstring")
        if default is None:
            required.append(name)
        elif (value := _value(default)) is not None:
            schema["default"] = value
        properties[name] = schema
    return Draft(
        {
            "name": found.name,
            "description": " ".join(text.split("\n\n")[0].split()),
            "parameters": {
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": False,
            },
        },
        tuple(missing),
    )


def _function(source: str, wanted: str | None, file_name: str) -> ast.FunctionDef:
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        raise CannotDraft(f"line {line}: {error.args[0]}" if line else str(error)) from error
    found = {one.name: one for one in body if isinstance(one, DEFS)}
    public = [name for name in found if not name.startswith("_")]
    if wanted is None:
        wanted = file_name if file_name in found or len(public) != 1 else public[0]
    chosen = found.get(wanted)
    if isinstance(chosen, ast.AsyncFunctionDef):
        raise CannotDraft(
            f"line {chosen.lineno}: {wanted} is an async function; tools are called and not "
            f"awaited: write `def {wanted}(...)`"
        )
    if chosen is None and not found:
        raise CannotDraft("it has no public function; write one as `def name(...)`")
    if chosen is None and not public and wanted == file_name:
        raise CannotDraft("it has no public function; write one as `def name(...)`")
    if chosen is None:
        raise CannotDraft(
            f"it has no function {wanted!r}; its functions are: {', '.join(found)}\n"
            f"  fix: name the tool's by --function, such as --function {(public or [*found])[-1]}"
        )
    return chosen


def _parameters(function: ast.FunctionDef) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    """Yield the parameters in order, each with its default."""
    taken = function.args
    for star in (taken.vararg, taken.kwarg):
        if star is not None:
            raise CannotDraft(
                f"line {star.lineno}: *{star.arg} takes arguments without a name of their own; "
                "give each a parameter"
            )
    if taken.posonlyargs:
        one = taken.posonlyargs[0]
        raise CannotDraft(
            f"line {one.lineno}: {one.arg} is positional only; tools are called by name"
        )
    plain = [None] * (len(taken.args) - len(taken.defaults)) + [*taken.defaults]
    yield from zip(taken.args, plain, strict=True)
    yield from zip(taken.kwonlyargs, taken.kw_defaults, strict=True)


def _typed(parameter: ast.arg) -> dict[str, JSON]:
    if parameter.annotation is None:
        raise CannotDraft(
            f"line {parameter.lineno}: the parameter {parameter.arg} has no type hint; "
            f"give it one of {ALLOWED}"
        )
    try:
        return _schema(parameter.annotation)
    except (ValueError, SyntaxError):
        raise CannotDraft(
            f"line {parameter.lineno}: the type hint {ast.unparse(parameter.annotation)} of "
            f"{parameter.arg} is not a JSON type; give {ALLOWED}"
        ) from None


def _schema(hint: ast.expr) -> dict[str, JSON]:
    """Convert a type hint to JSON Schema. Raises ValueError: the hint is not a JSON type."""
    match hint:
        case ast.Constant(value=str() as text):
            return _schema(ast.parse(text, mode="eval").body)
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in SCALARS:
            return {"type": SCALARS[name]}
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in LISTS:
            return {"type": "array"}
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in OBJECTS:
            return {"type": "object"}
        case ast.Name(id="Any" | "object") | ast.Attribute(attr="Any"):
            return {}
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _union([left, right])
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inner):
            parts = [*inner.elts] if isinstance(inner, ast.Tuple) else [inner]
            return _generic(name, parts)
        case _:
            raise ValueError


def _generic(name: str, parts: list[ast.expr]) -> dict[str, JSON]:
    if name in LISTS:
        return {"type": "array", "items": _schema(parts[0])}
    if name in OBJECTS:
        return {"type": "object", "additionalProperties": _schema(parts[-1])}
    if name == "Literal":
        values = [ast.literal_eval(part) for part in parts]
        kinds = {SCALARS.get(type(value).__name__) for value in values}
        if len(kinds) == 1 and (kind := kinds.pop()):
            return {"type": kind, "enum": values}
        return {"enum": values}
    if name in ("Optional", "Union"):
        return _union(parts)
    if name == "Annotated":
        return _schema(parts[0])
    raise ValueError


def _union(parts: list[ast.expr]) -> dict[str, JSON]:
    """Combine several types. None is dropped: it marks a default, not a value to pass."""
    found = [
        _schema(part)
        for part in parts
        if not (isinstance(part, ast.Constant) and part.value is None)
    ]
    if not found:
        raise ValueError
    return found[0] if len(found) == 1 else {"anyOf": [*found]}


def _value(default: ast.expr) -> JSON:
    """Return a default as JSON; None if it is None or not a literal."""
    try:
        value: JSON = ast.literal_eval(default)
    except ValueError:
        return None
    return value if isinstance(value, str | int | float | bool | list | dict) else None


_ENTRY = re.compile(r"^(\s+)(\w+)(?:\s*\([^)]*\))?:\s*(.*)$")


def _described(docstring: str) -> Mapping[str, str]:
    """Parse the entries under ``Args:`` (or ``Parameters:``), by name."""
    found: dict[str, str] = {}
    within, indent, name = False, "", ""
    for line in docstring.splitlines():
        if re.match(r"(Args|Arguments|Parameters):\s*$", line):
            within = True
        elif line and not line[0].isspace():
            within = False
        elif within and (entry := _ENTRY.match(line)) and entry[1] == (indent or entry[1]):
            indent, name = entry[1], entry[2]
            found[name] = entry[3].strip()
        elif within and name and line.strip():
            found[name] = f"{found[name]} {line.strip()}".strip()
    return found
