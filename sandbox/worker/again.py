"""A process for many calls: after each its parent puts it back to what it was before the first.

Forking a process, copying the pages that it writes to and ending it are nearly all of what an
isolated call costs: 2 ms of 2.3. A process that is put back instead costs a quarter of a
millisecond, and its next call finds every page ready.

What makes that as good as a new process:

- It can change nothing but its memory, its registers and what stands on its connection: the narrow
  seccomp program lets no call through that does more (`sandbox.worker.seccomp`). A program that
  needs more is ended by the kernel and runs again in a standby of its own (`sandbox.link`).
- Memory and registers are put back from a *twin*: a fork of it that was made before it saw any
  code, and that never runs on (`sandbox.worker.twins`).
- The connection is a new one for each call.

It needs no limit on memory: it cannot map any. What it has to spare is `SPARE_MIB`.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # the C half of signal has no stub
import _socket
import ctypes
import os
import struct

from sandbox.worker import lockdown, seccomp, standby, wire

SPARE_MIB = 8
"""Memory that a call may use before it needs a process of its own: as much as a module level may
use that runs ahead of its call. Of 1,260 example calls of ToolHop 98 % need less."""
READY = struct.Struct("=ii")
"""What a process says when it is ready, and its twin: the process, and the twin or 0."""
_ABOVE_ALL = 200
"""Descriptors from here on hold what is moved while the low ones are put in order."""
_DESCRIPTOR_BYTES = _socket.CMSG_SPACE(4)

# mallopt, of the C library: give nothing back to the system, map nothing for large pieces.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_MOST_UNMAPPED_BYTES = 32 << 20


class _Allocator(ctypes.Structure):
    """PyObjectArenaAllocator of CPython: where its small objects get their memory from."""

    _fields_ = (("context", ctypes.c_void_p), ("take", ctypes.c_void_p), ("give", ctypes.c_void_p))


_libc = ctypes.CDLL(None)
_libc.malloc.restype = ctypes.c_void_p
_libc.malloc.argtypes = (ctypes.c_size_t,)
_libc.free.argtypes = (ctypes.c_void_p,)
# With a null context, realloc(context, size) takes memory and free(context) is nothing: what was
# mapped before the fork must not be given to free, and all comes back with the memory's content.
_allocator = _Allocator(
    None,
    ctypes.cast(_libc.realloc, ctypes.c_void_p).value,
    ctypes.cast(_libc.free, ctypes.c_void_p).value,
)


def possible() -> bool:
    """Whether this C library lets memory be taken ahead; musl does not."""
    return hasattr(_libc, "mallopt")


def serve(feed: int, image: int, table: int, announce: int, prepared: lockdown.Prepared) -> None:
    """Answer one request, again and again as this process is put back.

    Args:
        feed: where connections come from, each with one packet.
        image: what this process is put back from, open for reading.
        table: address of its table.
        announce: where the twin says that it is ready.
        prepared: what to lock down with.
    """
    os.setsid()
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    prepared.give_up_files()
    _arrange(
        {
            seccomp.FEED: feed,
            # Taken from the start, so that a new connection always has the same number.
            seccomp.CONNECTION: feed,
            seccomp.IMAGE: image,
            seccomp.ANNOUNCE: announce,
        }
    )
    lockdown.limit_files()
    packets = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, seccomp.FEED)
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, seccomp.CONNECTION)
    _spare_memory()
    lockdown.show()
    pid = os.getpid()
    try:
        twin = lockdown.plain_fork()
    except OSError:
        twin = -1  # No room: this one serves one call.
    if twin == 0:
        _become_twin(pid)
        said = READY.pack(pid, os.getpid())
    else:
        said = READY.pack(pid, 0)
        if not prepared.narrow(table):
            raise OSError("the narrow seccomp program was refused")
        standby.rehearse()
    os.write(seccomp.ANNOUNCE, said)
    os.close(seccomp.ANNOUNCE)
    # Here the twin stays, and here this process is again each time it is put back.
    _, ancillary, _, _ = packets.recvmsg(1, _DESCRIPTOR_BYTES)
    if not ancillary:
        return
    os.dup2(seccomp.INCOMING, seccomp.CONNECTION)
    os.close(seccomp.INCOMING)
    frames = standby.Frames(connection)
    try:
        letter, body = frames.next()
        if letter == wire.LOAD:
            connection.sendall(standby.load_and_call(frames, body, None))
        # The host need not wait for the rest of an answer that code has spoilt.
        connection.shutdown(_socket.SHUT_WR)
    except (standby.Gone, OSError):
        # The host has gone. Not by contextlib: code may have replaced what that looks up.
        pass
    # Until it is put back; where the zygote is gone, this is the end.
    packets.recvmsg(1, 0)


def _arrange(wanted: dict[int, int]) -> None:
    """Put descriptors where the narrow program expects them, and close all others above 2."""
    for place, descriptor in enumerate(wanted.values(), _ABOVE_ALL):
        os.dup2(descriptor, place)
    os.closerange(3, _ABOVE_ALL)
    for place, number in enumerate(wanted, _ABOVE_ALL):
        os.dup2(place, number)
    os.closerange(_ABOVE_ALL, 256)


def _spare_memory() -> None:
    """Take all that calls may use from the system, and have the allocators use it."""
    _libc.mallopt(_TRIM_THRESHOLD, _MOST_UNMAPPED_BYTES)
    _libc.mallopt(_MMAP_THRESHOLD, _MOST_UNMAPPED_BYTES)
    _libc.free(_libc.malloc(SPARE_MIB << 20))
    ctypes.pythonapi.PyObject_SetArenaAllocator(ctypes.byref(_allocator))


def _become_twin(pid: int) -> None:
    """In the twin of the process `pid`: have nothing to wait for, and end when that does."""
    lockdown.die_with_parent()
    if os.getppid() != pid:
        os._exit(0)  # It ended before it could be known.
    for number, one in zip(
        (seccomp.FEED, seccomp.CONNECTION),
        _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET),
        strict=True,
    ):
        os.dup2(one.fileno(), number)
        one.close()
