"""The compile-time half of the policy: checks every name, and inserts guards where needed.

Built on RestrictedPython's transformer for what it does well: it visits every kind of syntax by
name and refuses what it does not know, so new syntax in a new Python is refused until reviewed.
What it does at run time for Zope (wrapping every attribute, item, iteration and call) is left out.
Most of what remains is plain bytecode:

    film.title            unchanged, the name is harmless
    film._title           <private>(film, "_title")._title
    film.title = x        <write>(film).title = x
    totals[year] += 1     unchanged: Python evaluates object and index once by itself
    text.format(x)        <read>(text, "format")(x)
    film.__class__        <type>(film)
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from RestrictedPython.transformer import RestrictingNodeTransformer

from toolhop_sandbox.worker.policy.guards import PRIVATE, READ, TYPE, WRITE
from toolhop_sandbox.worker.policy.modules import member_problem, module_problem
from toolhop_sandbox.worker.policy.names import (
    BINDABLE,
    GUARDED,
    is_dunder,
    is_private,
    read_problem,
    write_problem,
)
from toolhop_sandbox.worker.policy.templates import template_problem

# ruff: noqa: N802, N815 -- visitors are named after the syntax they visit
# ruff: noqa: ANN401 -- and some visit several kinds of it

_SOURCE = "tools run no source text; json.loads or ast.literal_eval read data"
_FILES = "tools have no files; take the text as an argument"
ABSENT: Final[Mapping[str, str]] = {
    "eval": _SOURCE,
    "exec": _SOURCE,
    "compile": _SOURCE,
    "open": _FILES,
    "input": "nobody answers; take an argument",
    "globals": "use a dict of your own",
    "locals": "use a dict of your own",
    "memoryview": "use bytes or bytearray",
    "breakpoint": "leave it out",
    "help": "leave it out",
    "exit": "return or raise",
    "quit": "return or raise",
}
"""Built-ins that tools do not have, and what to do instead. Using one that the source does not
define is refused at once; `input` and `open` are allowed as names of the tool's own."""
SYNTAX: Final[Mapping[str, str]] = {
    "AsyncFunctionDef": "there is no event loop: use plain functions",
    "TryStar": "a group's own split crashes interpreters (CVE-2025-22153): use except",
}
"""Syntax that is refused by name, with the reason. Unknown syntax is refused as well."""


def bound_problem(name: str) -> str | None:
    """Return why a source may not bind or declare this name; None if it may."""
    if is_dunder(name) and name not in BINDABLE:
        return f"{name!r} is a name that only Python itself may give a meaning: use another"
    return None


def loaded_problem(name: str) -> str | None:
    """Return why a source that does not define this name may not use it; None if it may."""
    if name in ABSENT:
        return f"built-in {name!r} is not available to tools: {ABSENT[name]}"
    if is_dunder(name) and name not in BINDABLE and name not in _OF_MODULES:
        return f"{name!r} is not available to tools"
    return None


_OF_MODULES = frozenset({"__name__", "__doc__", "__debug__"})


def pattern_problem(name: str) -> str | None:
    """Return why a pattern, which has no guard, may not read this attribute; None if it may."""
    if name.startswith("_") or name in GUARDED or read_problem(name):
        return f"attribute {name!r} cannot be read by a pattern: read it in the case's body"
    return None


def updated_problem(name: str) -> str | None:
    """Return why `+=`, which reads first, may not update this attribute; None if it may."""
    if name in GUARDED:
        return f"attribute {name!r} cannot be updated in place: assign to it"
    return None


class Checks(NamedTuple):
    """The check for each kind of name, which returns the problem or None."""

    read: Callable[[str], str | None] = read_problem
    written: Callable[[str], str | None] = write_problem
    updated: Callable[[str], str | None] = updated_problem
    bound: Callable[[str], str | None] = bound_problem
    loaded: Callable[[str], str | None] = loaded_problem
    pattern: Callable[[str], str | None] = pattern_problem
    template: Callable[[str], str | None] = template_problem
    module: Callable[[str], str | None] = module_problem
    member: Callable[[str, str], str | None] = member_problem
    syntax: Mapping[str, str] = SYNTAX


CHECKS: Final = Checks()


