"""The seccomp program: the system calls that a process with untrusted code may make, and how.

An allow-list of what computing needs. No fork, no exec, no sockets, no signals to others, no SysV
shared memory, no new namespaces. Threads are allowed. Some calls are allowed in part (`PARTS`). The
program is a search tree, preceded by a short list of partial calls: the kernel runs it for every
call number upon installation, so each instruction counts.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TypeAlias

CLONE_THREAD = 0x00010000
CLONE_NEW = 0x7E020000
"""All flags for new namespaces. As root, a thread could create some for itself."""
MSG_OOB = 1
FUTEX_PRIVATE = 128
OTHER_CLOCKS = 0xFFFFFFF0
"""Bits unset in the ids of the machine's and the caller's clocks; ids of other processes' and
devices' clocks, which are negative, have some of them set."""
RET_ALLOW, RET_ERRNO, RET_KILL = 0x7FFF0000, 0x00050000, 0x80000000
EPERM, EAGAIN, ENOSYS = 1, 11, 38

# BPF opcodes: load a word, jump if equal, jump if greater or equal, jump if bits set, return.
LD, JEQ, JGE, JSET, RET = 0x20, 0x15, 0x35, 0x45, 0x06
OFFSET_NR, OFFSET_ARCH, OFFSET_ARGS = 0, 4, 16

_NAMES = (
    "read write close fstat lseek mmap mprotect munmap brk rt_sigaction rt_sigprocmask "
    "rt_sigreturn pread64 readv writev sched_yield mremap dup nanosleep getpid "
    "exit exit_group uname getcwd getuid getgid geteuid getegid gettid "
    "sched_getaffinity getdents64 gettimeofday openat "
    "newfstatat readlinkat faccessat ppoll pselect6 set_robust_list rseq getrandom "
    "getrusage times sigaltstack restart_syscall membarrier statx getitimer setitimer getppid "
    "faccessat2 set_tid_address rt_sigpending rt_sigtimedwait eventfd2 epoll_create1 epoll_ctl "
    "epoll_pwait pipe2"
)
# Numbers from the kernel's tables arch/x86/entry/syscalls/syscall_64.tbl and
# include/uapi/asm-generic/unistd.h, in the order of _NAMES.
_X86_64 = (
    "0 1 3 5 8 9 10 11 12 13 14 15 17 19 20 24 25 32 35 39 60 231 63 79 102 104 107 "
    "108 186 204 217 96 257 262 267 269 271 270 273 334 318 98 100 131 219 324 "
    "332 36 38 110 439 218 127 128 290 291 233 281 293"
)
_AARCH64 = (
    "63 64 57 80 62 222 226 215 214 134 135 139 67 65 66 124 216 23 101 172 93 94 "
    "160 17 174 176 175 177 178 123 61 169 56 79 78 48 73 72 99 293 278 165 153 "
    "132 128 283 291 102 103 173 439 96 136 137 19 20 21 22 59"
)
# Calls that only x86-64 has, in older spelling: open stat lstat poll access select readlink time
# alarm arch_prctl getdents epoll_wait pipe epoll_create eventfd.
_X86_64_ONLY = "2 4 6 7 21 23 89 201 37 158 78 232 22 213 284"

ALLOWED = {"x86_64": f"{_X86_64} {_X86_64_ONLY}", "aarch64": _AARCH64}
"""System calls allowed with any arguments, by machine. All others are refused, except those in
`PARTS`."""
_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""The kernel's identifiers of the machines' sets of call numbers."""


def _instruction(code: int, k: int, jt: int = 0, jf: int = 0) -> bytes:
    return struct.pack("=HBBI", code, jt, jf, k)


_ALLOW, _DENY = _instruction(RET, RET_ALLOW), _instruction(RET, RET_ERRNO | EPERM)
OWN_PID = 0x7F3A51C4
"""Placeholder in a prepared program for the id of the process that will install it."""


def _allow_values(number: int, argument: int, values: tuple[int, ...]) -> list[bytes]:
    """Allow the call `number` if the lower half of an argument is one of `values`.

    The kernel reads only 32 bits of each argument used here, so the upper half does not matter.
    """
    body = [_instruction(LD, OFFSET_ARGS + 8 * argument)]
    for value in values:
        body += [_instruction(JEQ, value, 0, 1), _ALLOW]
    return [_instruction(JEQ, number, 0, len(body) + 1), *body, _DENY]


def _refuse_bits(number: int, argument: int, bits: int) -> list[bytes]:
    """Allow the call `number` unless the lower half of an argument has one of `bits`."""
    body = [_instruction(LD, OFFSET_ARGS + 8 * argument), _instruction(JSET, bits, 0, 1)]
    return [_instruction(JEQ, number, 0, len(body) + 2), *body, _DENY, _ALLOW]


def _ranges(numbers: list[int]) -> list[tuple[int, int]]:
    """Group sorted numbers into unbroken runs, each as its first and last number."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def _allow_ranges(ranges: list[tuple[int, int]]) -> list[bytes]:
    """Return a search tree over call numbers that ends in allow or deny."""
    if len(ranges) == 1:
        first, last = ranges[0]
        jumps = [_instruction(JGE, first, 0, 2), _instruction(JGE, last + 1, 1, 0)]
        return [*jumps, _ALLOW, _DENY]
    middle = len(ranges) // 2
    low, high = _allow_ranges(ranges[:middle]), _allow_ranges(ranges[middle:])
    return [_instruction(JGE, ranges[middle][0], len(low), 0), *low, *high]


