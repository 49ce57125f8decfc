"""The compile-time half of the policy: judges every name, and puts guards where names cannot say.

Built on RestrictedPython's transformer for what it does well: it visits every kind of syntax by
name and refuses what it does not know, so new syntax in a new Python is refused until reviewed.
What it does at run time for Zope (wrapping every attribute, item, iteration and call) is left
out; see `guards` for why. Most of what remains is plain bytecode:

    film.title            unchanged, the name is harmless
    film._title           <private>(film)._title, if film is of the tool's making
    film.title = x        <write>(film).title = x, likewise
    totals[year] += 1     unchanged: Python evaluates object and index once by itself
    text.format(x)        <getattr>(text, "format")(x)
    film.__class__        <type>(film)
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, TypeAlias

from RestrictedPython.transformer import RestrictingNodeTransformer

from sandbox.worker.modules import ALLOWED_MODULES
from sandbox.worker.rules import (
    DESCRIPTORS,
    GETATTR,
    GUARDED,
    INITIAL,
    INITIALS,
    MARK,
    METHODS,
    MODULE_FACTS,
    PRIVATE,
    SIGN,
    TYPE,
    UNSAFE,
    UPDATE,
    WRITE,
    is_dunder,
    is_private,
    mangled,
    read_problem,
    template_problem,
    write_problem,
)
from sandbox.worker.syntax import bound_names, catches_import_error, is_plain_text, without_main

# ruff: noqa: N802, N815 -- visitors are named after the syntax they visit
# ruff: noqa: ANN401 -- and some visit several kinds of it

Scope: TypeAlias = Literal["module", "class", "function"]
Function: TypeAlias = ast.FunctionDef | ast.Lambda

_ABSENT = "breakpoint compile eval exec exit globals help input locals memoryview open quit"
ABSENT: Final = frozenset(_ABSENT.split())
"""Built-ins tools are not given. Naming one that the source does not define is refused at once,
not when it is reached; `input` and `open` are fine as names of the tool's own."""

READABLE_NAMES: Final = MODULE_FACTS | {"__name__", "__doc__", "__debug__"}