class ToolTransformer(RestrictingNodeTransformer):
    """Rewrites a module in place; `problems` has everything that is not allowed."""

    def __init__(self, checks: Checks = CHECKS) -> None:
        super().__init__()
        self.checks = checks
        self.problems: list[tuple[int, str]] = []
        self._own: set[str] = set()
        self._forgiving = 0

    def error(self, node: ast.AST, info: str | None) -> None:
        """Record a problem, if there is one, at the line of `node`."""
        if info:
            self.problems.append((getattr(node, "lineno", 0), info))

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Refuse syntax that has no visitor. It stays in the tree, which will not be compiled."""
        self.error(node, f"{type(node).__name__} is syntax that tools may not use")
        return node

    def named_syntax(self, node: ast.AST) -> ast.AST:
        """Refuse the syntax in `SYNTAX`; visit it if a test has removed it from there."""
        name = type(node).__name__
        if name in self.checks.syntax:
            self.error(node, f"{name} is syntax that tools may not use: {self.checks.syntax[name]}")
            return node
        return self.node_contents_visit(node)

    def plain(self, node: Any) -> Any:
        """Visit the children of syntax that is harmless itself."""
        return self.node_contents_visit(node)

    def _list(self, nodes: Sequence[ast.AST]) -> list[Any]:
        return [self.visit(node) for node in nodes]

    visit_AsyncFunctionDef = visit_TryStar = named_syntax
    visit_AsyncFor = visit_AsyncWith = visit_Await = generic_visit
    visit_AnnAssign = visit_Assign = visit_With = plain
    visit_For = visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = plain
    visit_Subscript = visit_NamedExpr = visit_Constant = plain
    visit_Lambda = visit_comprehension = visit_TypeAlias = plain
    visit_Match = visit_match_case = visit_MatchSingleton = visit_MatchSequence = plain
    visit_MatchOr = plain

    # -- names ---------------------------------------------------------------------------------

    def _bind(self, node: ast.AST, *names: str | None) -> None:
        for name in names:
            if name is not None:
                self.error(node, self.checks.bound(name))

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Check a variable. Guards' names are not identifiers, so no variable can be a guard."""
        if not isinstance(node.ctx, ast.Load):
            self._bind(node, node.id)
        elif node.id not in self._own:
            self.error(node, self.checks.loaded(node.id))
        return node

    def visit_Global(self, node: Any) -> Any:
        """Check `global x` or `nonlocal x`."""
        self._bind(node, *node.names)
        return node

    def visit_arg(self, node: ast.arg) -> Any:
        """Check a parameter of any kind."""
        self._bind(node, node.arg)
        return self.node_contents_visit(node)

    def _named(self, node: Any) -> Any:
        """Check a node that binds `node.name`."""
        self._bind(node, node.name)
        return self.node_contents_visit(node)

    visit_Nonlocal = visit_Global
    visit_FunctionDef = visit_ClassDef = visit_ExceptHandler = _named
    visit_MatchStar = visit_MatchAs = visit_TypeVar = visit_ParamSpec = visit_TypeVarTuple = _named

    # -- attributes ----------------------------------------------------------------------------

    def _guard(self, guard: str, node: ast.expr, *names: str) -> ast.Call:
        """Return `guard(node, *names)` in place of `node`, so that errors keep their line."""
        arguments = [node, *(ast.Constant(name) for name in names)]
        call = ast.Call(func=ast.Name(guard, ast.Load()), args=arguments, keywords=[])
        return ast.fix_missing_locations(ast.copy_location(call, node))

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Check and guard `owner.name`, whether it is read, set or deleted."""
        node.value = self.visit(node.value)
        name = node.attr
        stored = not isinstance(node.ctx, ast.Load)
        if name == "__class__" and not stored:
            return ast.copy_location(self._guard(TYPE, node.value), node)
        self.error(node, self.checks.written(name) if stored else self.checks.read(name))
        if name in GUARDED and not stored:
            return ast.copy_location(self._guard(READ, node.value, name), node)
        if is_private(name):
            node.value = self._guard(PRIVATE, node.value, name)
        if stored:
            node.value = self._guard(WRITE, node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """Check `target += value`, which stays Python's own, as it evaluates owner and index once.

        It would read a `GUARDED` name without a guard and pass the value to the operator's other
        operand.
        """
        if isinstance(node.target, ast.Attribute):
            self.error(node, self.checks.updated(node.target.attr))
        return self.node_contents_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Check a call. A literal template is checked here, once, and not at run time."""
        match node.func:
            case ast.Attribute(attr="format", value=ast.Constant(value=str(template))):
                self.error(node, self.checks.template(template))
                node.args, node.keywords = self._list(node.args), self._list(node.keywords)
                return node
        return self.node_contents_visit(node)

    # -- patterns ------------------------------------------------------------------------------

    def _check_pattern_value(self, value: ast.expr) -> None:
        for inner in ast.walk(value):
            if isinstance(inner, ast.Attribute):
                self.error(inner, self.checks.pattern(inner.attr))
            elif isinstance(inner, ast.Name):
                self.visit_Name(inner)

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.AST:
        """Check a literal or dotted name, the only values that Python allows here."""
        self._check_pattern_value(node.value)
        return node

    def visit_MatchMapping(self, node: ast.MatchMapping) -> ast.AST:
        """Check `{"title": title, **rest}`."""
        for key in node.keys:
            self._check_pattern_value(key)
        self._bind(node, node.rest)
        node.patterns = self._list(node.patterns)
        return node

    def visit_MatchClass(self, node: ast.MatchClass) -> ast.AST:
        """Check `Film(title, year=1999)`.

        Positional patterns use the names in `__match_args__`, which only dataclasses and named
        tuples set, from their fields.
        """
        self._check_pattern_value(node.cls)
        for name in node.kwd_attrs:
            self.error(node, self.checks.pattern(name))
        node.patterns = self._list(node.patterns)
        node.kwd_patterns = self._list(node.kwd_patterns)
        return node

    # -- the module and its imports ------------------------------------------------------------

    def visit_Module(self, node: ast.Module) -> ast.AST:
        """Check the whole source, cutting out what runs only as a program."""
        for statement in node.body:
            if isinstance(statement, ast.If) and _asks_for_main(statement.test):
                statement.body = [ast.copy_location(ast.Pass(), statement.body[0])]
        self._own = set(_bound_names(node)) & ABSENT.keys()
        node.body = self._list(node.body)
        return node

    def visit_Try(self, node: ast.Try) -> ast.AST:
        """Check `try`: inside one that expects a failing import, imports may fail at run time."""
        forgiving = any(_catches_import_error(handler) for handler in node.handlers)
        self._forgiving += forgiving
        node.body = self._list(node.body)
        self._forgiving -= forgiving
        node.handlers, node.orelse = self._list(node.handlers), self._list(node.orelse)
        node.finalbody = self._list(node.finalbody)
        return node

    def visit_Import(self, node: ast.Import) -> ast.AST:
        """Check `import x.y as z`; `modules.guarded_import` checks again at run time."""
        for alias in node.names:
            self._import_error(node, self.checks.module(alias.name))
            self._bind(node, alias.asname or alias.name.partition(".")[0])
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        """Check `from x import y as z`."""
        module = "." * node.level + (node.module or "")
        problem = self.checks.module(module)
        self._import_error(node, problem)
        for alias in node.names:
            if not problem and alias.name != "*":
                self._import_error(node, self.checks.member(module, alias.name))
            self._bind(node, alias.asname or alias.name)
        return node

    def _import_error(self, node: ast.stmt, problem: str | None) -> None:
        if not self._forgiving:
            self.error(node, problem)


def _asks_for_main(test: ast.expr) -> bool:
    """Whether a test is `__name__ == "__main__"`."""
    return ast.unparse(test) == "__name__ == '__main__'"


def _catches_import_error(handler: ast.ExceptHandler) -> bool:
    """Whether the handler's type, as spelled, includes `ImportError`."""
    names = {
        node.id
        for node in ast.walk(handler.type or ast.Name("Exception"))
        if isinstance(node, ast.Name)
    }
    return bool(names & {"BaseException", "Exception", "ImportError", "ModuleNotFoundError"})


def _bound_names(tree: ast.AST) -> Iterator[str]:
    """Yield every name that the source binds anywhere; needed only for early refusals."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.alias(name=name, asname=asname):
                yield asname or name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                yield name
