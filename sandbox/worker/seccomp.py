"""The seccomp programs: which kernel calls a process of untrusted code may make, and how.

*Wide*: an allow-list of what computing needs. No fork, no exec, no sockets, no signals to others,
no SysV shared memory, no new namespaces. Threads are allowed. Some calls are allowed in part.
`prlimit64` on itself only (RLIMIT_CPU of another kills it), `fcntl` and `ioctl` without the
commands that choose who gets a descriptor's signal, and which (F_SETOWN with F_SETSIG sends
SIGKILL), and without locks, which others see; `madvise` without what concerns more than the
caller's own pages; `sendto` and `recvfrom` without out-of-band data, a part of the kernel that was
exploited from inside a sandbox like this one (CVE-2025-38236); `clone` for threads that stay in
their namespaces.

*Narrow*: for a process that is to be used again (`sandbox.worker.twins`). It can make no call
that changes anything the kernel keeps for it, but its memory's content: nothing is opened, mapped,
installed or started. What most tools need beside computing is there: the clock, random numbers,
sleep, output that goes nowhere, and its own connection. Any other call ends the process with
SIGSYS, and the host runs the program again in one that has the wide program.

Both are search trees or short lists: the kernel runs a program for every call number when it is
installed, and each instruction counts.
"""

from __future__ import annotations

import struct

CLONE_THREAD = 0x00010000
CLONE_NEW = 0x7E020000
"""All flags of new namespaces. As root, a thread could have some for itself."""
MSG_OOB = 1
RET_ALLOW, RET_ERRNO, RET_TRAP, RET_KILL = 0x7FFF0000, 0x00050000, 0x00030000, 0x80000000
EPERM, ENOSYS = 1, 38

# BPF opcodes: load a word, jump if equal, jump if greater or equal, jump if bits set, return.
LD, JEQ, JGE, JSET, RET = 0x20, 0x15, 0x35, 0x45, 0x06
OFFSET_NR, OFFSET_ARCH, OFFSET_ARGS = 0, 4, 16

_NAMES = (
    "read write close fstat lseek mmap mprotect munmap brk rt_sigaction rt_sigprocmask "
    "rt_sigreturn pread64 readv writev sched_yield mremap dup nanosleep getpid "
    "exit exit_group uname getcwd getuid getgid geteuid getegid gettid futex "
    "sched_getaffinity getdents64 clock_gettime clock_getres clock_nanosleep gettimeofday openat "
    "newfstatat readlinkat faccessat ppoll pselect6 set_robust_list rseq getrandom sysinfo "
    "getrusage times sigaltstack restart_syscall membarrier statx getitimer setitimer getppid "
    "faccessat2 set_tid_address rt_sigpending rt_sigtimedwait eventfd2 epoll_create1 epoll_ctl "
    "epoll_pwait pipe2"
)
# Numbers from the kernel's tables arch/x86/entry/syscalls/syscall_64.tbl and
# include/uapi/asm-generic/unistd.h, in the order of _NAMES.
_X86_64 = (
    "0 1 3 5 8 9 10 11 12 13 14 15 17 19 20 24 25 32 35 39 60 231 63 79 102 104 107 "
    "108 186 202 204 217 228 229 230 96 257 262 267 269 271 270 273 334 318 99 98 100 131 219 324 "
    "332 36 38 110 439 218 127 128 290 291 233 281 293"
)
_AARCH64 = (
    "63 64 57 80 62 222 226 215 214 134 135 139 67 65 66 124 216 23 101 172 93 94 "
    "160 17 174 176 175 177 178 98 123 61 113 114 115 169 56 79 78 48 73 72 99 293 278 179 165 153 "
    "132 128 283 291 102 103 173 439 96 136 137 19 20 21 22 59"
)
# Calls that only x86-64 has, in older spelling: open stat lstat poll access select readlink time
# alarm arch_prctl getdents epoll_wait pipe epoll_create eventfd.
_X86_64_ONLY = "2 4 6 7 21 23 89 201 37 158 78 232 22 213 284"

# Calls allowed for some values of one argument: fcntl by its command (duplicate, flags), ioctl by
# its request (isatty, window size, FIONREAD, FIONBIO, close on exec), madvise by its advice (what
# allocators and thread stacks give: how pages are used, freed, kept from children, guarded),
# prlimit64 by its process (0 is the caller), tgkill by its process (abort signals itself).
_FCNTL_COMMANDS = (0, 1, 2, 3, 4, 1030)
_IOCTL_REQUESTS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
_MADVISE_ADVICE = (0, 1, 2, 3, 4, 8, 10, 11, 14, 15, 16, 17, 102, 103)