class ToolTransformer(RestrictingNodeTransformer):
    """Rewrites a module in place; `problems` tells what must not be run."""

    def __init__(self) -> None:
        super().__init__()
        self.problems: list[tuple[int, str]] = []
        self._scopes: list[Scope] = ["module"]
        self._classes: list[str] = []
        self._own: set[str] = set()
        self._forgiving = 0

    def error(self, node: ast.AST, info: str) -> None:
        """Note a problem at the line of `node`."""
        self.problems.append((getattr(node, "lineno", 0), info))

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Refuse syntax that no visitor knows. It stays in the tree, which is not compiled."""
        self.error(node, f"{type(node).__name__} is syntax that tools may not use")
        return node

    def plain(self, node: Any) -> Any:
        """Judge what is inside; the syntax itself is harmless."""
        return self.node_contents_visit(node)

    def _list(self, nodes: Sequence[ast.AST]) -> list[Any]:
        return [self.visit(node) for node in nodes]

    @contextlib.contextmanager
    def _scope(self, scope: Scope, class_name: str | None = None) -> Iterator[None]:
        self._scopes.append(scope)
        if class_name is not None:
            self._classes.append(class_name)
        yield
        self._scopes.pop()
        if class_name is not None:
            self._classes.pop()

    # Async code needs an event loop, which tools have not. `except*` has been refused by
    # RestrictedPython since 8.0 (CVE-2025-22153): the interpreters this was tried on (3.11.7,
    # 3.12.1, 3.13.0) crash when a group's own `split` returns no pair.
    visit_AsyncFunctionDef = visit_AsyncFor = visit_AsyncWith = visit_Await = generic_visit
    visit_TryStar = generic_visit

    visit_AnnAssign = visit_Assign = visit_With = plain
    visit_For = visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = plain
    visit_Subscript = visit_NamedExpr = visit_Constant = plain
    visit_Match = visit_match_case = visit_MatchSingleton = visit_MatchSequence = plain
    visit_MatchOr = plain

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        """`for ... in` inside a comprehension."""
        if node.is_async:
            self.error(node.target, "async for is syntax that tools may not use")
        return self.node_contents_visit(node)

    # -- names ---------------------------------------------------------------------------------

    def _check_stored(self, node: ast.AST, name: str | None) -> None:
        """A name that the source binds or declares."""
        if name is None:
            return
        scope = self._scopes[-1]
        if scope == "class" and name in UNSAFE:
            self.error(node, f"{name!r} cannot be an attribute of a class")
        if not is_dunder(name):
            return
        if scope == "class" and (name in METHODS or name in DESCRIPTORS):
            return
        if scope == "module" and name in MODULE_FACTS:
            return
        self.error(node, f"{name!r} is a name that only Python itself may give a meaning")

    def _check_loaded(self, node: ast.Name) -> None:
        name = node.id
        if name in ABSENT and name not in self._own:
            self.error(node, f"built-in {name!r} is not available to tools")
            return
        own_method = self._scopes[-1] == "class" and name in METHODS
        if is_dunder(name) and name not in READABLE_NAMES and not own_method:
            self.error(node, f"{name!r} is not available to tools")

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A variable. Guards have names that no identifier can be, so any other may be used."""
        if isinstance(node.ctx, ast.Load):
            self._check_loaded(node)
        else:
            self._check_stored(node, node.id)
        return node

    def visit_Global(self, node: ast.Global) -> ast.AST:
        """`global x`: the names are the module's."""
        with self._scope("module"):
            for name in node.names:
                self._check_stored(node, name)
        return node

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.AST:
        """`nonlocal x`: another function's variable, as harmless as one's own."""
        for name in node.names:
            self._check_stored(node, name)
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        """`except E as name`."""
        self._check_stored(node, node.name)
        return self.node_contents_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        """A parameter, of whichever kind."""
        with self._scope("function"):
            self._check_stored(node, node.arg)
        return self.node_contents_visit(node)

    def _named(self, node: Any) -> Any:
        """Patterns and type parameters that bind `node.name`."""
        self._check_stored(node, node.name)
        return self.node_contents_visit(node)

    visit_MatchStar = visit_MatchAs = _named
    visit_TypeVar = visit_ParamSpec = visit_TypeVarTuple = _named
    visit_TypeAlias = plain

    # -- attributes ----------------------------------------------------------------------------

    def _guard(self, guard: str, node: ast.expr, *names: str) -> ast.Call:
        """`guard(node, *names)` at the place of `node`, so that errors keep their line."""
        arguments = [node, *(ast.Constant(name) for name in names)]
        call = ast.Call(func=ast.Name(guard, ast.Load()), args=arguments, keywords=[])
        return ast.fix_missing_locations(ast.copy_location(call, node))

    def _mangled(self, name: str) -> str:
        return mangled(name, self._classes[-1] if self._classes else None)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """`owner.name`, read, set or deleted."""
        node.value = self.visit(node.value)
        if not isinstance(node.ctx, ast.Load):
            if problem := write_problem(node.attr):
                self.error(node, problem)
            node.value = self._guard(WRITE, node.value)
            return node
        if node.attr == "__class__":
            return ast.copy_location(self._guard(TYPE, node.value), node)
        if problem := read_problem(node.attr):
            self.error(node, problem)
        if node.attr in GUARDED or node.attr in INITIALS:
            guard = GETATTR if node.attr in GUARDED else INITIAL
            return ast.copy_location(self._guard(guard, node.value, node.attr), node)
        if is_private(node.attr):
            node.value = self._guard(PRIVATE, node.value, self._mangled(node.attr))
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """`target += value`, which stays Python's own: it evaluates owner and index once.

        Of an attribute it reads before it writes, so both must be allowed. A `GUARDED` name is
        refused: the operator's other side would be handed the unguarded value.
        """
        target = node.target
        if not isinstance(target, ast.Attribute):
            return self.node_contents_visit(node)
        if problem := write_problem(target.attr):
            self.error(node, problem)
        if target.attr in GUARDED:
            self.error(node, f"attribute {target.attr!r} cannot be updated in place")
        owner = self.visit(target.value)
        if is_private(target.attr):
            target.value = self._guard(UPDATE, owner, self._mangled(target.attr))
        else:
            target.value = self._guard(WRITE, owner)
        node.value = self.visit(node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A call. A literal template is checked here, once, and formats at full speed."""
        function = node.func
        if not (
            isinstance(function, ast.Attribute)
            and function.attr == "format"
            and isinstance(function.value, ast.Constant)
            and isinstance(function.value.value, str)
        ):
            return self.node_contents_visit(node)
        if problem := template_problem(function.value.value):
            self.error(node, problem)
        node.args, node.keywords = self._list(node.args), self._list(node.keywords)
        return node

    # -- patterns ------------------------------------------------------------------------------

    def _check_pattern_name(self, node: ast.AST, name: str) -> None:
        # A pattern reads attributes with no room for a guard, so only plain names may stand there.
        if name.startswith("_") or name in GUARDED or read_problem(name):
            self.error(node, f"attribute {name!r} cannot be read by a pattern")

    def _check_pattern_value(self, value: ast.expr) -> None:
        for inner in ast.walk(value):
            if isinstance(inner, ast.Attribute):
                self._check_pattern_name(inner, inner.attr)
            elif isinstance(inner, ast.Name):
                self._check_loaded(inner)

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.AST:
        """A literal or a dotted name; Python allows nothing else, so nothing is rewritten."""
        self._check_pattern_value(node.value)
        return node

    def visit_MatchMapping(self, node: ast.MatchMapping) -> ast.AST:
        """`{"title": title, **rest}`."""
        for key in node.keys:
            self._check_pattern_value(key)
        self._check_stored(node, node.rest)
        node.patterns = self._list(node.patterns)
        return node

    def visit_MatchClass(self, node: ast.MatchClass) -> ast.AST:
        """`Film(title, year=1999)`.

        Positions are read by the names in `__match_args__`, which only dataclasses and named
        tuples set, and whose names are checked where they are declared.
        """
        self._check_pattern_value(node.cls)
        for name in node.kwd_attrs:
            self._check_pattern_name(node, name)
        node.patterns = self._list(node.patterns)
        node.kwd_patterns = self._list(node.kwd_patterns)
        return node

    # -- functions and classes -----------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """`def`; decorators, defaults and annotations belong to the scope outside."""
        self._check_stored(node, node.name)
        node.decorator_list = self._list(node.decorator_list)
        node.args = self.visit(node.args)
        if node.returns is not None:
            node.returns = self.visit(node.returns)
        self._type_parameters(node)
        with self._scope("function"):
            node.body = self._list(node.body)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """`lambda`."""
        node.args = self.visit(node.args)
        with self._scope("function"):
            node.body = self.visit(node.body)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """`class`. Bases are checked by `guards.build_class`, when it is known what they are."""
        self._check_stored(node, node.name)
        if any(keyword.arg == "metaclass" for keyword in node.keywords):
            self.error(node, "a class cannot choose its metaclass")
        node.decorator_list = self._list(node.decorator_list)
        node.bases, node.keywords = self._list(node.bases), self._list(node.keywords)
        self._type_parameters(node)
        with self._scope("class", node.name):
            node.body = [self._class_statement(statement) for statement in node.body]
        sign = ast.Assign([ast.Name(MARK, ast.Store())], ast.Name(SIGN, ast.Load()))
        ast.fix_missing_locations(ast.copy_location(sign, node))
        node.body.insert(ast.get_docstring(node, clean=False) is not None, sign)
        return node

    def _class_statement(self, node: ast.stmt) -> Any:
        """Let `__slots__` pass where it is a literal of plain names.

        `copy` reads and sets the attributes that `__slots__` names, whichever they are.
        """
        match node:
            case ast.Assign(targets=[ast.Name(id="__slots__")], value=value):
                items = value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value]
                if all(is_plain_text(item) for item in items):
                    return node
        return self.visit(node)

    def _type_parameters(self, node: Any) -> None:
        """`[T]` of Python 3.12."""
        if getattr(node, "type_params", None):
            node.type_params = self._list(node.type_params)

    def visit_Module(self, node: ast.Module) -> ast.AST:
        """The whole source. What runs only as a program is cut out: a tool is never one."""
        node.body = [without_main(statement) for statement in node.body]
        self._own = bound_names(node)
        node.body = self._list(node.body)
        return node

    # -- imports -------------------------------------------------------------------------------

    def visit_Try(self, node: ast.Try) -> ast.AST:
        """`try`: inside one that expects a failing import, an import may fail when it runs."""
        forgiving = any(catches_import_error(handler) for handler in node.handlers)
        self._forgiving += forgiving
        node.body = self._list(node.body)
        self._forgiving -= forgiving
        node.handlers, node.orelse = self._list(node.handlers), self._list(node.orelse)
        node.finalbody = self._list(node.finalbody)
        return node

    def visit_Import(self, node: ast.Import) -> ast.AST:
        """`import x.y as z`; `guards.guarded_import` checks again when it runs."""
        self._refuse_lazy(node)
        for alias in node.names:
            self._check_module(node, alias.name)
            self._check_stored(node, alias.asname or alias.name.partition(".")[0])
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        """`from x import y as z`."""
        self._refuse_lazy(node)
        module = "." * node.level + (node.module or "")
        if self._check_module(node, module):
            for alias in node.names:
                if alias.name != "*" and alias.name not in ALLOWED_MODULES[module]:
                    self._refuse_import(node, f"{alias.name!r} of module {module!r}")
                self._check_stored(node, alias.asname or alias.name)
        return node

    def _check_module(self, node: ast.stmt, name: str) -> bool:
        if name not in ALLOWED_MODULES:
            self._refuse_import(node, f"module {name!r}")
        return name in ALLOWED_MODULES

    def _refuse_import(self, node: ast.stmt, what: str) -> None:
        if not self._forgiving:
            self.error(node, f"{what} is not available to tools")

    def _refuse_lazy(self, node: ast.stmt) -> None:
        # Python 3.15: resolved by another built-in, at first use.
        if getattr(node, "is_lazy", 0):
            self.error(node, "an import cannot be lazy")
