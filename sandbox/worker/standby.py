"""One process for one call: locks itself down, waits, runs, answers, ends.

Everything that can be done before the call arrives is done before it: fork, lockdown, imports,
a rehearsal that touches the memory pages a call will touch. What the call leaves behind dies
with the process. Most calls run in processes that serve many (`sandbox.worker.again`), with what
is here to load and call a program; this is for compiling, and for calls that need more.

Most of what a standby costs is pages: each that it writes to is copied, at about 2 µs, and
Python writes to whatever it looks at. So what runs here looks at little: the C modules behind
`signal` and `socket`, readers and writers of JSON made before the fork, a head that is no JSON.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # the C half of signal has no stub
import _socket
import contextlib
import json
import marshal
import os
import random
import select
import sys
from types import CodeType, TracebackType
from typing import Any

from sandbox.worker import lockdown, wire

FILENAME = "<tool>"
"""Name under which tool source is compiled, to tell its lines in a traceback from ours."""
MESSAGE_CHARS = 4000
NAME_CHARS = 200
PRELOADED = (
    "calendar", "collections", "datetime", "decimal", "fractions", "functools", "itertools",
    "json", "math", "operator", "random", "re", "statistics", "string", "typing", "unicodedata",
)  # fmt: skip
"""Modules that are ready in every call: those that tools import. An import in the call costs it
1 ms; these make the zygote 0.8 MB larger and a fork no dearer (all 48 that the policy allows:
5.5 MB, and a third more)."""
CHUNK_BYTES = 65536
AHEAD_MIB, AHEAD_CPU_S = 8, 1
"""What a module level may use that runs ahead of its call: several stand ready beside the call
under way, which has been promised all that its container has but `WORKER_MIB` of the engine.
28 MiB held by each of seven had the kernel end the call; a loop in each had the calls wait for the
processor."""
REHEARSALS = 12
"""Before the first fork: the interpreter adapts code in its first runs, and writes to it."""
DRAWS = (b"random", b"statistics")
"""Names of modules with random numbers, as the policy allows them, in code that imports them."""
COMPILE_MIB = 512
"""Memory for compiling one source; 64 KiB of real source needs under 40."""


_namespaces: list[dict[str, Any]] = []
"""Fresh namespaces under the policy, made in the zygote: to copy one is to look at every built-in,
on 70 pages. A standby, which serves one call, takes one for its rehearsal and one for its tool."""


def warm() -> None:
    """In the zygote: import and make what a call needs, so that every standby has it already."""
    from sandbox.worker import policy

    policy.preload(PRELOADED)
    # Once through both halves: what they import lazily cannot be read after the lockdown.
    policy.compile_restricted("0")
    for _ in range(REHEARSALS):
        rehearse()
    _namespaces.extend(policy.restricted_globals("tool") for _ in range(2))


class Head:
    """What a standby is told of a program beside its code."""

    def __init__(
        self, function: str, policy: str, memory_mib: int, cpu_s: int, result_bytes: int
    ) -> None:
        """Take the fields; see `sandbox.base.Limits` for the last three."""
        self.function = function
        self.policy = policy
        self.memory_mib = memory_mib
        self.cpu_s = cpu_s
        self.result_bytes = result_bytes


_READ = json.JSONDecoder().raw_decode
"""Reads the arguments, which the host wrote: one object, nothing before or after it."""
_WRITE = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_WARM_UP = Head("f", "restricted", 0, 0, 1000)
_REHEARSAL = compile(
    """
def f(a, b):
    total = sum(float(part) for part in a[:2])
    return {"a": sorted([*map(str, a)]), "b": f"{total:.2f}", "c": b.get("none")}
