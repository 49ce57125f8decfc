"""One process for one call: locks itself down, waits, runs, answers, ends.

Whatever can be done before the call arrives is done then: fork, lockdown, imports, a rehearsal that
touches the memory pages a call will touch. Anything the call leaves behind dies with the process.

Most of a standby's cost is pages: each page that it writes to is copied, at about 2 µs, and Python
writes to whatever it looks at. So the code here touches little: it uses the C module behind
`socket`, JSON readers and writers made before the fork, and a header that is not JSON.
"""

from __future__ import annotations

import _socket
import contextlib
import gc
import json
import random
import sys

from toolhop_sandbox.worker import call, lockdown, paths, wire

PRELOADED = (
    "calendar", "collections", "datetime", "decimal", "fractions", "functools", "itertools",
    "json", "math", "operator", "random", "re", "statistics", "string", "typing", "unicodedata",
)  # fmt: skip
"""Modules that are loaded for every call: those that tools import most. An import during a call
costs 1 ms; these make the zygote 0.8 MB larger and a fork no slower (all 48 that the policy
allows: 5.5 MB, and a third slower)."""
CHUNK_BYTES = 65536
REHEARSALS = 12
"""Number of rehearsals before the first fork: in its first runs the interpreter specialises code,
and so writes to it."""
COMPILE_MIB, COMPILE_S = 512, 20
"""Memory in MiB and processor time in seconds for compiling one source; 64 KiB of real source
needs less than 40 MiB."""


def warm() -> None:
    """In the zygote: import and create what a call needs, so that every standby has it."""
    from toolhop_sandbox.worker import policy

    policy.preload(PRELOADED)
    # Run both halves once, as their lazy imports cannot be read after the lockdown.
    policy.compile_restricted("0")
    for _ in range(REHEARSALS):
        call.rehearse()
    call.make_namespaces(2)
    # Packages installed next to the library cannot be read in a call. For tools they must
    # be missing rather than forbidden, as an optional import expects ImportError.
    sys.path[:] = filter(paths.of_stdlib, sys.path)
    # A collection in a call then examines only the call's objects: 80 fewer pages are copied.
    gc.collect()
    gc.freeze()


def serve(connection: int, base_bytes: int, prepared: lockdown.Prepared) -> None:
    """Answer one request.

    Args:
        connection: descriptor of the connection, the only object of ours that the call may hold.
        base_bytes: address space of the bare worker, to which limits are added.
        prepared: the prepared lockdown.
    """
    prepared.lock(connection)
    # Forked without Python's hooks, every call would draw the same numbers.
    random.seed()
    call.rehearse()
    host = Host(lockdown.CONNECTION)
    with contextlib.suppress(Gone):
        letter, body = host.receive()
        if letter == wire.COMPILE:
            lockdown.limit_use(base_bytes + (COMPILE_MIB << 20), COMPILE_S)
            host.send(call.compile_source(json.loads(body)))
        elif letter == wire.LOAD:
            program = call.loaded(body)
            lockdown.limit_use(base_bytes + (program.memory_mib << 20), program.cpu_s)
            _, arguments = host.receive()
            host.send(call.run(program, arguments))


class Gone(Exception):
    """The host has closed the connection."""


class Host:
    """Receives frames from the host with few system calls: one reads all frames of a call."""

    def __init__(self, descriptor: int) -> None:
        self._connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, descriptor)
        self._data = b""
        self.send = self._connection.sendall

    def receive(self) -> tuple[bytes, bytes]:
        """Return the letter and body of one frame. Raises Gone: the host closed the connection."""
        data, needed = self._data, wire.LENGTH.size
        while len(data) < needed:
            data += self._receive(CHUNK_BYTES)
        needed += wire.LENGTH.unpack_from(data)[0]
        if len(data) < needed:
            # Read the rest at once: appending piece by piece would copy everything each time.
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
