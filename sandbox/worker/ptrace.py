"""Stopping a process from outside, and reading and giving it registers (x86-64, Linux)."""

from __future__ import annotations

import ctypes
import os
import signal
import struct

GENERAL, VECTORS = 1, 0x202
"""NT_PRSTATUS and NT_X86_XSTATE: all registers that a program can change."""
LAYOUT = struct.Struct("=27Q")
"""The general registers, as the kernel orders them (struct user_regs_struct)."""
R10, R8, RAX, RDX, RSI, RDI = 7, 9, 10, 12, 13, 14
ORIG_RAX, RIP, EFLAGS, FS_BASE = 15, 16, 18, 21
ID_FLAG = 1 << 21
"""In EFLAGS: may be changed by any program, and by no `Registers`."""
NO_CALL = 2**64 - 1
"""In ORIG_RAX: the process was not in a kernel call, and none is begun again."""

_SEIZE, _INTERRUPT, _STEP, _DETACH = 0x4206, 0x4207, 9, 17
_GETREGSET, _SETREGSET = 0x4204, 0x4205
_EXITKILL = 0x00100000
_WALL = 0x40000000
_TRAPPED = signal.SIGTRAP << 8 | 0x7F
"""Status of a process that stopped after one step; with `_TOLD`, because it was told to."""
_TOLD = 128 << 16
_REGISTER_BYTES = 16384

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


class Changed(Exception):
    """A process cannot be put back: what it has become is not what can be made undone."""


class Ended(Changed):
    """A process has ended, and was reaped."""

    def __init__(self, pid: int, status: int) -> None:
        """Take its process id, and the status as `os.wait4` gives it."""
        super().__init__(pid, status)
        self.pid, self.status = pid, status


def _ptrace(request: int, pid: int, address: int = 0, data: int = 0) -> None:
    if _libc.ptrace(request, pid, address, data) < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def stop(pid: int) -> int:
    """Stop a process wherever it is; how often it has been given a page until now.

    Raises:
        OSError: it is none that may be stopped.
        Ended: it ended.
        Changed: it stopped for another reason.
    """
    _ptrace(_SEIZE, pid, 0, _EXITKILL)
    _ptrace(_INTERRUPT, pid)
    return _halted(pid, _TRAPPED | _TOLD)


def step(pid: int) -> int:
    """Have a stopped process take one step, which may be a kernel call; see `stop`."""
    _ptrace(_STEP, pid)
    return _halted(pid, _TRAPPED)


def go_on(pid: int) -> None:
    """Let a stopped process go on. Raises OSError where it has ended."""
    _ptrace(_DETACH, pid)


def _halted(pid: int, wanted: int) -> int:
    _, status, used = os.wait4(pid, _WALL)
    if not os.WIFSTOPPED(status):
        raise Ended(pid, status)
    if status != wanted:
        raise Changed
    return used.ru_minflt + used.ru_majflt


def registers(pid: int, kind: int) -> bytes:
    """A stopped process's registers. Raises OSError where it has ended."""
    buffer = ctypes.create_string_buffer(_REGISTER_BYTES)
    place = (ctypes.c_uint64 * 2)(ctypes.addressof(buffer), _REGISTER_BYTES)
    _ptrace(_GETREGSET, pid, kind, ctypes.addressof(place))
    return buffer.raw[: place[1]]


def general(pid: int) -> list[int]:
    """A stopped process's general registers. Raises OSError where it has ended."""
    return list(LAYOUT.unpack(registers(pid, GENERAL)))


class Registers:
    """A set of registers, ready to be given to processes."""

    def __init__(self, kind: int, content: bytes) -> None:
        """Take the content as the kernel gives it."""
        self._kind = kind
        self._buffer = ctypes.create_string_buffer(content, len(content))
        self._place = (ctypes.c_uint64 * 2)(ctypes.addressof(self._buffer), len(content))

    def give(self, pid: int) -> None:
        """Give them to a stopped process. Raises OSError where it has ended."""
        _ptrace(_SETREGSET, pid, self._kind, ctypes.addressof(self._place))
