"""Nested tasks from model-written code: stubs, a `main` of assignments, then the task.

Only the code's syntax tree is read; the code is never run. Whatever NesTools' own check rejects is
rejected, and so are faults that it misses: references between different types, unknown keywords,
other kinds of expressions, unassigned calls. ``prompts/example_*.txt`` show the form. Pure.
"""

from __future__ import annotations

import ast
import builtins
import copy
import inspect
import keyword
import math
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.code import is_literal
from toolhop_tools.construct.nested.model import (
    KINDS,
    MARK,
    MOST_CALLS,
    Api,
    Field,
    Nest,
    NestCall,
    is_of,
    placeholders,
)
from toolhop_tools.construct.replies import PARSE, ReplyModel, invisible
from toolhop_tools.construct.stages import Findings, Problem, judged
from toolhop_tools.model import canonical

CHECKS = (
    *("stubs", "names", "docstring", "signature", "duplicate-tool", "main", "known-function"),
    *("arguments", "variables", "no-computing", "values", "value-types", "edge-types"),
    *("all-tools-called", "same-call", "task-comment"),
)
FORM = ("loose-call", "depth", "width")
REQUIRED, OPTIONAL, RETURNS = "required parameters", "optional parameters", "returns"
SECTIONS = (REQUIRED, OPTIONAL, RETURNS)
UNKNOWN = "UNK"
"""The format's marker for a value that the task does not state."""
SHORTEST_TASK, LONGEST_NAME = 20, 64
MOST_CHARS, MOST_DEEP, MOST_BITS = 100_000, 40, 128
"""Limits on parsed code: characters of a reply, levels of nodes, and bits of an integer."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_FENCE = re.compile(r"\A\s*```(?:python|py)?[ \t]*\n(.*)\n\s*```\s*\Z", re.DOTALL)
_ENTRY = re.compile(r"([^\W\d]\w*)\s*\(([^()]*)\)\s*:(.*)")


class Notes(list[Problem]):
    """Problems, each with its line and the check that found it."""

    def add(self, check: str, line: int, text: str) -> None:
        """Record a problem that a check found at a line."""
        self.append(Problem(check, f"Line {line}: {text}"))

    def findings(self, checks: Iterable[str]) -> Findings:
        """Return the findings of the given checks; a check without problems passes."""
        return Findings(frozenset(checks) - {note.check for note in self}, tuple(self))


def parsed(source: str) -> ast.Module | str:
    """Parse the code, or return why it is refused.

    Reasons are a syntax error, excessive length or depth, or characters that no text of the format
    can contain.
    """
    if len(source) > MOST_CHARS:
        return f"line 1: it has {len(source):,} characters; at most {MOST_CHARS:,} are read"
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(source)
    except SyntaxError as error:
        return f"line {error.lineno or 1}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return f"line 1: {type(error).__name__}: {error}"
    level: list[ast.AST] = [tree]
    for _ in range(MOST_DEEP):
        for node in level:
            value = node.value if isinstance(node, ast.Constant) else None
            line = getattr(node, "lineno", 1)
            if isinstance(value, int) and value.bit_length() > MOST_BITS:
                return f"line {line}: a number has too many digits"
            if isinstance(value, str) and (odd := invisible(value)):
                return f"line {line}: {odd}"
        level = [inner for node in level for inner in ast.iter_child_nodes(node)]
        if not level:
            return tree
    return f"line {getattr(level[0], 'lineno', 1)}: it is nested more than {MOST_DEEP} deep"


class ChainCode(ReplyModel):
    """A reply with stubs, `main`, and the task as a comment: Python text that is never run."""

    source: str

    @classmethod
    def read(cls, text: str) -> Self | Problem:
        """Read the source, ignoring any code fence around it."""
        fenced = _FENCE.match(text)
        source = (fenced[1] if fenced else text).strip() + "\n"
        tree = parsed(source)
        if isinstance(tree, str):
            return Problem(PARSE, f"The reply is no Python code: {tree}")
        return cls(source=source)


def chain_findings(
    source: str, depth: int | None = None, width: int | None = None
) -> tuple[Findings, Nest | None]:
    """Check a reply; None allows any depth or width.

    Returns:
    The findings, and the task if all checks pass.
    """
    tree = parsed(source)
    if isinstance(tree, str):
        return judged("compiles", [f"The code does not compile: {tree}"]), None
    notes = Notes()
    mains = [node for node in tree.body if isinstance(node, ast.FunctionDef)
             and node.name == "main"]  # fmt: skip
    apis = _tools([node for node in tree.body if node not in mains], notes)
    reader = _Reader(apis, notes)
    if len(mains) == 1:
        task = reader.main(mains[0], source, tree)
    else:
        notes.add("main", 1, f"there are {len(mains)} functions main; write one.")
    findings = judged("compiles", ()) + notes.findings(CHECKS)
    if not findings.ok:
        return findings, None
    nest = Nest((*apis.values(),), (*reader.calls,), task)
    findings += _form(nest, depth, width, reader.lines)
    return findings, nest if findings.ok else None


def _form(nest: Nest, depth: int | None, width: int | None, lines: list[int]) -> Findings:
    notes, parts = Notes(), nest.parts
    for part in parts if depth is not None and len(parts) > 1 else ():
        names = ", ".join(nest.calls[call].api for call in part)
        text = f"no reference ties {names} to the other calls."
        notes.add("loose-call", lines[part[0]], text)
    if depth not in {None, nest.depth}:
        text = f"the calls nest {nest.depth} deep; {depth} are wanted"
        notes.add("depth", lines[-1], f"{text}: each call on the longest way takes a response of "
                  "the one before.")  # fmt: skip
    if width not in {None, nest.width}:
        text = f"at most {nest.width} calls stand at one depth; {width} are wanted."
        notes.add("width", lines[-1], text)
    return notes.findings(FORM)


# -- tools -----------------------------------------------------------------------------------------


def _tools(nodes: list[ast.stmt], notes: Notes) -> dict[str, Api]:
    """Return the tools that the function stubs describe."""
    apis: dict[str, Api] = {}
    alike: dict[str, str] = {}
    for node in nodes:
        if not isinstance(node, ast.FunctionDef):
            if ast.unparse(node) != "if __name__ == '__main__':\n    main()":
                notes.add("stubs", node.lineno, "only functions stand here; take it out.")
            continue
        api = _tool(node, notes)
        key = repr((api.description.casefold(), api.parameters, api.responses))
        if api.name in apis:
            notes.add("duplicate-tool", node.lineno, f"{api.name} is defined twice.")
        elif key in alike:
            text = f"{api.name} is {alike[key]} under another name; define one of them."
            notes.add("duplicate-tool", node.lineno, text)
        alike[key] = apis.setdefault(api.name, api).name
    if not apis:
        notes.add("stubs", 1, "there is no function but main; define the tools.")
    return apis


def _tool(node: ast.FunctionDef, notes: Notes) -> Api:
    line, text = node.lineno, ast.get_docstring(node, clean=False)
    rest = node.body[1:] if text is not None else node.body
    if any(ast.unparse(one) not in {"...", "pass"} for one in rest) or node.decorator_list:
        notes.add("stubs", line, f"the body of {node.name} is its docstring and ...; no more.")
    description, fields = _docstring(node, text or "", notes)
    parameters = {**fields[REQUIRED], **fields[OPTIONAL]}
    for name in (node.name, *parameters, *fields[RETURNS]):
        if (not _NAME.fullmatch(name) or len(name) > LONGEST_NAME or keyword.iskeyword(name)
                or MARK.casefold() in name.casefold()):  # fmt: skip
            notes.add("names", line, f"{name!r} is no name of letters, digits and _.")
    if hasattr(builtins, node.name):
        notes.add("names", line, f"{node.name} is Python's own; give another name.")
    own = copy.copy(node.args)
    own.defaults = [ast.Constant(...) for _ in own.defaults]
    documented = ", ".join(
        f"{name}: {field.type}{'=...' if name in fields[OPTIONAL] else ''}"
        for name, field in parameters.items()
    )
    if ast.unparse(own) != documented:
        text = f"the signature of {node.name} is ({ast.unparse(own)}), its docstring says"
        notes.add("signature", line, f"{text} ({documented}): they have to be the same.")
    for default in node.args.defaults:
        if not is_literal(default):
            text = f"the default {ast.unparse(default)[:40]} is no literal."
            notes.add("signature", default.lineno, text)
    return Api(node.name, description, parameters, (*fields[REQUIRED],), fields[RETURNS])


def _docstring(
    node: ast.FunctionDef, text: str, notes: Notes
) -> tuple[str, dict[str, dict[str, Field]]]:
    """Return the description and, for each section, its fields."""
    fields: dict[str, dict[str, Field]] = {section: {} for section in SECTIONS}
    description, section, last, first = "", "", "", node.body[0].lineno
    for at, line in enumerate(map(str.strip, text.split("\n")), first):
        heading = line.casefold().removesuffix(":").strip()
        if line.endswith(":") and heading in SECTIONS:
            section, last = heading, ""
        elif not section:
            description = f"{description} {line}".strip()
        elif entry := _ENTRY.fullmatch(line):
            last, kind = entry[1], entry[2].strip()
            groups = (RETURNS,) if section == RETURNS else (REQUIRED, OPTIONAL)
            if any(last in fields[group] for group in groups):
                notes.add("docstring", at, f"{last} is listed twice.")
            if kind not in KINDS:
                text = f"{last} has the type {kind!r}; types are {', '.join(KINDS)}."
                notes.add("docstring", at, text)
            fields[section][last] = Field(kind, entry[3].strip())
        elif line and last:
            known = fields[section][last]
            fields[section][last] = Field(known.type, f"{known.description} {line}".strip())
        elif line and line.casefold().strip(" .-") not in {"none", "no parameters"}:
            notes.add("docstring", at, f"{line[:60]!r} is no line of the form: name (type): text")
    lacking = [f"{name} of {node.name} has no description" for section in SECTIONS
               for name, field in fields[section].items() if not field.description]  # fmt: skip
    if not description:
        lacking.append(f"{node.name} has no docstring that says what it does")
    if not fields[RETURNS]:
        lacking.append(f"{node.name} returns nothing; list its return values under Returns:")
    for noted in lacking:
        notes.add("docstring", first, f"{noted}.")
    return description, fields


# -- main ------------------------------------------------------------------------------------------


@dataclass
class _Reader:
    """A reader of the statements of `main`."""

    apis: Mapping[str, Api]
    notes: Notes
    calls: list[NestCall] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    """Line numbers of the calls."""
    known: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Placeholder and type of the response in each variable; both empty after an invalid call."""

    def main(self, node: ast.FunctionDef, source: str, tree: ast.Module) -> str:
        """Read all statements and return the task from the comments below them."""
        if ast.unparse(node.args) or node.decorator_list:
            self.notes.add("main", node.lineno, "main takes nothing.")
        for statement in node.body:
            match statement:
                case ast.Assign(targets=[target], value=ast.Call(func=ast.Name(id=name)) as call):
                    self._call(statement.lineno, name, call, target)
                case _:
                    text = f"{ast.unparse(statement)[:60]!r} is no line of the form"
                    self.notes.add("main", statement.lineno, f"{text} data0, ... = tool(...)")
        if len(self.calls) > MOST_CALLS:
            text = f"there are {len(self.calls)} calls; at most {MOST_CALLS} are wanted."
            self.notes.add("main", node.lineno, text)
        for name in self.apis:
            if name not in {call.api for call in self.calls}:
                self.notes.add("all-tools-called", node.lineno, f"{name} is not called.")
        seen: dict[str, int] = {}
        for made, line in zip(self.calls, self.lines, strict=True):
            before = seen.setdefault(f"{made.api} {canonical(made.parameters)}", line)
            if before != line:
                self.notes.add("same-call", line, f"this is the call of line {before} again.")
        task = _task(source, tree, node)
        if len(task) < SHORTEST_TASK:
            text = "there is no task; write it as comments below the last call in main."
            self.notes.add("task-comment", node.lineno, text)
        return task

    def _call(self, line: int, name: str, call: ast.Call, target: ast.expr) -> None:
        targets = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        variables = [node.id if isinstance(node, ast.Name) else "" for node in targets]
        returns = [("", "")] * len(variables)
        if api := self.apis.get(name):
            given = self._arguments(line, api, call)
            parameters = {key: self._value(api, key, node) for key, node in given.items()}
            sizes = [*(len(made.responses) for made in self.calls), len(api.responses)]
            own = placeholders(sizes)[-1]
            self.calls.append(NestCall(name, parameters, own))
            self.lines.append(line)
            types = (response.type for response in api.responses.values())
            returns = [*zip(own, types, strict=True)]
        else:
            self.notes.add("known-function", line, f"there is no function {name}.")
        if "" in variables:
            self.notes.add("variables", line, "returns go to plain variables: data0, data1 = ...")
        if len(variables) != len(returns):
            text = f"{len(variables)} variables for {len(returns)} return values; give each its own"
            self.notes.add("variables", line, f"{text}.")
        for variable, response in zip(variables, returns, strict=False):
            if variable in self.known or variable in self.apis:
                text = f"{variable} is taken already; use a new variable."
                self.notes.add("variables", line, text)
            elif variable:
                self.known[variable] = response

    def _arguments(self, line: int, api: Api, call: ast.Call) -> dict[str, ast.expr]:
        """Return the expression given for each parameter, in the tool's order."""
        named = {one.arg: one.value for one in call.keywords if one.arg}
        starred = any(isinstance(node, ast.Starred) for node in call.args)
        if starred or len(named) < len(call.keywords):
            self.notes.add("arguments", line, "write each argument out, once, without * or **.")
            return {}
        empty = inspect.Parameter.empty
        try:
            signature = inspect.Signature([
                inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD,
                                  default=empty if name in api.required else None)
                for name in api.parameters
            ])  # fmt: skip
            return dict(signature.bind(*call.args, **named).arguments)
        except (TypeError, ValueError) as error:
            takes = ", ".join(api.parameters) or "nothing"
            self.notes.add("arguments", line, f"{api.name} takes {takes}: {error}.")
            return {}

    # -- values -----------------------------------------------------------------------------------

    def _value(self, api: Api, name: str, node: ast.expr) -> JSON:
        """Read an argument: a variable, a literal, or a list of either."""
        kind, where = api.parameters[name].type, f"{name} of {api.name}"
        if isinstance(node, ast.Name):
            return self._variable(node, kind, where)
        value: JSON = [
            self._variable(part, "", where) if isinstance(part, ast.Name) else self._literal(part)
            for part in node.elts
        ] if isinstance(node, ast.List) else self._literal(node)  # fmt: skip
        if value is not None and not is_of(kind, value):
            text = f"{where} is {kind}; {ast.unparse(node)[:40]} is not."
            self.notes.add("value-types", node.lineno, text)
        return value

    def _variable(self, node: ast.Name, kind: str, where: str) -> JSON:
        """Return the placeholder of a variable; `kind` is the required type, or empty for any."""
        if node.id not in self.known:
            self.notes.add("variables", node.lineno, f"{node.id} is not defined before this line.")
            return None
        placeholder, given = self.known[node.id]
        if kind and given and given != kind:
            text = f"{where} is {kind}, and {node.id} is {given}; make them the same."
            self.notes.add("edge-types", node.lineno, text)
        return placeholder

    def _literal(self, node: ast.expr) -> JSON:
        """Return a literal value, or None if it is invalid."""
        try:
            value: JSON = ast.literal_eval(node)
        except (ValueError, TypeError, MemoryError, RecursionError):
            text = f"{ast.unparse(node)[:60]} is no plain value; write values or variables alone."
            self.notes.add("no-computing", node.lineno, text)
            return None
        objects = [part for part in ast.walk(node) if isinstance(part, ast.Dict)]
        keys = [[key and ast.unparse(key) for key in part.keys] for part in objects]
        wrong = ["give each key once." for names in keys if len({*names}) < len(names)]
        wrong += self._wrong(value)
        for text in wrong[:1]:
            self.notes.add("values", node.lineno, text)
        return None if wrong else value

    def _wrong(self, value: object) -> Iterator[str]:
        """Report values that a task cannot state or that no text of the format can contain."""
        match value:
            case dict():
                for key, part in value.items():
                    if not isinstance(key, str) or MARK in key:
                        yield f"{key!r} is no plain name of a key."
                    yield from self._wrong(part)
            case list():
                for part in value:
                    yield from self._wrong(part)
            case str() if not value.strip() or value == UNKNOWN:
                yield f"{value!r} is no value that a task can say."
            case str() if MARK in value or value in self.known:
                yield f"{value!r} is a text; write the variable without quotes."
            case float() if not math.isfinite(value):
                yield f"{value} is no number that JSON has."
            case bool() | str() | float():
                return
            case int() if value.bit_length() < 64:
                return
            case _:
                yield f"{str(value)[:40]!r} is no text, number, truth value, list or dict."


def _task(source: str, tree: ast.Module, main: ast.FunctionDef) -> str:
    """Return the comments between the last statement of `main` and the next definition."""
    last = max(node.end_lineno or node.lineno for node in main.body)
    end = min((node.lineno - 1 for node in tree.body if node.lineno > last), default=None)
    lines = [line.strip() for line in source.split("\n")[last:end]]
    said = (line.lstrip("#").strip() for line in lines if line.startswith("#"))
    return " ".join(filter(None, said))
