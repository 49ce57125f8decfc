"""What the policy does to real tools: how many compile, and how many calls end the same.

    python benchmarks/policy_on_toolhop.py [PATH-TO-ToolHop-60.json]

Every tool of the data is compiled under the policy. Its example calls, as far as the source shows
any (at module level, in comments, in docstrings), and wrong variants of them (no arguments, one too
many, each argument in turn replaced by None, a number, a text) are then run with the policy and
without, each in a process of its own, and compared: same exception and message, or same value of
the same type throughout. Every difference is printed. Then a few loops are timed.

Exit code 0: done, 1: a tool is refused or a call differs, 3: no data here.
Without the policy the source runs in this user's process: use it on data you trust that far.
"""

from __future__ import annotations

import ast
import io
import json
import os
import resource
import select
import signal
import statistics
import sys
import time
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from toolhop_sandbox.worker.policy import (  # noqa: E402 -- after the path is set
    PolicyViolation,
    compile_restricted,
    preload,
    restricted_globals,
)

DATA = ROOT.parent / "shared" / "data" / "toolhop" / "ToolHop-60.json"
LIMIT_S = 10
MEMORY_BYTES = 2 << 30
REPEATS = 7


@dataclass(frozen=True, slots=True)
class Example:
    """One example call of a tool, as an expression."""

    tool: str
    source: str
    call: str


def example_calls(source: str) -> Iterator[str]:
    """Calls of the source's own functions that it shows as examples."""
    tree = ast.parse(source)
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    for statement in tree.body:
        if not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            yield from _own_calls(statement, names)
    texts = [
        ast.get_docstring(node) or "" for node in tree.body if isinstance(node, ast.FunctionDef)
    ]
    texts.append("\n".join(_comments(source)))
    for text in texts:
        for name in names:
            yield from _calls_in_text(text, name)


def wrong_calls(call: str) -> Iterator[str]:
    """The call without arguments, with one too many, and with each argument spoiled in turn."""
    yield f"{call.partition('(')[0]}()"
    yield f"{call[:-1]}{', ' if call[-2] != '(' else ''}unexpected=1)"
    for position in range(len(_arguments(ast.parse(call)))):
        for value in (None, -3, "?"):
            tree = ast.parse(call)
            holder, field = _arguments(tree)[position]
            if isinstance(holder, list):
                holder[field] = ast.Constant(value)
            else:
                setattr(holder, field, ast.Constant(value))
            yield ast.unparse(tree)


def _arguments(tree: ast.Module) -> list[tuple[Any, Any]]:
    statement = tree.body[0]
    assert isinstance(statement, ast.Expr)  # noqa: S101 -- it was parsed from a call
    call = statement.value
    assert isinstance(call, ast.Call)  # noqa: S101 -- the same
    positions: list[tuple[Any, Any]] = [(call.args, index) for index in range(len(call.args))]
    return positions + [(keyword, "value") for keyword in call.keywords]


def _own_calls(node: ast.AST, names: set[str]) -> Iterator[str]:
    for inner in ast.walk(node):
        match inner:
            case ast.Call(func=ast.Name(id=name)) if name in names and _is_literal(inner):
                yield ast.unparse(inner)


def _is_literal(call: ast.Call) -> bool:
    """Whether the call stands by itself: no variables but True, False, None among arguments."""
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    return not any(isinstance(node, ast.Name) for each in arguments for node in ast.walk(each))


def _comments(source: str) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string.lstrip("# ")


def _calls_in_text(text: str, name: str) -> Iterator[str]:
    """Every `name(...)` in prose that parses as a call, up to the bracket that closes it."""
    start = text.find(name + "(")
    while start >= 0:
        end = text.find(")", start)
        while end >= 0 and end - start < 2000:
            try:
                tree = ast.parse(text[start : end + 1], mode="eval")
            except (SyntaxError, ValueError):
                end = text.find(")", end + 1)
                continue
            yield from _own_calls(tree, {name})
            break
        start = text.find(name + "(", start + 1)


def shape(value: Any) -> str:  # noqa: ANN401 -- tools return anything
    """Text that is equal for equal values of equal types, all the way down."""
    kind = type(value).__name__
    if isinstance(value, dict):
        return f"{kind}{{{', '.join(f'{shape(k)}: {shape(v)}' for k, v in value.items())}}}"
    if isinstance(value, (list, tuple)):
        return f"{kind}[{', '.join(map(shape, value))}]"
    if isinstance(value, (set, frozenset)):
        return f"{kind}{sorted(map(shape, value))}"
    return f"{kind} {value!r}"


