"""Plays the zygote to processes that are used again, and tells what became of them as JSON.

Run in an interpreter of its own, which holds no more than a zygote does:

    python -m tests.sandbox.again_play

It reads a list of ``{"name", "source", "after_s"}`` from standard input. Each source has a function
`f`, which is called in a new process without a policy. After `after_s` seconds at most (a code that
spins or sleeps has not answered by then) the process is put back, and an honest program is called
in it. A line is written for each: whether it was put back, whether its memory and registers are as
before, its answers, and how it ended (by signal 9, if not before).
"""

from __future__ import annotations

import json
import marshal
import os
import select
import socket
import sys
import time
from typing import Any

from sandbox.worker import lockdown, ptrace, standby, wire
from sandbox.worker.twins import TABLE_BYTES, Again
from sandbox.worker.zygote import Zygote

HONEST = """
import builtins, ctypes, json, math, random, sys
def f():
    libc = ctypes.CDLL(None)
    return [len("four"), sorted([2, 1]), json.dumps({"a": 1.5}), math.sqrt(2.0), 0.1 + 0.2,
            libc.fegetround(), hasattr(builtins, "canary"), hasattr(sys, "canary"),
            sys.getrecursionlimit(), sys.getswitchinterval(), type(1).__name__]
"""


def frames(source: str) -> bytes:
    """A program without a policy and its call, as the host sends them."""
    head = b"f\nnone\n256\n12\n1000000"
    code = marshal.dumps(compile(source, "<tool>", "exec"))
    body = wire.LENGTH.pack(len(head)) + head + code
    return wire.frame(wire.LOAD, body) + wire.frame(wire.RUN, b"{}")


def call(one: Again, source: str, after_s: float) -> str:
    """Call a program; what it answered, empty for nothing in time."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours:
        with theirs:
            one.hand(theirs.fileno())
        ours.sendall(frames(source))
        ours.settimeout(after_s)
        try:
            data = ours.recv(1 << 20)
        except (TimeoutError, ConnectionResetError):
            return ""
        return data[4:].decode("utf-8", "replace")


def ready(zygote: Zygote) -> Again:
    """A process that waits to be used, and its twin."""
    one = zygote.fork_again()
    deadline = time.monotonic() + 10
    while not (one.ready and one.twin) and time.monotonic() < deadline:
        select.select([zygote.announced], [], [], 0.1)
        zygote.hear()
    return one


def registers(one: Again) -> list[bytes]:
    """All that it has, of a process that waits; it goes on waiting."""
    time.sleep(0.01)
    ptrace.stop(one.pid)
    found = [ptrace.registers(one.pid, kind) for kind in (ptrace.GENERAL, ptrace.VECTORS)]
    ptrace.go_on(one.pid)
    return found


def memory(one: Again, address: int, size: int) -> bytes:
    """A part of its memory."""
    file = os.open(f"/proc/{one.pid}/mem", os.O_RDONLY)
    try:
        return os.pread(file, size, address)
    finally:
        os.close(file)


def dismiss_early(zygote: Zygote) -> dict[str, Any]:
    """What becomes of processes that are to be put back as soon as they were handed a call."""
    answers = []
    for _ in range(20):
        one = ready(zygote)
        assert one.put_back()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with ours, theirs:
            one.hand(theirs.fileno())
            again = one.put_back()
        answers.append(call(one, HONEST, 5) if again else None)
        zygote.end(one.pid)
        one.close()
        os.waitpid(one.pid, 0)
        del zygote.again[one.pid]
    return {"answers": answers}


def play(zygote: Zygote, source: str, after_s: float) -> dict[str, Any]:
    """What became of a process in which `source` was called."""
    one = ready(zygote)
    # Put back once, so that it is what its twin is.
    assert one.put_back()
    before = registers(one)
    told: dict[str, Any] = {"answer": call(one, source, after_s)}
    try:
        told["put_back"] = one.put_back()
    except ptrace.Ended as end:
        told["ended"] = os.waitstatus_to_exitcode(end.status)
    if told.get("put_back"):
        told["table"] = any(memory(one, one._table, TABLE_BYTES))
        told["registers"] = registers(one) == before
        told["honest"] = call(one, HONEST, 5)
        told["put_back_again"] = one.put_back()
        told["memory"] = one.is_as_before()
    zygote.end(one.pid)
    one.close()
    if "ended" not in told:
        told["ended"] = os.waitstatus_to_exitcode(os.waitpid(one.pid, 0)[1])
    del zygote.again[one.pid]
    return told


def main() -> None:
    """Play what standard input names."""
    cases = json.load(sys.stdin)
    out = os.fdopen(os.dup(1), "w")
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1):
        os.dup2(null, standard)
    lockdown.hide()
    lockdown.no_new_privileges()
    lockdown.small_pages()
    standby.warm()
    ours, _theirs = socket.socketpair()
    zygote = Zygote(ours, in_container=False)
    usable = zygote.prepared.again and zygote.probe_again()
    print(json.dumps({"usable": usable}), file=out, flush=True)
    print(json.dumps({"name": "dismissed-early", **dismiss_early(zygote)}), file=out, flush=True)
    for case in cases:
        told = play(zygote, case["source"], case["after_s"])
        print(json.dumps({"name": case["name"], **told}), file=out, flush=True)


if __name__ == "__main__":
    main()
