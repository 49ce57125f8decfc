"""Questions about a piece of syntax that the transformer asks."""

from __future__ import annotations

import ast

from sandbox.worker.rules import GUARDED, UNSAFE, is_dunder


def is_plain_text(node: ast.expr) -> bool:
    """Whether the expression is a literal text that names a harmless attribute."""
    name = node.value if isinstance(node, ast.Constant) else None
    return (
        isinstance(name, str) and not is_dunder(name) and name not in UNSAFE and name not in GUARDED
    )


def catches_import_error(handler: ast.ExceptHandler) -> bool:
    """Whether the handler's type, as it is spelled, takes an `ImportError`."""
    names = {
        node.id
        for node in ast.walk(handler.type or ast.Name("Exception"))
        if isinstance(node, ast.Name)
    }
    return bool(names & {"BaseException", "Exception", "ImportError", "ModuleNotFoundError"})


def without_main(node: ast.stmt) -> ast.stmt:
    """Empty the body of `if __name__ == "__main__":`; what it names need not be allowed."""
    match node:
        case ast.If(
            test=ast.Compare(
                left=ast.Name(id="__name__"),
                ops=[ast.Eq()],
                comparators=[ast.Constant(value="__main__")],
            )
        ):
            node.body = [ast.copy_location(ast.Pass(), node.body[0])]
    return node


def bound_names(tree: ast.AST) -> set[str]:
    """Every name that the source binds anywhere; coarse, as only an early refusal hangs on it."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.alias(name=name, asname=asname):
                found.add(asname or name)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                found.add(name)
    return found
