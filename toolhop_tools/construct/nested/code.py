"""A nested task out of code that a model wrote: stubs, a `main` of assignments, the task below.

The code is read by its syntax tree alone and never run. Everything that NesTools' own check
rejects is rejected (unknown function, extra positional argument, missing required one, undefined
variable, targets that are not the returns, subscript, attribute), and what it lets pass as well:
types that differ over an edge, unknown keywords, other expressions, loose calls. Pure.
"""

from __future__ import annotations

import ast
import io
import math
import tokenize
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.nested.model import (
    KINDS,
    MARK,
    MOST_CALLS,
    TAKEN,
    Api,
    Nest,
    is_of,
    numbered,
    taken,
)
from toolhop_tools.construct.nested.notes import Notes
from toolhop_tools.construct.nested.stubs import CHECKS as STUBS
from toolhop_tools.construct.nested.stubs import read_stubs
from toolhop_tools.construct.stages import Findings, judged
from toolhop_tools.construct.text import odd_sign
from toolhop_tools.model import canonical

CHAIN = (
    *("main", "known-function", "arguments", "variables", "no-computing", "values"),
    *("value-types", "edge-types", "all-tools-called", "same-call", "task-comment"),
)
"""Names of the checks that speak of `main`."""
WHOLE = ("loose-call", "depth", "width")
UNKNOWN = "UNK"
"""What the format has for a value that a task does not say."""
SHORTEST_TASK = 20
MOST_CHARS, MOST_DEEP, MOST_BITS = 100_000, 40, 128
"""Characters of a reply, nodes within nodes, and bits of a number: what it takes to read it on."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The form that is asked for; None where any will do."""

    depth: int | None = None
    width: int | None = None


def parsed(source: str) -> ast.Module | str:
    """The syntax tree, or what the compiler says; or why it is not read: it is too long or too
    deep, or holds what no text of the format can.
    """
    if len(source) > MOST_CHARS:
        return f"line 1: it has {len(source):,} characters; at most {MOST_CHARS:,} are read"
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(source)
        return _unreadable(tree) or tree
    except SyntaxError as error:
        return f"line {error.lineno or 1}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return f"line 1: {type(error).__name__}: {error}"


def _unreadable(tree: ast.Module) -> str:
    """What would break whoever reads it on; empty where nothing does."""
    level: list[ast.AST] = [tree]
    depth = 0
    while level:
        depth += 1
        if depth > MOST_DEEP:
            return f"line {_line(level[0])}: it is nested more than {MOST_DEEP} deep"
        for node in level:
            line = _line(node)
            value = node.value if isinstance(node, ast.Constant) else None
            if isinstance(value, int) and value.bit_length() > MOST_BITS:
                return f"line {line}: a number has too many digits"
            if isinstance(value, str) and (odd := odd_sign(value)):
                return f"line {line}: {odd}"
        level = [inner for node in level for inner in ast.iter_child_nodes(node)]
    return ""


def _line(node: ast.AST) -> int:
    return node.lineno if isinstance(node, ast.expr | ast.stmt) else 1


def chain_findings(source: str, wanted: Wanted) -> tuple[Findings, Nest | None]:
    """The checks of a reply, and the task where nothing speaks against it."""
    tree = parsed(source)
    if isinstance(tree, str):
        return judged("compiles", [f"The code does not compile: {tree}"]), None
    notes = Notes()
    apis = read_stubs(tree, notes)
    found = judged("compiles", ()) + notes.findings(STUBS)
    main = _main(tree, notes)
    if main is None:
        return found + notes.findings(("main",)), None
    reader = _Reader(apis, notes)
    for statement in main.body:
        reader.read(statement)
    reader.finish(main)
    task = _task(source, tree, main)
    if len(task) < SHORTEST_TASK:
        text = "there is no task; write it as comments below the last call in main."
        notes.add("task-comment", main.lineno, text)
    found += notes.findings(CHAIN)
    if not found.ok:
        return found, None
    nest = Nest((*apis.values(),), (*numbered([*apis.values()], reader.made),), task)
    found += form_findings(nest, wanted, reader.lines)
    return found, nest if found.ok else None