""",
    "<rehearsal>",
    "exec",
    dont_inherit=True,
)


def rehearse() -> None:
    """Run a call's steps once on a harmless tool, so that its own run finds the memory ready.

    A forked process copies each page at the first write, at about 2.3 µs a page; this way it
    copies them while it waits.
    """
    module = enter(_REHEARSAL, _WARM_UP, b"")
    if isinstance(module, dict):
        call(module, _WARM_UP, b'{"a": [1, 2.5, "x"], "b": {"c": null}}', b"")


def serve(descriptor: int, base_bytes: int, prepared: lockdown.Prepared) -> None:
    """Answer one request on the socket `descriptor`.

    Args:
        descriptor: the connection, the only thing of ours that the call may hold.
        base_bytes: address space of the bare worker, on top of which limits count.
        prepared: what to lock down with.
    """
    os.setsid()
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    descriptor = _keep_only(descriptor, prepared.ruleset)
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, descriptor)
    prepared.lock()
    frames = Frames(connection)
    if frames.idle:
        rehearse()
    with contextlib.suppress(Gone):
        letter, body = frames.next()
        if letter == wire.COMPILE:
            lockdown.limit_use(base_bytes + (COMPILE_MIB << 20), 20)
            connection.sendall(compile_source(json.loads(body)))
        elif letter == wire.LOAD:
            connection.sendall(load_and_call(frames, body, base_bytes))


def load_and_call(frames: Frames, body: bytes, base_bytes: int | None) -> bytes:
    """The frame that answers the call of the program in `body`.

    Args:
        frames: where the arguments come from.
        body: of a `wire.LOAD` frame.
        base_bytes: what limits count from, None in a process that needs none.
    """
    head, code = _split(body)
    if head.policy != "restricted" or any(name in code for name in DRAWS):
        # Forked without Python's hooks, every call would draw the same numbers.
        random.seed()
    loaded: CodeType = marshal.loads(code)  # noqa: S302 -- made by our own compile step
    return _serve_call(frames, loaded, head, base_bytes)


def _keep_only(descriptor: int, ruleset: int | None) -> int:
    """Close every descriptor above 2 but two; where `descriptor` is now.

    Its number is the same each time, however many the zygote has open. 0, 1 and 2 lead nowhere
    since the zygote's start.
    """
    place = 4 if ruleset == 3 else 3
    if descriptor != place:
        os.dup2(descriptor, place)
    low, high = sorted((place, place if ruleset is None else ruleset))
    os.closerange(3, low)
    os.closerange(low + 1, high)
    os.closerange(high + 1, 256)
    return place


class Gone(Exception):
    """The host has closed the connection."""


class Frames:
    """Frames from the host, read with as few calls as can be: the arguments come in one."""

    def __init__(self, connection: _socket.socket) -> None:
        self._connection = connection
        self._data = b""

    @property
    def idle(self) -> bool:
        """Whether nothing is there to be read."""
        return not self._data and not select.select([self._connection], [], [], 0)[0]

    def next(self) -> tuple[bytes, bytes]:
        """One frame's letter and body. Raises Gone where the host is."""
        data, needed = self._data, wire.LENGTH.size
        while len(data) < needed:
            data += self._receive(CHUNK_BYTES)
        needed += wire.LENGTH.unpack_from(data)[0]
        if len(data) < needed:
            # Read into one piece: a result of another megabyte each time would copy it all.
            data += self._receive(needed - len(data), _socket.MSG_WAITALL)
        while len(data) < needed:
            data += self._receive(needed - len(data))
        self._data = data[needed:]
        return data[4:5], data[5:needed]

    def _receive(self, count: int, flags: int = 0) -> bytes:
        data = self._connection.recv(count, flags)
        if not data:
            raise Gone
        return data


def _split(body: bytes) -> tuple[Head, bytes]:
    """The head and the code of a program that was sent ahead."""
    size = wire.LENGTH.unpack_from(body)[0]
    start = wire.LENGTH.size
    function, policy_name, memory_mib, cpu_s, result_bytes = (
        body[start : start + size].decode().split("\n")
    )
    head = Head(function, policy_name, int(memory_mib), int(cpu_s), int(result_bytes))
    return head, body[start + size :]


def compile_source(request: dict[str, Any]) -> bytes:
    """The frame with the compiled code, or with the outcome that says why there is none."""
    from sandbox.worker import policy

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


def _serve_call(frames: Frames, code: CodeType, head: Head, base_bytes: int | None) -> bytes:
    """Take the arguments and run the call; its module level before that, where it may wait.

    Under the policy a module can start no thread, so it may stand ready after its module level
    has run; without it the code gets its turn only when it is called.
    """
    # Made before untrusted code runs: afterwards there may be no memory to make it of.
    text = b'{"kind": "out_of_memory", "limit_mib": %d}' % head.memory_mib
    no_memory = wire.frame(wire.OUTCOME, text)
    module: dict[str, Any] | bytes | None = None
    try:
        if head.policy == "restricted" and frames.idle:
            module = _enter_ahead(code, head, base_bytes, no_memory)
            # What a call needs beside the tool itself: reading arguments, writing a result.
            call({"f": dict}, _WARM_UP, b'{"a": [1, 2.5, "b"]}', no_memory)
        _, arguments = frames.next()
        if module is None:
            if base_bytes is not None:
                lockdown.limit_use(base_bytes + (head.memory_mib << 20), head.cpu_s)
            module = enter(code, head, no_memory)
    except MemoryError:
        return no_memory
    return module if isinstance(module, bytes) else call(module, head, arguments, no_memory)


