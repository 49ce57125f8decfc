"""One call: compiles a source, or runs a program, and builds the frame with the outcome.

It runs in a standby (`toolhop_sandbox.worker.standby`), behind all walls, and may be changed by the
code that it runs, so the host trusts nothing that it says.
"""

from __future__ import annotations

import json
import marshal
import sys
from types import CodeType, ModuleType, TracebackType
from typing import Any

from toolhop_sandbox.worker import wire

FILENAME = "<tool>"
"""File name for compiled tool source, which distinguishes its lines from ours in tracebacks."""
MESSAGE_CHARS = 4000
NAME_CHARS = 200

_READ = json.JSONDecoder().raw_decode
"""Parses the arguments, which the host wrote: one object, with nothing before or after it."""
_WRITE = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_namespaces: list[dict[str, Any]] = []
"""Fresh namespaces under the policy, made in the zygote, as copying one touches every built-in,
on 70 pages. A standby, which serves one call, uses one for its rehearsal and one for its tool."""


class LoadedProgram:
    """Code to run, and its limits."""

    def __init__(self, code: CodeType, function: str, policy: str, limits: list[int]) -> None:
        """Store the fields; the limits are in the order of a `wire.LOAD` frame."""
        self.code = code
        self.function = function
        self.policy = policy
        self.memory_mib, self.cpu_s, self.result_bytes = limits


def loaded(body: bytes) -> LoadedProgram:
    """Parse the program in the body of a `wire.LOAD` frame."""
    size = wire.LENGTH.unpack_from(body)[0]
    start = wire.LENGTH.size
    function, policy_name, *limits = body[start : start + size].decode().split("\n")
    # The code was made by our own compile step.
    code: CodeType = marshal.loads(body[start + size :])  # noqa: S302 -- see above
    return LoadedProgram(code, function, policy_name, [*map(int, limits)])


_REHEARSED = """
import json, math, re
from datetime import datetime

def f(a, b):
    total = sum(float(part) for part in a[:2])
    return {"a": sorted([*map(str, a)]), "b": f"{total:.2f}", "c": b.get("none")}
"""
_REHEARSAL = LoadedProgram(
    compile(_REHEARSED, "<rehearsal>", "exec", dont_inherit=True), "f", "restricted", [0, 0, 1000]
)


def rehearse() -> None:
    """Run a harmless tool, so that the call itself finds its memory ready.

    A forked process copies each page at the first write, which takes about 2.3 µs; this way it
    copies them while it waits.
    """
    run(_REHEARSAL, b'{"a": [1, 2.5, "x"], "b": {"c": null}}')


def make_namespaces(count: int) -> None:
    """In the zygote: make namespaces under the policy, for the standbys that are forked later."""
    from toolhop_sandbox.worker import policy

    _namespaces.extend(policy.restricted_globals() for _ in range(count))


def compile_source(request: dict[str, Any]) -> bytes:
    """Return a frame with the compiled code, or with the outcome that says why it failed."""
    from toolhop_sandbox.worker import policy

    source: str = request["source"]
    try:
        if request["policy"] == "restricted":
            code = policy.compile_restricted(source, FILENAME)
        else:
            code = compile(source, FILENAME, "exec", dont_inherit=True)
        return wire.frame(wire.CODE, marshal.dumps(code))
    except policy.PolicyViolation as violation:
        line = violation.problems[0][0] if violation.problems else None
        return outcome("refused", reason=str(violation)[:MESSAGE_CHARS], line=line)
    except SyntaxError as error:
        return outcome("raised", error=type(error).__name__, message=error.msg, line=error.lineno)
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        # Null bytes, surrogates, nesting beyond the parser's limits.
        return outcome("raised", error="SyntaxError", message=_text(error), line=None)


def run(program: LoadedProgram, arguments: bytes) -> bytes:
    """Run the module level, then the function; return the frame with the outcome."""
    # Made before untrusted code runs: afterwards there may be no memory left for it.
    text = b'{"kind": "out_of_memory", "limit_mib": %d}' % program.memory_mib
    no_memory = wire.frame(wire.OUTCOME, text)
    try:
        namespace = _namespace(program.policy)
        exec(program.code, namespace)  # noqa: S102 -- this is what the sandbox is for
        function: Any = namespace.get(program.function, _missing)
        if function is _missing:
            message = f"name '{program.function}' is not defined"
            return outcome("raised", error="NameError", message=message, line=None)
        value = function(**_READ(arguments.decode())[0])
        return _result_frame(value, program.result_bytes)
    except MemoryError:
        return no_memory
    except BaseException as error:  # noqa: BLE001 -- tool code may raise anything at all
        return _raised(error)


def _raised(error: BaseException) -> bytes:
    """Return the frame for the exception being handled."""
    # Not error.__traceback__: its class may return another one, or raise.
    line = _line(sys.exc_info()[2])
    return outcome("raised", error=_name(error), message=_text(error), line=line)


_missing = object()


def _namespace(policy_name: str) -> dict[str, Any]:
    if policy_name == "restricted" and _namespaces:
        return _namespaces.pop()
    from toolhop_sandbox.worker import policy

    if policy_name == "restricted":
        return policy.restricted_globals()
    # Registered like any module: `dataclass` looks it up if annotations are texts.
    module = sys.modules["tool"] = ModuleType("tool")
    vars(module)["__builtins__"] = __builtins__
    return vars(module)


def _result_frame(value: object, limit_bytes: int) -> bytes:
    """Return the frame with the value as JSON, or why it has none; may raise MemoryError."""
    try:
        # A lone surrogate becomes the escape that JSON has for it.
        text = _WRITE(value)
        data = text.encode("utf-8", "backslashreplace")
    except MemoryError:
        raise
    except BaseException as error:  # noqa: BLE001 -- values can be objects with code of their own
        return outcome("not_json", reason=_text(error))
    if len(data) > limit_bytes:
        return outcome("too_large", size_bytes=len(data), limit_bytes=limit_bytes)
    return wire.frame(wire.RESULT, data)


def outcome(kind: str, **fields: object) -> bytes:
    """Return a frame with an outcome other than a returned value."""
    clean = {
        # A lone surrogate has no UTF-8; the reader would refuse the whole frame.
        name: value.encode("utf-8", "backslashreplace").decode() if type(value) is str else value
        for name, value in fields.items()
    }
    return wire.frame(wire.OUTCOME, json.dumps({"kind": kind, **clean}).encode())


def _text(error: BaseException) -> str:
    try:
        # An exact str, even if __str__ returns a subclass.
        return str.__getitem__(str(error), slice(MESSAGE_CHARS))
    except BaseException:  # noqa: BLE001 -- __str__ is the tool's own code
        return "(the exception's text cannot be made)"


def _name(error: BaseException) -> str:
    # type.__name__ of the metaclass `type`, which no metaclass of the tool's own can replace.
    name: str = type.__dict__["__name__"].__get__(type(error))
    return str.__getitem__(name, slice(NAME_CHARS))


def _line(step: TracebackType | None) -> int | None:
    """Return the last line of the tool's own source in the traceback; None if there is none."""
    line = None
    while step is not None:
        if step.tb_frame.f_code.co_filename == FILENAME:
            line = step.tb_lineno
        step = step.tb_next
    return line