def run(example: Example, *, policy: bool) -> str:
    """The outcome of the call, in a forked process that ends with it."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        try:
            text = f"returned {shape(call(example, policy=policy))}"
        except BaseException as error:  # noqa: BLE001 -- tools raise anything
            text = f"raised {type(error).__name__}: {error}"
        with os.fdopen(write, "wb") as pipe:
            pipe.write(text.encode("utf-8", "surrogatepass"))
        os._exit(0)
    os.close(write)
    chunks: list[bytes] = []
    deadline = time.monotonic() + LIMIT_S
    while select.select([read], [], [], max(0.0, deadline - time.monotonic()))[0]:
        chunk = os.read(read, 1 << 16)
        if not chunk:
            break
        chunks.append(chunk)
    else:
        chunks = [b"timed out"]
        os.kill(pid, signal.SIGKILL)
    os.close(read)
    os.waitpid(pid, 0)
    return b"".join(chunks).decode("utf-8", "surrogatepass")


def call(example: Example, *, policy: bool) -> Any:  # noqa: ANN401 -- tools return anything
    """Run the source, then the call."""
    namespace = load(example.source, policy=policy)
    text = example.call
    code = compile_restricted(f"_result = {text}") if policy else _plain_code(f"_result = {text}")
    exec(code, namespace)
    return namespace["_result"]


def _plain_code(source: str) -> Any:  # noqa: ANN401 -- CodeType
    return compile(source, "<tool>", "exec", dont_inherit=True)


def load(source: str, *, policy: bool) -> dict[str, Any]:
    """The source's namespace after its module level ran."""
    namespace: dict[str, Any] = restricted_globals() if policy else {"__name__": "tool"}
    exec(compile_restricted(source) if policy else _plain_code(source), namespace)
    return namespace


HOT = {
    "scan of a table": """
rows = [{'title': f'Film {n}', 'year': 1900 + n % 100, 'cast': ['A', 'B']} for n in range(500)]
def work():
    found = []
    for row in rows:
        if row['title'].lower().endswith('7') and any(name == 'B' for name in row['cast']):
            found.append(f"{row['title']} ({row['year']})")
    return found
""",
    "own class": """
class Account:
    def __init__(self): self.balance = 0; self._log = []
    def pay(self, amount): self.balance += amount; self._log.append(amount)
def work():
    account = Account()
    for n in range(500): account.pay(n)
    return account.balance
""",
    "items and library": """
import math
def work():
    counts, total = {}, 0.0
    for n in range(500):
        counts[n % 7] = counts.get(n % 7, 0)
        counts[n % 7] += 1
        total += math.sqrt(n)
    return total
""",
    "templates": """
template = '{name:>10} {year}'
def work(): return [template.format(name='x', year=n) for n in range(500)]
""",
}


def microseconds(action: Callable[[], object]) -> float:
    """Least time of `REPEATS` tries."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times) * 1e6


def print_timings(sources: list[str]) -> None:
    """Compiling the tools, and loops of ours, with the policy and without."""
    plain = statistics.median(microseconds(partial(_plain_code, source)) for source in sources)
    ours = statistics.median(
        microseconds(partial(compile_restricted, source)) for source in sources
    )
    print(f"compiling a tool, median    {plain:7.0f} us plain  {ours:7.0f} us restricted")
    for name, source in HOT.items():
        plain, ours = (
            microseconds(load(source, policy=policy)["work"]) for policy in (False, True)
        )
        print(f"{name:<27} {plain:7.0f} us plain  {ours:7.0f} us restricted")
    made = microseconds(lambda: [restricted_globals() for _ in range(1000)]) / 1000
    print(f"a fresh namespace           {made:7.2f} us")


def report(title: str, examples: list[Example]) -> int:
    """Run all, print the differences and the counts; the number of differences."""
    ends: Counter[str] = Counter()
    for example in examples:
        plain, restricted = run(example, policy=False), run(example, policy=True)
        if plain == restricted:
            ends[plain.split()[0]] += 1
        else:
            print(
                f"{example.tool}: {example.call}\n  plain       {plain}\n  restricted  {restricted}"
            )
    equal = sum(ends.values())
    outcomes = ", ".join(f"{count} {end}" for end, count in ends.items())
    share = f"{100 * equal / len(examples):.1f} %"
    print(f"{title:<15} {len(examples)}, equal {equal} ({share}): {outcomes}")
    return len(examples) - equal


def main(arguments: list[str]) -> int:
    """Measure and print."""
    path = Path(arguments[0]) if arguments else DATA
    if not path.is_file():
        print(f"no data at {path}; give the path of ToolHop-60.json", file=sys.stderr)
        return 3
    preload()
    sources = [source for row in json.loads(path.read_text()) for source in row["functions"]]
    refused = 0
    examples: list[Example] = []
    for number, source in enumerate(sources):
        tool = f"tool {number}"
        try:
            compile_restricted(source)
        except (PolicyViolation, SyntaxError) as error:
            refused += 1
            print(f"{tool} is refused: {error}")
        examples += [Example(tool, source, text) for text in dict.fromkeys(example_calls(source))]
    wrong = [
        Example(each.tool, each.source, text)
        for each in examples
        for text in dict.fromkeys(wrong_calls(each.call))
    ]
    print(f"tools           {len(sources)}, compiled under the policy {len(sources) - refused}")
    print(f"with examples   {len({example.tool for example in examples})}")
    differing = report("example calls", examples) + report("wrong calls", wrong)
    print_timings(sources)
    return 1 if refused or differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