def _enter_ahead(
    code: CodeType, head: Head, base_bytes: int | None, no_memory: bytes
) -> dict[str, Any] | bytes | None:
    """Run the module level before the call, with less than the call's own limits.

    What takes more memory runs again when it is called: None. What takes more time is ended by the
    kernel, and started anew by the host, also where it was called by then. No handler of Python's
    would do: it waits for C code to end, and `sum(itertools.repeat(0))` never does.
    """
    if base_bytes is None:
        return enter(code, head, no_memory)
    lockdown.limit_ahead(base_bytes + (min(head.memory_mib, AHEAD_MIB) << 20), AHEAD_CPU_S)
    module = enter(code, head, no_memory)
    lockdown.limit_use(base_bytes + (head.memory_mib << 20), head.cpu_s)
    return None if module is no_memory else module


def enter(code: CodeType, head: Head, no_memory: bytes) -> dict[str, Any] | bytes:
    """Run the module level; the module's names, or the frame that says how it failed."""
    try:
        namespace = _namespace(head.policy)
        exec(code, namespace)  # noqa: S102 -- this is what the sandbox is for
    except MemoryError:
        return no_memory
    except BaseException as error:  # noqa: BLE001 -- tool code may raise anything at all
        return _raised(error)
    return namespace


def call(namespace: dict[str, Any], head: Head, arguments: bytes, no_memory: bytes) -> bytes:
    """Call the function; the frame that tells what came of it."""
    try:
        function: Any = namespace.get(head.function, _missing)
        if function is _missing:
            message = f"name '{head.function}' is not defined"
            return outcome("raised", error="NameError", message=message, line=None)
        value = function(**_READ(arguments.decode())[0])
        return _result_frame(value, head.result_bytes)
    except MemoryError:
        return no_memory
    except BaseException as error:  # noqa: BLE001 -- the same
        return _raised(error)


def _raised(error: BaseException) -> bytes:
    """The frame of an exception that is being handled."""
    # Not error.__traceback__: its class may give another one, or raise.
    line = _line(sys.exc_info()[2])
    return outcome("raised", error=_name(error), message=_text(error), line=line)


_missing = object()


def _namespace(policy_name: str) -> dict[str, Any]:
    if policy_name == "restricted" and _namespaces:
        return _namespaces.pop()
    from sandbox.worker import policy

    if policy_name == "restricted":
        return policy.restricted_globals("tool")
    policy.unguard_copies()
    return {"__name__": "tool", "__builtins__": __builtins__}


def _result_frame(value: object, limit_bytes: int) -> bytes:
    """The value as JSON, or why it is none. Raises MemoryError where that does not fit."""
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
    """A frame that carries an outcome other than a returned value."""
    clean = {
        # A lone surrogate has no UTF-8; the reader would refuse the whole frame.
        name: value.encode("utf-8", "backslashreplace").decode() if type(value) is str else value
        for name, value in fields.items()
    }
    return wire.frame(wire.OUTCOME, json.dumps({"kind": kind, **clean}).encode())


def _text(error: BaseException) -> str:
    try:
        # An exact str, whatever subclass of it __str__ returns.
        return str.__getitem__(str(error), slice(MESSAGE_CHARS))
    except BaseException:  # noqa: BLE001 -- __str__ is the tool's own code
        return "(the exception's text cannot be made)"


def _name(error: BaseException) -> str:
    # type.__name__ of the metaclass `type`, which no metaclass of the tool's own can replace.
    name: str = type.__dict__["__name__"].__get__(type(error))
    return str.__getitem__(name, slice(NAME_CHARS))


def _line(step: TracebackType | None) -> int | None:
    """Last line of the tool's own source in the traceback."""
    line = None
    while step is not None:
        if step.tb_frame.f_code.co_filename == FILENAME:
            line = step.tb_lineno
        step = step.tb_next
    return line
