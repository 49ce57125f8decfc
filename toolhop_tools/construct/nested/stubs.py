"""Tools out of function stubs: a signature with types, and a docstring with sections. Pure.

The form is that of NesTools' generation (paper, table 5; code, data generation prompt)::

    def find_ferry(port: str, seats: int = 1):
        \"\"\"Find the next ferry from a port.

        required parameters:
        port (str): the port

        optional parameters:
        seats (int): how many seats are wanted

Returns:
        ferry (str): the ferry's name
        \"\"\"
        ...
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from toolhop_tools.construct.nested.model import KINDS, MARK, Api, Field
from toolhop_tools.construct.nested.notes import Notes

REQUIRED, OPTIONAL, RETURNS = "required parameters", "optional parameters", "returns"
SECTIONS = (REQUIRED, OPTIONAL, RETURNS)
CHECKS = ("stubs", "names", "docstring", "signature", "duplicate-tool")
"""Names of the checks that speak of functions."""
LONGEST_NAME = 64
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_ENTRY = re.compile(r"([^\W\d]\w*)\s*\(([^()]*)\)\s*:(.*)")
_TYPES = ", ".join(KINDS)


@dataclass
class _Docstring:
    description: str = ""
    fields: dict[str, dict[str, Field]] = field(
        default_factory=lambda: {section: {} for section in SECTIONS}
    )


def read_stubs(tree: ast.Module, notes: Notes) -> dict[str, Api]:
    """The tools that the functions of a module are, `main` aside; problems go to `notes`."""
    found: dict[str, Api] = {}
    alike: dict[tuple[object, ...], str] = {}
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef):
            if not _starts_main(node):
                text = "only function definitions stand here; take it out."
                notes.add("stubs", node.lineno, text)
            continue
        if node.name == "main":
            continue
        api = _api(node, notes)
        key = (api.description.casefold(), repr(api.parameters), repr(api.responses))
        if api.name in found:
            notes.add("duplicate-tool", node.lineno, f"{api.name} is defined twice.")
        elif key in alike:
            text = f"{api.name} is {alike[key]} under another name; define one of them."
            notes.add("duplicate-tool", node.lineno, text)
        alike[key] = found.setdefault(api.name, api).name
    if not found:
        notes.add("stubs", 1, "there is no function but main; define the tools.")
    return found


def _starts_main(node: ast.stmt) -> bool:
    """Whether it is the usual last lines of a script: ``if __name__ == ...: main()``."""
    return isinstance(node, ast.If) and ast.unparse(node) == (
        "if __name__ == '__main__':\n    main()"
    )


def _api(node: ast.FunctionDef, notes: Notes) -> Api:
    text = _body(node, notes)
    found = _docstring(node, text, notes)
    fields = found.fields
    parameters = {**fields[REQUIRED], **fields[OPTIONAL]}
    _check_name(node.name, "the function", node.lineno, notes)
    if hasattr(builtins, node.name):
        notes.add("names", node.lineno, f"{node.name} is Python's own; give another name.")
    for name in (*parameters, *fields[RETURNS]):
        _check_name(name, "the field", node.lineno, notes)
    _signature(node, fields[REQUIRED], fields[OPTIONAL], notes)
    return Api(node.name, found.description, parameters, (*fields[REQUIRED],), fields[RETURNS])


def _check_name(name: str, what: str, line: int, notes: Notes) -> None:
    plain = _NAME.fullmatch(name) and len(name) <= LONGEST_NAME and not keyword.iskeyword(name)
    if not plain or MARK.casefold() in name.casefold():
        text = f"{what} {name!r} needs a name of letters, digits and _, and no keyword."
        notes.add("names", line, text)


def _body(node: ast.FunctionDef, notes: Notes) -> str:
    """The docstring; nothing but ``...`` stands after it."""
    text = ast.get_docstring(node, clean=False)
    rest = node.body[1:] if text is not None else node.body
    if any(ast.unparse(one) not in {"...", "pass"} for one in rest) or node.decorator_list:
        noted = f"the body of {node.name} is its docstring and ...; take the rest out."
        notes.add("stubs", node.lineno, noted)
    if text is None:
        notes.add("docstring", node.lineno, f"{node.name} has no docstring.")
    return text or ""


def _docstring(node: ast.FunctionDef, text: str, notes: Notes) -> _Docstring:
    found, section, last = _Docstring(), "", ""
    first = node.body[0].lineno
    for at, line in enumerate(map(str.strip, text.split("\n"))):
        heading = line.casefold().removesuffix(":").strip()
        if line.endswith(":") and heading in SECTIONS:
            section, last = heading, ""
        elif not section:
            found.description = f"{found.description} {line}".strip()
        elif entry := _ENTRY.fullmatch(line):
            last = _add(found, section, entry, first + at, notes)
        elif line and last:
            held = found.fields[section][last]
            found.fields[section][last] = Field(held.type, f"{held.description} {line}".strip())
        elif line and line.casefold().strip(" .-") not in {"none", "no parameters"}:
            noted = f"{line[:60]!r} is no line of the form: name (type): text"
            notes.add("docstring", first + at, noted)
    if text and not found.description:
        notes.add("docstring", first, f"the docstring of {node.name} does not say what it does.")
    if text and not found.fields[RETURNS]:
        noted = f"{node.name} returns nothing; list its return values under Returns:"
        notes.add("docstring", first, noted)
    for fields in found.fields.values():
        for name, one in fields.items():
            if not one.description:
                notes.add("docstring", first, f"{name} of {node.name} has no description.")
    return found


def _add(found: _Docstring, section: str, entry: re.Match[str], line: int, notes: Notes) -> str:
    name, kind, text = entry[1], entry[2].strip(), entry[3].strip()
    both = [found.fields[one] for one in ((REQUIRED, OPTIONAL), (RETURNS,))[section == RETURNS]]
    if any(name in one for one in both):
        notes.add("docstring", line, f"{name} is listed twice.")
    if kind not in KINDS:
        notes.add("docstring", line, f"{name} has the type {kind!r}; types are {_TYPES}.")
    found.fields[section][name] = Field(kind, text)
    return name


def _signature(
    node: ast.FunctionDef,
    required: Mapping[str, Field],
    optional: Mapping[str, Field],
    notes: Notes,
) -> None:
    own = node.args
    if own.vararg or own.kwarg or own.posonlyargs or own.kwonlyargs:
        text = f"{node.name} takes * or /; write one plain parameter after the other."
        notes.add("signature", node.lineno, text)
    names = [one.arg for one in own.args]
    defaults = {*names[len(names) - len(own.defaults) :]} if own.defaults else set()
    documented = {**required, **optional}
    if names != [*documented]:
        text = (
            f"{node.name} has the parameters {', '.join(names) or 'none'}, its docstring "
            f"{', '.join(documented) or 'none'}: they have to be the same, required ones first."
        )
        notes.add("signature", node.lineno, text)
        return
    for one in own.args:
        kind = ast.unparse(one.annotation) if one.annotation else "none"
        if kind != documented[one.arg].type:
            text = f"{one.arg} is {kind} in the signature, {documented[one.arg].type} below."
            notes.add("signature", one.lineno, text)
        if (one.arg in defaults) != (one.arg in optional):
            has = "has a default" if one.arg in defaults else "has no default"
            text = f"{one.arg} {has}; optional parameters have one, and no others."
            notes.add("signature", one.lineno, text)
    for default in own.defaults:
        try:
            ast.literal_eval(default)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            text = f"the default {ast.unparse(default)[:40]} is no literal."
            notes.add("signature", default.lineno, text)