def form_findings(nest: Nest, wanted: Wanted, lines: Sequence[int] = ()) -> Findings:
    """Whether the calls have the form that is asked for.

    Args:
        nest: the task.
        wanted: the form.
        lines: of the code, by call.
    """
    notes = Notes()
    at = lines or [*range(1, len(nest.calls) + 1)]
    if wanted.depth is not None:
        for call in nest.loose if len(nest.calls) > 1 else ():
            text = f"{nest.calls[call].api} takes no response and none of its own is taken."
            notes.add("loose-call", at[call], text)
        if not nest.loose and nest.parts > 1:
            text = f"the calls fall into {nest.parts} parts that have nothing to do with each other"
            notes.add("loose-call", at[0], f"{text}; tie them together.")
        if nest.depth != wanted.depth:
            text = f"the calls nest {nest.depth} deep; {wanted.depth} are wanted"
            notes.add("depth", at[-1], f"{text}: each call on the longest way takes a response "
                      "of the one before.")  # fmt: skip
    if wanted.width is not None and nest.width != wanted.width:
        text = f"at most {nest.width} calls stand at one depth; {wanted.width} are wanted."
        notes.add("width", at[-1], text)
    return notes.findings(WHOLE)


def _main(tree: ast.Module, notes: Notes) -> ast.FunctionDef | None:
    found = [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == "main"]
    if len(found) != 1:
        notes.add("main", 1, f"there are {len(found)} functions main; write one.")
        return None
    if ast.unparse(found[0].args) or found[0].decorator_list:
        notes.add("main", found[0].lineno, "main takes nothing.")
    return found[0]


def _task(source: str, tree: ast.Module, main: ast.FunctionDef) -> str:
    """The comments between the last statement of `main` and the next definition."""
    last = max(one.end_lineno or one.lineno for one in main.body)
    after = [one.lineno for one in tree.body if one.lineno > last]
    end = min(after, default=math.inf)
    try:
        tokens = [*tokenize.generate_tokens(io.StringIO(source).readline)]
    except (tokenize.TokenError, SyntaxError):
        return ""
    lines = [
        one.string.lstrip("#").strip()
        for one in tokens
        if one.type == tokenize.COMMENT and last < one.start[0] < end
    ]
    return " ".join(line for line in lines if line)