_PARTLY = "clone clone3 fcntl ioctl prlimit64 tgkill madvise sendto recvfrom"
_ARCHITECTURES = {
    # machine: (audit architecture, allowed calls, those of _PARTLY)
    "x86_64": (0xC000003E, f"{_X86_64} {_X86_64_ONLY}", "56 435 72 16 302 234 28 44 45"),
    "aarch64": (0xC00000B7, _AARCH64, "220 435 25 29 261 131 233 206 207"),
}


def _instruction(code: int, k: int, jt: int = 0, jf: int = 0) -> bytes:
    return struct.pack("=HBBI", code, jt, jf, k)


_ALLOW, _DENY = _instruction(RET, RET_ALLOW), _instruction(RET, RET_ERRNO | EPERM)
OWN_PID = 0x7F3A51C4
"""Stands in a prepared program for the id of the process that will install it."""


def _allow_values(
    number: int, argument: int, values: tuple[int, ...], otherwise: bytes = _DENY
) -> list[bytes]:
    """Allow the call `number` where the lower half of an argument is one of `values`.

    The kernel reads 32 bits of each argument named here, so the upper half does not matter.
    """
    body = [_instruction(LD, OFFSET_ARGS + 8 * argument)]
    for value in values:
        body += [_instruction(JEQ, value, 0, 1), _ALLOW]
    return [_instruction(JEQ, number, 0, len(body) + 1), *body, otherwise]


def _refuse_bits(number: int, argument: int, bits: int) -> list[bytes]:
    """Allow the call `number` unless the lower half of an argument has one of `bits`."""
    body = [_instruction(LD, OFFSET_ARGS + 8 * argument), _instruction(JSET, bits, 0, 1)]
    return [_instruction(JEQ, number, 0, len(body) + 2), *body, _DENY, _ALLOW]


def _ranges(numbers: list[int]) -> list[tuple[int, int]]:
    """Sorted numbers as first and last of each unbroken run."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def _allow_ranges(ranges: list[tuple[int, int]]) -> list[bytes]:
    """A search tree over call numbers that ends in allow or deny."""
    if len(ranges) == 1:
        first, last = ranges[0]
        jumps = [_instruction(JGE, first, 0, 2), _instruction(JGE, last + 1, 1, 0)]
        return [*jumps, _ALLOW, _DENY]
    middle = len(ranges) // 2
    low, high = _allow_ranges(ranges[:middle]), _allow_ranges(ranges[middle:])
    return [_instruction(JGE, ranges[middle][0], len(low), 0), *low, *high]


def wide(machine: str, pid: int) -> bytes | None:
    """The BPF program for `machine`, or None where its call numbers are not known here.

    `pid` may signal itself (abort does), and nobody else.
    """
    if machine not in _ARCHITECTURES:
        return None
    audit, allowed, partly = _ARCHITECTURES[machine]
    number = dict(zip(_PARTLY.split(), map(int, partly.split()), strict=True))
    program = [
        _instruction(LD, OFFSET_ARCH),
        _instruction(JEQ, audit, 1, 0),
        _instruction(RET, RET_KILL),
        _instruction(LD, OFFSET_NR),
        # x32 calls carry this bit and would bypass the numbers below.
        _instruction(JGE, 0x40000000, 0, 1),
        _DENY,
        # With ENOSYS the C library falls back to clone, whose flags can be looked at.
        _instruction(JEQ, number["clone3"], 0, 1),
        _instruction(RET, RET_ERRNO | ENOSYS),
        _instruction(JEQ, number["clone"], 0, 5),
        _instruction(LD, OFFSET_ARGS),
        _instruction(JSET, CLONE_NEW, 2, 0),
        _instruction(JSET, CLONE_THREAD, 0, 1),
        _ALLOW,
        _DENY,
        *_allow_values(number["fcntl"], 1, _FCNTL_COMMANDS),
        *_allow_values(number["ioctl"], 1, _IOCTL_REQUESTS),
        *_allow_values(number["prlimit64"], 0, (0,)),
        *_allow_values(number["tgkill"], 0, (pid,)),
        *_allow_values(number["madvise"], 2, _MADVISE_ADVICE),
        *_refuse_bits(number["sendto"], 3, MSG_OOB),
        *_refuse_bits(number["recvfrom"], 3, MSG_OOB),
        *_allow_ranges(_ranges(sorted({int(text) for text in allowed.split()}))),
    ]
    return b"".join(program)


FEED, CONNECTION, IMAGE, INCOMING, ANNOUNCE = 3, 4, 5, 6, 7
"""Descriptors of a process that is used again: where connections come from, the one it answers
on, what it is put back from, the number that a new connection has until it takes its place, and
until it is ready, where it says so."""

# For the narrow program, per architecture: calls allowed whatever their arguments (select poll
# ppoll pselect6 sched_yield gettimeofday time nanosleep getrandom exit_group), those that an
# allocator makes to give memory back or to grow a piece in place, which it can do without (munmap
# madvise mremap), and the rest by name. The kernel's table arch/x86/entry/syscalls/syscall_64.tbl.
_NARROW = {
    "x86_64": (
        0xC000003E,
        (23, 7, 271, 270, 24, 96, 201, 35, 318, 231),
        (11, 28, 25),
        {
            "recvfrom": 45, "sendto": 44, "recvmsg": 47, "shutdown": 48, "dup2": 33, "close": 3,
            "write": 1, "preadv": 295, "clock_gettime": 228, "clock_getres": 229,
            "clock_nanosleep": 230,
        },
    ),
}  # fmt: skip
_CLOCKS = (0, 1, 4, 5, 6, 7, 11)
"""Clocks of the machine. Not those of processes and threads (2 and 3, negative numbers): they show
what calls before this one have used."""


TABLE = 0x5A17C0DE3B9AC9FF
"""Stands in a prepared program for the address of the image's table."""


