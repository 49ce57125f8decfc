"""Report suspicious facts about a usable data set (findings) without running any code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from toolhop_sandbox.base import Program
from toolhop_sandbox.worker.policy import PolicyViolation, compile_restricted
from toolhop_tools.declared import required
from toolhop_tools.errors import DataProblem, shown
from toolhop_tools.model import TOOLHOP, DataSet, Hop, Item, Tool
from toolhop_tools.pairing import default_nodes, parse_source, property_names, top_functions
from toolhop_tools.scenarios.label import BENCHMARK, label_of

PROVIDER_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""Function names accepted by OpenAI's API and compatible ones."""
PROVIDER_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
"""Parameter names accepted by Anthropic's API; its error message states the pattern."""


def findings(dataset: DataSet) -> list[DataProblem]:
    """Return the findings for every item and tool, in order. Compiles each source (8 ms each)."""
    return [finding for item in dataset.items for finding in _of_item(item)]


def _of_item(item: Item) -> Iterator[DataProblem]:
    seen: dict[str, int] = {}
    checked: list[Tool] = []
    for number, hop in enumerate(item.hops, 1):
        field = f"hop {number} ({hop.tool.name})"
        body = hop.tool.body
        function = body.function if isinstance(body, Program) else hop.tool.name
        if function in seen and hop.tool not in checked:
            given = f"{function}, the name at hop {seen[function]} too"
            yield _finding("shared-name", item, field, "a tool name of its own", given)
        seen.setdefault(function, number)
        if hop.tool not in checked:
            checked.append(hop.tool)
            for rule, expected, given in tool_findings(hop.tool):
                # ToolHop's evaluator only calls tools of its own benchmark.
                if rule != "not-first" or item.benchmark == TOOLHOP:
                    yield _finding(rule, item, field, expected, given)
    if item.hops:
        yield from _of_answer(item, item.hops[-1])
    if item.benchmark == BENCHMARK:
        yield from _of_label(item)


def _of_label(item: Item) -> Iterator[DataProblem]:
    """Check that a scenario's label can be read and refers to the item's own hops and tools."""
    try:
        label = label_of(item.gold)
    except (KeyError, ValueError) as error:
        given = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        yield _finding("label", item, "gold", "a scenario's label", given)
        return
    hops = {*label.lost, *(one.hop for one in label.hidden)}
    if unknown := sorted(hops - {*range(1, len(item.hops) + 1)}):
        expected = f"hops from 1 to {len(item.hops)}"
        yield _finding("label", item, "gold", expected, ", ".join(map(str, unknown)))
    if strange := sorted({*label.reserve, *(label.recovery or ())} - item.all_tools.keys()):
        yield _finding("label", item, "gold", "names of its tools", _listed(strange))
    if shown_ := sorted({*label.reserve} & item.tools.keys()):
        yield _finding("label", item, "gold", "a reserve that is not on offer", _listed(shown_))


def _finding(rule: str, item: Item, field: str, expected: str, given: str) -> DataProblem:
    return DataProblem(rule, f"id {item.id}", field, expected, given, "finding")


def _of_answer(item: Item, last: Hop) -> Iterator[DataProblem]:
    if last.answer.strip().lower() != item.answer.strip().lower():
        field = f"hop {len(item.hops)} ({last.tool.name})"
        given = f"{shown(last.answer)} for {shown(item.answer)}"
        yield _finding("last-answer", item, field, "the item's answer", given)


def tool_findings(tool: Tool) -> Iterator[tuple[str, str, str]]:
    """Yield the findings for one tool, as (rule, expected, given)."""
    properties = property_names(tool.schema.parameters)
    if not PROVIDER_NAME.fullmatch(tool.name):
        expected = "a name of 1 to 64 letters, digits, _ and -, as model providers want it"
        yield "provider-name", expected, shown(tool.name)
    if refused := [one for one in properties if not PROVIDER_PROPERTY.fullmatch(one)]:
        expected = "parameters of 1 to 64 letters of ASCII, digits, _, . and -, as providers want"
        yield "provider-name", expected, _listed(refused)
    if unknown := [name for name in required(tool.schema.parameters) if name not in properties]:
        yield "required-unknown", "required names that are properties", _listed(unknown)
    if isinstance(tool.body, Program):
        yield from _of_program(tool)


def _of_program(tool: Tool) -> Iterator[tuple[str, str, str]]:
    wanted = tool.program.function
    tree = parse_source(tool.program.source)
    if tree is None:
        yield "not-python", "Python source that can be parsed", shown(tool.program.source)
        return
    functions = top_functions(tree)
    function = functions.get(wanted)
    if function is None:
        given = _listed(functions) if functions else "no function"
        yield "no-entry", f"a function {wanted} at module level", given
        return
    if (first := re.search(r"def([^(]*)\(", tool.program.source)) and (
        first.group(1).strip() != wanted
    ):
        expected = f"{wanted} to be the first function: the official evaluator calls no other"
        yield "not-first", expected, shown(first.group(1).strip())
    try:
        compile_restricted(tool.program.source)
    except (PolicyViolation, SyntaxError) as error:
        yield "policy", "code that the sandbox's policy accepts", str(error)
    yield from _of_signature(tool, function.args)


def _of_signature(tool: Tool, args: ast.arguments) -> Iterator[tuple[str, str, str]]:
    """Check that keyword arguments that follow the schema suit the function."""
    parameters = tool.schema.parameters
    names = property_names(parameters)
    accepted = {arg.arg for arg in (*args.args, *args.kwonlyargs)}
    if args.kwarg is None and (unknown := sorted(names - accepted)):
        yield "signature", "properties that the function takes", _listed(unknown)
    needed = [name for name, node in default_nodes(args).items() if node is None]
    if missing := [name for name in needed if name not in required(parameters)]:
        expected = "required to name every parameter without a default"
        yield "signature", expected, f"not {_listed(missing)}"


def _listed(names: object) -> str:
    return ", ".join(str(name) for name in names) if isinstance(names, list | dict) else ""