def _own_threads(number: int, _: int) -> list[bytes]:
    """Allow `clone` only for threads that stay in their namespaces."""
    return [
        _instruction(JEQ, number, 0, 5),
        _instruction(LD, OFFSET_ARGS),
        _instruction(JSET, CLONE_NEW, 2, 0),
        _instruction(JSET, CLONE_THREAD, 0, 1),
        _ALLOW,
        _DENY,
    ]


def _unknown(number: int, _: int) -> list[bytes]:
    """Report that the call does not exist, so that the C library falls back to `clone`."""
    return [_instruction(JEQ, number, 0, 1), _instruction(RET, RET_ERRNO | ENOSYS)]


def _own_words(number: int, _: int) -> list[bytes]:
    """Allow `futex` only for the caller's own threads; otherwise report that the word changed.

    A library's page is shared by all processes: a thread waiting there can be woken from another
    process, even by the end of a thread there, which no filter sees. A caller that is told the word
    has changed checks again, as `pthread_join` does until a thread has ended.
    """
    return [
        _instruction(JEQ, number, 0, 4),
        _instruction(LD, OFFSET_ARGS + 8),
        _instruction(JSET, FUTEX_PRIVATE, 0, 1),
        _ALLOW,
        _instruction(RET, RET_ERRNO | EAGAIN),
    ]


_IOCTL_REQUESTS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
_MADVISE_ADVICE = (0, 1, 2, 3, 4, 8, 10, 11, 14, 15, 16, 17, 102, 103)
Part: TypeAlias = Callable[[int, int], list[bytes]]
PARTS: tuple[tuple[str, int, int, Part], ...] = (
    # Calls that are allowed in part: name, number on x86-64, on aarch64, and how. The second
    # argument of a part is the id of the process.
    ("clone3", 435, 435, _unknown),
    ("clone", 56, 220, _own_threads),
    ("futex", 202, 98, _own_words),
    # Other processes' clocks would reveal their processor time.
    ("clock_gettime", 228, 113, lambda n, _: _refuse_bits(n, 0, OTHER_CLOCKS)),
    ("clock_getres", 229, 114, lambda n, _: _refuse_bits(n, 0, OTHER_CLOCKS)),
    ("clock_nanosleep", 230, 115, lambda n, _: _refuse_bits(n, 0, OTHER_CLOCKS)),
    # Duplicate, flags. Not the commands that choose who gets a descriptor's signal, and which
    # (F_SETOWN with F_SETSIG sends SIGKILL), nor locks, which other processes see.
    ("fcntl", 72, 25, lambda n, _: _allow_values(n, 1, (0, 1, 2, 3, 4, 1030))),
    # isatty, window size, FIONREAD, FIONBIO, close on exec.
    ("ioctl", 16, 29, lambda n, _: _allow_values(n, 1, _IOCTL_REQUESTS)),
    # On itself only: RLIMIT_CPU can kill another process.
    ("prlimit64", 302, 261, lambda n, _: _allow_values(n, 0, (0,))),
    # To itself only, as abort does.
    ("tgkill", 234, 131, lambda n, pid: _allow_values(n, 0, (pid,))),
    # What allocators and thread stacks ask for; nothing that affects pages of others.
    ("madvise", 28, 233, lambda n, _: _allow_values(n, 2, _MADVISE_ADVICE)),
    # No out-of-band data, a part of the kernel that was exploited from inside a sandbox like
    # this one (CVE-2025-38236).
    ("sendto", 44, 206, lambda n, _: _refuse_bits(n, 3, MSG_OOB)),
    ("recvfrom", 45, 207, lambda n, _: _refuse_bits(n, 3, MSG_OOB)),
)


def _own_architecture(machine: str) -> list[bytes]:
    """Kill a process that uses another set of call numbers, such as 32-bit Linux's."""
    return [
        _instruction(LD, OFFSET_ARCH),
        _instruction(JEQ, _AUDIT[machine], 1, 0),
        _instruction(RET, RET_KILL),
    ]


BEFORE: tuple[tuple[str, Callable[[str], list[bytes]]], ...] = (
    ("architecture", _own_architecture),
)
"""Checks before that of a call's number: name, and instructions for a machine."""


def program(machine: str, pid: int) -> bytes | None:
    """Return the BPF program for `machine`; None if its call numbers are not known here.

    `pid` may signal only itself. The call numbers of x32 have an extra bit, so none of them is
    allowed.
    """
    if machine not in ALLOWED:
        return None
    made = [one for _, look in BEFORE for one in look(machine)]
    made.append(_instruction(LD, OFFSET_NR))
    for _, x86_64, aarch64, part in PARTS:
        made += part(x86_64 if machine == "x86_64" else aarch64, pid)
    numbers = sorted({int(text) for text in ALLOWED[machine].split()})
    return b"".join([*made, *_allow_ranges(_ranges(numbers))])