@dataclass
class _Reader:
    """Goes through the statements of `main`."""

    apis: Mapping[str, Api]
    notes: Notes
    made: list[tuple[str, dict[str, JSON]]] = field(default_factory=list)
    """The calls; responses stand as `taken`."""
    lines: list[int] = field(default_factory=list)
    known: dict[str, tuple[int, str]] = field(default_factory=dict)
    """By variable: the call and response that it is."""

    def read(self, node: ast.stmt) -> None:
        """One statement."""
        match node:
            case ast.Assign(targets=[target], value=ast.Call(func=ast.Name(id=name)) as call):
                self._call(node.lineno, name, call, target)
            case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
                text = f"the returns of {name} go to variables: data0, ... = {name}(...)"
                self.notes.add("main", node.lineno, text)
            case _:
                text = f"{ast.unparse(node)[:60]!r} is no line of the form data0, ... = tool(...)"
                self.notes.add("main", node.lineno, text)

    def finish(self, main: ast.FunctionDef) -> None:
        """What is to be said when all are read."""
        called = {name for name, _ in self.made}
        for name in self.apis:
            if name not in called:
                self.notes.add("all-tools-called", main.lineno, f"{name} is not called.")
        seen: dict[str, int] = {}
        for (name, parameters), line in zip(self.made, self.lines, strict=True):
            key = f"{name} {canonical(parameters)}"
            if key in seen:
                text = f"this is the call of line {seen[key]} again."
                self.notes.add("same-call", line, text)
            seen[key] = line
        if len(self.made) > MOST_CALLS:
            text = f"there are {len(self.made)} calls; at most {MOST_CALLS} are wanted."
            self.notes.add("main", main.lineno, text)

    def _call(self, line: int, name: str, call: ast.Call, target: ast.expr) -> None:
        api = self.apis.get(name)
        if api is None:
            self.notes.add("known-function", line, f"there is no function {name}.")
            self._assign(line, target, None)
            return
        given = self._arguments(line, api, call)
        parameters = {key: self._value(api, key, node) for key, node in given.items()}
        ordered = {key: parameters[key] for key in api.parameters if key in parameters}
        self.made.append((name, ordered))
        self.lines.append(line)
        self._assign(line, target, api)

    def _arguments(self, line: int, api: Api, call: ast.Call) -> dict[str, ast.expr]:
        """By parameter: what it is given."""
        names, found = [*api.parameters], dict[str, ast.expr]()
        for at, node in enumerate(call.args):
            if isinstance(node, ast.Starred):
                self.notes.add("arguments", line, "write each argument out, without *.")
            elif at >= len(names):
                text = f"{api.name} takes {len(names)} arguments; {len(call.args)} are given."
                self.notes.add("arguments", line, text)
                break
            else:
                found[names[at]] = node
        for one in call.keywords:
            if one.arg is None:
                self.notes.add("arguments", line, "write each argument out, without **.")
            elif one.arg not in api.parameters:
                text = f"{api.name} has no parameter {one.arg}; it has {', '.join(names) or 'none'}"
                self.notes.add("arguments", line, text)
            elif one.arg in found:
                self.notes.add("arguments", line, f"{one.arg} is given twice.")
            else:
                found[one.arg] = one.value
        for name in api.required:
            if name not in found:
                text = f"{api.name} needs {name}, and it is not given."
                self.notes.add("arguments", line, text)
        return found

    def _assign(self, line: int, target: ast.expr, api: Api | None) -> None:
        nodes = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        names = [one.id if isinstance(one, ast.Name) else "" for one in nodes]
        if "" in names:
            self.notes.add("variables", line, "returns go to plain variables: data0, data1 = ...")
        responses = [*api.responses] if api else [""] * len(names)
        if len(names) != len(responses):
            text = f"{len(names)} variables for {len(responses)} return values; give each its own."
            self.notes.add("variables", line, text)
        for name, response in zip(names, responses, strict=False):
            if name in self.known or name in self.apis:
                self.notes.add("variables", line, f"{name} is taken already; use a new variable.")
            elif name:
                self.known[name] = max(0, len(self.made) - 1), response

    # -- values -----------------------------------------------------------------------------------

    def _value(self, api: Api, name: str, node: ast.expr) -> JSON:
        kind, line = api.parameters[name].type, node.lineno
        if isinstance(node, ast.Name):
            return self._variable(node, kind, f"{name} of {api.name}")
        value = self._literal(node, lists=True)
        if value is not None and kind in KINDS and not is_of(kind, value):
            text = f"{name} of {api.name} is {kind}; {ast.unparse(node)[:40]} is not."
            self.notes.add("value-types", line, text)
        return value

    def _variable(self, node: ast.Name, kind: str, where: str) -> JSON:
        if node.id not in self.known:
            text = f"{node.id} is not defined before this line."
            self.notes.add("variables", node.lineno, text)
            return None
        call, response = self.known[node.id]
        if not response:
            return None
        given = self.apis[self.made[call][0]].responses[response].type
        if kind and given != kind:
            text = f"{where} is {kind}, and {node.id} ({response}) is {given}; make them the same."
            self.notes.add("edge-types", node.lineno, text)
        return taken(call, response)

    def _literal(self, node: ast.expr, *, lists: bool) -> JSON:
        """A value that is written out; lists may hold variables."""
        match node:
            case ast.List(elts=parts):
                return [
                    self._variable(one, "", "an element")
                    if isinstance(one, ast.Name) and lists
                    else self._literal(one, lists=False)
                    for one in parts
                ]
            case ast.Dict(keys=keys, values=values) if all(map(_is_text, keys)):
                names = [ast.literal_eval(key) for key in keys if key is not None]
                if len({*names}) < len(names) or any(TAKEN in n or MARK in n for n in names):
                    self.notes.add("values", node.lineno, "give each key once, and a plain name.")
                    return None
                return {
                    ast.literal_eval(key): self._literal(value, lists=False)
                    for key, value in zip(keys, values, strict=True)
                    if key is not None
                }
            case ast.UnaryOp(
                op=ast.USub(), operand=ast.Constant(value=int() | float() as number)
            ) if not isinstance(number, bool):
                return self._constant(-number, node.lineno)
            case ast.Constant(value=value):
                return self._constant(value, node.lineno)
            case ast.Name():
                text = f"the variable {node.id} stands inside a value; give it to a parameter."
            case _:
                text = f"{ast.unparse(node)[:60]} computes; write values or variables alone."
        self.notes.add("no-computing", node.lineno, text)
        return None

    def _constant(self, value: object, line: int) -> JSON:
        match value:
            case str() if not value.strip() or value == UNKNOWN:
                text = f"{value!r} is no value that a task can say."
            case str() if MARK in value or value in self.known:
                text = f"{value!r} is a text; write the variable without quotes."
            case float() if not math.isfinite(value):
                text = f"{value} is no number that JSON has."
            case bool() | str() | float():
                return value
            case int() if value.bit_length() < 64:
                return value
            case _:
                text = f"{str(value)[:40]!r} is no text, number, truth value, list or dict."
        self.notes.add("values", line, text)
        return None


def _is_text(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