def narrow(machine: str) -> bytes | None:
    """The BPF program of a process that is used again; None where there is none for `machine`.

    It reads of its image what the table says, and no more: what is there at other times, and that
    is nothing, tells nobody what calls before have written to.

    What it lets through changes nothing that the kernel keeps for the process, except that
    `CONNECTION` is replaced by what comes in at `FEED`.
    """
    if machine not in _NARROW:
        return None
    audit, free, memory, number = _NARROW[machine]
    end = _instruction(RET, RET_TRAP)
    program = [
        _instruction(LD, OFFSET_ARCH),
        _instruction(JEQ, audit, 1, 0),
        _instruction(RET, RET_KILL),
        _instruction(LD, OFFSET_NR),
        *(_only(number[name], ((0, CONNECTION),), MSG_OOB) for name in ("recvfrom", "sendto")),
        _only(number["recvmsg"], ((0, FEED),), MSG_OOB, flags_at=2),
        _only(number["shutdown"], ((0, CONNECTION),)),
        _only(number["dup2"], ((0, INCOMING), (1, CONNECTION))),
        *_allow_values(number["close"], 0, (INCOMING, ANNOUNCE), end),
        # Both halves of the table's address: the kernel reads all of it.
        _only(number["preadv"], ((0, IMAGE), (1, TABLE & HALF), (1 + UPPER, TABLE >> 32))),
    ]
    for name, values in (
        ("write", (1, 2, ANNOUNCE)),
        ("clock_gettime", _CLOCKS),
        ("clock_getres", _CLOCKS),
        ("clock_nanosleep", _CLOCKS),
    ):
        program += [b"".join(_allow_values(number[name], 0, values, end))]
    for call in free:
        program += [_instruction(JEQ, call, 0, 1), _ALLOW]
    for call in memory:
        program += [_instruction(JEQ, call, 0, 1), _DENY]
    return b"".join([*program, end])


HALF, UPPER = 0xFFFFFFFF, 0.5
"""A program compares 32 bits at a time. The upper half of an argument is half a place further."""


def _only(
    number: int, wanted: tuple[tuple[float, int], ...], bits: int = 0, flags_at: int = 3
) -> bytes:
    """Allow the call `number` with these arguments, by place, and without `bits` among its flags.

    Of descriptors and flags the kernel reads 32 bits.
    """
    end = _instruction(RET, RET_TRAP)
    body: list[bytes] = []
    for place, value in wanted:
        load = _instruction(LD, OFFSET_ARGS + int(8 * place))
        body += [load, _instruction(JEQ, value, 1, 0), end]
    if bits:
        body += [
            _instruction(LD, OFFSET_ARGS + 8 * flags_at),
            _instruction(JSET, bits, 0, 1),
            end,
        ]
    body.append(_ALLOW)
    return b"".join([_instruction(JEQ, number, 0, len(body)), *body])
