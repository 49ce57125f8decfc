"""Stage C: static checks of a function, and assembly of the tool's program. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from toolhop_sandbox.base import Program
from toolhop_tools.answers import plain_number
from toolhop_tools.construct.facts import TABLE, table
from toolhop_tools.construct.replies import Pairs, Records
from toolhop_tools.construct.stages import Findings, Place, judged
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


def program(schema: ToolSchema, code: str, facts: Records | Pairs) -> Program:
    """Return the program of a tool: its table, if it has one, followed by its function."""
    source = f"{table(facts.records)}\n\n{code}" if isinstance(facts, Records) else code
    return Program(source.rstrip() + "\n", schema.name)


def code_findings(
    code: str, schema: ToolSchema, facts: Records | Pairs, gold: str | None
) -> Findings:
    """Check a source without running it. It must not contain `gold`, the answer, if known."""
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
        + judged("gold-only-in-table", _gold(tree, gold, facts))
    )


def _more(tree: ast.Module, name: str, facts: Records | Pairs) -> Iterator[str]:
    for node in tree.body:
        literal = isinstance(node, ast.Expr | ast.Assign) and is_literal(node.value)
        if not literal and not isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef):
            yield f"Line {node.lineno} runs when the module loads; only define the function."
    if not any(isinstance(node, ast.FunctionDef) and node.name == name for node in tree.body):
        yield f"There is no function {name}."
    uses = [n.ctx for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == TABLE]
    if isinstance(facts, Records) and any(isinstance(use, ast.Store) for use in uses):
        yield f"The code makes a {TABLE} of its own; the table is put before it."
    if isinstance(facts, Records) and not uses:
        yield f"The code does not look into {TABLE}."


def is_literal(node: ast.expr) -> bool:
    """Whether an expression is a literal value."""
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False
    return True


def _parameters(tree: ast.Module, schema: ToolSchema) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == schema.name:
            own = node.args
            given = [parameter.arg for parameter in (*own.posonlyargs, *own.args, *own.kwonlyargs)]
            if sorted(given) != sorted(declared(schema.parameters)) or own.vararg or own.kwarg:
                wanted = ", ".join(declared(schema.parameters))
                yield f"The parameters of the function have to be those of the document: {wanted}."


def _unsteady(tree: ast.Module) -> Iterator[str]:
    """Report anything that can change between calls, apart from state, which a run reveals."""
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        if wrong := sorted(_UNSTEADY & {name.split(".")[0] for name in names}):
            yield f"Line {node.lineno} imports {wrong[0]}: no clock, randomness or files."  # type: ignore[attr-defined]
        if isinstance(node, ast.Attribute) and node.attr in _NOW:
            yield f"Line {node.lineno} asks for the time: a result must hang on the arguments only."
        if isinstance(node, ast.Name) and node.id in _OUTWARD:
            yield f"Line {node.lineno} uses {node.id}; a tool returns its result alone."


def _gold(tree: ast.Module, gold: str | None, facts: Records | Pairs) -> Iterator[str]:
    number = plain_number(gold or "")
    # Small numbers may be counts, bases or indices; a tool with a table needs few.
    telling = number is not None and abs(number) >= (3 if isinstance(facts, Records) else 100)
    for node in ast.walk(tree):
        if not gold or not isinstance(node, ast.Constant) or isinstance(node.value, bool):
            continue
        value, hit = node.value, False
        if isinstance(value, str):
            hit = bare(value) == bare(gold) or (len(gold) > 3 and bare(gold) in bare(value))
        elif isinstance(value, int | float):
            hit = telling and same(gold, as_text(value))
        if hit:
            yield f"Line {node.lineno} holds the answer {gold!r}: it has to come from the table."


def no_gold(source: str, gold: str, facts: Records | Pairs, place: Place) -> Findings:
    """Check that the source does not contain the gold, once the answer is known."""
    return judged("gold-only-in-table", _gold(ast.parse(source), gold, facts), place)
