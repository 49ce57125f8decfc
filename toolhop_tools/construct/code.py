"""Stage C: what can be said of a function without running it, and how it is put together. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number
from toolhop_tools.construct.facts import TABLE, table
from toolhop_tools.construct.replies import Pairs, Records
from toolhop_tools.construct.stages import Findings, judged
from toolhop_tools.construct.text import same
from toolhop_tools.declared import declared
from toolhop_tools.model import ToolSchema
from toolhop_tools.words import as_text, bare

_UNSTEADY = frozenset(
    {"time", "random", "secrets", "uuid", "os", "sys", "socket", "threading", "tempfile", "pathlib"}
)
_NOW = frozenset({"now", "today", "utcnow"})
_OUTWARD = frozenset(
    {"print", "input", "open", "exec", "eval", "hash", "id"}
    | {"getattr", "setattr", "delattr", "globals", "locals", "vars"}
)
_CHANGES = frozenset(
    {"append", "extend", "insert", "pop", "popitem", "clear", "update", "setdefault", "remove"}
    | {"discard", "add", "sort", "reverse", "move_to_end", "appendleft", "popleft"}
)
"""Methods that change what they are called of."""


def program(schema: ToolSchema, code: str, facts: Records | Pairs) -> Program:
    """The tool's program: its table, where it has one, and then its function."""
    source = f"{table(facts)}\n\n{code}" if isinstance(facts, Records) else code
    return Program(source.rstrip() + "\n", schema.name)


def code_findings(
    code: str, schema: ToolSchema, facts: Records | Pairs, gold: str | None
) -> Findings:
    """The checks of a source as it stands.

    Args:
        code: what was replied.
        schema: the tool's document.
        facts: its table or pairs.
        gold: the answer that the code must not hold, where it is known.
    """
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        where = f" (line {line})" if line else ""
        return judged("compiles", [f"The code does not compile: {error}{where}"])
    return (
        judged("compiles", ())
        + judged("defines-only", _more(tree, schema.name, facts))
        + judged("parameters", _parameters(tree, schema))
        + judged("steady", _unsteady(tree))
        + judged("no-state", _keeps(tree))
        + judged("gold-only-in-table", _gold(tree, gold, facts))
    )


def _more(tree: ast.Module, name: str, facts: Records | Pairs) -> Iterator[str]:
    for node in tree.body:
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        constant = isinstance(node, ast.Assign) and _is_literal(node.value)
        if isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef) or docstring or constant:
            continue
        yield f"Line {node.lineno} does something when the module loads; only define the function."
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    if name not in functions:
        yield f"There is no function {name}."
    if isinstance(facts, Records) and _assigned(tree, TABLE):
        yield f"The code makes a {TABLE} of its own; the table is put before it."
    if isinstance(facts, Records) and not any(
        isinstance(node, ast.Name) and node.id == TABLE for node in ast.walk(tree)
    ):
        yield f"The code does not look into {TABLE}."


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False
    return True


def _assigned(tree: ast.Module, name: str) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        for node in ast.walk(tree)
    )


def _parameters(tree: ast.Module, schema: ToolSchema) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == schema.name:
            own = node.args
            given = [one.arg for one in (*own.posonlyargs, *own.args, *own.kwonlyargs)]
            if sorted(given) != sorted(declared(schema.parameters)) or own.vararg or own.kwarg:
                wanted = ", ".join(declared(schema.parameters))
                yield f"The parameters of the function have to be those of the document: {wanted}."


def _unsteady(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name.split(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [(node.module or "").split(".")[0]]
        if wrong := sorted(_UNSTEADY & {*names}):
            yield f"Line {node.lineno} imports {wrong[0]}: no clock, randomness or files."  # type: ignore[attr-defined]
        if isinstance(node, ast.Attribute) and node.attr in _NOW:
            yield f"Line {node.lineno} asks for the time: a result must hang on the arguments only."
        if isinstance(node, ast.Name) and node.id in _OUTWARD:
            yield f"Line {node.lineno} uses {node.id}; a tool returns its result alone."
        if isinstance(node, ast.Global | ast.Nonlocal):
            yield f"Line {node.lineno} keeps state between calls."


def _keeps(tree: ast.Module) -> Iterator[str]:
    """What a function leaves behind for the next call."""
    shared = {TABLE, *_names(tree.body)}
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.Lambda):
            continue
        given = function.args
        for default in (*given.defaults, *given.kw_defaults):
            if isinstance(default, ast.List | ast.Dict | ast.Set | ast.Call | ast.ListComp):
                yield f"Line {default.lineno} has a default that keeps state between calls."
        own = {one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
        own |= {node.id for node in ast.walk(function) if isinstance(node, ast.Name)
                and isinstance(node.ctx, ast.Store)}  # fmt: skip
        for node in ast.walk(function):
            name = _changed(node)
            if name in shared - own:
                yield f"Line {node.lineno} changes {name}: it keeps state between calls."  # type: ignore[attr-defined]


def _names(body: Sequence[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (one.id for one in node.targets if isinstance(one, ast.Name))


def _changed(node: ast.AST) -> str:
    """The name of what a piece of code changes, in parts or by a method; empty where nothing."""
    part: ast.AST | None = None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        part = node.func.value if node.func.attr in _CHANGES else None
    elif isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
        part = node.value
    while isinstance(part, ast.Subscript | ast.Attribute):
        part = part.value
    return part.id if isinstance(part, ast.Name) else ""


def _gold(tree: ast.Module, gold: str | None, facts: Records | Pairs) -> Iterator[str]:
    if not gold:
        return
    number = plain_number(gold)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or isinstance(node.value, bool | bytes):
            continue
        value = node.value
        if isinstance(value, str):
            hit = bare(value) == bare(gold) or (len(gold) > 3 and bare(gold) in bare(value))
        elif isinstance(value, int | float):
            # Small numbers are counts, bases and places; of a table's tool none is needed.
            least = 3 if isinstance(facts, Records) else 100
            hit = number is not None and abs(number) >= least and same(gold, as_text(value))
        else:
            continue
        if hit:
            yield f"Line {node.lineno} holds the answer {gold!r}: it has to come from the table."


def no_gold(source: str, gold: str, facts: Records | Pairs) -> Findings:
    """The same check once the answer is known."""
    return judged("gold-only-in-table", _gold(ast.parse(source), gold, facts))


def choices(schema: Mapping[str, JSON]) -> Iterator[tuple[str, JSON]]:
    """Each value that a parameter lists, and both of a boolean."""
    properties = schema.get("properties")
    for name, own in (properties if isinstance(properties, dict) else {}).items():
        if isinstance(own, dict):
            listed = own.get("enum")
            if isinstance(listed, list):
                yield from ((name, one) for one in listed)
            elif own.get("type") == "boolean":
                yield from ((name, one) for one in (True, False))
